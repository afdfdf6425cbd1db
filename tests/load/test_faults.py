"""The faults that disturb processes and the network, and how they are undone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kafka_tools.clock import SystemClock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.load.faults.network_partition import NetworkPartitionWorker
from kafka_tools.load.faults.process_stop import ProcessStopWorker
from kafka_tools.load.platform import NamedProcess, Platform
from kafka_tools.load.specs.classes import read_spec
from kafka_tools.load.specs.fault_specs import NetworkPartitionSpec, ProcessStopSpec
from kafka_tools.load.workloads.task_worker import TaskWorker

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")
LIMIT_S = 60.0


def until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def state_of(pid: int) -> str:
    """The letter of a process's state: T for stopped."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the states of processes from /proc")


class Running:
    """A worker on a thread."""

    def __init__(self, worker: TaskWorker) -> None:
        self.worker = worker
        self.error: KafkaToolsError | None = None
        self.thread = Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.worker.run()
        except KafkaToolsError as error:
            self.error = error

    def end(self) -> KafkaToolsError | None:
        self.worker.stopping.set()
        self.thread.join(LIMIT_S)
        assert not self.thread.is_alive()
        return self.error


@pytest.fixture
def platform() -> Iterator[Platform]:
    with Platform("node0", processes={"server": NamedProcess(SLEEP)}) as platform:
        platform.open()
        yield platform


def stop(platform: Platform, name: str, **more: Any) -> ProcessStopWorker:
    spec = read_spec({"class": "ProcessStop", "durationMs": 1000, "nodeNames": ["node0"], **more} | {
        "processName": name}, "x")  # fmt: skip
    assert isinstance(spec, ProcessStopSpec)
    return ProcessStopWorker("t", platform, SystemClock(), spec)


@linux
@pytest.mark.req("TROG-9")
def test_a_process_is_stopped_and_continues_at_the_end(platform: Platform) -> None:
    pid = platform.pid_of("server")
    running = Running(stop(platform, "server"))
    until(lambda: state_of(pid) == "T")
    assert running.worker.status() == "stopped server"
    assert running.end() is None
    assert state_of(pid) != "T"
    assert running.worker.status() == "resumed server"


@linux
def test_processes_are_named_by_id_or_by_a_file_with_it(platform: Platform, tmp_path: Path) -> None:
    pid, file = platform.pid_of("server"), tmp_path / "server.pid"
    file.write_text(f"{pid}\n", encoding="utf-8")
    named = {"by-id": NamedProcess(pid=pid), "by-file": NamedProcess(pid_file=str(file))}
    other = Platform("node0", processes=named)
    for name in named:
        running = Running(stop(other, name))
        until(lambda: state_of(pid) == "T")
        assert running.end() is None
        assert state_of(pid) != "T"


def test_only_processes_that_the_file_names_are_stopped(platform: Platform, tmp_path: Path) -> None:
    running = Running(stop(platform, "sever"))
    error = running.end()
    assert str(error) == "unknown process 'sever' of node node0: its file names server"
    assert error is not None and error.hint == "did you mean server?"
    file = tmp_path / "pid"
    for text, message in (
        ("1", f"invalid pidFile of process 'p': {file}: expected a process id"),
        ("x" * 99, f"invalid pidFile of process 'p': {file}: expected a process id"),
        (str(os.getpid()), "cannot stop process 'p': it is this process"),
    ):
        file.write_text(text, encoding="utf-8")
        own = Platform("n", processes={"p": NamedProcess(pid_file=str(file))})
        assert str(Running(stop(own, "p")).end()) == message


def test_the_end_of_a_run_ends_the_processes_that_it_started_even_stopped_ones() -> None:
    with Platform("n", processes={"p": NamedProcess(SLEEP)}) as platform:
        platform.open()
        pid = platform.pid_of("p")
        os.kill(pid, 19 if sys.platform == "linux" else 17)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(KafkaToolsError, match="cannot start process 'p': /no/such/program: No such file"):
        Platform("n", processes={"p": NamedProcess(("/no/such/program",))}).open()


class Commands:
    """Commands of the system that only record."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.run: list[str] = []
        self.fails_at = fails_at

    def __call__(self, command: Sequence[str]) -> str:
        self.run.append(" ".join(command))
        return "Permission denied (you must be root)" if len(self.run) == self.fails_at else ""


ADDRESSES = {"node1": "10.1.0.1", "node2": "10.1.0.2", "node3": "10.1.0.3", "node4": "10.1.0.4"}


def partition(
    monkeypatch: pytest.MonkeyPatch, commands: Commands, tools: Sequence[str], node: str = "node1"
) -> NetworkPartitionWorker:
    monkeypatch.setattr(shutil, "which", lambda name: f"/sbin/{name}" if name in tools else None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    given = {"class": "NetworkPartition", "durationMs": 1, "partitions": [["node1", "node2"], ["node3", "node4"]]}
    spec = read_spec(given, "x")
    assert isinstance(spec, NetworkPartitionSpec)
    return NetworkPartitionWorker("split", Platform(node, ADDRESSES), SystemClock(), spec, commands)


@pytest.mark.req("TROG-9")
def test_each_node_drops_its_outbound_packets_to_the_nodes_of_other_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    for node, blocked in (("node1", ["10.1.0.3", "10.1.0.4"]), ("node3", ["10.1.0.1", "10.1.0.2"])):
        commands = Commands()
        running = Running(partition(monkeypatch, commands, ["iptables", "ip"], node))
        until(lambda running=running: running.worker.status() is not None)  # type: ignore[misc]
        rule = "OUTPUT -p tcp -d {} -j DROP -m comment --comment kafka-tools-load split"
        added = [f"iptables -A {rule.format(address)}" for address in blocked]
        assert commands.run == added
        assert running.end() is None
        assert commands.run[2:] == [each.replace(" -A ", " -D ") for each in reversed(added)]


def test_without_iptables_blackhole_routes_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Commands()
    assert Running(partition(monkeypatch, commands, ["ip"])).end() is None
    assert commands.run[0] == "ip route add blackhole 10.1.0.3/32"
    assert commands.run[-1] == "ip route del blackhole 10.1.0.3/32"


def test_what_was_done_of_a_partition_that_fails_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Commands(fails_at=2)
    error = Running(partition(monkeypatch, commands, ["ip"])).end()
    assert str(error) == "cannot create the network partition: Permission denied (you must be root)"
    assert [each.split()[2] for each in commands.run] == ["add", "add", "del"]
    error = Running(partition(monkeypatch, Commands(), [])).end()
    assert str(error) == "cannot create the network partition: neither iptables nor ip is installed"


def test_nodes_on_one_machine_cannot_be_separated(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = partition(monkeypatch, Commands(), ["ip"])
    worker.platform.addresses = ADDRESSES | {"node3": "127.0.0.1"}
    assert str(Running(worker).end()) == (
        "cannot separate node1 from node3: 127.0.0.1 is an address of the same machine"
    )


IN_A_NAMESPACE = """
import subprocess, sys
from kafka_tools.clock import SystemClock
from kafka_tools.load.faults.network_partition import NetworkPartitionWorker
from kafka_tools.load.platform import Platform
from kafka_tools.load.specs.classes import read_spec
from threading import Thread
for command in ("ip link set lo up", "ip addr add 10.9.0.1/32 dev lo", "ip route add 10.9.0.0/24 dev lo"):
    if subprocess.run(command.split(), capture_output=True).returncode:
        sys.exit(77)
def reaches():
    return subprocess.run("ip route get 10.9.0.2".split(), capture_output=True).returncode == 0
given = {"class": "NetworkPartition", "durationMs": 1, "partitions": [["a"], ["b"]]}
platform = Platform("a", {"a": "10.9.0.1", "b": "10.9.0.2"})
worker = NetworkPartitionWorker("t", platform, SystemClock(), read_spec(given, "x"))
thread = Thread(target=worker.run)
found = [reaches()]
thread.start()
while worker.status() is None and thread.is_alive():
    pass
found.append(reaches())
worker.stopping.set()
thread.join()
print(*found, reaches())
"""


@pytest.mark.req("TROG-9")
def test_a_partition_in_a_network_namespace_of_its_own() -> None:
    if shutil.which("ip") is None or shutil.which("unshare") is None or shutil.which("iptables") is not None:
        pytest.skip("needs ip and unshare, and no iptables")
    command = ["unshare", "--net", sys.executable, "-c", IN_A_NAMESPACE]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if "unshare failed" in ended.stderr or ended.returncode == 77:
        pytest.skip("this machine permits no network namespace")
    assert ended.stdout.split() == ["True", "False", "True"], ended.stderr
