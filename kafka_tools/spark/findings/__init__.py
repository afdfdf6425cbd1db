"""Findings from the measures: pure functions from bounded numbers to findings, one module per family."""
