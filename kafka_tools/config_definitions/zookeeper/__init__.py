"""Configs in ZooKeeper, by release: names, valid values, and configs that brokers skip when they start."""
