"""The tasks of the coordinator: PENDING, RUNNING, STOPPING, DONE. Source: Trogdor's ``TaskManager``.

The state machine does no I/O. ``Agents`` creates and stops workers on nodes, and ``worker_changed`` reports their
states. All calls may be repeated. The user holds a lock around every call if there are several threads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from kafka_tools.clock import Clock
from kafka_tools.errors import InputError, KafkaToolsError
from kafka_tools.load.specs.task_spec import TaskSpec
from kafka_tools.load.states.workers import Conflict

PENDING, RUNNING, STOPPING, DONE = "PENDING", "RUNNING", "STOPPING", "DONE"
STATES = (PENDING, RUNNING, STOPPING, DONE)
MOST_TASKS = 10_000
LONGEST_ID = 1_000


class Agents(Protocol):
    """The agents of all nodes. No method blocks."""

    def create_worker(self, node: str, worker_id: int, task_id: str, spec: TaskSpec) -> None:
        """Create a worker. Its states are reported with ``TaskManager.worker_changed``."""

    def stop_worker(self, node: str, worker_id: int) -> None:
        """Stop a worker."""

    def destroy_worker(self, node: str, worker_id: int) -> None:
        """Stop a worker and forget it."""


class WorkerReport(NamedTuple):
    """What an agent last reported of a worker."""

    state: str
    status: Any
    error: str = ""


class Task:
    """The state of one task."""

    def __init__(self, task_id: str, submitted: TaskSpec, now_ms: int) -> None:
        self.task_id = task_id
        self.submitted = submitted
        self.spec = replace(submitted, start_ms=max(now_ms, submitted.start_ms))
        """As it is performed: it does not start before it was submitted."""
        self.state = PENDING
        self.started_ms = -1
        self.done_ms = -1
        self.cancelled = False
        self.error = ""
        self.workers: dict[str, int] = {}
        """Node -> worker id."""
        self.reports: dict[str, WorkerReport] = {}
        """Node -> report of its worker."""

    @property
    def active(self) -> list[str]:
        """The nodes whose worker is not done."""
        return [node for node in self.workers if self.reports[node].state != DONE]

    @property
    def status(self) -> Any:
        """The status of the only worker, or an object with the status of each node's worker."""
        if len(self.reports) == 1:
            return next(iter(self.reports.values())).status
        return {node: report.status for node, report in sorted(self.reports.items()) if report.status is not None}

    def to_json(self) -> dict[str, Any]:
        """Trogdor's ``TaskState``: the members depend on the state. A task without an error has no ``error``."""
        found: dict[str, Any] = {"state": self.state, "spec": self.spec.to_json()}
        if self.state == PENDING:
            return found | {"status": None}
        found["startedMs"] = self.started_ms
        if self.state == DONE:
            found |= {"doneMs": self.done_ms, "cancelled": self.cancelled}
            found |= {"error": self.error} if self.error else {}
        return found | {"status": self.status}


class TaskQuery(NamedTuple):
    """Which tasks to list. A time of 0 is no condition. Source: Trogdor's ``TasksRequest``."""

    task_ids: Collection[str] = ()
    first_start_ms: int = 0
    last_start_ms: int = 0
    first_end_ms: int = 0
    last_end_ms: int = 0
    state: str = ""

    def matches(self, task: Task) -> bool:
        """Whether the task fulfils every condition."""
        started, done = task.started_ms, task.done_ms
        return (
            (not self.task_ids or task.task_id in self.task_ids)
            and (self.first_start_ms <= 0 or started >= self.first_start_ms)
            and (self.last_start_ms <= 0 or 0 <= started <= self.last_start_ms)
            and (self.first_end_ms <= 0 or done >= self.first_end_ms)
            and (self.last_end_ms <= 0 or 0 <= done <= self.last_end_ms)
            and self.state in ("", task.state)
        )


class TaskManager:
    """See the module. ``first_worker_id``: a coordinator that starts again must not reuse ids of its predecessor."""

    def __init__(
        self,
        agents: Agents,
        nodes: Iterable[str],
        clock: Clock,
        first_worker_id: int = 0,
        nodes_of: Callable[[TaskSpec], Iterable[str]] = lambda spec: spec.node_names,
    ) -> None:
        self._nodes_of = nodes_of
        self._agents = agents
        self._nodes = frozenset(nodes)
        self._clock = clock
        self._next_worker_id = first_worker_id
        self._tasks: dict[str, Task] = {}
        self._task_of_worker: dict[int, tuple[str, str]] = {}
        """Worker id -> task id and node."""

    def create(self, task_id: str, spec: TaskSpec) -> None:
        """Create a task. Does nothing if it exists. Raises Conflict if it exists with another specification, and
        InputError for an invalid id."""
        if not task_id or len(task_id) > LONGEST_ID or not re.fullmatch(r"[^\x00-\x1f\x7f]+", task_id):
            raise InputError("Invalid empty ID in createTask request." if not task_id else "invalid id of a task: "
                             f"expected at most {LONGEST_ID} printable characters")  # fmt: skip
        existing = self._tasks.get(task_id)
        if existing is not None:
            if existing.submitted != spec:
                raise Conflict(f"Task ID {task_id} already exists, and has a different spec.")
            return
        if len(self._tasks) >= MOST_TASKS:
            raise KafkaToolsError(f"the coordinator has {MOST_TASKS} tasks", hint="destroy tasks that are done")
        self._tasks[task_id] = Task(task_id, spec, self._clock.now_ms())
        self.advance()

    def stop(self, task_id: str) -> None:
        """Cancel a task. Does nothing for an unknown task and for one that is stopping or done."""
        if not task_id:
            raise InputError("Invalid empty ID in stopTask request.")
        task = self._tasks.get(task_id)
        if task is None or task.state in (STOPPING, DONE):
            return
        task.cancelled = True
        if task.state == PENDING or not task.active:
            self._done(task)
        else:
            self._stop_workers(task)

    def destroy(self, task_id: str) -> None:
        """Stop the workers of a task and forget it. Does nothing for an unknown task."""
        if not task_id:
            raise InputError("Invalid empty ID in destroyTask request.")
        task = self._tasks.pop(task_id, None)
        if task is None:
            return
        for node, worker_id in task.workers.items():
            del self._task_of_worker[worker_id]
            self._agents.destroy_worker(node, worker_id)

    def worker_changed(self, worker_id: int, report: WorkerReport) -> None:
        """An agent reported a worker. Reports of destroyed tasks are ignored."""
        found = self._task_of_worker.get(worker_id)
        if found is None:
            return
        task, node = self._tasks[found[0]], found[1]
        was_done = task.reports[node].state == DONE
        if was_done:
            return
        task.reports[node] = report
        if report.state != DONE:
            return
        task.error = task.error or report.error
        if not task.active:
            self._done(task)
        elif task.error and task.state == RUNNING:
            self._stop_workers(task)

    def advance(self) -> None:
        """Start the tasks whose time has come."""
        now_ms = self._clock.now_ms()
        for task in list(self._tasks.values()):
            if task.state == PENDING and task.spec.start_ms <= now_ms:
                self._start(task)

    def next_ms(self) -> int | None:
        """The time at which ``advance`` has something to do; None if there is none."""
        return min((task.spec.start_ms for task in self._tasks.values() if task.state == PENDING), default=None)

    def tasks(self, query: TaskQuery | None = None) -> dict[str, Task]:
        """The tasks that match, by id."""
        return {task_id: task for task_id, task in sorted(self._tasks.items()) if query is None or query.matches(task)}

    def task(self, task_id: str) -> Task | None:
        """The task, or None."""
        return self._tasks.get(task_id)

    def _start(self, task: Task) -> None:
        nodes = sorted(set(self._nodes_of(task.spec)) - {""})
        unknown = [node for node in nodes if node not in self._nodes]
        if unknown or not nodes:
            reason = f"Unknown node names: {', '.join(unknown)}" if unknown else "No node names specified."
            task.error = f"Unable to find nodes for task: {reason}"
            self._done(task)
            return
        task.state, task.started_ms = RUNNING, self._clock.now_ms()
        for node in nodes:
            worker_id = self._next_worker_id
            self._next_worker_id += 1
            task.workers[node] = worker_id
            task.reports[node] = WorkerReport("RECEIVING", None)
            self._task_of_worker[worker_id] = (task.task_id, node)
        for node, worker_id in task.workers.items():
            self._agents.create_worker(node, worker_id, task.task_id, task.spec)

    def _stop_workers(self, task: Task) -> None:
        task.state = STOPPING
        for node in task.active:
            self._agents.stop_worker(node, task.workers[node])

    def _done(self, task: Task) -> None:
        task.state, task.done_ms = DONE, self._clock.now_ms()
