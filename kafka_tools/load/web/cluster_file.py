"""The file of coordinator and agents: Trogdor's ``trogdor.conf``, with what agents may touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_tools.errors import InputError
from kafka_tools.load.platform import NamedProcess, Platform, read_processes
from kafka_tools.load.specs.members import JsonMembers
from kafka_tools.load.web.server import LOOPBACK
from kafka_tools.texts.near_names import did_you_mean

AGENT_PORT, COORDINATOR_PORT = 8888, 8889


@dataclass(frozen=True)
class NodeEntry:
    """One node of the file."""

    hostname: str
    agent_port: int
    coordinator_port: int
    listen: str
    """The address on which its daemons listen."""
    processes: Mapping[str, NamedProcess]
    broker_config: Mapping[str, str] | None


@dataclass(frozen=True)
class ClusterFile:
    """The nodes by name."""

    nodes: Mapping[str, NodeEntry]

    def node(self, name: str) -> NodeEntry:
        """The node. Raises InputError for an unknown name."""
        if name not in self.nodes:
            hint = did_you_mean([name], self.nodes) or f"known: {', '.join(self.nodes)}"
            raise InputError(f"unknown node '{name}'", hint=hint)
        return self.nodes[name]

    def platform(self, name: str) -> Platform:
        """What tasks can use on this node."""
        node = self.node(name)
        addresses = {each: entry.hostname for each, entry in self.nodes.items()}
        return Platform(name, addresses, node.processes, node.broker_config)


def read_cluster_file(value: object, place: str) -> ClusterFile:
    """The file in a JSON value. Raises InputError with the place of the mistake."""
    members = JsonMembers(value, place)
    for ignored in ("_comment", "platform"):  # Trogdor's own file has them
        members.raw(ignored)
    inner = members.inner("nodes")
    members.end()
    if inner is None or not inner.names():
        raise InputError(f"{place}: nodes is missing")
    return ClusterFile({name: _node(JsonMembers(inner.raw(name) or {}, f"{place}: {name}")) for name in inner.names()})


def _node(members: JsonMembers) -> NodeEntry:
    members.raw("tags")
    found = NodeEntry(
        members.text("hostname", "localhost"),
        _port(members, "trogdor.agent.port", AGENT_PORT),
        _port(members, "trogdor.coordinator.port", COORDINATOR_PORT),
        members.text("listen", LOOPBACK),
        read_processes(members, "processes"),
        members.settings("broker") if members.raw("broker") is not None else None,
    )
    members.end()
    return found


def _port(members: JsonMembers, name: str, default: int) -> int:
    """A port. Trogdor's nodes have all values as strings."""
    value = members.raw(name)
    if isinstance(value, str) and value.isdecimal() and int(value) < 65536:
        return int(value)
    return members.whole(name, default, high=65535)
