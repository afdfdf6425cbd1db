"""Whether a chroot is the one that a cluster uses: configs and credentials written elsewhere are read by no broker.

A path is Kafka's when it has ``/cluster/id``, or ``/brokers`` with nothing but Kafka's nodes below. The search for
other paths is bounded, since an ensemble may be shared and huge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kafka_tools.errors import StoreError
from kafka_tools.zookeeper.nodes import BROKERS

_MOST_NODES = 400
"""How many nodes the search lists the children of."""
_DEPTH = 4
"""How many names a chroot that is found may have: /a/b/c/d."""
_MOST_NAMED = 5
_BELOW_BROKERS = frozenset(("ids", "topics", "seqid"))


class Tree(Protocol):
    """What the search needs of a session: paths from the root of the ensemble."""

    def children(self, path: str) -> list[str]:
        """Names of the nodes below one, sorted; none if it does not exist."""

    def exists(self, path: str) -> bool:
        """Whether there is such a node."""


def check(tree: Tree, where: str, chroot: str, new_is_meant: bool, changing: bool, warn: Callable[[str], None]) -> None:
    """Raise StoreError unless a cluster uses ``chroot`` ("" or "/a/b") or one may begin there.

    A cluster may begin where ``new_is_meant``, or where the whole ensemble ``where`` has none: then ``warn`` is told.
    ``changing``: whether something is to be written; a chroot that does not exist cannot be described.
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
    """The paths that brokers use, "" for the root; and whether the search came to its end. Raises StoreError."""
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
        # what looks like Kafka comes first: the search may end before the others
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
        return []  # a node of others, which may not be listed
