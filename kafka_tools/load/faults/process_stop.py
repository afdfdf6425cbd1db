"""ProcessStop: SIGSTOP now, SIGCONT at the end. Source: Trogdor's ``ProcessStopFaultWorker``.

Trogdor searches all Java processes for a text. Here the process must be one that the node's file names or starts.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Any

from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.load.platform import Platform
from kafka_tools.load.specs.fault_specs import ProcessStopSpec
from kafka_tools.load.workloads.task_worker import TaskWorker


class ProcessStopWorker(TaskWorker):
    """See the module."""

    def __init__(self, task_id: str, platform: Platform, clock: Clock, spec: ProcessStopSpec) -> None:
        super().__init__(task_id, platform, clock)
        self._name = spec.process_name
        self._status: str | None = None

    def run(self) -> None:
        pid = self.platform.pid_of(self._name)
        try:
            os.kill(pid, signal.SIGSTOP)
        except OSError as error:
            raise KafkaToolsError(f"cannot stop process '{self._name}' ({pid}): {error.strerror}") from error
        self._status = f"stopped {self._name}"
        try:
            self.stopping.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):  # it was killed while it was stopped
                os.kill(pid, signal.SIGCONT)
        self._status = f"resumed {self._name}"

    def status(self) -> Any:
        return self._status
