"""Runs the workers of one node: a thread for each, around the state machine of ``states/workers.py``."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Thread

from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.load.platform import Platform
from kafka_tools.load.states.workers import Worker, WorkerManager
from kafka_tools.load.worker_classes import worker_of
from kafka_tools.load.workloads.task_worker import TaskWorker


class WorkerRunner:
    """See the module. Hold ``changed`` around every use of ``manager``; it is notified after each change."""

    def __init__(
        self, platform: Platform, clock: Clock, on_change: Callable[[Worker], None] = lambda worker: None
    ) -> None:
        self.changed = Condition()
        self.running: dict[int, TaskWorker] = {}
        """Worker id -> its work, also after its end."""
        self._platform = platform
        self._clock = clock
        self._on_change = on_change
        self.manager = WorkerManager(self, clock, self._changed)

    def start(self, worker: Worker) -> None:
        """See ``Starter``."""
        work = worker_of(worker.task_id, worker.spec, self._platform, self._clock)
        self.running[worker.worker_id] = work
        worker.status = work.status
        name = f"load-{worker.task_id}"
        Thread(target=self._run, args=(worker.worker_id, work), name=name, daemon=True).start()

    def stop(self, worker: Worker) -> None:
        """See ``Starter``."""
        self.running[worker.worker_id].stopping.set()

    def _run(self, worker_id: int, work: TaskWorker) -> None:
        try:
            work.run()
            error = ""
        except KafkaToolsError as raised:
            error = str(raised)
        except Exception as raised:  # noqa: BLE001 - becomes the error of the task, which must end
            error = f"internal error: {type(raised).__name__}: {raised}"
        with self.changed:
            self.manager.halted(worker_id, error)
            self.manager.completed(worker_id, "")

    def _changed(self, worker: Worker) -> None:
        if worker.worker_id not in self.manager.workers:
            self.running.pop(worker.worker_id, None)
        self._on_change(worker)
        self.changed.notify_all()

    def wait(self, until: Callable[[], bool], other_next_ms: Callable[[], int | None] = lambda: None) -> None:
        """Advance the state machine until ``until()``, which is asked after each change. ``other_next_ms``: a time at
        which the caller has something to do in ``until``."""
        with self.changed:
            while True:
                self.manager.advance()
                if until():
                    return
                times = [each for each in (self.manager.next_ms(), other_next_ms()) if each is not None]
                wait_s = max(0.0, (min(times) - self._clock.now_ms()) / 1000) if times else None
                self.changed.wait(None if wait_s is None else min(wait_s + 0.001, 3600.0))
