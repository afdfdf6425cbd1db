"""The specifications of the faults, and of the task that does nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from kafka_tools.errors import InputError
from kafka_tools.load.specs.members import JsonMembers
from kafka_tools.load.specs.task_spec import LONGEST_MS, TaskSpec

_FAULT = "org.apache.kafka.trogdor.fault"
_INT = 2**31 - 1
BROKER_FAULTS = ("error", "delay", "hold", "disconnect", "shortWrite", "down")


def _with_end(members: JsonMembers, times: Mapping[str, Any]) -> Mapping[str, Any]:
    """``times``, which must have a duration: a fault does not end by itself."""
    if times["duration_ms"] >= LONGEST_MS:
        raise InputError(f"{members.place}: durationMs is missing: a fault ends after this time")
    return times


@dataclass(frozen=True, kw_only=True)
class ProcessStopSpec(TaskSpec):
    """Stops processes with SIGSTOP and continues them with SIGCONT at the end."""

    CLASS: ClassVar[str] = f"{_FAULT}.ProcessStopFaultSpec"

    nodes: tuple[str, ...]
    process_name: str
    """A name in the node's ``processes``."""

    @classmethod
    def read(cls, members: JsonMembers, times: Mapping[str, Any]) -> Self:
        name = members.text("processName") or members.text("javaProcessName")
        members.raw("javaProcessName")
        if not name:
            raise InputError(f"{members.place}: processName is missing")
        return cls(**_with_end(members, times), nodes=members.texts("nodeNames"), process_name=name)

    @property
    def node_names(self) -> tuple[str, ...]:
        return self.nodes


@dataclass(frozen=True, kw_only=True)
class NetworkPartitionSpec(TaskSpec):
    """Separates groups of nodes from each other: each node drops its packets to the nodes of the other groups."""

    CLASS: ClassVar[str] = f"{_FAULT}.NetworkPartitionFaultSpec"

    partitions: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, members: JsonMembers, times: Mapping[str, Any]) -> Self:
        partitions = members.lists_of_texts("partitions")
        if len(partitions) < 2 or not all(partitions):
            raise InputError(f"{members.place}: invalid partitions: expected at least two lists of node names")
        names = [name for partition in partitions for name in partition]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{members.place}: invalid partitions: node {twice} is in more than one of them")
        return cls(**_with_end(members, times), partitions=partitions)

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(name for partition in self.partitions for name in partition)


@dataclass(frozen=True, kw_only=True)
class BrokerFaultSpec(TaskSpec):
    """A fault of the bundled broker that the document or the agent's file starts. Trogdor does not have this class."""

    CLASS: ClassVar[str] = "kafka_tools.load.BrokerFaultSpec"

    nodes: tuple[str, ...]
    fault: str
    api: str
    arguments: dict[str, Any]
    """Arguments of the method of ``kafka_tools.broker_embedded.faults``."""

    @classmethod
    def read(cls, members: JsonMembers, times: Mapping[str, Any]) -> Self:
        fault = members.text("fault")
        if fault not in BROKER_FAULTS:
            raise members.refuse("fault", " or ".join(BROKER_FAULTS))
        arguments: dict[str, Any] = {}
        if fault != "down":
            arguments = {
                name: members.text(given)
                for given, name in _SELECTORS.items()
                if members.raw(given) is not None
            }  # fmt: skip
            if members.raw("partition") is not None:
                arguments["partition"] = members.whole("partition", high=_INT)
            arguments["times"] = members.whole("times", low=1, high=_INT) or None
            arguments["skip"] = members.whole("skip", high=_INT)
            if fault != "shortWrite":
                arguments["served"] = members.flag("served")
        if fault == "error":
            arguments["error"] = members.text("error")
        if fault == "delay":
            arguments["ms"] = members.number("delayMs")
        api = members.text("api", "*")
        if fault in ("error", "delay", "hold") and api == "*":
            raise InputError(f"{members.place}: api is missing: give the name of a request, for example Produce")
        return cls(**_with_end(members, times), nodes=members.texts("nodeNames"), fault=fault, api=api,
                   arguments=arguments)  # fmt: skip

    @property
    def node_names(self) -> tuple[str, ...]:
        return self.nodes


_SELECTORS = {
    "topic": "topic", "group": "group", "transactionalId": "transactional_id", "principal": "principal",
    "clientId": "client_id",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class NoOpSpec(TaskSpec):
    """Does nothing until it is stopped."""

    CLASS: ClassVar[str] = "org.apache.kafka.trogdor.task.NoOpTaskSpec"

    nodes: tuple[str, ...] = ()

    @classmethod
    def read(cls, members: JsonMembers, times: Mapping[str, Any]) -> Self:
        return cls(**times, nodes=members.texts("nodeNames"))

    @property
    def node_names(self) -> tuple[str, ...]:
        return self.nodes
