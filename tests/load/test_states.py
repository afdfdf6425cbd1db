"""Tasks, workers and agents in virtual time: states, records, cancellation, repeated calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.errors import InputError
from kafka_tools.load.specs.classes import read_spec
from kafka_tools.load.specs.task_spec import TaskSpec
from kafka_tools.load.states.nodes import NodeManager, Order
from kafka_tools.load.states.tasks import TaskManager, TaskQuery, WorkerReport
from kafka_tools.load.states.workers import EXPIRED, Conflict, Worker, WorkerManager

NOW_MS = 1_700_000_000_000


def no_op(*nodes: str, start_ms: int = 0, duration_ms: int = 10_000) -> TaskSpec:
    given = {"class": "NoOp", "startMs": start_ms, "durationMs": duration_ms, "nodeNames": list(nodes)}
    return read_spec(given, "test")


class RecordedAgents:
    """Agents that only record what they are told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def create_worker(self, node: str, worker_id: int, task_id: str, spec: TaskSpec) -> None:
        self.calls.append(("create", node, worker_id, task_id))

    def stop_worker(self, node: str, worker_id: int) -> None:
        self.calls.append(("stop", node, worker_id))

    def destroy_worker(self, node: str, worker_id: int) -> None:
        self.calls.append(("destroy", node, worker_id))

    def taken(self) -> list[tuple[Any, ...]]:
        calls, self.calls = self.calls, []
        return calls


class Coordinator:
    """A TaskManager with three nodes in virtual time."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOW_MS)
        self.agents = RecordedAgents()
        self.tasks = TaskManager(self.agents, ["a", "b", "c"], self.clock, first_worker_id=100)

    def after(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.tasks.advance()

    def report(self, worker_id: int, state: str, status: Any = None, error: str = "") -> None:
        self.tasks.worker_changed(worker_id, WorkerReport(state, status, error))

    def record(self, task_id: str = "t") -> dict[str, Any]:
        task = self.tasks.task(task_id)
        assert task is not None
        return task.to_json()


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


@pytest.mark.req("TROG-1")
def test_a_task_is_split_into_a_worker_for_each_of_its_nodes(coordinator: Coordinator) -> None:
    coordinator.tasks.create("t", no_op("b", "a"))
    assert coordinator.agents.taken() == [("create", "a", 100, "t"), ("create", "b", 101, "t")]
    coordinator.report(100, "DONE", {"sent": 1})
    assert coordinator.record()["state"] == "RUNNING"
    coordinator.report(101, "RUNNING", {"sent": 2})
    assert coordinator.record()["status"] == {"a": {"sent": 1}, "b": {"sent": 2}}
    coordinator.report(101, "DONE", {"sent": 3})
    assert coordinator.record()["state"] == "DONE"


@pytest.mark.req("TROG-5", "TROG-6")
def test_the_record_of_a_task_from_pending_to_done(coordinator: Coordinator) -> None:
    spec = no_op("a", start_ms=NOW_MS + 5_000)
    coordinator.tasks.create("t", spec)
    shown = {
        "class": "org.apache.kafka.trogdor.task.NoOpTaskSpec",
        "startMs": NOW_MS + 5_000,
        "durationMs": 10_000,
        "nodeNames": ["a"],
    }
    assert coordinator.record() == {"state": "PENDING", "spec": shown, "status": None}
    assert coordinator.tasks.next_ms() == NOW_MS + 5_000
    coordinator.after(4.999)
    assert coordinator.record()["state"] == "PENDING"
    coordinator.after(0.001)
    started = {"spec": shown, "startedMs": NOW_MS + 5_000}
    assert coordinator.record() == {"state": "RUNNING", **started, "status": None}
    coordinator.report(100, "RUNNING", {"totalSent": 5})
    assert coordinator.record() == {"state": "RUNNING", **started, "status": {"totalSent": 5}}
    coordinator.tasks.stop("t")
    assert coordinator.record()["state"] == "STOPPING"
    coordinator.after(2)
    coordinator.report(100, "DONE", {"totalSent": 9})
    assert coordinator.record() == {
        "state": "DONE", **started, "doneMs": NOW_MS + 7_000, "cancelled": True,
        "status": {"totalSent": 9},
    }  # fmt: skip


@pytest.mark.req("TROG-4")
def test_a_start_in_the_past_is_the_time_of_submission_and_the_rest_of_the_spec_stays(coordinator: Coordinator) -> None:
    coordinator.tasks.create("t", no_op("a", start_ms=1_000))
    assert coordinator.record()["spec"]["startMs"] == NOW_MS
    spec = coordinator.tasks.tasks()["t"].spec
    with pytest.raises(AttributeError):
        spec.duration_ms = 5  # type: ignore[misc]
    with pytest.raises(Conflict, match="Task ID t already exists, and has a different spec"):
        coordinator.tasks.create("t", no_op("a", start_ms=1_000, duration_ms=11_000))
    assert coordinator.record()["spec"]["durationMs"] == 10_000


@pytest.mark.req("TROG-5")
def test_a_task_fails_with_the_first_error_and_stops_its_other_workers(coordinator: Coordinator) -> None:
    coordinator.tasks.create("t", no_op("a", "b", "c"))
    coordinator.agents.taken()
    coordinator.report(101, "DONE", None, "no broker")
    assert coordinator.agents.taken() == [("stop", "a", 100), ("stop", "c", 102)]
    assert coordinator.record()["state"] == "STOPPING"
    coordinator.report(100, "DONE", None, "another error")
    coordinator.report(102, "DONE", None)
    assert (coordinator.record()["state"], coordinator.record()["error"]) == ("DONE", "no broker")
    assert coordinator.record()["cancelled"] is False


@pytest.mark.req("TROG-3")
def test_calls_may_be_repeated(coordinator: Coordinator) -> None:
    spec, agents = no_op("a"), coordinator.agents
    coordinator.tasks.create("t", spec)
    coordinator.tasks.create("t", no_op("a"))
    assert agents.taken() == [("create", "a", 100, "t")]
    coordinator.tasks.stop("t")
    coordinator.tasks.stop("t")
    assert agents.taken() == [("stop", "a", 100)]
    coordinator.report(100, "DONE")
    done = coordinator.record()
    coordinator.after(1)
    coordinator.report(100, "DONE", None, "late")
    coordinator.tasks.stop("t")
    assert coordinator.record() == done
    coordinator.tasks.destroy("t")
    coordinator.tasks.destroy("t")
    assert agents.taken() == [("destroy", "a", 100)]
    coordinator.tasks.stop("t")  # unknown now
    coordinator.report(100, "RUNNING")
    assert coordinator.tasks.tasks() == {} and agents.taken() == []


def test_a_pending_task_is_cancelled_without_a_worker(coordinator: Coordinator) -> None:
    coordinator.tasks.create("t", no_op("a", start_ms=NOW_MS + 9_000))
    coordinator.tasks.stop("t")
    coordinator.after(10)
    assert coordinator.agents.taken() == []
    record = coordinator.record()
    assert (record["state"], record["cancelled"], record["startedMs"], record["doneMs"]) == ("DONE", True, -1, NOW_MS)


@pytest.mark.parametrize(("nodes", "reason"), [(("a", "x"), "Unknown node names: x"), ((), "No node names specified.")])
def test_a_task_without_a_known_node_fails(coordinator: Coordinator, nodes: tuple[str, ...], reason: str) -> None:
    coordinator.tasks.create("t", no_op(*nodes))
    assert coordinator.record()["error"] == f"Unable to find nodes for task: {reason}"
    assert coordinator.record()["state"] == "DONE"


def test_an_id_is_required(coordinator: Coordinator) -> None:
    for call in (lambda: coordinator.tasks.create("", no_op("a")), lambda: coordinator.tasks.stop(""),
                 lambda: coordinator.tasks.destroy(""), lambda: coordinator.tasks.create("x\n", no_op("a")),
                 lambda: coordinator.tasks.create("x" * 1_001, no_op("a"))):  # fmt: skip
        with pytest.raises(InputError):
            call()


def test_tasks_are_selected_by_id_time_and_state(coordinator: Coordinator) -> None:
    coordinator.tasks.create("early", no_op("a"))
    coordinator.report(100, "DONE")
    coordinator.after(10)
    coordinator.tasks.create("late", no_op("a"))
    coordinator.tasks.create("later", no_op("a", start_ms=NOW_MS + 99_000))

    def found(**query: Any) -> list[str]:
        return list(coordinator.tasks.tasks(TaskQuery(**query)))

    assert found() == ["early", "late", "later"]
    assert found(task_ids=["late", "x"]) == ["late"]
    assert found(state="DONE") == ["early"]
    assert found(first_start_ms=NOW_MS + 1) == ["late"]
    assert found(last_start_ms=NOW_MS + 1) == ["early"]
    assert found(last_end_ms=NOW_MS + 1) == ["early"]
    assert found(first_end_ms=NOW_MS + 1) == []


class RecordedStarter:
    """Starts nothing."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def start(self, worker: Worker) -> None:
        self.calls.append(("start", worker.worker_id))

    def stop(self, worker: Worker) -> None:
        self.calls.append(("stop", worker.worker_id))


class AgentOfOneNode:
    """A WorkerManager in virtual time, and the states that its workers went through."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOW_MS)
        self.starter = RecordedStarter()
        self.changes: list[tuple[int, str]] = []
        self.workers = WorkerManager(
            self.starter, self.clock, lambda each: self.changes.append((each.worker_id, each.state))
        )


@pytest.fixture
def agent() -> AgentOfOneNode:
    return AgentOfOneNode()


@pytest.mark.req("TROG-4")
def test_a_worker_is_stopped_after_its_duration(agent: AgentOfOneNode) -> None:
    agent.workers.create(1, "t", no_op("a", start_ms=NOW_MS, duration_ms=3_000))
    assert agent.workers.next_ms() == NOW_MS + 3_000
    agent.clock.advance(2.999)
    agent.workers.advance()
    assert agent.starter.calls == [("start", 1)]
    agent.clock.advance(0.001)
    agent.workers.advance()
    agent.workers.advance()
    assert agent.starter.calls == [("start", 1), ("stop", 1)]
    assert not agent.workers.is_idle
    agent.workers.completed(1, "")
    assert agent.changes == [(1, "RUNNING"), (1, "STOPPING"), (1, "DONE")]
    assert agent.workers.workers[1].to_json()["doneMs"] == NOW_MS + 3_000


def test_a_worker_that_ends_by_itself_is_done_with_its_error(agent: AgentOfOneNode) -> None:
    agent.workers.create(1, "t", no_op("a", start_ms=NOW_MS))
    agent.workers.halted(1, "no broker")
    agent.workers.completed(1, "cannot close")
    assert agent.workers.workers[1].to_json()["error"] == "no broker"
    agent.workers.create(2, "t", no_op("a", start_ms=NOW_MS))
    agent.workers.halted(2, "")
    agent.workers.completed(2, "cannot close")
    assert agent.workers.workers[2].to_json()["error"] == "cannot close"


@pytest.mark.req("TROG-3")
def test_calls_to_an_agent_may_be_repeated(agent: AgentOfOneNode) -> None:
    spec = no_op("a", start_ms=NOW_MS)
    agent.workers.create(1, "t", spec)
    agent.workers.create(1, "t", spec)
    with pytest.raises(Conflict, match="different task ID"):
        agent.workers.create(1, "u", spec)
    with pytest.raises(Conflict, match="different task spec"):
        agent.workers.create(1, "t", no_op("a", start_ms=NOW_MS + 1))
    agent.workers.stop(1)
    agent.workers.stop(1)
    agent.workers.stop(7)
    assert agent.starter.calls == [("start", 1), ("stop", 1)]
    agent.workers.completed(1, "")
    agent.workers.completed(1, "late")
    assert agent.workers.workers[1].error == ""
    agent.workers.stop(1, destroy=True)
    agent.workers.stop(1, destroy=True)
    assert agent.workers.workers == {}


def test_a_destroyed_worker_is_forgotten_once_it_has_stopped(agent: AgentOfOneNode) -> None:
    agent.workers.create(1, "t", no_op("a", start_ms=NOW_MS))
    agent.workers.stop_all()
    assert agent.workers.workers[1].state == "STOPPING"
    agent.workers.completed(1, "")
    assert agent.workers.workers == {} and agent.workers.is_idle


def test_a_worker_whose_time_is_over_does_not_start(agent: AgentOfOneNode) -> None:
    agent.workers.create(1, "t", no_op("a", start_ms=NOW_MS - 10_000, duration_ms=10_000))
    assert agent.starter.calls == []
    assert agent.workers.workers[1].to_json()["error"] == EXPIRED


class Heard:
    """A NodeManager and what it reported."""

    def __init__(self) -> None:
        self.reports: list[tuple[int, str]] = []
        self.node = NodeManager(lambda worker_id, state: self.reports.append((worker_id, state["state"])))

    def orders(self, **states: str) -> list[tuple[str, int]]:
        workers: Mapping[int, Mapping[str, Any]] = {int(each[1:]): {"state": state} for each, state in states.items()}
        return [(order.verb, order.worker_id) for order in self.node.orders(workers)]


@pytest.mark.req("TROG-1", "TROG-3")
def test_lost_requests_to_an_agent_are_sent_again_until_its_status_shows_them() -> None:
    heard = Heard()
    heard.node.create(1, "t", no_op("a"))
    assert heard.orders() == [("create", 1)]
    assert heard.orders() == [("create", 1)]  # the request was lost, or the agent has started again
    assert heard.orders(w1="RUNNING") == []
    heard.node.stop(1)
    assert heard.orders(w1="RUNNING") == [("stop", 1)]
    assert heard.orders(w1="RUNNING") == [("stop", 1)]
    assert heard.orders(w1="STOPPING") == []
    assert heard.orders(w1="DONE") == []
    assert heard.reports == [(1, state) for state in ("RUNNING", "RUNNING", "RUNNING", "STOPPING", "DONE")]
    heard.node.destroy(1)
    assert heard.orders(w1="DONE") == [("destroy", 1)]
    assert heard.orders() == []


def test_workers_of_an_earlier_coordinator_are_stopped() -> None:
    heard = Heard()
    assert heard.orders(w5="RUNNING", w6="DONE") == [("stop", 5)]
    assert heard.reports == []


def test_a_stopped_worker_that_its_agent_has_forgotten_is_done() -> None:
    heard = Heard()
    heard.node.create(1, "t", no_op("a"))
    heard.orders(w1="RUNNING")
    heard.node.stop(1)
    assert heard.orders() == []
    assert heard.reports[-1] == (1, "DONE")


def test_an_order_to_create_has_task_and_specification() -> None:
    heard, spec = Heard(), no_op("a")
    heard.node.create(1, "t", spec)
    assert heard.node.orders({}) == [Order("create", 1, "t", spec)]
