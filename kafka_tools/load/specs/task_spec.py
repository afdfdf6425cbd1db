"""What all task specifications have: class, start and duration, and the settings of clients.

A specification never changes after it was read. Source: Trogdor's ``TaskSpec`` and ``WorkerUtils``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from kafka_tools.config_definitions.secrets import is_secret
from kafka_tools.errors import InputError
from kafka_tools.load.specs.members import JsonMembers
from kafka_tools.shown_text import MASK

LONGEST_MS = 1_000_000_000_000_000
"""Trogdor's ``MAX_TASK_DURATION_MS``."""
SHORT_PACKAGE = "org.apache.kafka.trogdor"


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """A task specification. Specifications are equal if all their fields are, except ``given``."""

    CLASS: ClassVar[str] = ""
    """The full name of Trogdor's Java class, or a name of the same form for a class that Trogdor does not have."""

    start_ms: int
    """Milliseconds since the epoch; a time in the past means immediately."""
    duration_ms: int
    """The worker is stopped after this time."""
    given: Mapping[str, Any] = field(compare=False, repr=False)
    """The JSON object from which the specification was read."""

    @classmethod
    def read(cls, members: JsonMembers, times: Mapping[str, Any]) -> Self:
        """Read the fields of this class. ``times`` has start, duration and ``given``. Raises InputError."""
        return cls(**times)

    @property
    def node_names(self) -> tuple[str, ...]:
        """The nodes on which the task runs."""
        return ()

    @property
    def total_operations(self) -> int:
        """Messages to send or receive, for the progress; 0 if the number is unknown."""
        return 0

    def to_json(self, *, with_secrets: bool = False) -> dict[str, Any]:
        """The JSON object, with the full class name. Secrets in clients' configs are masked, except for agents."""
        found = {"class": self.CLASS, "startMs": self.start_ms, **self.given}
        found |= {"class": self.CLASS, "startMs": self.start_ms}
        return found if with_secrets else {name: _masked(name, value) for name, value in found.items()}


def _masked(name: str, value: Any) -> Any:
    if not name.endswith("Conf") or not isinstance(value, Mapping):
        return value
    return {key: MASK if is_secret(str(key), of_broker=False) else each for key, each in value.items()}


@dataclass(frozen=True)
class ClientConfs:
    """The settings of a workload's clients."""

    bootstrap: str
    common: dict[str, str]
    own: dict[str, dict[str, str]]
    """``producer``, ``consumer`` or ``admin`` -> the settings of these clients, which override the common ones."""

    @classmethod
    def read(cls, members: JsonMembers, *kinds: str) -> ClientConfs:
        """Read bootstrapServers and the members for ``kinds`` of clients and for the admin client."""
        bootstrap = members.text("bootstrapServers")
        if not bootstrap:
            raise InputError(f"{members.place}: bootstrapServers is missing")
        names = {kind: "adminClientConf" if kind == "admin" else f"{kind}Conf" for kind in (*kinds, "admin")}
        return cls(
            bootstrap,
            members.settings("commonClientConf"),
            {kind: members.settings(name) for kind, name in names.items()},
        )

    def of(self, kind: str, defaults: Mapping[str, str] | None = None) -> dict[str, str]:
        """The settings of one client. The user's settings override ``defaults``."""
        found = {**(defaults or {}), **self.common, **self.own.get(kind, {})}
        return found | {"bootstrap.servers": found.get("bootstrap.servers", self.bootstrap)}
