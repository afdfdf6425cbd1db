"""What ``kafka-reassign-partitions`` is made of: its documents, the placer, each of its actions, throttles."""
