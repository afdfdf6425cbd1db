"""The table of ``docs/metrics.md``: Kafka's beans that the bundled broker does not have, and why."""

from __future__ import annotations

from kafka_tools.broker_embedded.metrics.absent import ABSENT


def absent_table() -> str:
    """One row per reason, with its beans."""
    by_reason: dict[str, list[str]] = {}
    for pattern, reason in ABSENT:
        by_reason.setdefault(reason, []).append(f"`{pattern}`".replace("\\*", "\\*"))
    rows = [f"| {'<br>'.join(patterns)} | {reason} |" for reason, patterns in by_reason.items()]
    return "\n".join(["| bean, or bean#attribute | reason |", "| --- | --- |", *rows]) + "\n"
