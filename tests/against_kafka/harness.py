"""Real Kafka clusters for tests: releases 1.1.1 to 4.3.1, ZooKeeper or KRaft, one node or three, on loopback.

    with RealKafka.start(Setup(NEWEST), folder) as kafka:
        kafka.bootstrap_servers            # "127.0.0.1:40123"
        kafka.tool("org.apache.kafka.tools.TopicCommand", "--list")   # Kafka's own tool, connected

Knows nothing of kafka_tools: what it says about a cluster is Kafka's word. The fixtures are in conftest.py.
"""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.against_kafka import secrets_for_tests as secrets
from tests.against_kafka.archives import SERVER, shared
from tests.against_kafka.jars import class_path, java
from tests.against_kafka.jvm import QUIET, SERVER_OPTIONS, START_TIMEOUT_S, Ports, Server, StartFailed, answers, log4j
from tests.against_kafka.tool_server import run_tool

START_ATTEMPTS = 3
CATCH_UP_S = 30.0
SECURE = ("PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL")
"""All four listeners; see ``secrets_for_tests`` for users and certificates."""


@dataclass(frozen=True)
class Setup:
    """What a cluster is made of. Equal setups share a cluster within a test process."""

    release: str
    nodes: int = 1
    zookeeper: bool = False
    listeners: tuple[str, ...] = ("PLAINTEXT",)
    properties: tuple[tuple[str, str], ...] = field(default=())
    """Further lines of server.properties; ``{node}`` stands for a node's id, ``{folder}`` for the cluster's folder."""
    java_options: tuple[str, ...] = tuple(SERVER_OPTIONS)
    """Modest by default, for tests; a benchmark gives what Kafka's own scripts give."""

    @property
    def needs_zookeeper(self) -> bool:
        return self.zookeeper or self.release < "3"


class RealKafka:
    """A running cluster."""

    def __init__(self, setup: Setup, folder: Path) -> None:
        self.setup = setup
        self.release = setup.release
        self.folder = folder
        self.ports = Ports()
        self.zookeeper: RealZooKeeper | None = None
        self.servers: dict[int, Server] = {}
        self.listener_ports: dict[int, dict[str, int]] = {}
        self.controller_ports: dict[int, int] = {}
        self.cluster_id = ""

    @classmethod
    @contextmanager
    def start(cls, setup: Setup, folder: Path) -> Iterator[RealKafka]:
        """A cluster that is ready, stopped at the end. Raises Unavailable or StartFailed."""
        kafka: RealKafka | None = None
        for attempt in range(START_ATTEMPTS):
            kafka = cls(setup, folder / f"{setup.release}-{attempt}")
            try:
                kafka._start()
                break
            except StartFailed as failure:
                kafka.stop()
                if "BindException" not in str(failure) or attempt == START_ATTEMPTS - 1:
                    raise
            except BaseException:
                kafka.stop()
                raise
        assert kafka is not None
        try:
            yield kafka
        finally:
            kafka.stop()

    # -- what tests ask ------------------------------------------------------------------------------

    @property
    def bootstrap_servers(self) -> str:
        """The plaintext listeners of all nodes."""
        return self.bootstrap("PLAINTEXT")

    def bootstrap(self, listener: str) -> str:
        """``host:port,...`` of one listener (a security protocol's name)."""
        return ",".join(f"127.0.0.1:{ports[listener]}" for ports in self.listener_ports.values())

    @property
    def bootstrap_controllers(self) -> str:
        """The controllers' listeners; KRaft only."""
        return ",".join(f"127.0.0.1:{port}" for port in self.controller_ports.values())

    @property
    def node_ids(self) -> list[int]:
        return list(self.listener_ports)

    @property
    def log_dirs(self) -> list[Path]:
        """The log directory of each node, in the order of the node ids."""
        return [self._log_dir(node) for node in self.node_ids]

    def partition_dir(self, topic: str, partition: int, node: int | None = None) -> Path:
        return self._log_dir(self.node_ids[0] if node is None else node) / f"{topic}-{partition}"

    def tool(
        self,
        main: str,
        *arguments: object,
        stdin: str | None = None,
        release: str | None = None,
        connect: bool = True,
        timeout_s: float = 120,
        fresh: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Kafka's own tool with ``--bootstrap-server`` of this cluster before the arguments.

        ``release`` runs another release's tool against this cluster; ``connect=False`` leaves the address out;
        ``fresh`` takes a JVM of its own (see ``tool_server``).
        """
        self.catch_up()
        address = ("--bootstrap-server", self.bootstrap_servers) if connect else ()
        return run_tool(
            release or self.release, main, *address, *arguments, stdin=stdin, timeout_s=timeout_s, fresh=fresh
        )

    def client_properties(self, listener: str, user: str = "admin", mechanism: str = "PLAIN") -> dict[str, str]:
        """A client's configuration for one listener, as it would stand in client.properties (PEM certificates)."""
        return secrets.client_properties(listener, user, mechanism, self.folder)

    def catch_up(self) -> None:
        """Wait until every running broker of a KRaft cluster has what the controller has committed by now.

        A change is answered when the controller has it; on a busy machine a broker tells of it some time later.
        A broker that does not answer, or may not be asked, is not waited for: some tests want it so.
        """
        if self.setup.needs_zookeeper:
            return
        end = time.monotonic() + CATCH_UP_S
        try:
            ports = [self.listener_ports[node]["PLAINTEXT"] for node in self.servers]
            committed = committed_metadata(ports[0]) if ports else 0
            for port in ports:
                while metadata_of_broker(port) < committed - 1 and time.monotonic() < end:
                    time.sleep(0.01)
        except (OSError, struct.error, IndexError):
            return

    # -- a node's life -------------------------------------------------------------------------------

    def stop_node(self, node: int, sharply: bool = False) -> None:
        """Stop one broker; its data and ports stay."""
        self.servers.pop(node).stop(sharply)

    def start_node(self, node: int, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start a stopped broker again on its data and ports. Raises StartFailed, the process being gone then."""
        self._launch(node)
        try:
            self._wait(timeout_s)
        except StartFailed:
            self.stop_node(node, sharply=True)
            raise

    def restart(self) -> None:
        """Stop and start every node."""
        for node in list(self.servers):
            self.stop_node(node)
        for node in self.node_ids:
            self._launch(node)
        self._wait()

    def stop(self) -> None:
        """Stop everything and delete the data."""
        # Sharply: the data goes as well, and a controlled shutdown would wait for peers that are gone.
        for server in self.servers.values():
            server.stop(sharply=True)
        self.servers.clear()
        if self.zookeeper is not None:
            self.zookeeper.stop()
        self.ports.release()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- starting ------------------------------------------------------------------------------------

    def _start(self) -> None:
        java()
        class_path(self.release)
        self.folder.mkdir(parents=True)
        if self.setup.needs_zookeeper:
            self.zookeeper = RealZooKeeper.launch(self.folder / "zookeeper")
        for node in range(1, self.setup.nodes + 1):
            self.listener_ports[node] = {name: self.ports.take() for name in self.setup.listeners}
            if self.zookeeper is None:
                self.controller_ports[node] = self.ports.take()
        if set(self.setup.listeners) - {"PLAINTEXT"}:
            secrets.write_stores(self.folder)
        for node in self.node_ids:
            (self.folder / f"server-{node}.properties").write_text(self._properties(node), encoding="utf-8")
        if self.zookeeper is None:
            self._format()
        for node in self.node_ids:
            self._launch(node)
        self._wait()

    def _format(self) -> None:
        main = "kafka.tools.StorageTool"
        self.cluster_id = run_tool(self.release, main, "random-uuid").stdout.strip()
        for node in self.node_ids:
            done = run_tool(
                self.release, main, "format", "-t", self.cluster_id, "-c", self.folder / f"server-{node}.properties"
            )
            if done.returncode:
                raise StartFailed(f"formatting node {node} of Kafka {self.release} failed: {done.stdout}{done.stderr}")

    def _launch(self, node: int) -> None:
        quiet = [option for option in QUIET if "LogLevel" not in option]
        logging = [
            f"-Dlog4j.configuration=file:{log4j(self.folder, 'INFO')}",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
        ]
        jars = ":".join(map(str, class_path(self.release)))
        properties = self.folder / f"server-{node}.properties"
        # Only for tests: a benchmark's servers start as Kafka's own scripts start them.
        archive = shared(SERVER, self.release) if self.setup.java_options == tuple(SERVER_OPTIONS) else []
        self.servers[node] = Server(
            f"Kafka {self.release} node {node}",
            [java(), *self.setup.java_options, *archive, *quiet, *logging, "-cp", jars, "kafka.Kafka", str(properties)],
            self.folder / f"server-{node}.log",
        )

    def _wait(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Until every running node knows every other and a controller."""
        for node, server in self.servers.items():
            port = self.listener_ports[node]["PLAINTEXT"]
            count = len(self.servers)
            server.wait_until(lambda port=port, count=count: registered_brokers(port) == count, timeout_s)  # type: ignore[misc]

    def _log_dir(self, node: int) -> Path:
        return self.folder / f"data-{node}"

    def _properties(self, node: int) -> str:
        ports = self.listener_ports[node]
        copies = min(3, self.setup.nodes)
        listeners = [f"{name}://127.0.0.1:{port}" for name, port in ports.items()]
        lines: dict[str, object] = {
            "log.dirs": self._log_dir(node),
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": max(1, copies - 1),
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": max(1, copies - 1),
            # Fewer partitions of the internal topics than Kafka's 50: a test's first group is not kept waiting.
            "offsets.topic.num.partitions": 5,
            "transaction.state.log.num.partitions": 5,
            "share.coordinator.state.topic.num.partitions": 5,
            "group.initial.rebalance.delay.ms": 0,
            # A group that a test has just left, and will commit for, is not removed in between.
            "offsets.retention.check.interval.ms": 86_400_000,
            "inter.broker.listener.name": "PLAINTEXT",
            "log.cleaner.dedupe.buffer.size": 8 << 20,
            "num.recovery.threads.per.data.dir": 1,
        }
        if self.zookeeper is None:
            voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in self.controller_ports.items())
            listeners.append(f"CONTROLLER://127.0.0.1:{self.controller_ports[node]}")
            protocols = ",".join(f"{name}:{name}" for name in ports)
            lines |= {
                "process.roles": "broker,controller",
                "node.id": node,
                "controller.quorum.voters": voters,
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{protocols}",
            }
        else:
            lines |= {"broker.id": node, "zookeeper.connect": self.zookeeper.connect}
        lines["listeners"] = ",".join(listeners)
        lines |= secrets.server_properties(self.setup.listeners, self.folder)
        lines |= {
            key: value.replace("{node}", str(node)).replace("{folder}", str(self.folder))
            for key, value in self.setup.properties
        }
        return "".join(f"{key}={value}\n" for key, value in lines.items())


class RealZooKeeper:
    """A running ZooKeeper server (3.8, from Kafka 3.9.2's jars)."""

    CHROOT = "/kafka"
    RELEASE = "3.9.2"

    def __init__(self, folder: Path, ports: Ports, server: Server, port: int) -> None:
        self.folder = folder
        self.port = port
        self._ports = ports
        self._server = server

    @property
    def address(self) -> str:
        """``host:port``, without a chroot."""
        return f"127.0.0.1:{self.port}"

    @property
    def connect(self) -> str:
        """What ``zookeeper.connect`` of this cluster's brokers says, with the chroot."""
        return self.address + self.CHROOT

    @classmethod
    def launch(cls, folder: Path) -> RealZooKeeper:
        """Start a server on an empty data directory. Raises Unavailable or StartFailed."""
        executable = java()
        jars = ":".join(map(str, class_path(cls.RELEASE)))
        folder.mkdir(parents=True)
        ports = Ports()
        port = ports.take()
        settings: Mapping[str, object] = {
            "dataDir": folder / "data",
            "clientPort": port,
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "tickTime": 2000,
            "maxClientCnxns": 0,
            "4lw.commands.whitelist": "ruok,srvr",
        }
        config = folder / "zoo.cfg"
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        options = [
            "-Xmx128m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Dlog4j.configuration=file:{log4j(folder, 'INFO')}",
        ]
        server = Server("ZooKeeper", [executable, *options, "-cp", jars, main, str(config)], folder / "zookeeper.log")
        zookeeper = cls(folder, ports, server, port)
        try:
            server.wait_until(lambda: answers(port))
        except BaseException:
            zookeeper.stop()
            raise
        return zookeeper

    def stop(self) -> None:
        self._server.stop()
        self._ports.release()
        shutil.rmtree(self.folder, ignore_errors=True)


def registered_brokers(port: int) -> int:
    """How many brokers this one knows of, 0 while it does not answer or knows no controller.

    Metadata v1 with no topics, written and read by hand: the harness must not trust the code it is there to test.
    """
    try:
        body = _asked(port, struct.pack(">hhih", 3, 1, 7, -1) + struct.pack(">i", 0))
        (count,) = struct.unpack_from(">i", body, 4)
        position = 8
        for _ in range(count):
            position += 4
            (length,) = struct.unpack_from(">h", body, position)
            position += 2 + length + 4
            (length,) = struct.unpack_from(">h", body, position)
            position += 2 + max(0, length)
        (controller,) = struct.unpack_from(">i", body, position)
    except (OSError, struct.error):
        return 0
    return count if controller >= 0 else 0


def committed_metadata(port: int) -> int:
    """The high watermark of the metadata log, which a broker asks its controller for (DescribeQuorum v0); 0 if refused.

    Raises OSError, struct.error or IndexError when there is no such answer.
    """
    topic = b"__cluster_metadata"
    header = struct.pack(">hhihB", 55, 0, 7, -1, 0)
    partitions = struct.pack(">BiBB", 2, 0, 0, 0)  # of one partition, 0
    body = _asked(port, header + struct.pack(">BB", 2, len(topic) + 1) + topic + partitions + b"\0")
    (error,) = struct.unpack_from(">h", body, 5)  # after the correlation id and an empty list of tags
    if error:
        return 0
    index, error, _, _, committed = struct.unpack_from(">ihiiq", body, 7 + 1 + 1 + len(topic) + 1)
    return int(committed) if (index, error) == (0, 0) else 0


def metadata_of_broker(port: int) -> int:
    """The offset up to which a broker has the metadata log: the epoch of finalized features (ApiVersions v3).

    Raises OSError, struct.error or IndexError when there is no such answer.
    """
    body = _asked(port, struct.pack(">hhihB", 18, 3, 7, -1, 0) + b"\x05test\x021\0")
    apis, position = _varint(body, 6)
    position += 7 * (apis - 1) + 4  # an API is three numbers and no tags
    tags, position = _varint(body, position)
    for _ in range(tags):
        tag, position = _varint(body, position)
        size, position = _varint(body, position)
        if tag == 1:
            return int(struct.unpack_from(">q", body, position)[0])
        position += size
    return 0


def _asked(port: int, request: bytes) -> bytes:
    """The answer to a request, from the correlation id on."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(struct.pack(">i", len(request)) + request)
        reader = sock.makefile("rb")
        (size,) = struct.unpack(">i", reader.read(4))
        return reader.read(size)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned varint, and where what follows it begins."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position


def eventually(check: object, timeout_s: float = 90.0) -> None:
    """Call ``check()`` until it raises no AssertionError; the last one is raised when time is up."""
    assert callable(check)
    end = time.monotonic() + timeout_s
    while True:
        try:
            check()
            return
        except AssertionError:
            if time.monotonic() > end:
                raise
        time.sleep(0.1)
