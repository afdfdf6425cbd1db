"""What Kafka's config commands do: entities, changes, where they are written and how they are shown."""
