"""The bundled broker as a process that is killed and started again on the same port and the same directory."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

START_TIMEOUT_S = 120


class KilledBroker:
    """``kafka-tools broker run``; what it says goes to ``broker.log`` beside its data."""

    def __init__(self, folder: Path, settings: dict[str, str], fsync: str) -> None:
        self.data_dir = folder / "data"
        self._log = folder / "broker.log"
        self._settings = [part for pair in settings.items() for part in ("--set", "=".join(pair))]
        self._settings += ["--fsync", fsync]
        # Held without listening, so that nobody else is given the port while the broker is away: a client that
        # connects to a port nobody holds can be given that very port for its own end, and then talks to itself.
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._held.getsockname()[1]}"
        self._process: subprocess.Popen[str] | None = None

    def spawn(self) -> None:
        """Start the process; it recovers what is on the disk, and may be killed while it does."""
        command = [sys.executable, "-m", "kafka_tools", "broker", "run", "--listen", self.address]
        command += ["--data-dir", str(self.data_dir), *self._settings]
        with self._log.open("a") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)

    def wait_until_ready(self) -> None:
        """Until clients can connect. AssertionError with the end of the log if the broker does not come up."""
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line and json.loads(line)["bootstrap_servers"] == self.address, self.log_text()[-4000:]

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send the signal and wait for the end of the process."""
        assert self._process is not None and self._process.stdout is not None
        assert self._process.poll() is None, f"the broker ended by itself: {self.log_text()[-4000:]}"
        self._process.send_signal(number)
        self._process.wait(START_TIMEOUT_S)
        self._process.stdout.close()

    def log_text(self) -> str:
        """What all the processes so far have said."""
        return self._log.read_text(errors="replace")

    def close(self) -> None:
        """Leave no process and no port behind."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._held.close()
