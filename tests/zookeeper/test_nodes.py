"""Names of nodes and their JSON, as Kafka writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.errors import StoreError
from kafka_tools.zookeeper.nodes import (
    decode_configs,
    desanitize,
    encode_change,
    encode_configs,
    entity_path,
    name_of_node,
    sanitize,
)


@pytest.mark.req("SC-11")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("alice", "alice"),
        ("CN=a b, O=c*", "CN%3Da%20b%2C%20O%3Dc%2A"),
        ("~.-_", "%7E.-_"),
        ("\u00fc/<default>", "%C3%BC%2F%3Cdefault%3E"),
        ("a+b%", "a%2Bb%25"),
    ],
)
def test_names_are_encoded_as_javas_url_encoder_does(name: str, text: str) -> None:
    assert sanitize(name) == text
    assert desanitize(text) == name


@given(st.text())
def test_every_name_comes_back_and_is_one_part_of_a_path(name: str) -> None:
    text = sanitize(name)
    assert desanitize(text) == name
    assert text.isascii() and "/" not in text and text != "<default>"


@pytest.mark.req("QT-20", "SC-11")
def test_each_of_the_eight_quota_levels_has_its_node() -> None:
    def path(*parts: tuple[str, str | None]) -> str:
        return entity_path(tuple(parts))

    assert path(("users", "u"), ("clients", "c")) == "users/u/clients/c"
    assert path(("users", "u"), ("clients", None)) == "users/u/clients/<default>"
    assert path(("users", "u")) == "users/u"
    assert path(("users", None), ("clients", "c")) == "users/<default>/clients/c"
    assert path(("users", None), ("clients", None)) == "users/<default>/clients/<default>"
    assert path(("users", None)) == "users/<default>"
    assert path(("clients", "c d")) == "clients/c%20d"
    assert path(("clients", None)) == "clients/<default>"
    assert path(("topics", "a.b_c-d")) == "topics/a.b_c-d"
    assert path(("brokers", "1")) == "brokers/1"


def test_a_nodes_name_gives_the_entitys() -> None:
    assert name_of_node("users", "CN%3Da%20b") == "CN=a b"
    assert name_of_node("users", "<default>") is None
    assert name_of_node("topics", "a%20b") == "a%20b"


@pytest.mark.req("SC-11")
def test_the_json_is_kafkas() -> None:
    assert encode_configs({"a": "1", "b": "\u00fc"}) == '{"version":1,"config":{"a":"1","b":"\u00fc"}}'.encode()
    assert encode_change("users/alice") == b'{"version":2,"entity_path":"users/alice"}'
    assert decode_configs(encode_configs({"a": "1"}), "/x") == {"a": "1"}
    assert decode_configs(None, "/x") == decode_configs(b"", "/x") == {}
    assert decode_configs(b'{"config": {}, "version": 1, "more": 2}', "/x") == {}


@pytest.mark.parametrize(
    "data",
    [b"{", b"[]", b"null", b'"x"', b'{"version":2,"config":{}}', b'{"version":1}', b'{"version":1,"config":[]}',
     b'{"version":1,"config":{"a":1}}', b"\xff", b"[" * 100_000],
)  # fmt: skip
def test_anything_else_is_one_line_without_its_contents(data: bytes) -> None:
    with pytest.raises(StoreError, match=r"^invalid ZooKeeper node /config/users/a: expected \{") as error:
        decode_configs(data, "/config/users/a")
    assert error.value.__cause__ is None
