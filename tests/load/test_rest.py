"""Coordinator and agents over HTTP: paths, repeated requests, the token, bounds, and the commands."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clock import SystemClock
from kafka_tools.commands import running
from kafka_tools.errors import ConnectFailed, InputError, KafkaToolsError
from kafka_tools.load.platform import NamedProcess, Platform
from kafka_tools.load.states.workers import Conflict
from kafka_tools.load.web.agent import Agent
from kafka_tools.load.web.cluster_file import read_cluster_file
from kafka_tools.load.web.coordinator import Coordinator
from kafka_tools.load.web.rest import LARGEST_BODY_BYTES, Called, NoSuchResource, RestApplication, RestRequest
from kafka_tools.load.web.rest_client import RestClient
from kafka_tools.load.web.server import LOOPBACK, WebServer

pytest.importorskip("waitress")

TOKEN = "0123456789abcdef-token"
LIMIT_S = 60.0
SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")


def until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.02)


# Without a server


def application(**routes: Callable[[Called], Any]) -> RestApplication:
    return RestApplication(TOKEN, {f"GET /{name}": route for name, route in routes.items()})


def answered(app: RestApplication, **request: Any) -> tuple[int, Any]:
    fields: dict[str, Any] = {"method": "GET", "path": "/x", "authorization": f"Bearer {TOKEN}"}
    return app.answer(RestRequest(**(fields | request)))


@pytest.mark.parametrize("given", ["", TOKEN, "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer \u20ac"])
def test_a_request_without_the_token_reaches_nothing(given: str) -> None:
    reached: list[Called] = []
    status, value = answered(application(x=reached.append), authorization=given)
    assert status == 401 and reached == []
    assert value == {"code": 401, "message": "the request has no valid token: send it as Authorization: Bearer"}


def test_errors_have_the_statuses_of_trogdor() -> None:
    def refuse(error: Exception) -> Callable[[Called], Any]:
        def route(called: Called) -> Any:
            raise error

        return route

    from kafka_tools.load.specs.classes import UnknownTaskClass

    for error, wanted in (
        (InputError("bad", hint="do this"), (400, "bad; do this")),
        (Conflict("twice"), (409, "twice")),
        (NoSuchResource("none"), (404, "none")),
        (UnknownTaskClass("what"), (501, "what")),
        (KafkaToolsError("broken"), (500, "broken")),
        (RuntimeError("secret"), (500, "internal error: the log has the reason")),
    ):
        status, value = answered(application(x=refuse(error)))
        assert (status, value["message"]) == wanted
    assert answered(application(), path="/y")[0] == 404
    assert answered(application(), method="PUT")[0] == 404


@pytest.mark.parametrize(
    "request_",
    [
        {"body": b"{"},
        {"body": b"[" * 100_000},
        {"body": b"3"},
        {"body": b'{"a": NaN}'},
        {"body": b" " * LARGEST_BODY_BYTES + b"{}"},
        {"query": "&".join(["a=1"] * 1_001)},
    ],
)
def test_bodies_and_queries_are_bounded(request_: dict[str, Any]) -> None:
    assert answered(application(x=lambda called: {}), **request_)[0] == 400


# With servers


class Cluster:
    """Two agents and a coordinator on loopback."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.agents: dict[str, Agent] = {}
        self.addresses: dict[str, str] = {}
        for name in ("node0", "node1"):
            self.start_agent(name, 0)
        self.start_coordinator()

    def start_agent(self, name: str, port: int) -> None:
        platform = Platform(name, processes={"server": NamedProcess(SLEEP)} if name == "node0" else {})
        self.agents[name] = Agent(platform, TOKEN, LOOPBACK, port, self.clock)
        self.addresses[name] = self.agents[name].address

    def start_coordinator(self) -> None:
        self.coordinator = Coordinator(self.addresses, TOKEN, LOOPBACK, 0, self.clock)
        self.client = RestClient(self.coordinator.address, TOKEN)

    def create(self, task_id: str, *nodes: str, **more: Any) -> Any:
        spec = {"class": "NoOp", "durationMs": 600_000, "nodeNames": list(nodes), **more}
        return self.client.send("POST", "/coordinator/task/create", {"id": task_id, "spec": spec})

    def task(self, task_id: str) -> Any:
        return self.client.send("GET", f"/coordinator/tasks/{task_id}")

    def workers(self, name: str) -> list[Mapping[str, Any]]:
        status = RestClient(self.addresses[name], TOKEN).send("GET", "/agent/status")
        return list(status["workers"].values())

    def states(self, name: str) -> list[str]:
        return sorted(each["state"] for each in self.workers(name))

    def close(self) -> None:
        self.coordinator.close()
        for agent in self.agents.values():
            agent.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.close()


@pytest.mark.req("TROG-1", "TROG-2", "TROG-10", "TROG-11")
def test_a_posted_task_runs_on_the_agents_of_its_nodes_and_is_stopped(cluster: Cluster) -> None:
    assert cluster.create("t", "node0", "node1") == {}
    until(lambda: cluster.task("t")["state"] == "RUNNING")
    until(lambda: cluster.states("node0") == cluster.states("node1") == ["RUNNING"])
    assert cluster.workers("node1")[0]["taskId"] == "t"
    assert cluster.client.send("PUT", "/coordinator/task/stop", {"id": "t"}) == {}
    until(lambda: cluster.task("t")["state"] == "DONE")
    assert cluster.task("t")["cancelled"] is True and "error" not in cluster.task("t")
    assert cluster.client.send("DELETE", "/coordinator/tasks", taskId="t") == {}
    until(lambda: cluster.states("node0") == cluster.states("node1") == [])
    with pytest.raises(NoSuchResource, match='No task with ID "t" exists'):
        cluster.task("t")


@pytest.mark.req("TROG-3")
def test_requests_may_be_repeated(cluster: Cluster) -> None:
    for _ in range(3):
        assert cluster.create("again", "node0") == {}
    until(lambda: cluster.states("node0") == ["RUNNING"])
    with pytest.raises(Conflict, match="Task ID again already exists, and has a different spec"):
        cluster.create("again", "node1")
    for _ in range(3):
        cluster.client.send("PUT", "/coordinator/task/stop", {"id": "again"})
    until(lambda: cluster.task("again")["state"] == "DONE")
    for _ in range(3):
        cluster.client.send("DELETE", "/coordinator/tasks", taskId="again")
    until(lambda: cluster.states("node0") == [])


@pytest.mark.req("TROG-2")
def test_tasks_are_listed_by_state_time_and_id(cluster: Cluster) -> None:
    cluster.create("b", "node0", startMs=2**45)
    cluster.create("a", "nowhere")
    cluster.create("x/y z", "nowhere")
    assert cluster.task("x/y z")["state"] == "DONE"
    cluster.client.send("DELETE", "/coordinator/tasks", taskId="x/y z")

    def listed(**query: Any) -> list[str]:
        return list(cluster.client.send("GET", "/coordinator/tasks", **query)["tasks"])

    assert listed() == ["a", "b"]
    assert listed(state="DONE") == ["a"] and listed(taskId=["b", "x"]) == ["b"] and listed(firstEndMs=1) == ["a"]
    assert cluster.task("a")["error"] == "Unable to find nodes for task: Unknown node names: nowhere"
    with pytest.raises(InputError, match=r"State OVER is invalid\. Must be one of PENDING, RUNNING, STOPPING, DONE"):
        listed(state="OVER")
    with pytest.raises(InputError, match="invalid lastEndMs 'x': expected a whole number"):
        listed(lastEndMs="x")
    for task_id in listed():
        cluster.client.send("DELETE", "/coordinator/tasks", taskId=task_id)


def test_mistakes_in_requests_are_told(cluster: Cluster) -> None:
    for body, message in (
        ({"id": "t", "spec": {"class": "Nothing"}}, "unknown class 'Nothing'; known: ProduceBench"),
        ({"id": "t", "spec": {"class": "NoOp", "x": 1}}, "task t: unknown field 'x'"),
        ({"id": "", "spec": {"class": "NoOp"}}, "Invalid empty ID in createTask request."),
        ({"id": "t"}, "task t: invalid value: expected an object, not null"),
        ({"id": "t", "spec": {"class": "NoOp"}, "when": 3}, "body: unknown field 'when'"),
    ):
        with pytest.raises(InputError) as caught:
            cluster.client.send("POST", "/coordinator/task/create", body)
        assert message in str(caught.value)
    with pytest.raises(InputError, match="refused the token"):
        RestClient(cluster.coordinator.address, "x" * 20).send("GET", "/coordinator/status")
    for path in ("/coordinator/uptime", "/coordinator/status"):
        assert cluster.client.send("GET", path)["serverStartMs"] > 0


def test_a_fault_of_an_agent_names_one_of_its_processes(cluster: Cluster) -> None:
    spec = {"class": "ProcessStop", "durationMs": 600_000, "nodeNames": ["node0"], "processName": "server"}
    cluster.client.send("POST", "/coordinator/task/create", {"id": "stop", "spec": spec})
    until(lambda: cluster.task("stop")["status"] == "stopped server")
    cluster.client.send("PUT", "/coordinator/task/stop", {"id": "stop"})
    until(lambda: cluster.task("stop")["status"] == "resumed server")
    cluster.client.send("POST", "/coordinator/task/create", {"id": "bad", "spec": spec | {"processName": "init"}})
    until(lambda: cluster.task("bad")["state"] == "DONE")
    assert cluster.task("bad")["error"] == "unknown process 'init' of node node0: its file names server"
    for task_id in ("stop", "bad"):
        cluster.client.send("DELETE", "/coordinator/tasks", taskId=task_id)


@pytest.mark.req("TROG-1", "TROG-7", "TROG-11")
def test_an_agent_performs_a_workload_and_its_records_show_no_secret(cluster: Cluster) -> None:
    with EmbeddedBroker() as broker:
        spec = {
            "class": "org.apache.kafka.trogdor.workload.ProduceBenchSpec", "producerNode": "node1", "maxMessages": 10,
            "bootstrapServers": broker.bootstrap_servers, "producerConf": {"ssl.key.password": "Zq7-secret"},
            "activeTopics": {"t": {"replicationFactor": 1}},
        }  # fmt: skip
        cluster.client.send("POST", "/coordinator/task/create", {"id": "work", "spec": spec})
        until(lambda: cluster.task("work")["state"] == "DONE")
    assert "error" not in cluster.task("work")
    assert cluster.task("work")["status"]["totalSent"] == 10
    assert "Zq7" not in json.dumps([cluster.task("work"), cluster.workers("node1")])
    cluster.client.send("DELETE", "/coordinator/tasks", taskId="work")


def test_a_new_agent_gets_its_workers_again_and_a_new_coordinator_stops_the_old_ones(cluster: Cluster) -> None:
    cluster.create("long", "node1")
    until(lambda: cluster.states("node1") == ["RUNNING"])
    port = int(cluster.addresses["node1"].rpartition(":")[2])
    cluster.agents["node1"].close()
    with pytest.raises(ConnectFailed, match=r"cannot reach 127\.0\.0\.1:"):
        cluster.states("node1")
    cluster.start_agent("node1", port)
    until(lambda: cluster.states("node1") == ["RUNNING"])
    cluster.coordinator.close()
    assert cluster.states("node1") == ["RUNNING"]
    cluster.start_coordinator()
    until(lambda: cluster.states("node1") == ["DONE"])


def test_the_server_refuses_large_bodies_and_listens_on_loopback(cluster: Cluster) -> None:
    host, _, port = cluster.coordinator.address.rpartition(":")
    assert host == "127.0.0.1"
    with socket.create_connection((host, int(port)), timeout=LIMIT_S) as connection:
        connection.sendall(b"POST /coordinator/task/create HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n")
        assert b" 413 " in connection.recv(1000).partition(b"\r\n")[0]
    with pytest.raises(InputError, match=f"cannot listen on {cluster.coordinator.address}: "):
        WebServer(application(), host, int(port))


def test_a_file_of_nodes() -> None:
    node = {"hostname": "h", "trogdor.agent.port": "1", "trogdor.coordinator.port": 2}
    file = read_cluster_file({"_comment": [], "platform": "x", "nodes": {"a": node, "b": {"listen": "0.0.0.0"}}}, "f")
    assert (file.nodes["a"].agent_port, file.nodes["a"].coordinator_port, file.nodes["a"].listen) == (1, 2, "127.0.0.1")
    assert (file.nodes["b"].agent_port, file.nodes["b"].coordinator_port, file.nodes["b"].listen) == (
        8888,
        8889,
        "0.0.0.0",
    )
    with pytest.raises(InputError) as caught:
        file.node("aa")
    assert str(caught.value) == "unknown node 'aa'"
    for given, message in (
        ({}, "f: nodes is missing"),
        ({"nodes": {"a": {"hostnam": "x"}}}, "f: a: unknown field 'hostnam'"),
        ({"nodes": {"a": {"trogdor.agent.port": "x"}}},
         "f: a: invalid trogdor.agent.port 'x': expected a whole number of at least 0 and at most 65535"),
    ):  # fmt: skip
        with pytest.raises(InputError) as caught:
            read_cluster_file(given, "f")
        assert str(caught.value) == message


# The commands


@pytest.fixture
def files(tmp_path: Path, free_port: Callable[[], int]) -> Iterator[tuple[Path, str]]:
    """A directory with trogdor.conf and a token, and the coordinator's address."""
    ports = {"trogdor.agent.port": free_port(), "trogdor.coordinator.port": free_port()}
    file = {"nodes": {"node0": {"hostname": "127.0.0.1", **ports}}}
    (tmp_path / "trogdor.conf").write_text(json.dumps(file), encoding="utf-8")
    (tmp_path / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
    yield tmp_path, f"127.0.0.1:{ports['trogdor.coordinator.port']}"


def daemon(role: str, folder: Path) -> subprocess.Popen[str]:
    words = [role, "-c", str(folder / "trogdor.conf"), "-n", "node0", "--token-file", str(folder / "token")]
    command = [sys.executable, "-m", "kafka_tools", "load", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate(timeout=LIMIT_S)
    assert json.loads(line)["role"] == role
    return process


@pytest.mark.req("TROG-2", "TROG-11")
def test_daemons_and_client_from_the_command_line(files: tuple[Path, str], capfd: pytest.CaptureFixture[str]) -> None:
    folder, address = files
    processes = [daemon("agent", folder), daemon("coordinator", folder)]

    def client(*words: str) -> str:
        line = ["client", *words, address, "--token-file", str(folder / "token")]
        assert running.run(cli.load("load"), line, "kafka-tools load") == 0
        return capfd.readouterr().out

    try:
        assert client("--status").startswith('Got coordinator status: {\n  "serverStartMs" : ')
        task = {"id": "t", "spec": {"class": "NoOp", "durationMs": 600_000, "nodeNames": ["node0"]}}
        assert client("--create-task", json.dumps(task)) == "Sent CreateTaskRequest for task t.\n"
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
        assert client("--create-task", f"@{folder / 'task.json'}") == "Sent CreateTaskRequest for task t.\n"

        def shown() -> Any:
            out = client("--show-tasks")
            assert out.startswith('Got coordinator tasks: {\n  "tasks" : {\n    "t" : {\n      "state" : ')
            return json.loads(out.partition(": ")[2])["tasks"]["t"]

        until(lambda: shown()["state"] == "RUNNING")
        assert client("--stop-task", "t") == "Sent StopTaskRequest for task t.\n"
        until(lambda: shown()["state"] == "DONE")
        assert client("--show-task", "t").startswith('Got coordinator task: {\n  "state" : "DONE"')
        assert client("--destroy-task", "t") == "Sent DestroyTaskRequest for task t.\n"
        assert client("--show-tasks") == 'Got coordinator tasks: {\n  "tasks" : {}\n}\n'
        assert client("--shutdown", "--stop-agents") == "Sent ShutdownRequest.\n"
        for process in processes:
            assert process.wait(LIMIT_S) == 0
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_agent_and_continues_what_it_stopped(files: tuple[Path, str], number: int) -> None:
    folder, _ = files
    with subprocess.Popen(SLEEP) as victim:
        conf = json.loads((folder / "trogdor.conf").read_text(encoding="utf-8"))
        conf["nodes"]["node0"]["processes"] = {"victim": {"pid": victim.pid}}
        (folder / "trogdor.conf").write_text(json.dumps(conf), encoding="utf-8")
        agent = daemon("agent", folder)
        client = RestClient(f"127.0.0.1:{conf['nodes']['node0']['trogdor.agent.port']}", TOKEN)
        spec = {"class": "ProcessStop", "durationMs": 600_000, "processName": "victim", "startMs": 2**42}
        client.send("POST", "/agent/worker/create", {"workerId": 1, "taskId": "t", "spec": spec})
        until(lambda: client.send("GET", "/agent/status")["workers"]["1"]["status"] == "stopped victim")
        assert os.waitpid(victim.pid, os.WUNTRACED)[1] & 0xFF == 0x7F  # stopped
        agent.send_signal(number)
        assert agent.wait(LIMIT_S) == 0
        agent.communicate()
        assert os.waitpid(victim.pid, os.WCONTINUED)[1] == 0xFFFF
        victim.kill()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["client", "h:1", "--token-file", "token"], "Give exactly one of --status, "),
        (["client", "h:1", "--status", "--shutdown", "--token-file", "token"], "Give exactly one of --status, "),
        (["client", "h:1", "--show-tasks", "--agent", "--token-file", "token"], "--agent can only be used with --sta"),
        (["client", "h:1", "--status", "--stop-agents", "--token-file", "token"], "--stop-agents can only be used"),
        (["client", "h:1", "--status"], "Missing option '--token-file'."),
        (["agent", "-n", "a", "--token-file", "token"], "Missing option '-c' / '--config'."),
    ],
)
def test_wrong_command_lines(capfd: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert running.run(cli.load("load"), words, "kafka-tools load") == 2
    assert message in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["client", "127.0.0.1:1", "--status", "--token-file", "{token}"],
         "kafka-tools load: cannot reach 127.0.0.1:1: Connection refused"),
        (["client", "h:1", "--status", "--token-file", "{short}"],
         "kafka-tools load: invalid token in {short}: expected at least 16 printable ASCII characters"),
        (["client", "h:1", "--create-task", "{{}}", "--token-file", "{token}"],
         'kafka-tools load: --create-task: invalid task: expected {{"id": ..., "spec": {{...}}}}'),
        (["agent", "-c", "{conf}", "-n", "node9", "--token-file", "{token}"], "kafka-tools load: unknown node 'node9'"),
        (["agent", "-c", "{conf}", "-n", "node0", "--token-file", "{short}"],
         "kafka-tools load: invalid token in {short}: expected at least 16 printable ASCII characters"),
    ],
)  # fmt: skip
def test_what_cannot_start_says_why(
    files: tuple[Path, str], capfd: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    folder, _ = files
    (folder / "short").write_text("secret", encoding="utf-8")
    names = {"token": folder / "token", "short": folder / "short", "conf": folder / "trogdor.conf"}
    assert running.run(cli.load("load"), [each.format(**names) for each in words], "kafka-tools load") == 1
    err = capfd.readouterr().err
    assert err.splitlines()[0] == message.format(**names)
    assert "secret" not in err
