"""Members of groups that tests keep alive."""

from __future__ import annotations

import time

from kafka_tools.clients.consumer import Consumer

WAIT_S = 90.0
LASTING = {"session.timeout.ms": "300000"}
"""Settings of a member that nobody polls while tests look at its group: as long as all releases allow."""


def poll_until_assigned(consumer: Consumer) -> None:
    """Poll until the member has its partitions. Raises AssertionError when it gets none."""
    end = time.monotonic() + WAIT_S
    while not consumer.assignment():
        assert time.monotonic() < end, "the group did not settle"
        consumer.poll(0.1)
