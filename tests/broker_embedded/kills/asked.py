"""What the broker says of partitions and groups, asked over a connection of one's own."""

from __future__ import annotations

import time
from collections.abc import Iterable

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.list_transactions import ListTransactionsRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.broker_embedded.kills.load import At
from tests.broker_embedded.wire_client import WireClient

LATEST = -1
LOADED_WITHIN_S = 120
"""A coordinator that loads for longer is a fault."""


def ends(address: str, partitions: Iterable[At]) -> dict[At, int]:
    """The end of each partition's log."""
    Topic = ListOffsetsRequest.Topic
    wanted = [
        Topic(name=topic, partitions=[Topic.Partition(partition_index=partition, timestamp=LATEST)])
        for topic, partition in partitions
    ]
    with WireClient(address) as client:
        answer = client.call(ListOffsetsRequest(replica_id=-1, topics=wanted), 7)
    return {(topic.name, each.partition_index): each.offset for topic in answer.topics for each in topic.partitions}


def until_loaded(address: str) -> None:
    """Wait for every transactional id to be loaded. AssertionError if that takes too long."""
    until_s = time.monotonic() + LOADED_WITHIN_S
    with WireClient(address) as client:
        while client.call(ListTransactionsRequest(), 0).error_code == error_codes.COORDINATOR_LOAD_IN_PROGRESS:
            assert time.monotonic() < until_s, f"transactional ids are loading for {LOADED_WITHIN_S} s"
            time.sleep(0.05)


def committed(address: str, groups: Iterable[str]) -> dict[str, dict[At, int] | None]:
    """The offsets of each group once its coordinator is loaded; None while an open transaction can change one."""
    wanted = [OffsetFetchRequest.RequestGroup(group_id=group, topics=None) for group in groups]
    until_s = time.monotonic() + LOADED_WITHIN_S
    with WireClient(address) as client:
        while True:
            answer = client.call(OffsetFetchRequest(groups=wanted, require_stable=True), 8)
            loading = any(group.error_code == error_codes.COORDINATOR_LOAD_IN_PROGRESS for group in answer.groups)
            if not loading or time.monotonic() > until_s:
                break
            time.sleep(0.05)
    found: dict[str, dict[At, int] | None] = {}
    for group in answer.groups:
        assert not group.error_code, group
        offsets = {(topic.name, each.partition_index): each for topic in group.topics for each in topic.partitions}
        if any(each.error_code == error_codes.UNSTABLE_OFFSET_COMMIT for each in offsets.values()):
            found[group.group_id] = None
        else:
            assert not any(each.error_code for each in offsets.values()), group
            found[group.group_id] = {at: each.committed_offset for at, each in offsets.items()}
    return found
