"""What a task can use on its node: the processes that its file names or starts, the bundled broker, other nodes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka_tools.closing import Closing
from kafka_tools.errors import InputError, KafkaToolsError
from kafka_tools.given_files import read_given
from kafka_tools.load.specs.members import JsonMembers
from kafka_tools.texts.near_names import did_you_mean

if TYPE_CHECKING:
    from kafka_tools.broker_embedded import EmbeddedBroker

_STOP_TIMEOUT_S = 10.0
_MOST_PID_BYTES = 100


@dataclass(frozen=True)
class NamedProcess:
    """A process that a file names: a command to start, a process id, or a file that contains one."""

    command: tuple[str, ...] = ()
    pid: int = 0
    pid_file: str = ""


def read_processes(members: JsonMembers, name: str) -> dict[str, NamedProcess]:
    """The member ``name``: process name -> command, pid or pidFile. Raises InputError."""
    inner = members.inner(name)
    found: dict[str, NamedProcess] = {}
    for each in inner.names() if inner is not None else ():
        assert inner is not None
        process = JsonMembers(inner.raw(each) or {}, f"{inner.place}: {each}")
        named = NamedProcess(
            process.texts("command"), process.whole("pid", low=2, high=2**31 - 1), process.text("pidFile")
        )
        process.end()
        if sum(map(bool, (named.command, named.pid, named.pid_file))) != 1:
            raise InputError(f"{process.place}: expected exactly one of command, pid and pidFile")
        found[each] = named
    return found


@dataclass
class Platform(Closing):
    """One node. As a context manager, ends the processes that it started, and the bundled broker."""

    node: str
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Node -> host name or address."""
    processes: Mapping[str, NamedProcess] = field(default_factory=dict)
    broker_config: Mapping[str, str] | None = None
    """Settings of the bundled broker, which ``open`` starts; None for no broker."""
    broker: EmbeddedBroker | None = None
    _started: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def open(self) -> None:
        """Start the processes and the broker. Raises KafkaToolsError, after it ended those that it started."""
        try:
            for name, process in self.processes.items():
                if process.command:
                    self._started[name] = _start(name, process.command)
            if self.broker_config is not None:
                from kafka_tools.broker_embedded import EmbeddedBroker

                broker = EmbeddedBroker(config=dict(self.broker_config))
                broker.start()
                self.broker = broker
        except BaseException:
            self.close()
            raise

    def pid_of(self, name: str) -> int:
        """The id of a running process. Raises InputError for an unknown name, KafkaToolsError if it does not run."""
        process = self.processes.get(name)
        if process is None:
            known = ", ".join(self.processes) or "none"
            raise InputError(
                f"unknown process '{name}' of node {self.node}: its file names {known}",
                hint=did_you_mean([name], self.processes) or "add it to processes: only these can be stopped",
            )
        pid = self._started[name].pid if process.command else process.pid or _pid_in(name, process.pid_file)
        if pid == os.getpid():
            raise InputError(f"cannot stop process '{name}': it is this process")
        started = self._started.get(name)
        if (started is not None and started.poll() is not None) or not _runs(pid):
            raise KafkaToolsError(f"cannot stop process '{name}': process {pid} does not run")
        return pid

    def close(self) -> None:
        for process in self._started.values():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self._started.values():
            try:
                process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._started.clear()
        if self.broker is not None:
            self.broker.stop()
            self.broker = None


def _start(name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
    quiet: Any = dict.fromkeys(("stdin", "stdout"), subprocess.DEVNULL)
    try:
        return subprocess.Popen(command, **quiet)
    except OSError as error:
        raise InputError(f"cannot start process '{name}': {command[0]}: {error.strerror}") from error


def _pid_in(name: str, path: str) -> int:
    try:
        text = read_given(path, _MOST_PID_BYTES).decode("ascii", "replace").strip()
    except OSError as error:
        raise InputError(f"cannot read the pidFile of process '{name}': {path}: {error.strerror}") from error
    if not text.isdecimal() or not 1 < int(text) < 2**31:
        raise InputError(f"invalid pidFile of process '{name}': {path}: expected a process id")
    return int(text)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
