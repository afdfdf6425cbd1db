"""Names and numbers of configs and quotas in the admin client: what prints how, what is on the wire."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.admin.calls.config_changes import ConfigChange
from kafka_tools.admin.calls.configs import TYPE_IDS, ConfigEntry, ConfigResource, DescribeConfigs, owner_lookup
from kafka_tools.admin.calls.merged_configs import changed_list
from kafka_tools.admin.calls.quotas import SOURCES, effective, levels, quota_entity
from kafka_tools.admin.driver import Reply
from kafka_tools.protocol.codec import decode, encode
from kafka_tools.protocol.enums import ConfigSource
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsResponse
from kafka_tools.values import Node


@pytest.mark.req("CFG-39")
def test_a_resource_prints_as_kafkas_does() -> None:
    assert repr(ConfigResource("topic", "orders")) == "ConfigResource(type=TOPIC, name='orders')"
    assert repr(ConfigResource("broker-logger", "1")) == "ConfigResource(type=BROKER_LOGGER, name='1')"


@pytest.mark.req("CFG-40")
def test_resource_types_have_the_numbers_of_kafkas_wire() -> None:
    assert TYPE_IDS == {"topic": 2, "broker": 4, "broker-logger": 8, "client-metrics": 16, "group": 32}


def test_append_and_subtract_are_those_of_brokers() -> None:
    assert changed_list("a,b", ConfigChange("k", "append", "b,c,c")) == "a,b,c"
    assert changed_list("", ConfigChange("k", "append", "a")) == "a"
    assert changed_list(None, ConfigChange("k", "append", "a")) == "a"
    assert changed_list("a,b,c", ConfigChange("k", "subtract", "b,d")) == "a,c"
    assert changed_list("a", ConfigChange("k", "subtract", "a")) == ""


@pytest.mark.req("QT-3")
@given(st.floats(allow_nan=True, width=64))
def test_a_quota_is_a_double_of_eight_bytes_big_endian(value: float) -> None:
    Entry = AlterClientQuotasRequest.EntryData
    operation = Entry.OpData(key="k", value=value, remove=False)
    request = AlterClientQuotasRequest(entries=[Entry(entity=[], ops=[operation])])
    sent = encode(request, 0)
    assert struct.pack(">d", value) in sent
    (back,) = decode(AlterClientQuotasRequest, 0, sent).entries[0].ops
    assert back.value == value or (math.isnan(back.value) and math.isnan(value))


@pytest.mark.req("QT-2", "QT-4", "QT-21", "QT-22")
@given(st.lists(st.booleans(), min_size=8, max_size=8))
def test_the_first_level_that_has_a_quota_counts(present: list[bool]) -> None:
    entities = levels("u", "c")
    quotas = {entity: {"q": float(at)} for at, entity in enumerate(entities) if entity is not None and present[at]}
    found = effective(quotas, "u", "c")
    if not any(present):
        assert found == {}
        return
    first = present.index(True)
    assert (found["q"].value, found["q"].source, found["q"].source_text) == (float(first), first, SOURCES[first])


@pytest.mark.req("QT-36")
def test_an_entity_is_the_same_key_however_it_is_written() -> None:
    pair = quota_entity({"client-id": "c", "user": "u"})
    assert pair == quota_entity([("user", "u"), ("client-id", "c")]) == quota_entity(pair)
    assert hash(pair) == hash(quota_entity((("user", "u"), ("client-id", "c"))))


@pytest.mark.parametrize("version", [0, 4])
@pytest.mark.parametrize("include_defaults", [True, False])
def test_what_nobody_has_set_is_left_out_where_it_is_not_wanted(version: int, include_defaults: bool) -> None:
    Result = DescribeConfigsResponse.Result
    configs = [
        Result.ResourceResult(name="default", is_default=version == 0, config_source=ConfigSource.DEFAULT_CONFIG),
        Result.ResourceResult(name="static", config_source=ConfigSource.STATIC_BROKER_CONFIG),
        Result.ResourceResult(name="own", config_source=ConfigSource.DYNAMIC_TOPIC_CONFIG),
    ]
    key = ConfigResource("topic", "t")
    response = DescribeConfigsResponse(
        results=[Result(resource_type=TYPE_IDS["topic"], resource_name="t", configs=configs)]
    )
    call = DescribeConfigs(
        {key: None},
        include_synonyms=False,
        include_documentation=False,
        include_defaults=include_defaults,
        lookup=owner_lookup(False),
    )
    reply: Reply[ConfigResource, list[ConfigEntry], DescribeConfigsResponse]
    reply = Reply([key], response, version, Node(1, "h", 1))
    call.interpret(reply)
    wanted = ["default", "static", "own"] if include_defaults else ["static", "own"]
    assert [entry.name for entry in reply.completed[key]] == wanted
    assert all(entry.is_default == (entry.name == "default") for entry in reply.completed[key])
