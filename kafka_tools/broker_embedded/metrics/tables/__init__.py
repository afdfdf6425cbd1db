"""Tables of beans: each module turns one part of the broker's counts and state into beans with Kafka's names."""
