"""Lag of consumer groups in records and in time, by topic, group or member."""
