"""Reads dynamic configs in ZooKeeper, and changes them so that brokers notice.

A change reads the node. One transaction then writes the whole node and the notification, if nobody else wrote the
node meanwhile. So other contents of the same node (a user's quotas beside credentials) are never lost, and brokers
always hear of a change. Sources: ``AdminZkClient`` and ``ConfigCommand.alterConfigWithZk``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from kafka_tools.errors import StoreError
from kafka_tools.zookeeper.nodes import (
    BROKER_IDS,
    CHANGE_PREFIX,
    CHANGES,
    CONFIG_ROOT,
    TOPICS,
    Entity,
    Registration,
    decode_configs,
    decode_registration,
    encode_change,
    encode_configs,
    entity_path,
    name_of_node,
)

_ATTEMPTS = 20
"""Maximum number of attempts if other clients write the same node at the same time."""


class ConfigNode(NamedTuple):
    """A node's data, and its version for a conditional write."""

    data: bytes
    version: int


class SessionLost(StoreError):
    """The session ended. A write in progress may have succeeded or not, and no further operation is possible."""


class Changed(Exception):
    """The condition of a transaction failed: another client wrote the node meanwhile."""


class Store(Protocol):
    """The operations on ZooKeeper: ``store.ZooKeeperStore`` has them, a dict in tests. All raise StoreError."""

    def get(self, path: str) -> ConfigNode | None:
        """A node, None if there is none."""

    def children(self, path: str) -> list[str]:
        """Names of the nodes below a node, sorted; empty if the node does not exist."""

    def ensure(self, path: str) -> None:
        """Create a node and its parents if they are missing."""

    def write_and_notify(self, path: str, data: bytes, version: int | None, prefix: str, change: bytes) -> None:
        """Write a node and create a sequential node in one transaction.

        Raises Changed unless the node has ``version`` (None: does not exist).
        """


class ZooKeeperConfigs:
    """The configs of topics, clients, users, pairs of users and clients, brokers and addresses."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, entity: Entity) -> dict[str, str]:
        """The configs of an entity; empty without a node. Raises StoreError."""
        path = f"{CONFIG_ROOT}/{entity_path(entity)}"
        node = self._store.get(path)
        return decode_configs(node.data if node else None, path)

    def update(self, entity: Entity, edit: Callable[[dict[str, str]], dict[str, str]]) -> None:
        """Replace the configs of an entity by the result of ``edit``. Calls ``edit`` again if others write meanwhile.

        If ``edit`` raises, nothing changes. Raises StoreError.
        """
        path = entity_path(entity)
        node_path = f"{CONFIG_ROOT}/{path}"
        for _ in range(_ATTEMPTS):
            node = self._store.get(node_path)
            configs = edit(decode_configs(node.data if node else None, node_path))
            self._store.ensure(CHANGES)
            if node is None:
                self._store.ensure(node_path.rpartition("/")[0])
            data, version = encode_configs(configs), node.version if node else None
            try:
                self._store.write_and_notify(node_path, data, version, CHANGE_PREFIX, encode_change(path))
                return
            except Changed:
                continue
        raise StoreError(
            f"ZooKeeper node {node_path} was changed by others during {_ATTEMPTS} attempts", hint="nothing was changed"
        )

    def entities(self, kinds: Sequence[str]) -> Iterator[Entity]:
        """Every entity of one type that has a node, or every pair of users and clients. Default entities come last."""
        if list(kinds) != ["users", "clients"]:
            (kind,) = kinds
            for name in self._names(kind, f"{CONFIG_ROOT}/{kind}"):
                yield ((kind, name),)
            return
        for user in self._names("users", f"{CONFIG_ROOT}/users"):
            yield from self.pairs(user)

    def pairs(self, user: str | None) -> Iterator[Entity]:
        """The pairs of one user (None: the default user) with any client that have a node."""
        above = f"{CONFIG_ROOT}/{entity_path((('users', user),))}/clients"
        for client in self._names("clients", above):
            yield (("users", user), ("clients", client))

    def _names(self, kind: str, path: str) -> list[str | None]:
        names = [name_of_node(kind, node) for node in self._store.children(path)]
        return sorted(names, key=lambda name: (name is None, name or ""))

    def has_topic(self, name: str) -> bool:
        """Whether a topic exists."""
        return self._store.get(f"{TOPICS}/{name}") is not None

    def running_brokers(self) -> list[str]:
        """Ids of the brokers that are registered now."""
        return self._store.children(BROKER_IDS)

    def registrations(self) -> list[Registration]:
        """The registrations of the brokers that run."""
        nodes = ((broker, self._store.get(f"{BROKER_IDS}/{broker}")) for broker in self.running_brokers())
        return [decode_registration(broker, node.data) for broker, node in nodes if node is not None]
