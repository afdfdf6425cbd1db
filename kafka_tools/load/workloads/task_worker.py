"""The work of a task on one node: what workloads and faults have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Event
from typing import Any

from kafka_tools.clock import Clock
from kafka_tools.load.platform import Platform


class TaskWorker(ABC):
    """Work that runs on a thread of its own until it is done or ``stopping`` is set."""

    def __init__(self, task_id: str, platform: Platform, clock: Clock) -> None:
        self.task_id = task_id
        self.platform = platform
        self.clock = clock
        self.stopping = Event()

    @abstractmethod
    def run(self) -> None:
        """Do the work, and clean up before it ends. Raises KafkaToolsError if the work cannot be done."""

    def status(self) -> Any:
        """The status as a JSON value, at any time and from any thread."""
        return None

    def measured(self) -> dict[str, Any]:
        """Further figures for the report, as JSON: ``operations`` so far and ``timeline``."""
        return {}


class NoOpWorker(TaskWorker):
    """Waits until it is stopped."""

    def run(self) -> None:
        self.stopping.wait()
