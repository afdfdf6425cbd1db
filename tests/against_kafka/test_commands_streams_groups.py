"""kafka-streams-groups beside Kafka's StreamsGroupCommand: equal text, equal state."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.streams_group_describe import TopologyDescription, TopologyNode
from kafka_tools.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, TopicInfo
from kafka_tools.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from tests.against_kafka.harness import RealKafka, Setup, eventually
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.side_by_side import assert_equal, done, fresh, ours, produce, same, theirs, write
from tests.broker_embedded.wire_client import WireClient

COMMAND = "streams-groups"


class Application:
    """A member of a streams group that reads a topic, with a changelog and a repartition topic of its own."""

    def __init__(self, address: str, group: str, topic: str) -> None:
        """``address``: of the group's coordinator."""
        self.group, self.topic = group, topic
        self.wire = WireClient(address, client_id="cli-streams")
        self.member, self.epoch = str(uuid.uuid4()), 0
        self.tasks: Any = None

    def beat(self, **fields: Any) -> None:
        answer = self.wire.call(
            StreamsGroupHeartbeatRequest(group_id=self.group, member_id=self.member, member_epoch=self.epoch, **fields),
            0,
        )
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch
        if answer.active_tasks is not None:
            self.tasks = answer.active_tasks

    def join(self) -> None:
        Topology = StreamsGroupHeartbeatRequest.Topology
        Part = Topology.Subtopology
        repartition = TopicInfo(name=f"{self.group}-count-repartition", partitions=2)
        changelog = TopicInfo(name=f"{self.group}-count-changelog", partitions=0)
        parts = [
            Part(subtopology_id="0", source_topics=[self.topic], repartition_sink_topics=[repartition.name]),
            Part(subtopology_id="1", repartition_source_topics=[repartition], state_changelog_topics=[changelog]),
        ]

        def joined() -> None:
            assert self.wire.call(FindCoordinatorRequest(key=self.group), 1).error_code == 0
            self.beat(
                topology=Topology(epoch=0, subtopologies=parts), process_id="process-1", rebalance_timeout_ms=60_000,
                client_tags=[], active_tasks=[], standby_tasks=[], warmup_tasks=[],
            )  # fmt: skip

        eventually(joined)

        def owning() -> None:
            held = self.tasks or []
            self.beat(active_tasks=held, standby_tasks=[], warmup_tasks=[])
            assert sum(len(task.partitions) for task in self.tasks or ()) == 4

        eventually(owning)
        self.beat(active_tasks=self.tasks, standby_tasks=[], warmup_tasks=[])

    def leave(self) -> None:
        self.epoch = -1
        self.beat()
        self.close()

    def close(self) -> None:
        self.wire.__exit__(None, None, None)


@pytest.fixture
def topic(kafka_new: RealKafka) -> str:
    name = fresh("streamed")
    done(ours(kafka_new, "topics", "--create", "--topic", name, "--partitions", 2))
    produce(kafka_new, name, 12)
    return name


Idle = Callable[[], str]


@pytest.fixture
def idle(kafka_new: RealKafka, topic: str) -> Idle:
    """``idle()``: a group whose members have left, with offsets."""

    def made() -> str:
        group = fresh("idle-app")
        application = Application(kafka_new.bootstrap_servers, group, topic)
        application.join()
        application.leave()

        def empty() -> None:
            assert "Empty" in done(ours(kafka_new, COMMAND, "--describe", "--group", group, "--state"))

        eventually(empty)
        start = ("--reset-offsets", "--group", group, "--topic", topic, "--to-offset", 2, "--execute")
        committed = ours(kafka_new, "consumer-groups", *start)
        assert committed.returncode == 0, committed
        return group

    return made


def test_groups_are_listed_and_described_the_same(kafka_new: RealKafka, topic: str, idle: Idle) -> None:
    empty = idle()
    application = Application(kafka_new.bootstrap_servers, fresh("busy-app"), topic)
    application.join()
    assert empty in same(kafka_new, COMMAND, "--list", sort=True).split()
    for states in (("--state",), ("--state", "empty"), ("--state", "Stable,Dead")):
        same(kafka_new, COMMAND, "--list", *states, sort=True)
    for view in (
        (), ("--offsets",), ("--verbose",), ("--members",), ("--members", "--verbose"), ("--state",),
        ("--state", "--verbose"),
    ):  # fmt: skip
        assert same(kafka_new, COMMAND, "--describe", "--group", application.group, *view, sort=True)
        text = done(ours(kafka_new, COMMAND, "--describe", "--group", empty, *view))
        their = done(theirs(kafka_new, COMMAND, "--describe", "--group", empty, *view))
        # That nobody is there is said on stderr, and is no error.
        assert text == their.replace(f"\nError: Streams group '{empty}' has no active members.\n", "")
    reset = ("--reset-offsets", "--group", application.group, "--all-input-topics", "--to-latest", "--dry-run")
    our, their_ = ours(kafka_new, COMMAND, *reset), theirs(kafka_new, COMMAND, *reset)
    refusal = f"Assignments can only be reset if the group '{application.group}' is inactive, but the current state is"
    assert refusal in our.stderr
    assert refusal in their_.stdout
    assert "Members: cli-streams at /127.0.0.1" in our.stderr
    three = [word for name in (empty, application.group, "none") for word in ("--group", name)]
    ended = ours(kafka_new, COMMAND, "--delete", *three)
    assert (ended.returncode, ended.stdout) == (1, f"\nThese streams groups were deleted successfully: '{empty}'.\n")
    assert f"Streams group '{application.group}' is not EMPTY. Members: cli-streams" in ended.stderr
    assert "Group 'none' does not exist or is not a streams group." in ended.stderr
    application.close()


def test_plans_and_resets_are_the_same(kafka_new: RealKafka, topic: str, idle: Idle, tmp_path: Path) -> None:
    group = idle()
    plan = write(tmp_path, f"{topic},0,1\n{topic},1,2\n")
    for mode in (
        ("--to-earliest",), ("--to-latest",), ("--to-current",), ("--to-offset", 1), ("--shift-by", -1),
        ("--to-datetime", "2020-01-01T00:00:00.000"), ("--by-duration", "PT1H"), ("--from-file", plan),
    ):  # fmt: skip
        arguments = ("--reset-offsets", "--group", group, "--all-input-topics", *mode, "--dry-run")
        assert topic in same(kafka_new, COMMAND, *arguments, sort=True)
    for more in (("--input-topic", f"{topic}:1"), ("--all-input-topics", "--export")):
        arguments = ("--reset-offsets", "--group", group, "--to-current", *more, "--dry-run")
        assert topic in same(kafka_new, COMMAND, *arguments, sort=True)
    other = fresh("other-topic")
    done(ours(kafka_new, "topics", "--create", "--topic", other))
    outside = ours(
        kafka_new, COMMAND, "--reset-offsets", "--group", group, "--input-topic", other, "--to-earliest", "--dry-run"
    )
    assert outside.returncode == 1
    assert f"One or more topics are not part of the group '{group}'." in outside.stderr
    for tool in (ours, theirs):
        latest = ("--reset-offsets", "--group", group, "--all-input-topics", "--to-latest", "--execute")
        assert topic in done(tool(kafka_new, COMMAND, *latest))
        at_end = done(ours(kafka_new, COMMAND, *latest[:4], "--to-current", "--dry-run"))
        assert_equal(at_end, done(ours(kafka_new, COMMAND, *latest[:5], "--dry-run")), sort=True)
        done(ours(kafka_new, COMMAND, *latest[:4], "--to-earliest", "--execute"))


def test_offsets_groups_and_internal_topics_are_deleted_the_same(kafka_new: RealKafka, topic: str, idle: Idle) -> None:
    texts = []
    for tool in (ours, theirs):
        group = idle()
        listed = done(ours(kafka_new, "topics", "--list")).split()
        assert {f"{group}-count-repartition", f"{group}-count-changelog"} <= {*listed}
        part = done(tool(kafka_new, COMMAND, "--delete-offsets", "--group", group, "--input-topic", f"{topic}:0"))
        rest = done(tool(kafka_new, COMMAND, "--delete-offsets", "--group", group, "--all-input-topics"))
        gone = done(tool(kafka_new, COMMAND, "--delete", "--group", group, "--delete-all-internal-topics"))
        texts.append(tuple(each.replace(group, "G") for each in (part, rest, gone)))
        assert not any(name.startswith(f"{group}-") for name in done(ours(kafka_new, "topics", "--list")).split())
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "words",
    [
        ("--describe",),
        ("--describe", "--group", "g", "--members", "--state"),
        ("--delete",),
        ("--delete", "--group", "g", "--all-groups"),
        ("--delete-offsets", "--group", "g"),
        ("--delete-offsets", "--group", "g", "--group", "h", "--all-input-topics"),
        ("--reset-offsets", "--group", "g", "--all-input-topics", "--to-earliest"),
        ("--reset-offsets", "--group", "g", "--all-input-topics", "--to-earliest", "--execute", "--dry-run"),
        ("--reset-offsets", "--all-input-topics", "--to-earliest", "--execute"),
        ("--reset-offsets", "--group", "g", "--all-input-topics", "--to-earliest", "--dry-run",
         "--delete-all-internal-topics"),
    ],
)  # fmt: skip
def test_command_lines_that_are_wrong_are_refused_in_kafkas_words(kafka_new: RealKafka, words: tuple[str, ...]) -> None:
    our, their = ours(kafka_new, COMMAND, *words), theirs(kafka_new, COMMAND, *words)
    assert (our.returncode, their.returncode, our.stdout) == (2, 1, "")
    assert their.stderr.splitlines()[0] in our.stderr


def test_releases_without_streams_groups_say_which_release_has_them(kafka_39: RealKafka) -> None:
    ended = ours(kafka_39, COMMAND, "--describe", "--group", "g")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "brokers of Kafka 4.2 and later" in ended.stderr


PLUGIN = (
    (
        "group.streams.topology.description.plugin.class",
        "org.apache.kafka.server.streams.InMemoryTopologyDescriptionPlugin",
    ),
)
NODES = TopologyDescription(
    subtopologies=[
        TopologyDescription.SubtopologyDescription(
            subtopology_id="0",
            nodes=[
                TopologyNode(name="read", node_type=1, source_topics=["z", "a"], successors=["count", "copy"]),
                TopologyNode(name="count", node_type=2, stores=["counts"], successors=["write"]),
                TopologyNode(name="copy", node_type=2, successors=["write", "choose"]),
                TopologyNode(name="write", node_type=3, sink_topic="out"),
                TopologyNode(name="choose", node_type=3, sink_topic=None),
            ],
        ),
        TopologyDescription.SubtopologyDescription(
            subtopology_id="1", nodes=[TopologyNode(name="pattern", node_type=1, source_topics=[])]
        ),
    ],
    global_stores=[
        TopologyDescription.GlobalStore(
            source=TopologyNode(name="all", node_type=1, source_topics=["g"], successors=["keep"]),
            processor=TopologyNode(name="keep", node_type=2, stores=["table"]),
        )
    ],
)


def test_topologies_are_described_the_same(real_kafka: Callable[[Setup], RealKafka]) -> None:
    kafka = real_kafka(Setup(NEWEST, properties=PLUGIN))
    topic = fresh("streamed")
    done(ours(kafka, "topics", "--create", "--topic", topic, "--partitions", 2))
    application = Application(kafka.bootstrap_servers, fresh("described-app"), topic)
    application.join()
    words = ("--describe", "--group", application.group, "--topology")
    our, their = ours(kafka, COMMAND, *words), theirs(kafka, COMMAND, *words)
    assert (our.returncode, our.stdout, their.returncode) == (1, "", 1)
    assert their.stdout.strip().removeprefix("Error: ") in our.stderr
    update = StreamsGroupTopologyDescriptionUpdateRequest(
        group_id=application.group, member_id=application.member, topology_epoch=0, topology_description=NODES
    )
    answer = application.wire.call(update, 0)
    assert answer.error_code == 0, answer
    text = same(kafka, COMMAND, *words)
    assert "Sub-topology: 2 for global store (will not generate tasks)" in text
    assert "ASSIGNOR" in same(kafka, COMMAND, "--describe", "--group", application.group, "--state")
    application.close()
