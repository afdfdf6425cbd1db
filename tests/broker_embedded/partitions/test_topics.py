"""Topics through the wire: making, growing, deleting and describing them, and Metadata and DescribeCluster.

Behaviour of ``ReplicationControlManager`` and ``KafkaApis``.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded import slices
from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kafka_tools.protocol.messages.elect_leaders import ElectLeadersRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.broker_embedded.disk_broker import DiskBroker

Topic = CreateTopicsRequest.CreatableTopic


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    return DiskBroker(tmp_path / "data", {"num.partitions": "3"})


def create(broker: DiskBroker, *topics: CreateTopicsRequest.CreatableTopic, version: int = 7, **options: Any) -> Any:
    return broker.call(CreateTopicsRequest(topics=list(topics), **options), version).topics


def topic(name: str, partitions: int = 1, factor: int = 1, **configs: str) -> CreateTopicsRequest.CreatableTopic:
    made = Topic(name=name, num_partitions=partitions, replication_factor=factor)
    made.configs = [Topic.CreatableTopicConfig(name=k.replace("_", "."), value=v) for k, v in configs.items()]
    return made


def metadata(broker: DiskBroker, *names: str, version: int = 12, **options: Any) -> Any:
    wanted = [MetadataRequest.RequestTopic(name=name) for name in names]
    return broker.call(MetadataRequest(topics=wanted, **options), version)


def test_a_topic_is_made_with_its_directories_and_described(broker: DiskBroker) -> None:
    (made,) = create(broker, topic("orders", 2, retention_ms="5"))
    assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 2, 1)
    assert {entry.name: entry.value for entry in made.configs}["retention.ms"] == "5"
    assert (broker.path / "orders-0" / "00000000000000000000.log").exists()
    text = (broker.path / "orders-1" / "partition.metadata").read_text()
    assert text.startswith("version: 0\ntopic_id: ")
    (described,) = metadata(broker, "orders").topics
    assert described.topic_id == made.topic_id != uuid.UUID(int=0)
    assert [(p.partition_index, p.leader_id, p.replica_nodes, p.isr_nodes) for p in described.partitions] == [
        (0, 1, [1], [1]),
        (1, 1, [1], [1]),
    ]


@pytest.mark.parametrize("version", range(8))
def test_every_version_of_create_topics_is_served(broker: DiskBroker, version: int) -> None:
    (made,) = create(broker, topic("t"), version=version)
    assert made.error_code == 0
    (again,) = create(broker, topic("t"), version=version)
    assert again.error_code == codes.TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (topic(""), codes.INVALID_TOPIC_EXCEPTION),
        (topic(".."), codes.INVALID_TOPIC_EXCEPTION),
        (topic("a/b"), codes.INVALID_TOPIC_EXCEPTION),
        (topic("x" * 250), codes.INVALID_TOPIC_EXCEPTION),
        (topic("new.name"), codes.INVALID_TOPIC_EXCEPTION),  # collides with new_name
        (topic("t", 0), codes.INVALID_PARTITIONS),
        (topic("t", 1, 0), codes.INVALID_REPLICATION_FACTOR),
        (topic("t", 1, 2), codes.INVALID_REPLICATION_FACTOR),
        (topic("t", no_such_config="1"), codes.INVALID_CONFIG),
        (topic("t", retention_ms="soon"), codes.INVALID_CONFIG),
    ],
)
def test_what_cannot_be_made_is_refused_with_a_sentence(broker: DiskBroker, wanted: Any, code: int) -> None:
    create(broker, topic("new_name"))
    (refused,) = create(broker, wanted)
    assert refused.error_code == code
    assert refused.error_message
    assert set(broker.core.cluster.topics) == {"new_name"}


def test_manual_assignments_are_checked(broker: DiskBroker) -> None:
    def assigned(*replicas: list[int], **options: int) -> CreateTopicsRequest.CreatableTopic:
        made = Topic(name="t", **{"num_partitions": -1, "replication_factor": -1, **options})
        made.assignments = [
            Topic.CreatableReplicaAssignment(partition_index=at, broker_ids=ids) for at, ids in enumerate(replicas)
        ]
        return made

    def code(wanted: CreateTopicsRequest.CreatableTopic) -> int:
        return int(create(broker, wanted)[0].error_code)

    assert code(assigned([1], num_partitions=1)) == codes.INVALID_REQUEST
    assert code(assigned([1], replication_factor=1)) == codes.INVALID_REQUEST
    assert code(assigned([2])) == codes.INVALID_REPLICA_ASSIGNMENT
    assert code(assigned([1, 1])) == codes.INVALID_REPLICA_ASSIGNMENT
    assert code(assigned([])) == codes.INVALID_REPLICA_ASSIGNMENT
    assert code(assigned([1], [1])) == 0


def test_validate_only_makes_nothing_and_a_name_twice_is_made_by_neither(broker: DiskBroker) -> None:
    (checked,) = create(broker, topic("t"), validate_only=True)
    assert checked.error_code == 0
    assert not broker.core.cluster.topics
    (twice,) = create(broker, topic("t"), topic("t"))
    assert twice.error_code == codes.INVALID_REQUEST
    assert not broker.core.cluster.topics


def test_minus_one_takes_the_brokers_defaults(broker: DiskBroker) -> None:
    (made,) = create(broker, topic("t", -1, -1))
    assert (made.num_partitions, made.replication_factor) == (3, 1)


@pytest.mark.parametrize("version", range(7))
def test_a_deleted_topic_is_gone_at_once_and_its_files_later(broker: DiskBroker, version: int) -> None:
    create(broker, topic("t", 2))
    request = DeleteTopicsRequest(timeout_ms=1000)
    if version >= 6:
        request.topics = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in ("t", "absent")]
    else:
        request.topic_names = ["t", "absent"]
    results = {r.name: r.error_code for r in broker.call(request, version).responses}
    assert results == {"t": 0, "absent": codes.UNKNOWN_TOPIC_OR_PARTITION}
    assert not (broker.path / "t-0").exists()
    assert len([name for name in os.listdir(broker.path) if name.endswith("-delete")]) == 2
    broker.advance(61)
    assert not [name for name in os.listdir(broker.path) if name.endswith("-delete")]


def test_files_are_removed_beside_the_brokers_thread(broker: DiskBroker) -> None:
    """A gigabyte takes a tenth of a second to be freed, in which nobody was served."""
    create(broker, topic("gone"))
    broker.create("short", retention_ms="1000", file_delete_delay_ms="60000")
    broker.produce("short", broker.batch(b"x"))
    with open(broker.path / "gone-0" / f"{0:020}.log", "r+b") as file:
        file.truncate(1 << 30)
    wanted: list[Callable[[], None]] = []

    def at_the_disk(run: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        wanted.append(lambda: done(run(), None))

    def left() -> list[str]:
        return [each.name for each in broker.path.glob("**/*") if each.name.endswith(("-delete", ".log.deleted"))]

    broker.advance(2)
    assert slices.whole(broker.core.partitions.upkeep.enforce_retention()) is None
    broker.call(DeleteTopicsRequest(topic_names=["gone"], timeout_ms=1000), 5)
    broker.core.slices.disk = at_the_disk
    assert len(left()) == 2
    broker.advance(61)
    assert len(left()) == 2
    while wanted:
        wanted.pop(0)()
        broker.step()
    assert left() == []


def test_deleting_by_id_and_making_anew_gives_another_id(broker: DiskBroker) -> None:
    (made,) = create(broker, topic("t"))
    State = DeleteTopicsRequest.DeleteTopicState
    states = [State(topic_id=made.topic_id), State(topic_id=uuid.UUID(int=5)), State(name="t", topic_id=made.topic_id)]
    results = broker.call(DeleteTopicsRequest(topics=states, timeout_ms=1), 6).responses
    assert sorted(r.error_code for r in results) == sorted([0, codes.UNKNOWN_TOPIC_ID, codes.INVALID_REQUEST])
    (again,) = create(broker, topic("t"))
    assert again.error_code == 0 and again.topic_id != made.topic_id


def test_a_topic_that_is_meant_twice_is_not_deleted(broker: DiskBroker) -> None:
    """The texts are those of Kafka's controller."""
    made = {row.name: row.topic_id for row in create(broker, topic("a"), topic("b"), topic("c"))}
    State = DeleteTopicsRequest.DeleteTopicState
    states = [State(name="a"), State(name="a"), State(name=None, topic_id=made["b"]), State(name=None)]
    states += [State(name=None, topic_id=made["b"]), State(name="c"), State(name=None, topic_id=made["c"])]
    responses = broker.call(DeleteTopicsRequest(topics=states, timeout_ms=1), 6).responses
    zero = uuid.UUID(int=0)
    assert {(row.name, row.topic_id, row.error_message) for row in responses} == {
        ("a", zero, "Duplicate topic name."),
        (None, made["b"], "Duplicate topic id."),
        (None, zero, "Neither topic name nor id were specified."),
        ("c", made["c"], "The provided topic name maps to an ID that was already supplied."),
    }
    assert {row.error_code for row in responses} == {codes.INVALID_REQUEST}
    assert set(broker.core.cluster.topics) == {"a", "b", "c"}


def test_who_may_not_describe_a_topic_does_not_learn_of_it(broker: DiskBroker) -> None:
    (made,) = create(broker, topic("secret"))
    broker.core.authorizer = lambda *question: False
    State = DeleteTopicsRequest.DeleteTopicState
    states = [State(name="secret"), State(name="absent"), State(name=None, topic_id=made.topic_id)]
    zero = uuid.UUID(int=0)
    responses = broker.call(DeleteTopicsRequest(topics=states, timeout_ms=1), 6).responses
    assert {(row.name, row.topic_id) for row in responses} == {
        ("secret", zero), ("absent", zero), (None, made.topic_id),
    }  # fmt: skip
    assert {row.error_code for row in responses} == {codes.TOPIC_AUTHORIZATION_FAILED}
    described = metadata(broker, "secret", "absent", allow_auto_topic_creation=True).topics
    assert {row.error_code for row in described} == {codes.TOPIC_AUTHORIZATION_FAILED}
    assert set(broker.core.cluster.topics) == {"secret"}


@pytest.mark.req("AC-27")
@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_what_has_no_time_is_not_begun(broker: DiskBroker, timeout_ms: int) -> None:
    """As Kafka: REQUEST_TIMED_OUT for each, and nothing changes."""
    create(broker, topic("t"))
    late: dict[str, Any] = {"timeout_ms": timeout_ms}
    State, Grown = DeleteTopicsRequest.DeleteTopicState, CreatePartitionsRequest.Topic
    Elected = ElectLeadersRequest.TopicPartitions
    answers = [
        broker.call(CreateTopicsRequest(topics=[topic("new")], **late), version).topics for version in (0, 1, 5, 7)
    ]
    answers += [broker.call(DeleteTopicsRequest(topic_names=["t"], **late), version).responses for version in (0, 3)]
    answers += [
        broker.call(DeleteTopicsRequest(topics=[State(name="t")], **late), 6).responses,
        broker.call(CreatePartitionsRequest(topics=[Grown(name="t", count=5, assignments=None)], **late), 3).results,
        broker.call(ElectLeadersRequest(topic_partitions=[Elected(topic="t", partitions=[0])], **late), 2)
        .replica_election_results[0]
        .partition_result,
    ]
    for results in answers:
        (result,) = results
        assert result.error_code == codes.REQUEST_TIMED_OUT
    (answer,) = answers[3]
    assert (answer.num_partitions, answer.configs, answer.error_message) == (-1, [], None)
    assert broker.call(ElectLeadersRequest(topic_partitions=None, **late), 2).error_code == codes.REQUEST_TIMED_OUT
    assert {name: len(known.partitions) for name, known in broker.core.cluster.topics.items()} == {"t": 1}


@pytest.mark.req("AC-27")
def test_deletion_can_be_forbidden(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path, {"delete.topic.enable": "false"})
    broker.create("t")
    for version, code in ((0, codes.INVALID_REQUEST), (3, codes.TOPIC_DELETION_DISABLED)):
        (result,) = broker.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1), version).responses
        assert result.error_code == code


@pytest.mark.parametrize("kill", [False, True])
def test_topics_survive_a_restart_with_a_new_leader_epoch(broker: DiskBroker, kill: bool) -> None:
    (made,) = create(broker, topic("t", 2, retention_ms="5"))
    create(broker, topic("gone"))
    broker.call(DeleteTopicsRequest(topic_names=["gone"], timeout_ms=1), 5)
    broker.restart(kill=kill)
    response = metadata(broker, "t", "gone", allow_auto_topic_creation=False)
    described, gone = response.topics
    assert (described.topic_id, len(described.partitions)) == (made.topic_id, 2)
    assert [p.leader_epoch for p in described.partitions] == [1, 1]
    assert gone.error_code == codes.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.core.configs.topic("t").get("retention.ms") == 5
    assert not [name for name in os.listdir(broker.path) if name.endswith("-delete")]


def test_partitions_are_spread_over_the_log_directories(tmp_path: Path) -> None:
    from kafka_tools.broker_embedded.opening import open_core
    from kafka_tools.broker_embedded.slices import whole
    from kafka_tools.clock import ManualClock

    paths = [str(tmp_path / name) for name in ("a", "b")]
    core = open_core({}, data_dirs=paths, clock=ManualClock())
    whole(core.topics.create("t", [[1]] * 4, {}))
    core.close()
    core = open_core({}, data_dirs=paths, clock=ManualClock())
    places = {str(partition.id): partition.log_dir for partition in core.partitions}
    assert places == {"t-0": paths[0], "t-1": paths[1], "t-2": paths[0], "t-3": paths[1]}
    core.close()


def test_directories_of_no_topic_are_set_aside(broker: DiskBroker) -> None:
    create(broker, topic("t"))
    broker.core.close()
    (broker.path / "stranger-0").mkdir()
    broker.open()
    names = os.listdir(broker.path)
    assert "stranger-0" not in names
    assert any(name.startswith("stranger-0.") and name.endswith("-stray") for name in names)


def test_partitions_are_added_and_only_added(broker: DiskBroker) -> None:
    create(broker, topic("t", 2))

    def grow(count: int, assignments: list[list[int]] | None = None, **options: Any) -> tuple[int, str | None]:
        Wanted = CreatePartitionsRequest.Topic
        wanted = Wanted(name=options.pop("name", "t"), count=count)
        wanted.assignments = None if assignments is None else [Wanted.Assignment(broker_ids=ids) for ids in assignments]
        (result,) = broker.call(CreatePartitionsRequest(topics=[wanted], timeout_ms=1, **options), 3).results
        return result.error_code, result.error_message

    assert grow(2) == (codes.INVALID_PARTITIONS, "Topic already has 2 partition(s).")
    assert grow(1)[0] == codes.INVALID_PARTITIONS
    assert grow(3, name="absent")[0] == codes.UNKNOWN_TOPIC_OR_PARTITION
    assert grow(3, [[1], [1]])[0] == codes.INVALID_REPLICA_ASSIGNMENT
    assert grow(3, [[9]])[0] == codes.INVALID_REPLICA_ASSIGNMENT
    assert grow(3, validate_only=True) == (0, None)
    assert len(broker.core.cluster.topics["t"].partitions) == 2
    assert grow(3, [[1]]) == (0, None)
    assert broker.produce("t", broker.batch(b"x"), partition=2).error_code == 0
    broker.restart(kill=True)
    assert len(broker.core.cluster.topics["t"].partitions) == 3


@pytest.mark.req("EASY-4")
def test_metadata_v0_reads_an_empty_list_as_all_topics_and_v1_as_none(broker: DiskBroker) -> None:
    create(broker, topic("a"), topic("b"))
    assert [t.name for t in broker.call(MetadataRequest(topics=[]), 0).topics] == ["a", "b"]
    for version in range(1, 14):
        assert broker.call(MetadataRequest(topics=[]), version).topics == []
        assert [t.name for t in broker.call(MetadataRequest(topics=None), version).topics] == ["a", "b"]


def test_metadata_makes_topics_when_it_may(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "a")
    assert metadata(broker, "t", allow_auto_topic_creation=False).topics[0].error_code == 3
    for version in (0, 1, 4, 9, 13):
        name = f"t{version}"
        wanted = MetadataRequest(topics=[MetadataRequest.RequestTopic(name=name)], allow_auto_topic_creation=True)
        (asked,) = broker.call(wanted, version).topics
        assert (asked.error_code, asked.partitions) == (codes.UNKNOWN_TOPIC_OR_PARTITION, [])
        broker.step()
        (made,) = broker.call(wanted, version).topics
        assert (made.error_code, len(made.partitions)) == (0, 1)
    assert metadata(broker, "a/b").topics[0].error_code == codes.INVALID_TOPIC_EXCEPTION
    assert metadata(broker, "a_b", "a.b").topics[1].error_code == codes.UNKNOWN_TOPIC_OR_PARTITION
    (asked,) = metadata(broker, "__consumer_offsets").topics
    assert (asked.error_code, asked.is_internal) == (codes.UNKNOWN_TOPIC_OR_PARTITION, True)
    while broker.core.topics.wanted:
        broker.step()
    assert [answer.error_code for answer in metadata(broker, "a_b", "a.b").topics] == [0, 3]
    (offsets,) = metadata(broker, "__consumer_offsets").topics
    assert (offsets.is_internal, len(offsets.partitions)) == (True, 50)
    assert broker.core.configs.topic("__consumer_offsets").get("cleanup.policy") == ["compact"]
    off = DiskBroker(tmp_path / "b", {"auto.create.topics.enable": "false"})
    assert metadata(off, "t").topics[0].error_code == codes.UNKNOWN_TOPIC_OR_PARTITION


def test_one_topic_after_the_other_is_made_for_those_who_asked(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """Who asked as the last one had just been made once began a second round, which took the same name."""
    topics = broker.core.topics

    class Wanted(dict[str, None]):
        def __delitem__(self, name: str) -> None:
            super().__delitem__(name)
            if name == "a":
                topics.auto_create_soon("b")

    topics.wanted = Wanted()
    broker.core.slices.slice_s = 0.0
    topics.auto_create_soon("a")
    broker.step()
    broker.core.slices.slice_s = BrokerLimits.slice_s
    assert not topics.wanted and len(broker.core.slices) == 0
    assert [answer.error_code for answer in metadata(broker, "a", "b").topics] == [0, 0]
    assert "cannot create" not in caplog.text


def test_names_that_resemble_each_other_are_not_both_made_by_requests_at_one_time(broker: DiskBroker) -> None:
    broker.core.slices.slice_s = 0.0
    waiting = broker.send(CreateTopicsRequest(topics=[topic("a_b")]), 7)
    broker.core.slices.slice_s = BrokerLimits.slice_s
    assert create(broker, topic("a.b"))[0].error_code == 0
    broker.step()
    (refused,) = waiting.response.topics
    assert (refused.error_code, refused.error_message) == (
        codes.INVALID_TOPIC_EXCEPTION,
        "Topic 'a_b' collides with existing topic: a.b",
    )
    assert [made.error_code for made in create(broker, topic("c.d"), topic("c_d"))] == [0, 0]  # as with Kafka


def test_metadata_by_id(broker: DiskBroker) -> None:
    (made,) = create(broker, topic("t"))
    wanted = [MetadataRequest.RequestTopic(name=None, topic_id=id) for id in (made.topic_id, uuid.UUID(int=9))]
    known, unknown = broker.call(MetadataRequest(topics=wanted), 12).topics
    assert (known.name, known.error_code) == ("t", 0)
    assert unknown.error_code == codes.UNKNOWN_TOPIC_ID


def test_topics_are_described_page_by_page(broker: DiskBroker) -> None:
    create(broker, topic("a", 3), topic("b", 2))
    cursor = None
    seen = []
    for _ in range(10):
        page = broker.call(DescribeTopicPartitionsRequest(response_partition_limit=2, cursor=cursor), 0)
        seen += [(t.name, p.partition_index) for t in page.topics for p in t.partitions]
        assert sum(len(t.partitions) for t in page.topics) <= 2
        if page.next_cursor is None:
            break
        cursor = DescribeTopicPartitionsRequest.Cursor(
            topic_name=page.next_cursor.topic_name, partition_index=page.next_cursor.partition_index
        )
    assert seen == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]
    wanted = [DescribeTopicPartitionsRequest.TopicRequest(name="absent")]
    (absent,) = broker.call(DescribeTopicPartitionsRequest(topics=wanted), 0).topics
    assert absent.error_code == codes.UNKNOWN_TOPIC_OR_PARTITION


def test_the_cluster_is_described(broker: DiskBroker) -> None:
    broker.core.registration.endpoints["PLAINTEXT"] = ("0.0.0.0", 9092)
    broker.connection.local_host = "10.1.2.3"
    for version in range(3):
        response = broker.call(DescribeClusterRequest(include_cluster_authorized_operations=True), version)
        assert response.cluster_id == broker.core.cluster.cluster_id
        (node,) = response.brokers
        assert (node.broker_id, node.host, node.port, response.controller_id) == (1, "10.1.2.3", 9092, 1)
        assert response.cluster_authorized_operations > 0
    assert broker.call(DescribeClusterRequest(endpoint_type=2), 1).error_code == codes.MISMATCHED_ENDPOINT_TYPE
