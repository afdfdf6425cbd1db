"""JSON documents: every mistake is found, named with its place, and in Kafka's order."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.commands import documents
from kafka_tools.commands.documents import check, parse, read_delete_records, read_elections, rule, schema
from kafka_tools.errors import InputError
from kafka_tools.values import TopicPartition

GOOD = {"topic": "orders", "partition": 0, "offset": 5}


def read(document: object) -> dict[TopicPartition, int]:
    text = document if isinstance(document, str) else json.dumps(document)
    return read_delete_records(text, "offsets.json")


def election(document: object) -> list[TopicPartition]:
    return read_elections(document if isinstance(document, str) else json.dumps(document), "partitions.json")


def refusal(document: object) -> tuple[str, str | None]:
    with pytest.raises(InputError) as caught:
        read(document)
    assert caught.value.exit_status == 1
    return str(caught.value), caught.value.hint


@pytest.mark.req("DR-2", "DR-3", "EASY-1")
def test_a_document_without_a_version_is_version_1() -> None:
    assert read({"partitions": [GOOD]}) == {TopicPartition("orders", 0): 5}
    assert read({"version": 1, "partitions": [GOOD]}) == {TopicPartition("orders", 0): 5}


@pytest.mark.req("DR-19")
def test_an_empty_list_is_valid() -> None:
    assert read({"partitions": []}) == {}


@pytest.mark.req("DR-13")
def test_minus_one_is_passed_on_unchanged() -> None:
    assert read({"partitions": [GOOD | {"offset": -1}]}) == {TopicPartition("orders", 0): -1}


@pytest.mark.req("DR-11")
def test_other_keys_are_ignored_at_both_levels() -> None:
    assert read({"comment": 1, "partitions": [GOOD | {"note": "x"}]}) == {TopicPartition("orders", 0): 5}


@pytest.mark.req("DR-4")
@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", "nonsense", '{"version": NaN}', "[" * 100_000, '{"a": 1} x'])
def test_text_that_is_no_json_has_kafkas_message_and_our_place(text) -> None:
    message, hint = refusal(text)
    assert message == "The input string is not a valid JSON"
    assert hint is not None
    assert hint.startswith("offsets.json")


@pytest.mark.req("DR-5", "DR-9", "DR-17")
def test_another_version_is_named_before_a_missing_list_is() -> None:
    assert refusal({"version": 2})[0] == "Not supported version field value 2"
    assert refusal({"version": 0, "partitions": "x"})[0] == "Not supported version field value 0"


@pytest.mark.req("DR-6", "EASY-1")
def test_a_missing_list_has_kafkas_message() -> None:
    assert refusal({"version": 1})[0] == "Missing partitions field"
    assert refusal({})[0] == "Missing partitions field"


@pytest.mark.req("DR-8", "DR-18")
@pytest.mark.parametrize(
    "version, kind",
    [
        ('"1"', "a string"),
        ("1.5", "the number 1.5"),
        ("1.0", "the number 1.0"),
        ("true", "a boolean"),
        ("null", "null"),
    ],
)
def test_a_version_of_another_type_is_a_type_error(version, kind) -> None:
    assert refusal(f'{{"version": {version}, "partitions": []}}')[0] == (
        f"offsets.json: invalid version: expected an integer, not {kind}"
    )


@pytest.mark.req("DR-18")
@pytest.mark.parametrize("text, kind", [("[]", "an array"), ('"x"', "a string"), ("7", "an integer"), ("null", "null")])
def test_a_root_that_is_no_object_is_a_type_error(text, kind) -> None:
    assert refusal(text)[0] == f"offsets.json: invalid document: expected an object, not {kind}"


@pytest.mark.req("DR-7", "DR-18")
@pytest.mark.parametrize(
    "document, message",
    [
        ({"partitions": None}, "invalid partitions: expected an array, not null"),
        ({"partitions": {}}, "invalid partitions: expected an array, not an object"),
        ({"partitions": [7]}, "invalid partitions[0]: expected an object, not an integer"),
        ({"partitions": [GOOD, {"topic": "a", "partition": 0}]}, "partitions[1].offset is missing"),
        ({"partitions": [{"partition": 0, "offset": 1}]}, "partitions[0].topic is missing"),
        ({"partitions": [GOOD | {"topic": 1}]}, "invalid partitions[0].topic: expected a string, not an integer"),
        ({"partitions": [GOOD | {"topic": ""}]}, "partitions[0].topic is empty"),
        (
            {"partitions": [GOOD | {"partition": "0"}]},
            "invalid partitions[0].partition: expected an integer, not a string",
        ),
        (
            {"partitions": [GOOD | {"offset": 1.0}]},
            "invalid partitions[0].offset: expected an integer, not the number 1.0",
        ),
        ({"partitions": [GOOD | {"offset": None}]}, "invalid partitions[0].offset: expected an integer, not null"),
        (
            {"partitions": [GOOD | {"partition": 2**31}]},
            "invalid partitions[0].partition 2147483648: expected at most 2147483647",
        ),
        (
            {"partitions": [GOOD | {"offset": 2**63}]},
            "invalid partitions[0].offset 9223372036854775808: expected at most",
        ),
    ],
)
def test_a_mistake_in_an_entry_is_named_with_its_path(document, message) -> None:
    assert refusal(document)[0].startswith(f"offsets.json: {message}")


def test_further_mistakes_are_listed_below_the_first() -> None:
    message, hint = refusal({"partitions": [{}, {}]})
    assert message == "offsets.json: partitions[0].topic is missing"
    assert hint is not None
    assert len(hint.splitlines()) == 5


@pytest.mark.req("DR-10", "DR-16")
def test_a_partition_given_twice_is_refused_and_named() -> None:
    document = {"partitions": [GOOD, GOOD | {"offset": 9}, GOOD | {"partition": 1}, GOOD]}
    assert refusal(document)[0] == "Offset json file contains duplicate topic partitions: orders-0"


def test_a_key_given_twice_in_one_object_is_refused() -> None:
    text = '{"partitions": [{"topic": "a", "partition": 0, "offset": 1, "offset": 100}]}'
    assert refusal(text)[0] == "offsets.json: the key 'offset' appears twice in one object"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=3) | st.just(1.0) | st.just(0.5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["topic", "partition", "x"]), inner),
    max_leaves=5,
)
_ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "topic": st.just("t") | _VALUES,
        "partition": st.integers(-1, 2**31) | _VALUES,
        "offset": st.integers(-2, 2**63) | _VALUES,
        "other": _VALUES,
    },
)
_DOCUMENT = st.fixed_dictionaries(
    {}, optional={"version": st.sampled_from([1, 2, "1"]), "partitions": st.lists(_ENTRY, max_size=3) | _VALUES}
)


@given(_DOCUMENT | _VALUES)
def test_our_validator_and_jsonschema_give_the_same_verdict(document) -> None:
    value = json.loads(json.dumps(document), parse_float=Decimal)
    for name in ("delete-records.v1", "leader-election.v1"):
        rules = schema(name)
        validator = jsonschema.Draft202012Validator(rules)
        assert (not list(check(value, rules))) == validator.is_valid(value) == rule(rules)(value)


def test_the_entries_of_a_right_document_are_not_looked_at_one_rule_after_the_other(monkeypatch) -> None:
    looked: list[object] = []
    monkeypatch.setattr(documents, "check", lambda *given: looked.append(given) or check(*given))
    assert len(election({"partitions": [{"topic": "t", "partition": number} for number in range(1_000)]})) == 1_000
    assert len(looked) < 10


@pytest.mark.parametrize(("name", "read"), [("delete-records.v1", read), ("leader-election.v1", election)])
def test_the_schema_is_a_schema_and_its_examples_are_valid(name: str, read: Any) -> None:
    rules = schema(name)
    jsonschema.Draft202012Validator.check_schema(rules)
    for example in rules["examples"]:
        assert not list(check(example, rules))
        assert read(example)


def test_parse_keeps_integers_whole() -> None:
    assert parse("[9223372036854775807]", "x") == [9223372036854775807]


ELECTED = {"topic": "orders", "partition": 1}


def test_an_election_is_of_the_partitions_in_the_file_whatever_else_it_holds() -> None:
    document = {"version": 9, "partitions": [ELECTED | {"offset": "x"}, ELECTED | {"partition": 0}]}
    assert election(document) == [TopicPartition("orders", 1), TopicPartition("orders", 0)]
    assert election({"partitions": []}) == []


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("", "Replica election data is empty"),
        ("{", "Replica election data is empty"),
        ("nonsense", "Replica election data is empty"),
        ({}, 'Replica election data is missing "partitions" field'),
        ({"version": 2}, 'Replica election data is missing "partitions" field'),
        ([], "partitions.json: invalid document: expected an object, not an array"),
        ({"partitions": None}, "partitions.json: invalid partitions: expected an array, not null"),
        ({"partitions": [{"partition": 1}]}, "partitions.json: partitions[0].topic is missing"),
        ({"partitions": [{"topic": "a"}]}, "partitions.json: partitions[0].partition is missing"),
        (
            {"partitions": [ELECTED | {"partition": "1"}]},
            "partitions.json: invalid partitions[0].partition: expected an",
        ),
        (
            {"partitions": [ELECTED | {"partition": 2**31}]},
            "partitions.json: invalid partitions[0].partition 2147483648",
        ),
        ({"partitions": [ELECTED] * 3}, "Replica election data contains duplicate partitions: [orders-1]"),
        (
            {"partitions": [ELECTED, ELECTED, 7]},
            "partitions.json: invalid partitions[2]: expected an object, not an integer",
        ),
    ],
)
def test_a_mistake_in_an_election_is_named_in_kafkas_order(document: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        election(document)
    assert str(caught.value).startswith(message)
    assert caught.value.exit_status == 1
    if not message.startswith("partitions.json"):
        assert caught.value.hint is not None
        assert caught.value.hint.startswith("partitions.json")


@given(_DOCUMENT | _VALUES)
def test_an_election_is_read_if_its_schema_takes_it_and_nothing_is_twice(document: Any) -> None:
    text = json.dumps(document)
    value = json.loads(text, parse_float=Decimal)
    valid = jsonschema.Draft202012Validator(schema("leader-election.v1")).is_valid(value)
    if valid:
        keys = [(entry["topic"], entry["partition"]) for entry in value["partitions"]]
        valid = len(set(keys)) == len(keys)
    try:
        election(document)
    except InputError:
        assert not valid
    else:
        assert valid


def test_what_appears_twice_is_found_in_time_in_a_large_document() -> None:
    entries = [{"topic": "t", "partition": number} for number in range(30_000)]
    members = ",".join(f'"k{number}":1' for number in range(60_000))
    began_s = time.process_time()
    assert len(election({"partitions": entries})) == 30_000
    with pytest.raises(InputError, match="'k59999' appears twice"):
        parse(f'{{{members},"k59999":2}}', "f")
    assert time.process_time() - began_s < 10
