"""A listener that cannot be opened: one line that names the host or port at fault, and exit status 1."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from asyncio import base_events
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.configs.endpoints import Endpoint, listen_failure
from kafka_tools.errors import ConfigError, InputError
from kafka_tools.values import parse_address, parse_listener_address


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("nosuch.invalid", "cannot resolve host 'nosuch.invalid'"),
        ("a..b", "cannot resolve host 'a..b'"),
        ("x" * 70, "cannot resolve host"),
        ("192.0.2.1", "'192.0.2.1' is not an address of this machine"),
    ],
)
def test_a_host_to_listen_on_that_cannot_be_is_named(tmp_path: Path, host: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        EmbeddedBroker(data_dir=tmp_path, listeners=f"PLAINTEXT://{host}:0").start()


def test_an_address_of_a_family_that_the_kernel_does_not_have_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class WithoutIPv6(socket.socket):
        def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:
            if family == socket.AF_INET6:
                raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
            super().__init__(family, type, proto, fileno)

    monkeypatch.setattr(base_events.socket, "socket", WithoutIPv6)  # a kernel's answer: nothing of ours is passed by
    with pytest.raises(ConfigError, match="'::1' is not an address of this machine"):
        EmbeddedBroker(data_dir=tmp_path, listeners="PLAINTEXT://[::1]:0").start()
    EmbeddedBroker(data_dir=tmp_path, listeners="PLAINTEXT://:0").start().stop()


@pytest.mark.parametrize("taken", [0, 3])
def test_a_free_port_is_one_for_all_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int) -> None:
    """The system picks one for each address; the first one's may be taken at the others."""
    left = taken

    class Busy(socket.socket):
        def bind(self, address: Any) -> None:
            nonlocal left
            if address[1] and left:
                left -= 1
                raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
            super().bind(address)

    hosts = ["127.0.0.1", *(["::1"] if _has_ipv6() else [])]
    with monkeypatch.context() as patched:
        patched.setattr(base_events.socket, "socket", Busy)
        broker = EmbeddedBroker(data_dir=tmp_path, listeners="PLAINTEXT://:0").start()
    try:
        _, port = parse_address(broker.bootstrap_servers)
        for host in hosts:
            socket.create_connection((host, port), 60).close()
        assert left == 0 or len(hosts) == 1
    finally:
        broker.stop()


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "address"),
    [("h:1", ("h", 1)), (":9092", ("", 9092)), (":0", ("", 0)), ("[::1]:5", ("::1", 5)), (":", None), (":65536", None)],
)
def test_what_is_listened_on(text: str, address: tuple[str, int] | None) -> None:
    if address is not None:
        assert parse_listener_address(text) == address
        return
    with pytest.raises(InputError, match=f"^invalid address '{text}': expected host:port or :port with a port from 0"):
        parse_listener_address(text)


def test_the_command_says_it_in_one_line_and_exits_1(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for address, text in (("nosuch.invalid:0", "nosuch.invalid"), (f"127.0.0.1:{port}", f"port {port} is in use")):
            command = [sys.executable, "-m", "kafka_tools", "broker", "run", "--log-level", "error"]
            command += ["--listen", address, "--data-dir", str(tmp_path)]
            ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            assert (ended.returncode, ended.stdout) == (1, "")
            first, hint = ended.stderr.splitlines()
            assert first.startswith(f"kafka-tools: cannot listen on PLAINTEXT://{address}: ") and text in first
            assert hint.startswith("  ")
    EmbeddedBroker(data_dir=tmp_path).start().stop()


def test_a_port_that_is_not_permitted_is_named() -> None:
    error = OSError(errno.EACCES, os.strerror(errno.EACCES))
    failure = listen_failure(Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 80), error)
    assert str(failure) == "cannot listen on PLAINTEXT://127.0.0.1:80: no permission for port 80"
    assert "1024" in str(failure.hint)
