"""Names as long as a string may be, in every field of every request: what tells them fits into an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_tools.broker_embedded.call import CloseConnection
from kafka_tools.broker_embedded.handlers._table import Handler, load_handlers
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_tools.protocol.primitives import MOST_STRING_BYTES
from kafka_tools.protocol.schema import Struct
from tests.broker_embedded.disk_broker import DiskBroker

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
HANDLERS = dict(load_handlers(None))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DiskBroker]:
    found = DiskBroker(tmp_path_factory.mktemp("broker"), AUTHORIZER)
    found.create("t")
    yield found
    found.core.close()


def filled(kind: type[Struct], version: int, text: str, number: int) -> Any:
    """A struct with one item in each array, and the same text and number in all other fields."""
    struct = kind()
    for field in kind.FIELDS:
        if version in field.versions:
            setattr(struct, field.name, _value(field, version, text, number))
    return struct


def _value(field: Field, version: int, text: str, number: int) -> Any:
    if field.kind == "array":
        item = field.item
        return [_value(item, version, text, number) if isinstance(item, Field) else filled(item, version, text, number)]
    if field.kind == "struct":
        return filled(field.item, version, text, number)
    if field.kind == "string":
        return text
    if field.kind in ("bytes", "records"):
        return b"xyz"
    if field.kind == "boolean":
        return bool(number)
    return number if "int" in field.kind else field.make_default()


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=[each.api.stem for each in HANDLERS.values()])
def test_answers_that_tell_the_longest_names_are_whole(
    broker: DiskBroker, handler: Handler, caplog: pytest.LogCaptureFixture
) -> None:
    for version in {handler.min_version, handler.max_version}:
        for character in ("a", "é"):
            text = character * (MOST_STRING_BYTES // len(character.encode()))
            for number in (1, 0):
                try:
                    broker.send(filled(handler.api.request, version, text, number), version)
                except CloseConnection:  # an answer that nobody waits for
                    assert handler.api.stem == "produce"
                broker.step()
    assert not [record.getMessage() for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("instance_id", [None, "i" * MOST_STRING_BYTES], ids=["client", "instance"])
@pytest.mark.parametrize("version", [5, 9])
def test_a_members_id_begins_with_as_much_of_a_name_as_it_can_hold(
    broker: DiskBroker, version: int, instance_id: str | None
) -> None:
    client_id, answers = "é" * (MOST_STRING_BYTES // 2), list[Any]()
    request = JoinGroupRequest(
        group_id=f"{version}-{instance_id is None}", session_timeout_ms=10_000, rebalance_timeout_ms=10_000,
        member_id="", group_instance_id=instance_id, protocol_type="consumer",
        protocols=[JoinGroupRequest.RequestProtocol(name="range", metadata=b"")],
    )  # fmt: skip
    broker.dispatcher.handle_frame(broker.connection, encode_request(request, version, 7, client_id), answers.append)
    broker.advance(4)
    (payload,) = answers
    whole = payload if isinstance(payload, bytes) else b"".join(payload)
    _, answer = decode_response(JoinGroupResponse, version, whole)
    begins = instance_id or client_id
    assert len(answer.member_id.encode()) in (MOST_STRING_BYTES, MOST_STRING_BYTES - 1)
    assert answer.member_id[:-37] == begins[: len(answer.member_id) - 37]
