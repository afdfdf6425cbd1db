"""Verifiable clients: a JSON line for everything that happens, for tests that check what was sent and read."""
