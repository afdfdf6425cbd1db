"""JSON lines of ``kafka-dump-log``: one by one, and many together."""
