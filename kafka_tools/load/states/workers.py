"""The workers of one agent: STARTING, RUNNING, STOPPING, DONE. Source: Trogdor's ``WorkerManager``.

The state machine does no I/O: ``Starter`` starts and stops the work, and reports back with ``halted`` and
``completed``. All calls may be repeated. The user holds a lock around every call if there are several threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.load.specs.task_spec import TaskSpec

STARTING, RUNNING, STOPPING, DONE = "STARTING", "RUNNING", "STOPPING", "DONE"
EXPIRED = "worker expired"
MOST_WORKERS = 10_000


class Conflict(KafkaToolsError):
    """A task or worker with the same id exists and differs."""


class Starter(Protocol):
    """Performs what the state machine decides. Neither method blocks."""

    def start(self, worker: Worker) -> None:
        """Start the work and set ``worker.status``. An error is reported with ``halted``."""

    def stop(self, worker: Worker) -> None:
        """Begin to stop the work. ``completed`` reports the end."""


class Worker:
    """The state of one worker."""

    def __init__(self, worker_id: int, task_id: str, spec: TaskSpec, started_ms: int) -> None:
        self.worker_id = worker_id
        self.task_id = task_id
        self.spec = spec
        self.started_ms = started_ms
        self.done_ms = -1
        self.state = STARTING
        self.error = ""
        self.must_destroy = False
        self.status: Callable[[], Any] = lambda: None
        """Returns the status of the work as a JSON value."""
        self.ends_ms = spec.start_ms + spec.duration_ms

    def to_json(self) -> dict[str, Any]:
        """Trogdor's ``WorkerState``."""
        found: dict[str, Any] = {"state": self.state, "taskId": self.task_id, "spec": self.spec.to_json()}
        if self.state != STARTING:
            found["startedMs"] = self.started_ms
        if self.state == DONE:
            found["doneMs"] = self.done_ms
        found["status"] = self.status()
        if self.state == DONE:
            found["error"] = self.error
        return found


class WorkerManager:
    """See the module."""

    def __init__(
        self, starter: Starter, clock: Clock, on_change: Callable[[Worker], None] = lambda worker: None
    ) -> None:
        """``on_change`` is called after each change of a worker's state."""
        self._starter = starter
        self._clock = clock
        self._on_change = on_change
        self._workers: dict[int, Worker] = {}

    @property
    def workers(self) -> dict[int, Worker]:
        """The workers by id."""
        return dict(sorted(self._workers.items()))

    def create(self, worker_id: int, task_id: str, spec: TaskSpec) -> None:
        """Start a worker. Does nothing if it exists. Raises Conflict if it exists and differs."""
        existing = self._workers.get(worker_id)
        if existing is not None:
            if existing.task_id != task_id:
                raise Conflict(f"There is already a worker ID {worker_id} with a different task ID.")
            if existing.spec != spec:
                raise Conflict(f"There is already a worker ID {worker_id} with a different task spec.")
            return
        if len(self._workers) >= MOST_WORKERS:
            raise KafkaToolsError(f"this agent has {MOST_WORKERS} workers", hint="destroy tasks that are done")
        now_ms = self._clock.now_ms()
        worker = self._workers[worker_id] = Worker(worker_id, task_id, spec, now_ms)
        if worker.ends_ms <= now_ms:
            worker.error = EXPIRED
            self._done(worker)
            return
        self._set(worker, RUNNING)
        self._starter.start(worker)

    def stop(self, worker_id: int, *, destroy: bool = False) -> None:
        """Stop a worker; ``destroy`` also forgets it once it is done. Does nothing for an unknown worker."""
        worker = self._workers.get(worker_id)
        if worker is None:
            return
        worker.must_destroy = worker.must_destroy or destroy
        if worker.state == RUNNING:
            self._stopping(worker)
        elif worker.state == DONE and worker.must_destroy:
            del self._workers[worker_id]

    def stop_all(self) -> None:
        """Stop and forget every worker."""
        for worker_id in list(self._workers):
            self.stop(worker_id, destroy=True)

    def halted(self, worker_id: int, error: str) -> None:
        """The work ended by itself: with an error, or complete if ``error`` is empty."""
        worker = self._workers.get(worker_id)
        if worker is None:
            return
        worker.error = worker.error or error
        if worker.state == RUNNING:
            self._stopping(worker)

    def completed(self, worker_id: int, failure: str) -> None:
        """The work has stopped. ``failure`` is the reason why it could not be done or could not be stopped."""
        worker = self._workers.get(worker_id)
        if worker is None or worker.state == DONE:
            return
        worker.error = worker.error or failure
        self._done(worker)

    def advance(self) -> None:
        """Stop the workers whose time is over."""
        now_ms = self._clock.now_ms()
        for worker in list(self._workers.values()):
            if worker.state == RUNNING and worker.ends_ms <= now_ms:
                self._stopping(worker)

    def next_ms(self) -> int | None:
        """The time at which ``advance`` has something to do; None if there is none."""
        return min((each.ends_ms for each in self._workers.values() if each.state == RUNNING), default=None)

    @property
    def is_idle(self) -> bool:
        """Whether every worker is done."""
        return all(worker.state == DONE for worker in self._workers.values())

    def _stopping(self, worker: Worker) -> None:
        self._set(worker, STOPPING)
        self._starter.stop(worker)

    def _done(self, worker: Worker) -> None:
        worker.done_ms = self._clock.now_ms()
        if worker.must_destroy:
            del self._workers[worker.worker_id]
        self._set(worker, DONE)

    def _set(self, worker: Worker, state: str) -> None:
        worker.state = state
        self._on_change(worker)
