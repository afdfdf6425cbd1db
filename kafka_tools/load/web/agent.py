"""The agent: performs the workers of one node. Source: Trogdor's ``Agent`` and ``AgentRestResource``."""

from __future__ import annotations

from threading import Event, Thread
from typing import Any

from kafka_tools.clock import Clock, Deadline
from kafka_tools.closing import Closing
from kafka_tools.errors import InputError
from kafka_tools.load.platform import Platform
from kafka_tools.load.specs.classes import read_spec
from kafka_tools.load.web.rest import Called, RestApplication
from kafka_tools.load.web.server import WebServer
from kafka_tools.load.worker_runner import WorkerRunner

_STOP_TIMEOUT_S = 30.0


class Agent(Closing):
    """Listens from its creation until ``close``. ``shutdown`` is set when a request asks for the end."""

    def __init__(self, platform: Platform, token: str, host: str, port: int, clock: Clock) -> None:
        self._platform = platform
        self._clock = clock
        self._start_ms = clock.now_ms()
        self.shutdown = Event()
        self._runner = WorkerRunner(platform, clock)
        routes = {
            "GET /agent/status": self._status,
            "GET /agent/uptime": self._uptime,
            "POST /agent/worker/create": self._create,
            "PUT /agent/worker/stop": self._stop,
            "DELETE /agent/worker": self._destroy,
            "PUT /agent/shutdown": self._shut_down,
        }
        platform.open()
        try:
            self._server = WebServer(RestApplication(token, routes), host, port)
        except BaseException:
            platform.close()
            raise
        self._ended = False
        self._timer = Thread(target=self._runner.wait, args=(lambda: self._ended,), name="load-agent", daemon=True)
        self._timer.start()

    @property
    def address(self) -> str:
        """``host:port``."""
        return self._server.address

    def _status(self, called: Called) -> Any:
        with self._runner.changed:
            workers = {str(number): worker.to_json() for number, worker in self._runner.manager.workers.items()}
        return {"serverStartMs": self._start_ms, "workers": workers}

    def _uptime(self, called: Called) -> Any:
        return {"serverStartMs": self._start_ms, "nowMs": self._clock.now_ms()}

    def _create(self, called: Called) -> Any:
        members = called.members
        worker_id, task_id = members.whole("workerId"), members.text("taskId")
        spec = read_spec(members.raw("spec"), f"task {task_id[:100]}")
        members.end()
        if not task_id:
            raise InputError("taskId is missing")
        with self._runner.changed:
            if not self.shutdown.is_set():
                self._runner.manager.create(worker_id, task_id, spec)
        return {}

    def _stop(self, called: Called) -> Any:
        worker_id = called.members.whole("workerId")
        called.members.end()
        with self._runner.changed:
            self._runner.manager.stop(worker_id)
        return {}

    def _destroy(self, called: Called) -> Any:
        with self._runner.changed:
            self._runner.manager.stop(called.number("workerId"), destroy=True)
        return {}

    def _shut_down(self, called: Called) -> Any:
        self.shutdown.set()
        return {}

    def close(self) -> None:
        """Stop all workers, at most 30 s, then the server and what the platform started."""
        self.shutdown.set()
        deadline = Deadline(self._clock, _STOP_TIMEOUT_S)
        with self._runner.changed:
            self._runner.manager.stop_all()
            while not (self._runner.manager.is_idle or deadline.expired):
                self._runner.changed.wait(deadline.left_s())
            self._ended = True
            self._runner.changed.notify_all()
        self._server.close()
        self._platform.close()
