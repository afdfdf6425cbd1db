"""kafka-streams-groups against scripted nodes, and against the bundled broker, which has no streams groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    TopicInfo,
    TopologyDescription,
    TopologyNode,
)
from tests.commands.groups.scripted import (
    Run,
    check_bundled_broker_lacks,
    check_releases_without,
    check_wrong_command_lines,
    listing,
    runner,
    sent,
)

DESCRIBED = StreamsGroupDescribeResponse.DescribedGroup
OF_ANOTHER_TYPE = "Group consumers is not a streams group."


def told(request: Any, version: int, node: Any) -> Any:
    """Groups ``idle`` and ``busy``, which read topic t, and no other."""
    if isinstance(request, ListGroupsRequest):
        return listing(node, "streams", {"idle": "Empty", "busy": "Stable"})
    if isinstance(request, StreamsGroupDescribeRequest):
        return StreamsGroupDescribeResponse(groups=[_described(name) for name in request.group_ids])
    return None


def _described(name: str) -> Any:
    if name == "consumers":
        return DESCRIBED(group_id=name, error_code=error_codes.GROUP_ID_NOT_FOUND, error_message=OF_ANOTHER_TYPE)
    if name not in ("idle", "busy"):
        return DESCRIBED(group_id=name, error_code=error_codes.GROUP_ID_NOT_FOUND)
    topics = [TopicInfo(name=f"{name}-count-changelog"), TopicInfo(name="somebody-elses")]
    part = DESCRIBED.Topology.Subtopology(subtopology_id="0", source_topics=["t"], state_changelog_topics=topics)
    topology = DESCRIBED.Topology(epoch=1, subtopologies=[part])
    members = [DESCRIBED.Member(member_id="m-1", client_id="app", client_host="/10.0.0.9")] if name == "busy" else []
    return DESCRIBED(group_id=name, group_state="Stable" if members else "Empty", topology=topology, members=members)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner("streams-groups", told, capsys)


def test_of_three_groups_one_is_not_there_and_the_others_are_described(run: Run) -> None:
    (status, out, err), _ = run("--describe --group idle --group none --group busy --state -o csv")
    assert (status, [line.split(",")[0] for line in out.splitlines()[1:]]) == (1, ["idle", "busy"])
    assert "cannot describe group 'none': GROUP_ID_NOT_FOUND: Group none not found." in err


NODES = TopologyDescription(
    subtopologies=[
        TopologyDescription.SubtopologyDescription(
            subtopology_id="0",
            nodes=[
                TopologyNode(name="read", node_type=1, source_topics=["z", "a"], successors=["count", "copy"]),
                TopologyNode(name="count", node_type=2, stores=["counts"], successors=["write"]),
                TopologyNode(name="copy", node_type=2, successors=["write"]),
                TopologyNode(name="write", node_type=3, sink_topic="out"),
                TopologyNode(name="choose", node_type=3, sink_topic=None),
            ],
        )
    ],
    global_stores=[
        TopologyDescription.GlobalStore(
            source=TopologyNode(name="all", node_type=1, successors=["keep"]),
            processor=TopologyNode(name="keep", node_type=2, stores=["table"]),
        )
    ],
)
TEXT = """\
Topologies:
   Sub-topology: 0
    Source: read (topics: [a, z])
      --> copy, count
    Processor: count (stores: [counts])
      --> write
      <-- read
    Processor: copy (stores: [])
      --> write
      <-- read
    Sink: write (topic: out)
      <-- copy, count
    Sink: choose (topic: null)
      <-- none

   Sub-topology: 1 for global store (will not generate tasks)
    Source: all (topics: [])
      --> keep
    Processor: keep (stores: [table])
      --> none
      <-- all


"""
STATUSES = {"idle": 1, "busy": 3, "broken": 2, "later": 9}


def described(request: Any, version: int, node: Any) -> Any:
    """The groups of ``STATUSES``, with what brokers store of their topologies; ``busy`` has the assignor sticky."""
    if not isinstance(request, StreamsGroupDescribeRequest):
        return told(request, version, node)
    groups = []
    for name in request.group_ids:
        group = _described("busy")
        group.group_id = name
        if version >= 1:
            group.assignor_name = "sticky" if name == "busy" else None
            if request.include_topology_description:
                group.topology_description_status = STATUSES[name]
                group.topology_description = NODES if STATUSES[name] == 3 else None
        groups.append(group)
    return StreamsGroupDescribeResponse(groups=groups)


def test_a_topology_is_shown_and_the_reasons_of_groups_without_one(run: Run) -> None:
    words = "--describe --topology " + " ".join(f"--group {name}" for name in STATUSES)
    (status, out, err), _ = run(words, fault=described)
    assert (status, out) == (1, TEXT)
    for text in (
        "group 'idle': No topology description is stored for streams group 'idle'.",
        "The broker failed to fetch the topology description for streams group 'broken'. See the broker logs for",
        "No topology description is available for streams group 'later' (status: UNKNOWN(9)).",
    ):
        assert text in err
    (status, out, err), _ = run("--describe --topology --group busy -o csv", fault=described)
    assert (status, len(out.splitlines()), err) == (0, 8, "")


def test_the_assignor_is_shown_where_brokers_tell_it(run: Run) -> None:
    for view in ("--state", "--state --verbose"):
        (status, out, _), _ = run(f"--describe {view} --group busy --group idle", fault=described)
        heading, busy, _, idle = out.splitlines()
        assert (status, heading.split()[3], busy[42:58]) == (0, "ASSIGNOR", "sticky          ")
        assert idle[42:58] == " " * 16
        (status, out, _), _ = run(f"--describe {view} --group busy", release="4.3", fault=described)
        assert (status, out.splitlines()[0].split()[3]) == (0, "STATE")


def test_brokers_before_4_4_have_no_topologies(run: Run) -> None:
    check_releases_without(run, "--describe --topology --group idle", "4.3", "4.4")


def test_a_group_is_deleted_with_its_internal_topics_and_with_nobody_elses(run: Run) -> None:
    (status, out, err), cluster = run("--delete --group busy --group idle --group none --delete-all-internal-topics")
    assert status == 1
    assert out == (
        "\nThese streams groups were deleted successfully: 'idle'.\n"
        "Deletion of associated internal topics of the streams groups ('idle') was successful.\n"
    )
    assert "Streams group 'busy' is not EMPTY. Members: app at /10.0.0.9" in err
    assert "Group 'none' does not exist or is not a streams group." in err
    assert "The internal topic 'somebody-elses' is not inferred as internal" in err
    (request,) = sent(cluster, DeleteGroupsRequest)
    assert request.groups_names == ["idle"]
    (topics,) = sent(cluster, DeleteTopicsRequest)
    assert [topic.name for topic in topics.topics] == ["idle-count-changelog"]


def test_a_reset_leaves_out_what_is_not_the_groups_and_does_the_rest(run: Run) -> None:
    reset = "--reset-offsets --all-input-topics --to-earliest --execute --delete-all-internal-topics"
    (status, out, err), cluster = run(f"{reset} --group busy --group idle")
    assert status == 1
    assert [line.split() for line in out.splitlines()[2:]] == [["idle", "t", "0", "5"]]
    assert "is inactive, but the current state is Stable. Members: app at /10.0.0.9" in err
    assert [request.group_id for request in sent(cluster, OffsetCommitRequest)] == ["idle"]
    (topics,) = sent(cluster, DeleteTopicsRequest)
    assert [topic.name for topic in topics.topics] == ["idle-count-changelog"]
    (status, out, err), cluster = run("--reset-offsets --group idle --input-topic t:0,5 --to-latest --execute")
    assert (status, sent(cluster, OffsetCommitRequest)) == (1, [])
    assert "One or more topics are not part of the group 'idle'." in err


@pytest.mark.parametrize("topics", ["--delete-all-internal-topics", "--delete-internal-topic idle-count-changelog"])
def test_internal_topics_stay_where_offsets_could_not_be_committed(run: Run, topics: str) -> None:
    def refused(request: Any, version: int, node: Any) -> Any:
        if isinstance(request, OffsetCommitRequest):
            return error_reply(request, version, error_codes.UNKNOWN_MEMBER_ID)
        return told(request, version, node)

    reset = f"--reset-offsets --group idle --all-input-topics --to-earliest --execute {topics}"
    (status, _, err), cluster = run(reset, fault=refused)
    assert (status, sent(cluster, DeleteTopicsRequest)) == (1, [])
    assert "internal topics of group 'idle' are not deleted: some offsets could not be committed\n" in err


def test_a_named_topic_that_is_not_internal_is_refused_before_anything_is_changed(run: Run) -> None:
    reset = "--reset-offsets --group idle --all-input-topics --to-earliest --execute"
    for topic in ("t", "other-count-changelog"):
        (status, out, err), cluster = run(f"{reset} --delete-internal-topic {topic}")
        assert (status, out) == (1, "")
        assert f"'{topic}' is not an internal topic of this group; nothing was reset\n" in err
        assert sent(cluster, DeleteTopicsRequest) == sent(cluster, OffsetCommitRequest) == []


def test_a_named_internal_topic_is_deleted_once_with_the_group_whose_it_is(run: Run) -> None:
    def both_idle(request: Any, version: int, node: Any) -> Any:
        return None if isinstance(request, StreamsGroupDescribeRequest) else told(request, version, node)

    reset = "--reset-offsets --input-topic t --to-earliest --execute --group app --group app-2"
    (status, _, err), cluster = run(f"{reset} --delete-internal-topic app-2-x-changelog", fault=both_idle)
    assert (status, err) == (0, "")
    (topics,) = sent(cluster, DeleteTopicsRequest)
    assert [topic.name for topic in topics.topics] == ["app-2-x-changelog"]


def test_a_group_of_another_type_is_told_in_the_brokers_words(run: Run) -> None:
    (status, out, err), _ = run("--describe --group consumers")
    assert (status, out) == (1, "")
    assert f"cannot describe group 'consumers': GROUP_ID_NOT_FOUND: {OF_ANOTHER_TYPE}\n" in err


def test_all_input_topics_of_a_group_that_is_not_there_cannot_be_reset(run: Run) -> None:
    reset = "--reset-offsets --all-input-topics --to-earliest --dry-run"
    (status, out, err), _ = run(f"{reset} --group none --group idle")
    assert status == 1
    assert [line.split() for line in out.splitlines()[2:]] == [["idle", "t", "0", "5"]]
    assert "cannot reset group 'none': GROUP_ID_NOT_FOUND: Group none not found.\n" in err
    assert "does not exist yet" not in err


@pytest.mark.parametrize("release", ["1.1", "3.9", "4.0"])
@pytest.mark.parametrize(
    "words", ["--describe --group g", "--reset-offsets --group g --all-input-topics --to-latest --dry-run"]
)
def test_releases_without_streams_groups(run: Run, words: str, release: str) -> None:
    check_releases_without(run, words, release, "4.2")


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker() as broker:
        yield broker.bootstrap_servers


def test_the_bundled_broker_has_none_and_one_line_says_so(servers: str, capsys: pytest.CaptureFixture[str]) -> None:
    needs = "describing streams groups needs StreamsGroupDescribe v"
    check_bundled_broker_lacks("streams-groups", f"--describe --group g -b {servers}", capsys, needs)


def test_command_lines_that_are_wrong(run: Run) -> None:
    reset = "--reset-offsets --group g --all-input-topics"
    check_wrong_command_lines(
        run,
        {
            "": "Give exactly one of --list, --describe, --delete, --reset-offsets, --delete-offsets.",
            "--describe --group g --topology --state": "of these options: [members], [offsets], [state], [topology]",
            "--list --topology": "--topology can only be used with --describe.",
            "--list --state Empty,Lost": "Invalid state list 'Empty,Lost'. Valid states are: Assigning, Dead, Empty",
            "--list --members": "--members can only be used with --describe.",
            "--reset-offsets --group g --to-latest --execute": "One of the reset scopes should be defined",
            "--reset-offsets --group g --all-input-topics --execute": "requires one of the following scenarios",
            f"{reset} --to-latest --to-current --execute": '"[to-latest]" can\'t be used with option "[to-current]"',
            f"{reset} --to-latest --dry-run --export -o json": "-o cannot be used with --export, which prints CSV.",
            f"{reset} --to-latest --dry-run --delete-internal-topic x": "Option [delete-internal-topic] takes [reset-"
            "offsets] when [execute] is used.",
            (
                "--delete --group g --input-topic t"
            ): "--input-topic can only be used with --reset-offsets or --delete-offsets.",
        },
    )
