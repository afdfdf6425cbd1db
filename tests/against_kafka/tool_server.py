"""Kafka's tools in a warm JVM: a tool that takes a second by itself takes a tenth of one here.

``run_tool`` is what the harness and the fixtures call. It runs the tool in the release's server, and in a JVM of its
own where that is not possible: no compiler, the server busy in another thread, an environment asked for, a tool that
ends its JVM.
"""

from __future__ import annotations

import atexit
import functools
import os
import struct
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.against_kafka import jvm
from tests.against_kafka.archives import TOOLS, shared, tool_path
from tests.against_kafka.jars import ENVIRONMENT, Unavailable, java, main_class, program

LOCALE = ["-Duser.timezone=UTC", "-Duser.language=en", "-Duser.country=US", "-Dsun.stdout.encoding=UTF-8"]
RUNS_PER_JVM = 100
"""Tools that exit in the midst of things leave clients behind; a fresh JVM now and then keeps them few."""
RETIRE_TIMEOUT_S = 10.0
"""How long a JVM has to end. The console producer holds records for a second."""


class Gone(Exception):
    """The server's JVM has ended."""


class ToolServer:
    """One release's tools; one run at a time. ``options`` stand in the place of those that use their archive."""

    def __init__(self, version: str, folder: Path, options: Sequence[str] | None = None) -> None:
        self.lock = threading.Lock()
        self.runs = 0
        program("ToolServer", version)
        paths = os.pathsep.join(map(str, tool_path(version)))
        sharing = shared(TOOLS, version) if options is None else options
        logging = [*jvm.QUIET, f"-Dlog4j.configuration=file:{jvm.log4j(folder, 'ERROR')}"]
        self._errors = open(folder / "stderr", "ab")  # noqa: SIM115 - lives as long as the JVM
        self.process = subprocess.Popen(
            [java(), *jvm.TOOL_OPTIONS, *sharing, *logging, *LOCALE, "-cp", paths, "ToolServer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**ENVIRONMENT, "LC_ALL": "C.UTF-8"},
            preexec_fn=jvm.DIE_WITH_PARENT,
        )

    def run(self, main: str, arguments: list[str], stdin: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
        """Run one tool. Raises Gone, and TimeoutExpired after which the server is gone as well."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.runs += 1
        question = (
            b"\x01" + _text(main) + struct.pack(">i", len(arguments)) + b"".join(map(_text, arguments)) + _text(stdin)
        )
        expired = threading.Event()
        watchdog = threading.Timer(timeout_s, lambda: (expired.set(), self.process.kill()))
        watchdog.start()
        try:
            self.process.stdin.write(question)
            self.process.stdin.flush()
            (status,) = struct.unpack(">i", self._read(4))
            out, err = (self._read(struct.unpack(">i", self._read(4))[0]).decode() for _ in range(2))
        except (OSError, Gone) as end:
            if expired.is_set():
                raise subprocess.TimeoutExpired([main, *arguments], timeout_s) from end
            raise Gone from end
        finally:
            watchdog.cancel()
        return subprocess.CompletedProcess([main, *arguments], status, out, err)

    def _read(self, size: int) -> bytes:
        assert self.process.stdout is not None
        found = self.process.stdout.read(size)
        if len(found) < size:
            raise Gone
        return found

    def retire(self) -> None:
        """End it as a JVM ends by itself: producers of tools that have exited still send what they hold.

        The hooks of other tools may wait for ever for threads that have exited: then it is killed.
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
            self.process.wait(RETIRE_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired):
            pass
        self.stop()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self._errors.close()


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">i", len(data)) + data


_SERVERS: dict[str, ToolServer] = {}
_STARTING = threading.Lock()


@functools.cache
def _folder(version: str) -> Path:
    """Where the servers of that release have their files."""
    holder = tempfile.TemporaryDirectory(prefix="tool-server-")
    atexit.register(holder.cleanup)
    return Path(holder.name)


def _server(version: str) -> ToolServer:
    with _STARTING:
        server = _SERVERS.get(version)
        if server is not None and (
            server.process.poll() is not None or (server.runs >= RUNS_PER_JVM and not server.lock.locked())
        ):
            server.retire()
            server = None
        if server is None:
            server = _SERVERS[version] = ToolServer(version, _folder(version))
        return server


@atexit.register
def _stop_all() -> None:
    for server in _SERVERS.values():
        server.stop()


def run_tool(
    version: str,
    main: str,
    *arguments: object,
    stdin: str | None = None,
    timeout_s: float = 120,
    environment: Mapping[str, str] | None = None,
    fresh: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run a Java tool to its end: ``.returncode``, ``.stdout``, ``.stderr`` (text, UTC, English).

    ``fresh`` insists on a JVM of its own. Raises Unavailable, and subprocess.TimeoutExpired.
    """
    words = [str(argument) for argument in arguments]
    java()  # without it there is nothing to ask
    main = main_class(main, version)
    if not fresh and environment is None:
        try:
            server = _server(version)
        except Unavailable:
            java()  # without a compiler there is no server; without Java nothing
        else:
            if server.lock.acquire(blocking=False):
                try:
                    return server.run(main, words, stdin or "", timeout_s)
                except Gone:
                    pass  # the tool ended the JVM: it gets one of its own
                finally:
                    server.lock.release()
    with tempfile.TemporaryDirectory() as folder:
        options = [*LOCALE, f"-Dlog4j.configuration=file:{jvm.log4j(Path(folder), 'ERROR')}"]
        return subprocess.run(
            jvm.tool_command(version, main, words, options),
            input=stdin or "",
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout_s,
            env={**ENVIRONMENT, "LC_ALL": "C.UTF-8", **(environment or {})},
        )
