"""What the measures mean for an operator: pure functions from bounded numbers to findings, one module per family."""
