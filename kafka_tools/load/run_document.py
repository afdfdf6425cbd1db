"""The document of ``kafka-tools load run``: one task, or several with what they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from kafka_tools.errors import InputError
from kafka_tools.load.platform import NamedProcess, read_processes
from kafka_tools.load.specs.classes import read_spec, short_name
from kafka_tools.load.specs.members import JsonMembers
from kafka_tools.load.specs.task_spec import TaskSpec

_PLACEHOLDER = "bundled-broker:9092"
"""Stands for the address of the bundled broker until it has started."""
MOST_TASKS = 1_000


@dataclass(frozen=True)
class _Entry:
    task_id: str
    value: dict[str, Any]
    place: str
    start_after_ms: int

    def spec(self, bootstrap: str) -> TaskSpec:
        """The specification, with ``bootstrap`` where it has no addresses."""
        value = self.value
        if bootstrap and "bootstrapServers" not in value and short_name(str(value.get("class"))) in _WITH_CLIENTS:
            value = {**value, "bootstrapServers": bootstrap}
        return read_spec(value, self.place)


_WITH_CLIENTS = {"ProduceBench", "RoundTrip", "ConsumeBench", "SustainedConnection", "ConfigurableProducer"}


@dataclass(frozen=True)
class RunDocument:
    """A document that has been validated."""

    entries: tuple[_Entry, ...]
    bootstrap: str = ""
    node: str = "local"
    """The name of this process among ``addresses``."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    processes: Mapping[str, NamedProcess] = field(default_factory=dict)
    broker_config: Mapping[str, str] | None = None
    total_operations: int = 0

    def specs(self, now_ms: int, broker: str | None) -> dict[str, TaskSpec]:
        """Task id -> specification. ``broker`` is the address of the bundled broker if there is one."""
        found = {}
        for entry in self.entries:
            spec = entry.spec(broker or self.bootstrap)
            start_ms = now_ms + entry.start_after_ms if entry.start_after_ms else spec.start_ms
            found[entry.task_id] = replace(spec, start_ms=start_ms)
        return found


def read_run_document(value: object, place: str) -> RunDocument:
    """The document in a JSON value: a specification, ``{"id", "spec"}``, or an object with ``tasks``.

    Raises InputError with the place of the mistake: ``place`` names the file.
    """
    value = _without_decimals(value)
    if isinstance(value, Mapping) and "tasks" not in value:
        entries = (_entry(value, place, None),)
        document = RunDocument(entries)
    else:
        document = _with_tasks(JsonMembers(value, place))
    bootstrap = document.bootstrap or ("" if document.broker_config is None else _PLACEHOLDER)
    specs = [entry.spec(bootstrap) for entry in document.entries]
    return replace(document, total_operations=sum(spec.total_operations for spec in specs))


def _with_tasks(members: JsonMembers) -> RunDocument:
    given = members.raw("tasks")
    place = members.place
    if isinstance(given, Mapping) and given:
        entries = [_entry(each, f"{place}: task {task_id}", str(task_id)) for task_id, each in given.items()]
    elif isinstance(given, list) and given:
        entries = [_entry(each, f"{place}: tasks[{at}]", None) for at, each in enumerate(given)]
    else:
        raise members.refuse("tasks", "a list or an object of tasks")
    ids = [entry.task_id for entry in entries]
    twice = next((each for each in ids if ids.count(each) > 1), None) if len(ids) <= MOST_TASKS else None
    if twice is not None:
        raise InputError(f"{place}: two tasks have the id '{twice}'", hint='give each task an "id"')
    if len(ids) > MOST_TASKS:
        raise InputError(f"{place}: more than {MOST_TASKS} tasks")
    broker = members.settings("broker") if members.raw("broker") is not None else None
    bootstrap = members.text("bootstrapServers")
    if broker is not None and bootstrap:
        raise InputError(f"{place}: bootstrapServers and broker cannot be combined: the broker has its own address")
    document = RunDocument(
        tuple(entries),
        bootstrap,
        members.text("node", "local"),
        members.settings("nodes"),
        read_processes(members, "processes"),
        broker,
    )
    members.end()
    return document


def _entry(value: object, place: str, task_id: str | None) -> _Entry:
    """A specification with ``startAfterMs``, or an object with id, spec and startAfterMs."""
    members = JsonMembers(value, place)
    assert isinstance(value, Mapping)
    after_ms = members.whole("startAfterMs", high=2**40)
    if "spec" in value:
        inner = members.raw("spec")
        task_id = members.text("id", task_id or "")
        members.end()
        if not isinstance(inner, Mapping):
            raise members.refuse("spec", "an object")
        value = inner
    else:
        task_id = task_id or members.text("id")
    spec = {str(name): each for name, each in value.items() if name not in ("startAfterMs", "id")}
    return _Entry(task_id or short_name(str(spec.get("class", "task"))), spec, place, after_ms)


def _without_decimals(value: object) -> object:
    """The same value with floats: reports and requests are JSON again."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {name: _without_decimals(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_decimals(each) for each in value]
    return value
