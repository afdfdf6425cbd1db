"""What every test gets: a home directory and log levels of its own, Hypothesis without deadlines, a few plain fixtures.

Tests never read or write the home directory of whoever runs them: commands look for contexts and caches there.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shared or slow machine must not turn a property into a failure; in CI the same examples run every time.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# Whoever runs the tests behind a script (`... &`) or under nohup has them ignore these, and so would every command that
# they start and interrupt. A handler of Python ignores them here as well, and is not handed down.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

OURS = "kafka_tools"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Twenty thousand tests live until the end: the collector does not walk them, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Short names for tests with long values: a name goes into every report, and some values are a megabyte."""
    return f"{argname}-of-{len(val)}" if isinstance(val, str | bytes) and len(val) > 200 else None


@pytest.fixture(scope="session")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def isolated_home(_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """HOME and the XDG directories of this test and of every process it starts."""
    monkeypatch.setenv("HOME", str(_home))
    for name in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(_home / name.lower()))
    return _home


@pytest.fixture(autouse=True)
def log_levels() -> Iterator[None]:
    """A level that a test sets through a broker in this process (KIP-412) would last as long as the process."""

    def levels() -> dict[str, int]:
        known = logging.root.manager.loggerDict.items()
        return {name: each.level for name, each in known if isinstance(each, logging.Logger) and name.startswith(OURS)}

    before = levels()
    yield
    for name, level in levels().items():
        if level != before.get(name, logging.NOTSET):
            logging.getLogger(name).setLevel(before.get(name, logging.NOTSET))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture
def free_port() -> Iterator[Callable[[], int]]:
    """``free_port()`` gives a loopback port on which nothing listens now; each call another one."""
    held: list[socket.socket] = []

    def pick() -> int:
        # Without listen() the port answers "refused", and holding the socket keeps others from getting the number.
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 0))
        held.append(sock)
        return int(sock.getsockname()[1])

    yield pick
    for sock in held:
        sock.close()
