"""OffsetCommit (8): commit a group's offsets; each partition succeeds or fails alone.

- v0: no member and no generation, as in a commit by an administrator. (Kafka before 4.0 kept these in ZooKeeper.)
- v1: a time per partition. v2 to v4: a retention per commit. From v5 on: the broker's retention (KIP-211).
- v6: leader epochs. v7: static members. v9: GROUP_ID_NOT_FOUND. v10: topics by id.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._offset_topics import Wanted, answered, committer
from kafka_tools.broker_embedded.handlers._rights import check_group
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.offset_commit import OffsetCommitResponse

VERSIONS = (0, 10)
AUTHORIZE = ()

_BY_ID = 10
_LAST_MS = 2**63 - 1
"""The maximum time in an offset's record."""


def handle(call: Call) -> Work[OffsetCommitResponse]:
    request, offsets = call.request, call.broker.groups.offsets
    check_group(call, AclOperation.READ, request.group_id)

    def commit(wanted: list[Wanted]) -> Work[list[int]]:
        """The error code of each partition. If the group refuses the caller, it refuses every partition."""
        if not wanted:
            return []
        now_ms, retention_ms = call.broker.clock.now_ms(), request.retention_time_ms
        expire_ms = -1 if retention_ms == -1 else min(now_ms + retention_ms, _LAST_MS)
        commits = ((each.at, each.committed(_time(each, now_ms), expire_ms)) for each in wanted)
        prepared = yield from offsets.prepare(request.group_id, commits)
        try:
            return offsets.commit(request.group_id, committer(request), prepared, call.version)
        except BrokerError as error:
            return [error.code.code] * len(wanted)

    topics = yield from answered(call, OffsetCommitResponse.ResponseTopic, commit, by_id=call.version >= _BY_ID)
    return OffsetCommitResponse(topics=topics)


def _time(wanted: Wanted, now_ms: int) -> int:
    asked_ms: int = wanted.partition.commit_timestamp
    return now_ms if asked_ms == -1 else asked_ms
