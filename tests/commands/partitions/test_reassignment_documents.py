"""The documents of ``kafka-reassign-partitions``: every mistake in Kafka's words and order, with its place."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.commands import documents
from kafka_tools.commands.documents import check, rule, schema
from kafka_tools.commands.partitions.reassignment.documents import (
    ReassignmentDocument,
    check_executable,
    read_broker_list,
    read_reassignment,
    read_topics_to_move,
    reassignment_text,
)
from kafka_tools.commands.partitions.reassignment.throttles import NO_THROTTLE, Throttle
from kafka_tools.errors import ContradictoryInput, InputError
from kafka_tools.values import TopicPartition

GOOD = {"topic": "orders", "partition": 0, "replicas": [1, 2]}


def read(document: object) -> ReassignmentDocument:
    return read_reassignment(document if isinstance(document, str) else json.dumps(document), "plan.json")


def topics(document: object) -> list[str]:
    return read_topics_to_move(document if isinstance(document, str) else json.dumps(document), "topics.json")


def refusal(call: Any, *arguments: object) -> InputError:
    with pytest.raises(InputError) as caught:
        call(*arguments)
    assert caught.value.exit_status == 1
    return caught.value


@pytest.mark.req("RJ-1", "RJ-5", "RJ-6")
def test_a_document_without_a_version_is_version_1() -> None:
    expected = ReassignmentDocument([(TopicPartition("orders", 0), (1, 2))], {})
    assert read({"partitions": [GOOD]}) == read({"version": 1, "partitions": [GOOD]}) == expected
    assert read({"partitions": [GOOD | {"log_dirs": ["any", "any"]}]}) == expected


@pytest.mark.req("RJ-5")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("topic", value) for value in (5, None, True, ["orders"], {})),
        *(("partition", value) for value in ("0", 1.5, None, True, [0])),
        *(("replicas", value) for value in ("12", 5, None, {}, [1, "2"], [1.5, 2], [True, 2], [None, 2])),
        *(("log_dirs", value) for value in ("any", 5, {}, ["any", 5], [None, "any"], [["any"], "any"])),
    ],
)
def test_a_field_of_another_type_is_refused_with_its_place(field: str, value: object) -> None:
    assert str(refusal(read, {"partitions": [GOOD | {field: value}]})).startswith(
        f"plan.json: invalid partitions[0].{field}"
    )


@pytest.mark.req("RJ-5")
@pytest.mark.parametrize("field", ["topic", "partition", "replicas"])
def test_a_field_that_is_needed_and_missing_is_named(field: str) -> None:
    entry = {name: value for name, value in GOOD.items() if name != field}
    assert str(refusal(read, {"partitions": [entry]})) == f"plan.json: partitions[0].{field} is missing"


@pytest.mark.req("RJ-4", "TM-3", "GAP-14", "EASY-1")
def test_a_missing_list_is_an_empty_one() -> None:
    assert read({}) == read({"version": 1}) == ReassignmentDocument([], {})
    assert topics({}) == topics({"version": 1}) == []


@pytest.mark.req("RJ-2", "TM-2")
@pytest.mark.parametrize("text", ["", "{", "nonsense", "[" * 100_000, '{"a": 1} x'])
@pytest.mark.parametrize("call", [read, topics])
def test_text_that_is_no_json_has_kafkas_message_and_our_place(call: Any, text: str) -> None:
    error = refusal(call, text)
    assert str(error) == "The input string is not a valid JSON"
    assert error.hint is not None and ".json" in error.hint


@pytest.mark.req("RJ-3", "RJ-13", "TM-2")
@pytest.mark.parametrize("call", [read, topics])
def test_another_version_is_named_whatever_the_list_is(call: Any) -> None:
    for rest in ({}, {"partitions": "x", "topics": 7}):
        assert str(refusal(call, {"version": 2, **rest})) == "Not supported version field value 2"


@pytest.mark.req("RJ-7", "GAP-15")
def test_lists_of_different_lengths_are_another_kind_of_error_than_other_mistakes() -> None:
    error = refusal(read, {"partitions": [GOOD | {"log_dirs": ["any"]}]})
    assert str(error) == (
        "Size of replicas list [1, 2] is different from size of log dirs list [any] for partition orders-0"
    )
    assert isinstance(error, ContradictoryInput)
    for document in ("{", {"version": 2}, {"partitions": [{}]}):
        assert not isinstance(refusal(read, document), ContradictoryInput)


@pytest.mark.req("RJ-13")
def test_entries_are_checked_one_after_the_other() -> None:
    short, wrong = GOOD | {"log_dirs": []}, GOOD | {"topic": 5}
    assert "is different from size" in str(refusal(read, {"partitions": [short, wrong]}))
    error = refusal(read, {"partitions": [wrong, short, {}]})
    assert str(error) == "plan.json: invalid partitions[0].topic: expected a string, not an integer"
    assert error.hint is not None and "partitions[2].replicas is missing" in error.hint


@pytest.mark.req("RJ-8", "RJ-9", "RJ-11", "RJ-13")
def test_partitions_keep_their_order_and_repetitions_and_directories_their_places() -> None:
    entries = [
        GOOD | {"partition": 1, "log_dirs": ["/a", "any"]},
        GOOD | {"log_dirs": ["any", "/b"]},
        GOOD | {"partition": 1, "replicas": [1], "log_dirs": ["/c"]},
    ]
    found = read({"partitions": entries})
    one, zero = TopicPartition("orders", 1), TopicPartition("orders", 0)
    assert found.partitions == [(one, (1, 2)), (zero, (1, 2)), (one, (1,))]
    assert found.log_dirs == {ReplicaPlace("orders", 1, 1): "/c", ReplicaPlace("orders", 0, 2): "/b"}


@pytest.mark.req("RJ-11")
@pytest.mark.parametrize(
    "entries, message",
    [
        ([], "Partition reassignment list cannot be empty"),
        ([GOOD | {"replicas": []}], "Partition replica list cannot be empty"),
        ([GOOD, GOOD], "Partition reassignment contains duplicate topic partitions: orders-0"),
        (
            [GOOD | {"replicas": [1, 1, 2, 2]}, GOOD | {"partition": 1, "replicas": [3, 3]}],
            "Partition replica lists may not contain duplicate entries: orders-0 contains multiple entries for 1,2. "
            "orders-1 contains multiple entries for 3",
        ),
        ([GOOD, GOOD | {"replicas": []}], "Partition replica list cannot be empty"),
    ],
)
def test_what_cannot_be_executed_has_kafkas_message(entries: list[object], message: str) -> None:
    error = refusal(check_executable, read({"partitions": entries}), "plan.json")
    assert str(error) == message
    assert isinstance(error, ContradictoryInput)


@pytest.mark.req("TM-1", "TM-4", "GAP-15")
def test_topics_are_read_in_order_and_each_may_appear_once() -> None:
    assert topics({"topics": [{"topic": "b"}, {"topic": "a", "note": 1}]}) == ["b", "a"]
    assert str(refusal(topics, {"topics": [{}]})) == "topics.json: topics[0].topic is missing"
    error = refusal(topics, {"topics": [{"topic": each} for each in "abacb"]})
    assert str(error) == "List of topics to reassign contains duplicate entries: a,b"
    assert isinstance(error, ContradictoryInput)


def test_broker_lists_are_numbers_each_once() -> None:
    assert read_broker_list("0,1,2") == read_broker_list("0,1, 2,") == [0, 1, 2]
    assert str(refusal(read_broker_list, "1,2,1,2")) == "Broker list contains duplicate entries: [1, 2]"
    for text in ("", "x", "1,,2", "-1", "99999999999", "٣"):
        assert "invalid broker id" in str(refusal(read_broker_list, text))


@pytest.mark.req("RJ-10")
def test_no_throttle_is_minus_one_twice() -> None:
    assert NO_THROTTLE == Throttle(-1, -1) == Throttle()


def test_what_is_written_is_read_again() -> None:
    placed = {TopicPartition("b", 1): (2, 1), TopicPartition("b", 0): (1,), TopicPartition("a", 0): (3,)}
    log_dirs = {ReplicaPlace("b", 1, 1): "/daten/größer"}
    text = reassignment_text(placed, log_dirs)
    assert text == (
        '{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[3],"log_dirs":["any"]},'
        '{"topic":"b","partition":0,"replicas":[1],"log_dirs":["any"]},'
        '{"topic":"b","partition":1,"replicas":[2,1],"log_dirs":["any","/daten/größer"]}]}'
    )
    assert read(text) == ReassignmentDocument(sorted(placed.items()), log_dirs)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=3) | st.just(1.0),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["topic", "replicas", "x"]), inner),
    max_leaves=5,
)
_ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "topic": st.just("t") | _VALUES,
        "partition": st.integers(-1, 2**31) | _VALUES,
        "replicas": st.lists(st.integers(-1, 3), max_size=3) | _VALUES,
        "log_dirs": st.lists(st.sampled_from(["any", "/d", ""]), max_size=3) | _VALUES,
    },
)
_VERSION = st.sampled_from([1, 1, 1, 2, "1"])
_PLANS = st.fixed_dictionaries({}, optional={"version": _VERSION, "partitions": st.lists(_ENTRY, max_size=3) | _VALUES})
_TOPICS = st.fixed_dictionaries(
    {}, optional={"version": _VERSION, "topics": st.lists(st.fixed_dictionaries({"topic": _VALUES}) | _VALUES)}
)


def is_valid(rules: Any, document: object) -> bool:
    value = json.loads(json.dumps(document), parse_float=Decimal)
    verdict = jsonschema.Draft202012Validator(rules).is_valid(value)
    assert (not list(check(value, rules))) == verdict == rule(rules)(value)
    return bool(verdict)


def test_the_entries_of_a_large_plan_are_judged_once(monkeypatch) -> None:
    looked: list[object] = []
    monkeypatch.setattr(documents, "check", lambda *given: looked.append(given) or check(*given))
    assert len(read({"partitions": [GOOD | {"partition": number} for number in range(1_000)]}).partitions) == 1_000
    assert len(looked) < 10


@given(_PLANS | _VALUES)
def test_the_schema_of_reassignments_says_what_the_code_does(document: object) -> None:
    """But for lists of different lengths, which a schema cannot compare."""
    valid = is_valid(schema("reassignment.v1"), document)
    try:
        read(document)
    except ContradictoryInput as error:
        assert "is different from size" in str(error)
    except InputError:
        assert not valid
    else:
        assert valid


@given(_TOPICS | _VALUES)
def test_the_schema_of_topics_says_what_the_code_does(document: object) -> None:
    """But for a topic that appears twice."""
    valid = is_valid(schema("topics-to-move.v1"), document)
    try:
        topics(document)
    except ContradictoryInput as error:
        assert valid and "duplicate entries" in str(error)
    except InputError:
        assert not valid
    else:
        assert valid


@pytest.mark.parametrize("name, call", [("reassignment.v1", read), ("topics-to-move.v1", topics)])
def test_the_schemas_are_schemas_and_their_examples_valid(name: str, call: Any) -> None:
    rules = schema(name)
    jsonschema.Draft202012Validator.check_schema(rules)
    for example in rules["examples"]:
        assert call(example)
