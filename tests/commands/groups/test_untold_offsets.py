"""Commands about Streams applications where the offset of a partition cannot be told: none is made up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.streams_group_describe import (
    Assignment,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    TaskIds,
)
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands.groups.scripted import runner, sent

DESCRIBED = StreamsGroupDescribeResponse.DescribedGroup


def untold(request: Any, version: int, node: Any) -> Any:
    """A group that reads partition 0 of topic t, whose offset there cannot be told."""
    if isinstance(request, OffsetFetchRequest):
        answer = VirtualCluster().truth(request, version)
        for group in answer.groups:
            group.topics[0].partitions[0].error_code = error_codes.TOPIC_AUTHORIZATION_FAILED
        return answer
    if isinstance(request, StreamsGroupDescribeRequest):
        active = Assignment(active_tasks=[TaskIds(subtopology_id="0", partitions=[0])])
        part = DESCRIBED.Topology.Subtopology(subtopology_id="0", source_topics=["t"])
        group = DESCRIBED(
            group_id="app",
            group_state="Stable",
            topology=DESCRIBED.Topology(epoch=1, subtopologies=[part]),
            members=[DESCRIBED.Member(member_id="m-1", assignment=active)],
        )
        return StreamsGroupDescribeResponse(groups=[group])
    return None


def test_a_description_says_so_and_tells_no_lag(capsys: pytest.CaptureFixture[str]) -> None:
    (status, out, err), _ = runner("streams-groups", untold, capsys)("--describe --group app -o json")
    (row,) = json.loads(out)["data"]
    assert (status, row["current_offset"], row["lag"]) == (1, None, None)
    assert "cannot describe the offset of t-0 of group 'app': TOPIC_AUTHORIZATION_FAILED" in err


def test_a_reset_does_not_count_from_the_end_instead(capsys: pytest.CaptureFixture[str]) -> None:
    run = runner("streams-application-reset", _without_members, capsys)
    (status, out, err), cluster = run("--application-id app --input-topics t --shift-by -1")
    assert (status, "Offset:" in out) == (1, False)
    assert "the committed offset of t-0: TOPIC_AUTHORIZATION_FAILED" in err
    assert sent(cluster, OffsetCommitRequest) == sent(cluster, DeleteTopicsRequest) == []


def _without_members(request: Any, version: int, node: Any) -> Any:
    return None if isinstance(request, StreamsGroupDescribeRequest) else untold(request, version, node)
