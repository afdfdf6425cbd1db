"""Metrics that clients push to the broker (KIP-714): subscriptions, instances of clients, and the pushed values."""
