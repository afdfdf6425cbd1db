"""Kafka's config commands: entities, changes, the place of configs, and their output."""
