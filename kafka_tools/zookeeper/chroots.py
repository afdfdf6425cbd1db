"""Checks that a cluster uses a chroot: no broker reads configs and credentials that are written elsewhere.

A path is Kafka's if it has ``/cluster/id``, or ``/brokers`` with only Kafka's nodes below. The search for other paths
has a limit, because an ensemble may be shared and large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kafka_tools.errors import StoreError
from kafka_tools.zookeeper.nodes import BROKERS

_MOST_NODES = 400
"""Maximum number of nodes whose children the search lists."""
_DEPTH = 4
"""Maximum number of names in a chroot that the search finds: /a/b/c/d."""
_MOST_NAMED = 5
_BELOW_BROKERS = frozenset(("ids", "topics", "seqid"))


class Tree(Protocol):
    """The operations that the search needs. Paths start at the root of the ensemble."""

    def children(self, path: str) -> list[str]:
        """Names of the nodes below a node, sorted; empty if the node does not exist."""

    def exists(self, path: str) -> bool:
        """Whether the node exists."""


def check(tree: Tree, where: str, chroot: str, new_is_meant: bool, changing: bool, warn: Callable[[str], None]) -> None:
    """Raise StoreError unless a cluster uses ``chroot`` ("" or "/a/b") or a new cluster may start there.

    A cluster may start there if ``new_is_meant``, or if the search finds none in the ensemble ``where``; then ``warn``
    is called. ``changing``: whether the caller writes. A chroot that does not exist cannot be described.
    """
    if is_kafka(tree, chroot):
        return
    missing = bool(chroot) and not tree.exists(chroot)
    found, all_seen = ([], True) if new_is_meant else clusters(tree)
    if found:
        named = ", ".join(path or "/" for path in found[:_MOST_NAMED]) + (", ..." if len(found) > _MOST_NAMED else "")
        raise StoreError(
            f"ZooKeeper at {where} contains no Kafka cluster at {chroot or '/'}: its brokers use {named}",
            hint=f"use --zookeeper {where}{found[0]}, as in the brokers' zookeeper.connect; or --zk-new-chroot "
            "to start another cluster there",
        )
    if missing and not changing:
        raise StoreError(
            f"ZooKeeper at {where} has no chroot {chroot}",
            hint="use the chroot at the end of the brokers' zookeeper.connect",
        )
    seen = "" if all_seen else f" ({_MOST_NODES} of its other paths were searched)"
    here = f"ZooKeeper at {where} contains no Kafka cluster at {chroot or '/'}"
    warn(f"warning: {here}: no broker has started there yet{seen}")


def is_kafka(tree: Tree, path: str) -> bool:
    """Whether brokers have used this path."""
    if tree.exists(f"{path}/cluster/id"):
        return True
    return tree.exists(path + BROKERS) and _BELOW_BROKERS.issuperset(tree.children(path + BROKERS))


def clusters(tree: Tree) -> tuple[list[str], bool]:
    """The paths that brokers use ("" for the root), and whether the search was complete. Raises StoreError."""
    found: list[str] = []
    level, looked = [""], 0
    for depth in range(_DEPTH + 1):
        below: list[str] = []
        for path in level:
            if looked == _MOST_NODES:
                return found, False
            looked += 1
            names = _children(tree, path)
            if {"brokers", "cluster"}.intersection(names) and is_kafka(tree, path):
                found.append(path)
            elif depth < _DEPTH:
                below += [f"{path}/{name}" for name in names if path or name != "zookeeper"]
        # names that look like Kafka's come first: the search may end before the others
        level = sorted(below, key=lambda path: ("kafka" not in path.lower(), path))
        if not level:
            break
    return found, True


def _children(tree: Tree, path: str) -> list[str]:
    from kafka_tools.zookeeper.configs import SessionLost

    try:
        return tree.children(path or "/")
    except SessionLost:
        raise
    except StoreError:
        return []  # a node of other users that this session may not list
