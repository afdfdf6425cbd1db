"""Resets of many groups: how many requests they take, and what one group that cannot be reset leaves to the others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.commands.groups.reset_plans import plan_csv
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_tools.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kafka_tools.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafka_tools.values import TopicPartition
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands.groups.scripted import Run, runner, sent
from tests.net.virtual import without_chance

MANY = 300


def nothing(request: Any, version: int, node: Any) -> Any:
    return None


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner("consumer-groups", nothing, capsys)


@pytest.mark.parametrize(
    "command, mode, commit",
    [
        ("consumer-groups", "--topic t --to-earliest", OffsetCommitRequest),
        ("consumer-groups", "--all-topics --shift-by -1", OffsetCommitRequest),
        ("consumer-groups", "--topic t --by-duration PT1H -o json", OffsetCommitRequest),
        ("consumer-groups", "--from-group g", OffsetCommitRequest),
        ("share-groups", "--topic t --to-latest", AlterShareGroupOffsetsRequest),
        ("streams-groups", "--input-topic t --to-current", OffsetCommitRequest),
    ],
)
def test_requests_beside_the_commits_do_not_grow_with_the_number_of_groups(
    command: str, mode: str, commit: type, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = []
    for many in (2, MANY):
        groups = " ".join(f"--group group-{number}" for number in range(many))
        (status, _, err), cluster = runner(command, nothing, capsys)(f"--reset-offsets {groups} {mode} --execute")
        assert (status, "Error" in err) == (0, False)
        made = sent(cluster, commit)
        assert [request.group_id for request in made] == [f"group-{number}" for number in range(many)]
        counts.append(Counter(type(each[2]).__name__ for each in cluster.log if not isinstance(each[2], commit)))
    assert counts[0] == counts[1]
    assert sum(counts[1].values()) < 20


@pytest.mark.parametrize(
    "refused",
    [ConsumerGroupDescribeRequest, OffsetFetchRequest, FindCoordinatorRequest, OffsetCommitRequest],
)
def test_missing_rights_on_one_of_three_groups_leave_the_others_reset(refused: type, run: Run) -> None:
    def denied(request: Any, version: int, node: Any) -> Any:
        if not isinstance(request, refused):
            return None
        answer = VirtualCluster().truth(request, version)
        code = error_codes.GROUP_AUTHORIZATION_FAILED
        if isinstance(request, OffsetCommitRequest):
            return error_reply(request, version, code) if request.group_id == "b" else None
        for item in getattr(answer, "groups", None) or getattr(answer, "coordinators", ()):
            if getattr(item, "group_id", getattr(item, "key", None)) == "b":
                item.error_code = code
        return answer

    words = "--reset-offsets --group a --group b --group c --all-topics --to-earliest --execute"
    (status, out, err), cluster = run(words, fault=denied)
    assert status == 1
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["a", "c"]
    assert "group 'b'" in err
    assert "GROUP_AUTHORIZATION_FAILED" in err
    assert {"a", "c"} <= {request.group_id for request in sent(cluster, OffsetCommitRequest)}


def test_a_group_that_members_join_meanwhile_is_told_with_them_and_the_others_are_reset(run: Run) -> None:
    joined = False

    def joining(request: Any, version: int, node: Any) -> Any:
        nonlocal joined
        if isinstance(request, OffsetCommitRequest) and request.group_id == "b":
            joined = True
            return error_reply(request, version, error_codes.UNKNOWN_MEMBER_ID)
        if isinstance(request, ConsumerGroupDescribeRequest) and joined:
            answer = VirtualCluster().truth(request, version)
            for group in answer.groups:
                group.group_state = "Stable"
                group.members = [type(group).Member(member_id="m", client_id="app", client_host="/10.0.0.9")]
            return answer
        return None

    words = "--reset-offsets --group a --group b --group c --topic t --to-earliest --execute"
    (status, out, err), _ = run(words, fault=joining)
    assert (status, [line.split()[0] for line in out.splitlines()[2:]]) == (1, ["a", "c"])
    assert (
        "cannot reset group 'b': Assignments can only be reset if the group 'b' is inactive, but the current state "
        "is Stable. Members: app at /10.0.0.9." in err
    )


def test_groups_of_others_than_consumers_are_refused(run: Run) -> None:
    def workers(request: Any, version: int, node: Any) -> Any:
        answer = VirtualCluster().truth(request, version)
        if isinstance(request, ConsumerGroupDescribeRequest):
            return error_reply(request, version, error_codes.GROUP_ID_NOT_FOUND)
        if isinstance(request, DescribeGroupsRequest):
            for group in answer.groups:
                group.protocol_type = "connect" if group.group_id == "b" else "consumer"
        return answer

    words = "--reset-offsets --group a --group b --group c --topic t --to-earliest --execute"
    (status, out, err), cluster = run(words, fault=workers)
    assert (status, [line.split()[0] for line in out.splitlines()[2:]]) == (1, ["a", "c"])
    assert "cannot reset group 'b': GroupId b is not a consumer group (connect)." in err
    assert [request.group_id for request in sent(cluster, OffsetCommitRequest)] == ["a", "c"]


@pytest.mark.parametrize("code", [error_codes.TOPIC_AUTHORIZATION_FAILED, error_codes.UNKNOWN_TOPIC_OR_PARTITION])
def test_a_partition_that_cannot_be_told_fails_its_groups_and_one_that_is_gone_none(code: int, run: Run) -> None:
    def told(request: Any, version: int, node: Any) -> Any:
        """Group b has offsets of two topics; of one of them nothing may be told."""
        if isinstance(request, OffsetFetchRequest):
            answer = VirtualCluster().truth(request, version)
            Topic = OffsetFetchResponse.ResponseGroup.ResponseTopics
            for group in answer.groups:
                if group.group_id == "b":
                    group.topics.append(Topic(name="u", partitions=group.topics[0].partitions))
            return answer
        if isinstance(request, ListOffsetsRequest):
            answer = VirtualCluster().truth(request, version)
            for topic in answer.topics:
                if topic.name == "u":
                    topic.partitions[0].error_code = code
            return answer
        return None

    words = "--reset-offsets --group a --group b --group c --all-topics --to-latest --execute"
    (status, out, err), cluster = run(words, fault=told)
    reset = [line.split()[:3] for line in out.splitlines()[2:]]
    if code == error_codes.UNKNOWN_TOPIC_OR_PARTITION:
        assert (status, reset) == (0, [["a", "t", "0"], ["b", "t", "0"], ["c", "t", "0"]])
        assert "u-0 no longer exists: its offset is unchanged" in err
        return
    assert (status, reset) == (1, [["a", "t", "0"], ["c", "t", "0"]])
    assert "cannot reset group 'b': u-0: TOPIC_AUTHORIZATION_FAILED" in err
    assert [request.group_id for request in sent(cluster, OffsetCommitRequest)] == ["a", "c"]


@pytest.mark.parametrize(
    "command, words, described",
    [
        ("consumer-groups", "--topic t", ConsumerGroupDescribeRequest),
        ("streams-groups", "--input-topic t", StreamsGroupDescribeRequest),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_who_keeps_offsets_from_being_deleted_is_named(
    command: str, words: str, described: type, whole: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def held(request: Any, version: int, node: Any) -> Any:
        answer = VirtualCluster().truth(request, version)
        if isinstance(request, OffsetDeleteRequest) and whole:
            answer.error_code = error_codes.NON_EMPTY_GROUP
        elif isinstance(request, OffsetDeleteRequest):
            answer.topics[0].partitions[0].error_code = error_codes.GROUP_SUBSCRIBED_TO_TOPIC
        elif isinstance(request, described):
            for group in answer.groups:
                group.members = [type(group).Member(member_id="m", client_id="app", client_host="/10.0.0.9")]
        return answer

    (status, _, err), _ = runner(command, held, capsys)(f"--delete-offsets --group g {words}")
    assert status == 1
    assert err.endswith(". Members: app at /10.0.0.9.\n")
    assert ("NON_EMPTY_GROUP" if whole else "cannot delete the offset of t-0: GROUP_SUBSCRIBED_TO_TOPIC") in err


def test_who_keeps_the_offsets_of_a_share_group_from_being_deleted_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    def held(request: Any, version: int, node: Any) -> Any:
        answer = VirtualCluster().truth(request, version)
        if isinstance(request, ShareGroupDescribeRequest):
            for group in answer.groups:
                group.members = [type(group).Member(member_id="m", client_id="app", client_host="/10.0.0.9")]
        elif type(request).__name__ == "DeleteShareGroupOffsetsRequest":
            answer.error_code = error_codes.NON_EMPTY_GROUP
        return answer

    (status, _, err), _ = runner("share-groups", held, capsys)("--delete-offsets --group g --topic t")
    assert status == 1
    assert err.endswith(". Members: app at /10.0.0.9.\n")


def test_plans_keep_names_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Groups with spaces, commas, line ends, escapes and letters of other scripts: exported, and read back."""
    names = [
        " with space ",
        "a,b",
        'say "hi"',
        "two\nlines",
        "old\r\nlines",
        "\x1b[31mred",
        "\u2028",
        "größe-群組",
        "-",
        "'",
    ]
    cluster = VirtualCluster()
    plan = tmp_path / "plan.csv"

    def reset(*words: str) -> str:
        given = [f"--group={name}" for name in names]
        arguments = ["--reset-offsets", *words, "-b", cluster.bootstrap, *given]
        with cluster.network.in_use(), without_chance():
            assert running.run(cli.load("consumer-groups"), arguments, "kafka-consumer-groups") == 0
        return capsys.readouterr().out

    plan.write_bytes(reset("--topic", "t", "--to-earliest", "--dry-run", "--export").encode())
    reset("--from-file", str(plan), "--execute")
    committed = [request.group_id for request in sent(cluster, OffsetCommitRequest)]
    assert committed == names


def test_names_are_quoted_where_kafkas_tool_quotes_them() -> None:
    key = TopicPartition("orders", 0)
    plan = {"plain-name_1.x": {key: 1}, "a b": {key: 1}, 'q"': {key: 1}, "x" * 25: {key: 1}, "back\\slash": {key: 1}}
    assert plan_csv(plan, with_group=True) == (
        "plain-name_1.x,orders,0,1\n"
        '"a b",orders,0,1\n'
        '"q""",orders,0,1\n'
        f'"{"x" * 25}",orders,0,1\n'
        '"back\\slash",orders,0,1\n'
    )
