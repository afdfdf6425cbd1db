"""Configs in ZooKeeper, by release: which each took, with which values, and what brokers leave out when they start."""
