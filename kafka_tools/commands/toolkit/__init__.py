"""Commands that Kafka does not have: the bundled broker, the tour, completion scripts."""
