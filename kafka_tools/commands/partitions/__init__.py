"""Commands about single partitions: their records, replicas and leaders."""
