"""Client quotas: entities, limits, filters, precedence. The texts were taken from a Kafka broker."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kafka_tools.config_definitions.quota_entities import quota_entity
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from tests.broker_embedded.memory_broker import MemoryBroker

OK, BAD_REQUEST = error_codes.NONE, error_codes.INVALID_REQUEST
EXACT, DEFAULT, ANY = range(3)
Entity = dict[str, str | None]


@pytest.fixture
def broker() -> MemoryBroker:
    return MemoryBroker()


def entry(entity: Entity, **limits: float | None) -> Any:
    Entry = AlterClientQuotasRequest.EntryData
    return Entry(
        entity=[Entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[Entry.OpData(key=k, value=v or 0.0, remove=v is None) for k, v in limits.items()],
    )


def alter(broker: MemoryBroker, *entries: Any, validate_only: bool = False) -> list[tuple[int, str | None]]:
    response = broker.call(AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only))
    return [(result.error_code, result.error_message) for result in response.entries]


def describe(broker: MemoryBroker, *components: tuple[str, int, str | None], strict: bool = False) -> Any:
    Component = DescribeClientQuotasRequest.ComponentData
    parts = [Component(entity_type=kind, match_type=how, match=match) for kind, how, match in components]
    response = broker.call(DescribeClientQuotasRequest(components=parts, strict=strict))
    if response.error_code:
        return response.error_code, response.error_message
    return [
        ({e.entity_type: e.entity_name for e in found.entity}, {v.key: v.value for v in found.values})
        for found in response.entries
    ]


@pytest.mark.req("QT-33")
@pytest.mark.parametrize(
    ("entity", "key", "value", "message"),
    [
        ({"user": "u"}, "nope", 100.0, "Invalid configuration key nope"),
        ({"user": "u"}, "producer_byte_rate", 0.0, "Quota producer_byte_rate must be greater than 0"),
        ({"user": "u"}, "producer_byte_rate", -1.0, "Quota producer_byte_rate must be greater than 0"),
        ({"user": "u"}, "producer_byte_rate", 1.5, "producer_byte_rate cannot be a fractional value."),
        ({"user": "u"}, "producer_byte_rate", 1e19, "Proposed value for producer_byte_rate is too large for a LONG."),
        ({"user": "u"}, "producer_byte_rate", math.nan, "producer_byte_rate must be a finite number"),
        ({"user": "u"}, "request_percentage", math.nan, "request_percentage must be a finite number"),
        ({"user": "u"}, "request_percentage", math.inf, "request_percentage must be a finite number"),
        ({"user": ""}, "producer_byte_rate", 1.0, "Empty user not supported"),
        ({"foo": "x"}, "producer_byte_rate", 1.0, "Unhandled client quota entity type: foo"),
        ({}, "producer_byte_rate", 1.0, "Invalid empty client quota entity"),
        ({"ip": "1.2.3.4", "user": "u"}, "connection_creation_rate", 1.0,
         "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"),
        ({"ip": "not..valid"}, "connection_creation_rate", 1.0, "not..valid is not a valid IP or resolvable host."),
        ({"ip": "1.2.3.4"}, "connection_creation_rate", 1e10,
         "Proposed value for connection_creation_rate is too large for an INT."),
        ({"ip": "1.2.3.4"}, "producer_byte_rate", 10.0, "Invalid configuration key producer_byte_rate"),
        ({"user": "u"}, "connection_creation_rate", 5.0, "Invalid configuration key connection_creation_rate"),
    ],
)  # fmt: skip
def test_a_refused_limit_has_kafkas_text_and_changes_nothing(
    broker: MemoryBroker, entity: Entity, key: str, value: float, message: str
) -> None:
    before = list(broker.store.records)
    assert alter(broker, entry(entity, **{key: value})) == [(BAD_REQUEST, message)]
    assert broker.store.records == before


def test_one_bad_entity_does_not_stop_the_others(broker: MemoryBroker) -> None:
    results = alter(
        broker,
        entry({"user": "a"}, producer_byte_rate=100.0),
        entry({"user": "b"}, producer_byte_rate=100.0, nope=1.0),
        entry({"user": "a"}, producer_byte_rate=200.0),
    )
    duplicate = "Ignoring duplicate entity ClientQuotaEntity(entries={user=a})"  # one answer per entity, as in Kafka
    assert results == [(BAD_REQUEST, duplicate), (BAD_REQUEST, "Invalid configuration key nope")]
    assert describe(broker) == [({"user": "a"}, {"producer_byte_rate": 100.0})]


def test_an_entity_is_the_same_in_either_order_of_its_types(broker: MemoryBroker) -> None:
    first = entry({"user": "a", "client-id": "c"}, producer_byte_rate=1.0)
    second = entry({"client-id": "c", "user": "a"}, producer_byte_rate=2.0)
    text = "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=c, user=a})"
    assert alter(broker, first, second) == [(BAD_REQUEST, text)]
    assert describe(broker) == [({"client-id": "c", "user": "a"}, {"producer_byte_rate": 1.0})]


@pytest.mark.req("QT-15")
def test_changes_are_incremental_and_the_last_removal_ends_the_entity(broker: MemoryBroker) -> None:
    alter(broker, entry({"user": "a", "client-id": None}, producer_byte_rate=100.0, request_percentage=12.5))
    alter(broker, entry({"user": "a", "client-id": None}, producer_byte_rate=None))
    broker.restart()
    assert describe(broker) == [({"client-id": None, "user": "a"}, {"request_percentage": 12.5})]
    alter(broker, entry({"user": "a", "client-id": None}, request_percentage=None, nope=None))
    assert describe(broker) == []


@pytest.mark.req("QT-14")
def test_validate_only_changes_nothing(broker: MemoryBroker) -> None:
    assert alter(broker, entry({"user": "a"}, producer_byte_rate=1.0), validate_only=True) == [(OK, None)]
    assert alter(broker, entry({"user": "a"}, nope=1.0), validate_only=True)[0][0] == BAD_REQUEST
    assert describe(broker) == []


def test_filters_match_as_kafkas_do(broker: MemoryBroker) -> None:
    entities: list[Entity] = [
        {"user": "a"}, {"user": None}, {"client-id": "c"}, {"user": "a", "client-id": "c"}, {"ip": "1.2.3.4"},
    ]  # fmt: skip
    for entity in entities:
        key = "connection_creation_rate" if "ip" in entity else "producer_byte_rate"
        alter(broker, entry(entity, **{key: 1.0}))

    def found(*components: tuple[str, int, str | None], strict: bool = False) -> list[Entity]:
        return [names for names, _ in describe(broker, *components, strict=strict)]

    assert len(found()) == 5
    assert found(("user", EXACT, "a")) == [{"client-id": "c", "user": "a"}, {"user": "a"}]
    assert found(("user", EXACT, "a"), strict=True) == [{"user": "a"}]
    assert found(("user", DEFAULT, None)) == [{"user": None}]
    assert found(("user", ANY, None), strict=True) == [{"user": None}, {"user": "a"}]
    assert found(("user", ANY, None), ("client-id", EXACT, "c")) == [{"client-id": "c", "user": "a"}]
    assert found(("ip", ANY, None)) == [{"ip": "1.2.3.4"}]


@pytest.mark.parametrize(
    ("components", "code", "message"),
    [
        ([("", EXACT, "x")], BAD_REQUEST, "Invalid empty entity type."),
        ([("foo", EXACT, "x")], error_codes.UNSUPPORTED_VERSION, "Unsupported entity type foo"),
        ([("user", EXACT, "x"), ("user", ANY, None)], BAD_REQUEST,
         "Entity type user cannot appear more than once in the filter."),
        ([("user", EXACT, None)], BAD_REQUEST, "Request specified MATCH_TYPE_EXACT, but set match string to null."),
        ([("user", DEFAULT, "x")], BAD_REQUEST,
         "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."),
        ([("user", ANY, "x")], BAD_REQUEST,
         "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."),
        ([("user", 7, None)], BAD_REQUEST, "Unknown match type 7"),
        ([("ip", EXACT, "x"), ("user", ANY, None)], BAD_REQUEST,
         "Invalid entity filter component combination. IP filter component should not be used with "
         "user or clientId filter component."),
    ],
)  # fmt: skip
def test_a_filter_that_makes_no_sense_is_refused(
    broker: MemoryBroker, components: list[tuple[str, int, str | None]], code: int, message: str
) -> None:
    assert describe(broker, *components) == (code, message)


@pytest.mark.req("QT-11", "QT-21", "QT-22")
def test_the_most_specific_of_eight_levels_holds(broker: MemoryBroker) -> None:
    levels: list[Entity] = [
        {"client-id": None},
        {"client-id": "c"},
        {"user": None},
        {"user": None, "client-id": None},
        {"user": None, "client-id": "c"},
        {"user": "u"},
        {"user": "u", "client-id": None},
        {"user": "u", "client-id": "c"},
    ]
    quotas = broker.core.quotas
    assert quotas.effective("producer_byte_rate", "u", "c") is None
    for rate, level in enumerate(levels, start=1):
        alter(broker, entry(level, producer_byte_rate=float(rate)))
        assert quotas.effective("producer_byte_rate", "u", "c") == (quota_entity(level), float(rate))
    assert quotas.effective("consumer_byte_rate", "u", "c") is None
    assert quotas.effective("producer_byte_rate", "x", "y")[1] == 4.0
