"""Formatting log directories: what kafka-storage reads and writes."""
