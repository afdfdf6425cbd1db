"""The text of Kafka's own tools."""
