"""Performs a document in this process: the coordinator's state machine with one agent.

Every task runs here, whatever nodes its specification names.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kafka_tools.clock import Clock
from kafka_tools.load.platform import Platform
from kafka_tools.load.run_document import RunDocument
from kafka_tools.load.specs.task_spec import TaskSpec
from kafka_tools.load.states.tasks import DONE, PENDING, Task, TaskManager, WorkerReport
from kafka_tools.load.states.workers import Worker
from kafka_tools.load.worker_runner import WorkerRunner


class TaskResult(NamedTuple):
    """A task at the end."""

    task: Task
    measured: dict[str, Any]
    """Figures beside the status: ``operations`` and ``timeline``."""


class LocalRun:
    """One run of a document. ``perform`` may be called once; ``progress`` at any time from any thread."""

    def __init__(self, document: RunDocument, clock: Clock) -> None:
        self._document = document
        self._clock = clock
        self.started_ms = clock.now_ms()
        node = document.node
        self._platform = Platform(node, document.addresses, document.processes, document.broker_config)
        self._runner = WorkerRunner(self._platform, clock, self._worker_changed)
        self._tasks = TaskManager(self, [node], clock, nodes_of=lambda spec: [node])

    def perform(self) -> list[TaskResult]:
        """Run all tasks until they are done. Raises KafkaToolsError if the broker or a process cannot start.

        KeyboardInterrupt cancels the tasks and waits for their end; a second one ends at once.
        """
        with self._platform:
            self._platform.open()
            broker = self._platform.broker
            self.started_ms = self._clock.now_ms()
            tasks = self._document.specs(self.started_ms, broker.bootstrap_servers if broker else None)
            with self._runner.changed:
                for task_id, spec in tasks.items():
                    self._tasks.create(task_id, spec)
            try:
                self._runner.wait(self._is_done, self._tasks.next_ms)
            except KeyboardInterrupt:
                with self._runner.changed:
                    for task_id in tasks:
                        self._tasks.stop(task_id)
                self._runner.wait(self._is_done, self._tasks.next_ms)
            return [TaskResult(task, self._measured(task)) for task in self._tasks.tasks().values()]

    def _is_done(self) -> bool:
        self._tasks.advance()
        return all(task.state == DONE for task in self._tasks.tasks().values())

    def _measured(self, task: Task) -> dict[str, Any]:
        works = [self._runner.running[each] for each in task.workers.values() if each in self._runner.running]
        return works[0].measured() if len(works) == 1 else {}

    def progress(self) -> tuple[int, int]:
        """Operations done, and the total of the tasks that have one."""
        with self._runner.changed:
            done = sum(
                int(self._measured(task).get("operations", 0))
                for task in self._tasks.tasks().values()
                if task.state != PENDING and task.spec.total_operations
            )
        return done, self._document.total_operations

    # The agents of all nodes

    def create_worker(self, node: str, worker_id: int, task_id: str, spec: TaskSpec) -> None:
        """See ``Agents``."""
        self._runner.manager.create(worker_id, task_id, spec)

    def stop_worker(self, node: str, worker_id: int) -> None:
        """See ``Agents``."""
        self._runner.manager.stop(worker_id)

    def destroy_worker(self, node: str, worker_id: int) -> None:
        """See ``Agents``."""
        self._runner.manager.stop(worker_id, destroy=True)

    def _worker_changed(self, worker: Worker) -> None:
        self._tasks.worker_changed(worker.worker_id, WorkerReport(worker.state, worker.status(), worker.error))
