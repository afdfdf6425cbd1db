"""Java processes: how tools are called, and servers that must be gone when the tests are."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.against_kafka.archives import TOOLS, shared, tool_path
from tests.against_kafka.jars import ENVIRONMENT, java

# Tools live for a second: the first compiler and the plain collector start fastest.
TOOL_OPTIONS = ["-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
# A dozen servers may live at once on two cores: little memory each, and no second compiler at work.
SERVER_OPTIONS = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError"]
QUIET = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-Dlog4j2.level=ERROR", "-Dfile.encoding=UTF-8"]
START_TIMEOUT_S = 240.0
STOP_TIMEOUT_S = 30.0

LOG4J = """\
log4j.rootLogger={level}, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.Target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


class StartFailed(Exception):
    """A server ended, or was not ready in time; the text holds the end of its log."""


def _die_with_parent() -> None:
    """Ask Linux to kill this process when the test process is gone, however it went."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


DIE_WITH_PARENT = _die_with_parent if sys.platform == "linux" else None


def tool_command(version: str, main: str, arguments: Sequence[str] = (), options: Sequence[str] = ()) -> list[str]:
    """The command line of a Java main class of that release, quiet but for errors."""
    executable = java()
    jars = os.pathsep.join(map(str, tool_path(version)))
    return [
        executable,
        *TOOL_OPTIONS,
        *shared(TOOLS, version),
        *QUIET,
        *options,
        "-cp",
        jars,
        main,
        *map(str, arguments),
    ]


def log4j(folder: Path, level: str) -> Path:
    """A log4j 1.x configuration that writes to stderr from ``level`` on."""
    path = folder / f"log4j-{level}.properties"
    if not path.exists():
        path.write_text(LOG4J.format(level=level), encoding="utf-8")
    return path


class Server:
    """A Java server in a process group of its own, its output in a log file."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.log = log
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=DIE_WITH_PARENT,
                env=ENVIRONMENT,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait_until(self, ready: Callable[[], bool], timeout_s: float = START_TIMEOUT_S) -> None:
        """Return when ``ready()`` is true. Raises StartFailed when the process ends first or time is up."""
        end = time.monotonic() + timeout_s
        while not ready():
            status = self.process.poll()
            if status is not None:
                raise StartFailed(f"{self.name} ended with status {status}:\n{self.log_text()[-3000:]}")
            if time.monotonic() > end:
                raise StartFailed(f"{self.name} was not ready after {timeout_s:.0f} s:\n{self.log_text()[-3000:]}")
            time.sleep(0.05)

    def stop(self, sharply: bool = False) -> None:
        """End the whole process group; ``sharply`` as a power cut would. Returns when it is gone."""
        if self.process.poll() is not None:
            return
        self._signal(signal.SIGKILL if sharply else signal.SIGTERM)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self.process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


class Ports:
    """Free loopback ports, held so that no other process is given them while a server (re)starts on them."""

    def __init__(self) -> None:
        self._held: list[socket.socket] = []

    def take(self) -> int:
        """A port nobody listens on. Java servers bind beside our socket, since both set SO_REUSEADDR."""
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 0))
        self._held.append(sock)
        return int(sock.getsockname()[1])

    def release(self) -> None:
        for sock in self._held:
            sock.close()
        self._held.clear()


def answers(port: int) -> bool:
    """Whether something accepts connections on this loopback port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
