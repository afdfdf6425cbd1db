"""Faults that a test adds to the bundled broker: the methods, the selectors of requests, and the changed answers."""
