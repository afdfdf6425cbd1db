"""Reading records: fetch sessions, columns, and positions that no longer agree with the log."""
