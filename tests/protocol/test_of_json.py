"""From JSON to messages and back, and what is said about wrong documents."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.errors import InputError
from kafka_tools.protocol import registry
from kafka_tools.protocol.as_json import to_json
from kafka_tools.protocol.codec import decode, encode
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.protocol.of_json import from_json, template


@pytest.mark.parametrize("row", registry.rows(), ids=lambda row: row.name)
def test_templates_are_requests_of_each_version(row: registry.Row) -> None:
    request = registry.api(row.key).request
    for version in range(row.min_version, row.max_version + 1):
        message = from_json(request, template(request, version), version)
        again = decode(request, version, encode(message, version))
        assert from_json(request, to_json(again, version, reveal=True), version) == again == message


@pytest.mark.parametrize("row", registry.rows(), ids=lambda row: row.name)
def test_an_empty_object_has_the_defaults(row: registry.Row) -> None:
    request = registry.api(row.key).request
    assert from_json(request, {}, row.max_version) == request()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "invalid request: expected an object"),
        ({"topics": {}}, "invalid topics: expected an array"),
        ({"topics": [1]}, r"invalid topics\[0\]: expected an object"),
        ({"topics": [{"nme": "a"}]}, r"unknown topics\[0\].nme in version 7: expected name"),
        ({"topics": [{"name": 5}]}, r"invalid topics\[0\].name: expected string"),
        ({"topics": [{"name": None}]}, r"invalid topics\[0\].name: it cannot be null in version 7"),
        ({"topics": [{"numPartitions": True}]}, r"invalid topics\[0\].numPartitions: expected int32"),
        ({"topics": [{"numPartitions": 1 << 31}]}, "numPartitions: 2147483648 is not between -2147483648 and "),
        ({"topics": [{"numPartitions": "1"}]}, r"invalid topics\[0\].numPartitions: expected int32"),
        ({"validateOnly": 1}, "invalid validateOnly: expected boolean"),
        ({"timeoutMs": 1.5}, "invalid timeoutMs: expected int32"),
    ],
)  # fmt: skip
def test_a_wrong_document_is_named_with_its_place(document: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_json(CreateTopicsRequest, document, 7)


def test_a_member_of_another_version_is_unknown() -> None:
    with pytest.raises(InputError, match=r"unknown topics in version 5: expected topicNames"):
        from_json(DeleteTopicsRequest, {"topics": []}, 5)
    with pytest.raises(InputError, match=r"invalid uuid 'x'"):
        from_json(DeleteTopicsRequest, {"topics": [{"topicId": "x"}]}, 6)
    records = {"topicData": [{"partitionData": [{"records": "*"}]}]}
    with pytest.raises(InputError, match=r"invalid topicData\[0\].partitionData\[0\].records: expected base64"):
        from_json(ProduceRequest, records, 9)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["topics", "name", "x"]), inner),
    max_leaves=10,
)


@given(JSON)
def test_any_document_is_a_message_or_refused(document: Any) -> None:
    with contextlib.suppress(InputError):
        from_json(CreateTopicsRequest, document, 7)
