"""The coordinator: has the tasks, and one thread for each agent. Source: Trogdor's ``Coordinator``, ``NodeManager``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from random import Random
from threading import Condition, Event, Thread
from typing import Any

from kafka_tools.clock import Clock
from kafka_tools.closing import Closing
from kafka_tools.errors import InputError, KafkaToolsError
from kafka_tools.load.specs.classes import read_spec
from kafka_tools.load.specs.task_spec import TaskSpec
from kafka_tools.load.states.nodes import NodeManager, Order
from kafka_tools.load.states.tasks import STATES, TaskManager, TaskQuery, WorkerReport
from kafka_tools.load.web.rest import Called, NoSuchResource, RestApplication
from kafka_tools.load.web.rest_client import RestClient
from kafka_tools.load.web.server import WebServer

log = logging.getLogger(__name__)

HEARTBEAT_S = 1.0
_LONGEST_WAIT_S = 3600.0
_END_S = 15.0


class Coordinator(Closing):
    """Listens from its creation until ``close``. ``shutdown`` is set when a request asks for the end.

    ``agents``: node -> address of its agent, all with the same token as the coordinator.
    """

    def __init__(self, agents: Mapping[str, str], token: str, host: str, port: int, clock: Clock) -> None:
        self._clock = clock
        self._start_ms = clock.now_ms()
        self.shutdown = Event()
        self.stops_agents = False
        self._changed = Condition()
        self._ended = False
        self._nodes = {name: NodeManager(self._reported) for name in agents}
        self._clients = {name: RestClient(address, token) for name, address in agents.items()}
        # Workers of an earlier coordinator have other ids, so they are stopped.
        self._tasks = TaskManager(self, agents, clock, first_worker_id=Random().randrange(2**52))
        routes = {
            "GET /coordinator/status": lambda called: {"serverStartMs": self._start_ms},
            "GET /coordinator/uptime": self._uptime,
            "POST /coordinator/task/create": self._create,
            "PUT /coordinator/task/stop": self._stop,
            "DELETE /coordinator/tasks": self._destroy,
            "GET /coordinator/tasks": self._list,
            "GET /coordinator/tasks/*": self._show,
            "PUT /coordinator/shutdown": self._shut_down,
        }
        self._server = WebServer(RestApplication(token, routes), host, port)
        self._threads = [Thread(target=self._start_tasks, name="load-tasks", daemon=True)]
        self._threads += [
            Thread(target=self._follow, args=(name,), name=f"load-{name}", daemon=True) for name in agents
        ]
        for thread in self._threads:
            thread.start()

    @property
    def address(self) -> str:
        """``host:port``."""
        return self._server.address

    # Requests

    def _uptime(self, called: Called) -> Any:
        return {"serverStartMs": self._start_ms, "nowMs": self._clock.now_ms()}

    def _create(self, called: Called) -> Any:
        task_id = called.members.text("id")
        spec = read_spec(called.members.raw("spec"), f"task {task_id[:100]}")
        called.members.end()
        with self._changed:
            self._tasks.create(task_id, spec)
            self._changed.notify_all()
        return {}

    def _stop(self, called: Called) -> Any:
        task_id = called.members.text("id")
        called.members.end()
        with self._changed:
            self._tasks.stop(task_id)
            self._changed.notify_all()
        return {}

    def _destroy(self, called: Called) -> Any:
        with self._changed:
            self._tasks.destroy(called.parameter("taskId"))
            self._changed.notify_all()
        return {}

    def _list(self, called: Called) -> Any:
        state = called.parameter("state")
        if state not in ("", *STATES):
            raise InputError(f"State {state[:40]} is invalid. Must be one of {', '.join(STATES)}")
        query = TaskQuery(
            frozenset(called.query.get("taskId", ())),
            called.number("firstStartMs"),
            called.number("lastStartMs"),
            called.number("firstEndMs"),
            called.number("lastEndMs"),
            state,
        )
        with self._changed:
            found = self._tasks.tasks(query)
            return {"tasks": {task_id: task.to_json() for task_id, task in found.items()}}

    def _show(self, called: Called) -> Any:
        with self._changed:
            task = self._tasks.task(called.rest)
            if task is None:
                raise NoSuchResource(f'No task with ID "{called.rest[:200]}" exists.')
            return task.to_json()

    def _shut_down(self, called: Called) -> Any:
        self.stops_agents = called.members.flag("stopAgents")
        called.members.end()
        self.shutdown.set()
        return {}

    # The agents, for the TaskManager

    def create_worker(self, node: str, worker_id: int, task_id: str, spec: TaskSpec) -> None:
        """See ``Agents``."""
        self._nodes[node].create(worker_id, task_id, spec)

    def stop_worker(self, node: str, worker_id: int) -> None:
        """See ``Agents``."""
        self._nodes[node].stop(worker_id)

    def destroy_worker(self, node: str, worker_id: int) -> None:
        """See ``Agents``."""
        self._nodes[node].destroy(worker_id)

    def _reported(self, worker_id: int, state: Mapping[str, Any]) -> None:
        report = WorkerReport(str(state.get("state")), state.get("status"), str(state.get("error") or ""))
        self._tasks.worker_changed(worker_id, report)

    # Threads

    def _start_tasks(self) -> None:
        with self._changed:
            while not self._ended:
                self._tasks.advance()
                next_ms = self._tasks.next_ms()
                wait_s = _LONGEST_WAIT_S if next_ms is None else (next_ms - self._clock.now_ms()) / 1000 + 0.001
                self._changed.wait(min(max(0.0, wait_s), _LONGEST_WAIT_S))

    def _follow(self, name: str) -> None:
        """Ask one agent for its status and send what is missing: every second, and after each change of a task."""
        client, problem = self._clients[name], ""
        while not self._ended:
            try:
                self._exchange(client, self._nodes[name])
                problem = ""
            except KafkaToolsError as error:
                if str(error) != problem:
                    problem = str(error)
                    log.warning("agent %s: %s", name, problem)
            with self._changed:
                if not self._ended:
                    self._changed.wait(HEARTBEAT_S)

    def _exchange(self, client: RestClient, node: NodeManager) -> None:
        status = client.send("GET", "/agent/status")
        workers = status.get("workers") if isinstance(status, dict) else None
        if not isinstance(workers, dict):
            raise KafkaToolsError(f"{client.address} is not an agent")
        known = {int(each): state for each, state in workers.items() if each.isdecimal() and isinstance(state, dict)}
        with self._changed:
            orders = node.orders(known)
        for order in orders:
            _send(client, order)

    def close(self) -> None:
        """Stop the server and the threads, and the agents if a request asked for that."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._server.close()
        for thread in self._threads:
            thread.join(_END_S)
        for name, client in self._clients.items() if self.stops_agents else ():
            try:
                client.send("PUT", "/agent/shutdown", {})
            except KafkaToolsError as error:
                log.warning("agent %s: %s", name, error)


def _send(client: RestClient, order: Order) -> None:
    if order.verb == "stop":
        client.send("PUT", "/agent/worker/stop", {"workerId": order.worker_id})
    elif order.verb == "destroy":
        client.send("DELETE", "/agent/worker", workerId=order.worker_id)
    else:
        assert order.spec is not None
        spec = order.spec.to_json(with_secrets=True)
        client.send(
            "POST", "/agent/worker/create", {"workerId": order.worker_id, "taskId": order.task_id, "spec": spec}
        )
