"""What the coordinator wants of one agent, and what to send to it. Source: Trogdor's ``NodeManager``.

After each status of the agent, ``orders`` returns the requests that are missing. So lost requests, and agents that
start again, need nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kafka_tools.load.specs.task_spec import TaskSpec
from kafka_tools.load.states.workers import DONE, RUNNING, STARTING, STOPPING


class Order(NamedTuple):
    """A request to an agent: ``create``, ``stop`` or ``destroy`` a worker."""

    verb: str
    worker_id: int
    task_id: str = ""
    spec: TaskSpec | None = None


class _Wanted:
    def __init__(self, task_id: str, spec: TaskSpec) -> None:
        self.task_id = task_id
        self.spec = spec
        self.should_run = True


class NodeManager:
    """See the module. ``on_report(worker_id, state of the worker as JSON)`` is called for each report of a worker."""

    def __init__(self, on_report: Callable[[int, Mapping[str, Any]], None]) -> None:
        self._on_report = on_report
        self._wanted: dict[int, _Wanted] = {}
        self._to_destroy: set[int] = set()

    def create(self, worker_id: int, task_id: str, spec: TaskSpec) -> None:
        """Have a worker run."""
        self._wanted.setdefault(worker_id, _Wanted(task_id, spec))

    def stop(self, worker_id: int) -> None:
        """Have a worker stop."""
        if worker_id in self._wanted:
            self._wanted[worker_id].should_run = False

    def destroy(self, worker_id: int) -> None:
        """Have a worker stop and be forgotten."""
        if self._wanted.pop(worker_id, None) is not None:
            self._to_destroy.add(worker_id)

    def orders(self, workers: Mapping[int, Mapping[str, Any]]) -> list[Order]:
        """The requests to send, given the agent's workers: id -> Trogdor's ``WorkerState``.

        Workers that the coordinator does not know are stopped: they are those of an earlier coordinator.
        """
        found = []
        for worker_id, wanted in self._wanted.items():
            if worker_id not in workers:
                if wanted.should_run:
                    found.append(Order("create", worker_id, wanted.task_id, wanted.spec))
                else:  # the agent has forgotten it, or never had it
                    self._on_report(worker_id, {"state": DONE, "status": None, "error": ""})
        for worker_id, state in workers.items():
            if worker_id in self._to_destroy:
                found.append(Order("destroy", worker_id))
                continue
            known = self._wanted.get(worker_id)
            if state.get("state") in (STARTING, RUNNING) and (known is None or not known.should_run):
                found.append(Order("stop", worker_id))
            if known is not None:
                if state.get("state") in (STOPPING, DONE):
                    known.should_run = False
                self._on_report(worker_id, state)
        self._to_destroy &= workers.keys()
        return found
