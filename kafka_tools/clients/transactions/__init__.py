"""The transactions of a producer: ``state`` decides what is sent next, and ``requests`` builds it (KIP-98, KIP-890)."""
