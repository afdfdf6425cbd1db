"""Formats log directories for kafka-storage."""
