"""Fixtures of the tests against real Kafka.

``kafka_new``, ``kafka_39``, ``kafka_39_zk``, ``kafka_28``, ``kafka_22``, ``kafka_11``: a one-node cluster of that
release that lives until the test process ends, shared by every test that asks for it: use topic names and users of
your own. ``kafka_new_three`` has three nodes, ``kafka_new_secure`` also SASL and TLS listeners;
``real_kafka(Setup(...))`` gives any other.
``zookeeper`` is a real ZooKeeper server, ``java_tool(version, main, *arguments)`` runs a class of a release.

Where Java, Maven or the network is missing the tests are skipped with the reason; with KAFKA_TOOLS_REQUIRE_REAL=1 they
fail with it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.against_kafka.harness import SECURE, RealKafka, RealZooKeeper, Setup
from tests.against_kafka.jars import NEWEST, Unavailable
from tests.against_kafka.tool_server import run_tool

HERE = Path(__file__).parent

# The tests that share clusters are two groups, each run by one process, so that no cluster is started twice. The other
# modules, with clusters of their own or with none, are a group each: whichever process is free takes the next.
OLD_RELEASES = ("kafka_39_zk", "kafka_28", "kafka_22", "kafka_11", "zookeeper", "2.2", "1.1")

SETUPS = {
    "kafka_new": Setup(NEWEST),
    "kafka_new_three": Setup(NEWEST, nodes=3),
    "kafka_new_secure": Setup(NEWEST, listeners=SECURE),
    "kafka_39": Setup("3.9.2"),
    "kafka_39_zk": Setup("3.9.2", zookeeper=True),
    "kafka_28": Setup("2.8.2"),
    "kafka_22": Setup("2.2.2"),
    "kafka_11": Setup("1.1.1"),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here is ``real``, may wait for downloads and brokers, and is grouped by the clusters it uses."""
    for item in items:
        if HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.real)
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(900))
        if item.get_closest_marker("xdist_group") is None:
            parameters = getattr(item, "callspec", None)
            asked = [*getattr(item, "fixturenames", ()), *(parameters.params.values() if parameters else ())]
            old = any(isinstance(name, str) and name.startswith(OLD_RELEASES) for name in asked)
            new = any(name in SETUPS for name in asked if isinstance(name, str))
            group = "old releases" if old else "new releases" if new else item.path.stem
            item.add_marker(pytest.mark.xdist_group(group))


def _skipped_without_kafka() -> Generator[None, object, object]:
    """Skip a test that meets what is missing, in a fixture or itself; fail it where real Kafka is required."""
    try:
        return (yield)
    except Unavailable as reason:
        if os.environ.get("KAFKA_TOOLS_REQUIRE_REAL") == "1":
            pytest.fail(f"real Kafka is required here: {reason}", pytrace=False)
        pytest.skip(str(reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    return (yield from _skipped_without_kafka())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    return (yield from _skipped_without_kafka())


class Clusters:
    """The clusters that run in this process."""

    def __init__(self) -> None:
        self._running: dict[Setup, tuple[RealKafka, ExitStack]] = {}

    def get(self, setup: Setup, folders: pytest.TempPathFactory) -> RealKafka:
        """That cluster, started if it does not run. Raises Unavailable or StartFailed."""
        if setup not in self._running:
            with ExitStack() as stack:
                kafka = stack.enter_context(RealKafka.start(setup, folders.mktemp(f"kafka-{setup.release}-")))
                self._running[setup] = kafka, stack.pop_all()
        return self._running[setup][0]

    def stop(self, *, shared: bool) -> None:
        """Stop those that one module has asked for, and the ``shared`` ones too."""
        for setup in list(self._running):
            if shared or setup not in SETUPS.values():
                self._running.pop(setup)[1].close()


CLUSTERS = Clusters()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """A cluster that nobody asks any more takes one or two hundredths of a core, and there may be fifty of them."""
    if nextitem is None or HERE not in nextitem.path.parents:  # the tests of this folder come one after the other
        CLUSTERS.stop(shared=True)
    elif nextitem.path != item.path:
        CLUSTERS.stop(shared=False)


@pytest.fixture(scope="session")
def real_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Setup], RealKafka]]:
    """``real_kafka(Setup("3.9.2", nodes=3))``: that cluster, started when first asked for.

    It lives until the module's last test is over; those of ``SETUPS`` until the folder's last test is.
    """

    def get(setup: Setup) -> RealKafka:
        return CLUSTERS.get(setup, tmp_path_factory)

    yield get
    CLUSTERS.stop(shared=True)


def _cluster(name: str) -> Callable[..., RealKafka]:
    def cluster(real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
        return real_kafka(SETUPS[name])

    return pytest.fixture(scope="session", name=name)(cluster)


kafka_new = _cluster("kafka_new")
kafka_new_three = _cluster("kafka_new_three")
kafka_new_secure = _cluster("kafka_new_secure")
kafka_39 = _cluster("kafka_39")
kafka_39_zk = _cluster("kafka_39_zk")
kafka_28 = _cluster("kafka_28")
kafka_22 = _cluster("kafka_22")
kafka_11 = _cluster("kafka_11")


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealZooKeeper]:
    """A ZooKeeper server without Kafka."""
    server = RealZooKeeper.launch(tmp_path_factory.mktemp("zookeeper") / "server")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def java_tool() -> Callable[..., subprocess.CompletedProcess[str]]:
    """``java_tool(version, main, *arguments, stdin=None)``: a class of that release, run to its end."""
    return run_tool
