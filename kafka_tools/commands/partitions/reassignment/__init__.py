"""The parts of ``kafka-reassign-partitions``: documents, the placer, each action, throttles."""
