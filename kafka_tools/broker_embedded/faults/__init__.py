"""Faults that a test asks the bundled broker for: its vocabulary, what selects requests, and how answers are spoilt."""
