"""Changes of nodes: nothing is lost, nothing is half-written, brokers are told."""

from __future__ import annotations

import json

import pytest

from kafka_tools.errors import InputError, StoreError
from kafka_tools.zookeeper.configs import ZooKeeperConfigs
from kafka_tools.zookeeper.nodes import encode_configs
from tests.zookeeper.memory_store import MemoryStore

ALICE = (("users", "alice"),)
PAIR = (("users", "alice"), ("clients", "c"))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def configs(store: MemoryStore) -> ZooKeeperConfigs:
    return ZooKeeperConfigs(store)


def changes(store: MemoryStore) -> list[str]:
    paths = sorted(path for path in store.nodes if path.startswith("/config/changes/"))
    return [json.loads(store.nodes[path].data)["entity_path"] for path in paths]


@pytest.mark.req("SC-11", "SC-1")
def test_a_change_makes_the_node_and_tells_brokers(store: MemoryStore, configs: ZooKeeperConfigs) -> None:
    configs.update(ALICE, lambda now: now | {"a": "1"})
    configs.update(PAIR, lambda now: now | {"b": "2"})
    assert store.nodes["/config/users/alice"].data == encode_configs({"a": "1"})
    assert configs.read(PAIR) == {"b": "2"}
    assert changes(store) == ["users/alice", "users/alice/clients/c"]


@pytest.mark.req("SC-11", "QT-15")
def test_what_is_not_named_stays(store: MemoryStore, configs: ZooKeeperConfigs) -> None:
    store.put("/config/users/alice", encode_configs({"SCRAM-SHA-256": "credential", "producer_byte_rate": "1"}))
    configs.update(ALICE, lambda now: now | {"producer_byte_rate": "2"})
    assert configs.read(ALICE) == {"SCRAM-SHA-256": "credential", "producer_byte_rate": "2"}
    configs.update(ALICE, lambda now: {name: now[name] for name in now if name != "producer_byte_rate"})
    assert configs.read(ALICE) == {"SCRAM-SHA-256": "credential"}


def test_nothing_is_changed_when_the_edit_raises(store: MemoryStore, configs: ZooKeeperConfigs) -> None:
    def refuse(_: dict[str, str]) -> dict[str, str]:
        raise InputError("no")

    store.put("/config/users/alice", encode_configs({"a": "1"}))
    before = dict(store.nodes)
    with pytest.raises(InputError, match="no"):
        configs.update(ALICE, refuse)
    assert store.nodes == before


def test_a_node_that_is_written_meanwhile_is_read_again(store: MemoryStore, configs: ZooKeeperConfigs) -> None:
    def somebody() -> None:
        store.meanwhile = lambda: None
        store.put("/config/users/alice", encode_configs({"theirs": "1"}))

    store.meanwhile = somebody
    configs.update(ALICE, lambda now: now | {"ours": "2"})
    assert configs.read(ALICE) == {"theirs": "1", "ours": "2"}
    assert changes(store) == ["users/alice"]


def test_a_node_that_never_rests_is_an_error(store: MemoryStore, configs: ZooKeeperConfigs) -> None:
    store.meanwhile = lambda: store.put("/config/users/alice", b"")
    with pytest.raises(StoreError, match="changed by others during 20 attempts"):
        configs.update(ALICE, lambda now: now | {"a": "1"})
    assert changes(store) == []


def test_entities_are_found(store: MemoryStore, configs: ZooKeeperConfigs) -> None:
    for path in ("users/b", "users/<default>", "users/a%20b/clients/<default>", "users/a%20b/clients/c"):
        store.put(f"/config/{path}", b"")
    assert [entity[0][1] for entity in configs.entities(["users"])] == ["a b", "b", None]
    pairs = [[name for _, name in pair] for pair in configs.entities(["users", "clients"])]
    assert pairs == [["a b", "c"], ["a b", None]]
    assert list(configs.entities(["clients"])) == []


def test_topics_and_brokers_are_known(store: MemoryStore, configs: ZooKeeperConfigs) -> None:
    store.put("/brokers/topics/t", b"{}")
    store.put("/brokers/ids/3", b"{}")
    assert (configs.has_topic("t"), configs.has_topic("u"), configs.running_brokers()) == (True, False, ["3"])
