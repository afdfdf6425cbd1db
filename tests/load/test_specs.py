"""Specifications: Trogdor's classes and members, defaults, and one clear line for every mistake."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.errors import InputError
from kafka_tools.load.run_document import read_run_document
from kafka_tools.load.specs.classes import CLASSES, UnknownTaskClass, read_spec, short_name
from kafka_tools.load.specs.fault_specs import BrokerFaultSpec
from kafka_tools.load.specs.generators import read_transactions
from kafka_tools.load.specs.members import JsonMembers
from kafka_tools.load.specs.payloads import read_payloads
from kafka_tools.load.specs.topic_ranges import TopicLayout, expand
from kafka_tools.load.specs.workload_specs import ConsumeBenchSpec, ProduceBenchSpec
from kafka_tools.load.workloads.transactions import TransactionSteps

PRODUCE: dict[str, Any] = {
    "class": "org.apache.kafka.trogdor.workload.ProduceBenchSpec",
    "startMs": 0,
    "durationMs": 10000000,
    "producerNode": "node0",
    "bootstrapServers": "localhost:9092",
    "targetMessagesPerSec": 10,
    "maxMessages": 100,
    "keyGenerator": {"type": "sequential", "size": 4, "startOffset": 0},
    "valueGenerator": {"type": "constant", "size": 512, "value": "AAAA"},
    "totalTopics": 10,
    "activeTopics": 5,
    "topicPrefix": "foo",
    "replicationFactor": 1,
    "classLoader": {},
    "numPartitions": 1,
}
"""The example of Trogdor's first description."""
CONSUME = {"class": "ConsumeBench", "bootstrapServers": "b:1", "maxMessages": 5, "activeTopics": ["foo"]}


@pytest.mark.req("TROG-7")
def test_produce_bench_with_numbers_of_topics() -> None:
    spec = read_spec(PRODUCE, "test")
    assert isinstance(spec, ProduceBenchSpec)
    layout = TopicLayout(1, 1)
    assert spec.active == {f"foo0000{number}": layout for number in range(5)}
    assert spec.inactive == {f"foo0000{number}": layout for number in range(5, 10)}
    assert (spec.per_second, spec.max_messages, spec.total_operations) == (10, 100, 500)
    clock = ManualClock()
    assert spec.keys.generate(258, clock) == b"\x02\x01\0\0"
    assert spec.values.generate(7, clock) == bytes(512)
    assert spec.node_names == ("node0",)
    assert {name: spec.to_json()[name] for name in PRODUCE} == PRODUCE


def test_produce_bench_with_maps_of_topics() -> None:
    given = {name: value for name, value in PRODUCE.items() if name not in ("totalTopics", "topicPrefix")}
    given["activeTopics"] = {"foo[1-2]": {"numPartitions": 3, "replicationFactor": 1, "configs": {"retention.ms": 9}}}
    given["inactiveTopics"] = {"bar": {"partitionAssignments": {"0": [1, 2], "1": [2, 3]}}, "baz": None}
    del given["replicationFactor"], given["numPartitions"]
    spec = read_spec(given, "test")
    assert isinstance(spec, ProduceBenchSpec)
    assert spec.active == dict.fromkeys(("foo1", "foo2"), TopicLayout(3, 1, (), {"retention.ms": "9"}))
    assert spec.inactive == {"bar": TopicLayout(2, 3, ((1, 2), (2, 3))), "baz": TopicLayout(1, 3)}
    assert spec.total_operations == 100


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("org.apache.kafka.trogdor.workload.ProduceBenchSpec", "ProduceBench"),
        ("ProduceBenchSpec", "ProduceBench"),
        ("org.apache.kafka.trogdor.workload.RoundTripWorkloadSpec", "RoundTrip"),
        ("RoundTripWorkload", "RoundTrip"),
        ("org.apache.kafka.trogdor.fault.ProcessStopFaultSpec", "ProcessStop"),
        ("NetworkPartitionFault", "NetworkPartition"),
        ("org.apache.kafka.trogdor.task.NoOpTaskSpec", "NoOp"),
        ("kafka_tools.load.BrokerFaultSpec", "BrokerFault"),
    ],
)
def test_full_and_short_names_of_a_class(given: str, name: str) -> None:
    assert short_name(given) == name
    assert name in CLASSES


def test_every_class_is_found_by_the_name_that_it_writes() -> None:
    assert {short_name(each.CLASS): each for each in CLASSES.values()} == CLASSES


def refused(given: Any) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        read_spec(given, "f.json")
    assert "\n" not in str(caught.value)
    return str(caught.value), str(caught.value.hint)


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        ({"class": "ProduceBnch"}, "unknown class 'ProduceBnch'", "did you mean ProduceBench?"),
        ({"class": "ExternalCommandSpec"}, "class 'ExternalCommandSpec' of Trogdor is not supported", "known: Prod"),
        ({"class": None}, "class is missing", "known: "),
        ({"targetMessagePerSec": 1}, "unknown field 'targetMessagePerSec'", "did you mean targetMessagesPerSec?"),
        ({"zzz": 1}, "unknown field 'zzz'", "known: activeTopics, "),
        ({"maxMessages": "many"}, "invalid maxMessages 'many': expected a whole number of at least 0", "None"),
        ({"maxMessages": True}, "invalid maxMessages 'true': expected a whole number of at least 0", "None"),
        ({"maxMessages": -1}, "invalid maxMessages '-1': expected a whole number of at least 0", "None"),
        ({"bootstrapServers": None}, "bootstrapServers is missing", "None"),
        ({"totalTopics": 4}, "invalid totalTopics '4': expected at least the number of activeTopics, 5", "None"),
        ({"activeTopics": 0}, "invalid activeTopics: expected at least one topic", "None"),
        ({"activeTopics": {}}, "invalid activeTopics: expected at least one topic", "None"),
        ({"keyGenerator": {"type": "sequentiel"}},
         "keyGenerator: invalid type 'sequentiel' of a generator: expected sequential, constant, uniformRandom, null, "
         "randomComponent, timestampConstant, timestampRandom", "did you mean sequential?"),
        ({"keyGenerator": {"type": "sequential", "sise": 3}}, "keyGenerator: unknown field 'sise'",
         "did you mean size?"),
        ({"valueGenerator": {"type": "constant", "value": "?"}}, "valueGenerator: invalid value '?': expected base64",
         "None"),
        ({"producerConf": {"sasl.jaas.config": ["secret-word"]}},
         "invalid producerConf: expected a string or a number as sasl.jaas.config", "None"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(change: dict[str, Any], message: str, hint: str) -> None:
    text, more = refused({**PRODUCE, **change})
    assert text == f"f.json: {message}"
    assert more.startswith(hint)


@pytest.mark.parametrize("given", [None, 3, [], "x", {3: 4}])
def test_a_specification_is_an_object(given: Any) -> None:
    refused(given)


def test_classes_that_trogdor_has_and_we_do_not_are_told_apart_by_their_error() -> None:
    with pytest.raises(UnknownTaskClass):
        read_spec({"class": "Nothing"}, "x")


@pytest.mark.parametrize("name", ["[1-2]" * 64, "x[0-999999999]", "a[0-99]b[0-99]c[0-99]", "x[3-2]"])
def test_ranges_are_bounded(name: str) -> None:
    with pytest.raises(InputError, match="invalid range"):
        expand(name, "x")


def test_consumers_subscribe_or_are_assigned() -> None:
    spec = read_spec(CONSUME | {"activeTopics": ["foo[1-2]:[0-1]", "bar"]}, "x")
    assert isinstance(spec, ConsumeBenchSpec)
    assert spec.topics == {"foo1": (0, 1), "foo2": (0, 1), "bar": ()}
    assert "cannot be assigned the same" in refused(
        CONSUME | {"activeTopics": ["foo:1"], "consumerGroup": "g", "threadsPerWorker": 2}
    )[0]  # fmt: skip
    assert "expected topic or topic:partition" in refused(CONSUME | {"activeTopics": ["a:b"]})[0]


@pytest.mark.parametrize(
    ("given", "payloads"),
    [
        ({"type": "null"}, [None, None]),
        ({"type": "sequential", "size": 2, "offset": 255}, [b"\xff\0", b"\0\x01"]),
        ({"type": "sequential", "size": 10}, [bytes(10), b"\x01" + bytes(9)]),
        ({"type": "constant", "size": 5, "value": "YWI="}, [b"ababa", b"ababa"]),
        ({"type": "timestampConstant", "size": 9}, [(1_700_000_000_000).to_bytes(8, "little") + b"\0"] * 2),
        ({"type": "randomComponent", "components": [{"percent": 100, "component": {"type": "null"}}]}, [None, None]),
    ],
)
def test_generators(given: dict[str, Any], payloads: list[bytes | None]) -> None:
    generator = read_payloads(JsonMembers({"g": given}, "x"), "g")
    assert generator is not None
    assert [generator.generate(position, ManualClock()) for position in range(2)] == payloads


def test_random_payloads_depend_on_seed_and_position_and_end_with_padding() -> None:
    def made(seed: int, position: int) -> bytes:
        given = {"type": "uniformRandom", "size": 20, "seed": seed, "padding": 5}
        generator = read_payloads(JsonMembers({"g": given}, "x"), "g")
        assert generator is not None
        payload = generator.generate(position, ManualClock())
        assert payload is not None and len(payload) == 20
        return payload

    assert made(1, 1) == made(1, 1) != made(1, 2)
    assert made(1, 1)[15:] == made(1, 2)[15:] != made(2, 1)[15:]


def test_a_record_of_a_task_masks_secrets_and_agents_get_them() -> None:
    conf = {"sasl.jaas.config": "x required password=Zq7;", "linger.ms": "5"}
    spec = read_spec({**PRODUCE, "producerConf": conf}, "x")
    assert "Zq7" not in json.dumps(spec.to_json()) and '"5"' in json.dumps(spec.to_json())
    assert spec.to_json(with_secrets=True)["producerConf"] == conf
    assert "Zq7" not in repr(spec.given.keys())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"fault": "eror"},
            "invalid fault 'eror': expected error or delay or hold or disconnect or shortWrite or down",
        ),
        ({"durationMs": None}, "durationMs is missing: a fault ends after this time"),
        ({"api": None}, "api is missing: give the name of a request, for example Produce"),
        ({"fault": "disconnect", "delayMs": 3}, "unknown field 'delayMs'"),
        ({"partition": -1}, "invalid partition '-1': expected a whole number of at least 0 and at most 2147483647"),
    ],
)  # fmt: skip
def test_mistakes_in_a_fault(change: dict[str, Any], message: str) -> None:
    given = {"class": "BrokerFault", "fault": "delay", "api": "produce", "delayMs": 5, "durationMs": 100}
    assert isinstance(read_spec(given, "x"), BrokerFaultSpec)
    assert refused({**given, **change})[0] == f"f.json: {message}"


@pytest.mark.parametrize("partitions", [[], [["a"]], [["a"], []], "ab", [["a"], "b"]])
def test_a_network_partition_has_two_groups(partitions: Any) -> None:
    assert "partitions" in refused({"class": "NetworkPartition", "durationMs": 1, "partitions": partitions})[0]


def test_a_node_is_in_one_group() -> None:
    given = {"class": "NetworkPartition", "durationMs": 1, "partitions": [["a", "b"], ["c", "a"]]}
    assert refused(given)[0] == "f.json: invalid partitions: node a is in more than one of them"


SHORT = {name: value for name, value in PRODUCE.items() if name != "bootstrapServers"}


def test_a_document_is_a_specification_a_request_or_several_tasks() -> None:
    for value, ids in (
        (PRODUCE, ["ProduceBench"]),
        ({"id": "x", "spec": PRODUCE}, ["x"]),
        ({"tasks": {"a": SHORT, "b": {"spec": SHORT, "startAfterMs": 5}}, "bootstrapServers": "h:1"}, ["a", "b"]),
        ({"tasks": [SHORT | {"id": "z", "startAfterMs": 7}, {"class": "NoOp"}], "broker": {}}, ["z", "NoOp"]),
    ):
        document = read_run_document(value, "f")
        assert [entry.task_id for entry in document.entries] == ids
    specs = document.specs(1_000, "h:9")
    assert specs["z"].start_ms == 1_007 and specs["z"].to_json()["bootstrapServers"] == "h:9"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"tasks": []}, "f: invalid tasks '[]': expected a list or an object of tasks"),
        ({"tasks": [{"class": "NoOp"}, {"class": "NoOp"}]}, "f: two tasks have the id 'NoOp'"),
        ({"tasks": {"a": {"class": "NoOp", "x": 1}}}, "f: task a: unknown field 'x'"),
        ({"tasks": {"a": {"class": "NoOp"}}, "brokers": {}}, "f: unknown field 'brokers'"),
        ({"tasks": {"a": SHORT}}, "f: task a: bootstrapServers is missing"),
        ({"tasks": {"a": SHORT}, "broker": {}, "bootstrapServers": "h:1"},
         "f: bootstrapServers and broker cannot be combined: the broker has its own address"),
        ({"tasks": {"a": {"class": "NoOp"}}, "processes": {"p": {"pid": 5, "command": ["x"]}}},
         "f: processes: p: expected exactly one of command, pid and pidFile"),
    ],
)  # fmt: skip
def test_mistakes_in_a_document(value: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_run_document(value, "f")
    assert str(caught.value) == message


_CLIENT = {"bootstrapServers": "h:1", "durationMs": 5}
_TOPIC = {"t": {"numPartitions": 2}}
BASES: list[dict[str, Any]] = [
    PRODUCE,
    CONSUME,
    {"class": "ProduceBench", "activeTopics": _TOPIC, **_CLIENT},
    {"class": "RoundTrip", "targetMessagesPerSec": 3, "activeTopics": _TOPIC, **_CLIENT},
    {"class": "ConfigurableProducer", "activeTopic": _TOPIC, **_CLIENT},
    {"class": "SustainedConnection", "metadataConnectionCount": 2, **_CLIENT},
    {"class": "ProcessStop", "processName": "p", "durationMs": 5},
    {"class": "NetworkPartition", "partitions": [["a"], ["b"]], "durationMs": 5},
    {"class": "BrokerFault", "fault": "disconnect", "durationMs": 5},
    {"class": "NoOp"},
]
STRANGE: list[Any] = [
    None, True, -1, 0, 3, 2**70, 1.5, float("inf"), "", "x", "[1-3]", "a:b", "sequential", "\ud800", [], [1], ["a"],
    [["a"], ["b"]], {}, {"a": 1}, {"type": "constant", "size": 3}, {"type": "uniform"}, {"x": {"numPartitions": 2}},
]  # fmt: skip


def test_strange_values_are_refused_with_one_line_or_read() -> None:
    """Every member of every class gets strange values, and members that it does not have."""
    random = Random(11)
    members = sorted({*PRODUCE, *CONSUME, "activeTopic", "nodeNames", "partitions", "fault", "api", "processName",
                      "transactionGenerator", "throughputGenerator", "flushGenerator", "producerConf", "topicName",
                      "numThreads", "metadataConnectionCount", "inactiveTopics", "recordProcessor", "zzz"})  # fmt: skip
    read = 0
    for _ in range(4_000):
        value = dict(random.choice(BASES))
        value |= {random.choice(members): random.choice(STRANGE) for _ in range(random.randrange(3))}
        try:
            spec = read_run_document(value, "f").entries[0].spec("")
        except InputError as error:
            assert "\n" not in str(error) and len(str(error)) < 400
        else:
            read += 1
            assert json.loads(json.dumps(spec.to_json(with_secrets=True)))["class"] == spec.CLASS
            assert read_spec(spec.to_json(with_secrets=True), "x").CLASS == spec.CLASS
    assert read > 500


class RecordedTransactions:
    """The transactions of a producer, and its time."""

    def __init__(self) -> None:
        self.producer = self
        self.transactions = 0
        self.calls: list[str] = []

    def init_transactions(self) -> None:
        self.calls.append("init")

    def begin_transaction(self) -> None:
        self.calls.append("begin")

    def commit_transaction(self) -> None:
        self.calls.append("commit")


@pytest.mark.parametrize(
    ("given", "calls"),
    [
        ({"type": "uniform", "messagesPerTransaction": 2}, "init begin m m commit begin m m commit begin m commit"),
        ({"type": "interval", "transactionIntervalMs": 3000}, "init begin m m m commit begin m m commit"),
    ],
)
def test_transactions_end_after_their_messages_or_their_time(given: dict[str, Any], calls: str) -> None:
    recorded, clock = RecordedTransactions(), ManualClock()
    plan = read_transactions(JsonMembers({"t": given}, "x"), "t")
    steps = TransactionSteps(recorded, plan, clock)  # type: ignore[arg-type]
    for _ in range(5):
        steps.before_message()
        recorded.calls.append("m")
        clock.advance(1)
        steps.after_message()
    steps.end()
    assert recorded.calls == calls.split()
    assert recorded.transactions == calls.count("commit")
