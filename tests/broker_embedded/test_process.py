"""The broker as a process: ready line, signals, its log."""

from __future__ import annotations

import gc
import hmac
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.admin.client import AdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.configs.server_properties import with_overrides
from kafka_tools.broker_embedded.process import MOST_ARRIVED, LogLines, ShortCollections
from kafka_tools.errors import BrokerError, ConfigError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CoordinatorType
from kafka_tools.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafka_tools.protocol.messages.add_partitions_to_txn import Topic as Added
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.build import build_batch
from tests.broker_embedded.wire_client import WireClient

_WAIT_S = 60


class Process:
    """``kafka-tools broker run`` and its ready line."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "kafka_tools", "broker", "run", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            _, errors = self.process.communicate(timeout=_WAIT_S)
            raise AssertionError(f"exit {self.process.returncode}: {errors}")
        self.ready: dict[str, Any] = json.loads(line)

    @property
    def address(self) -> str:
        return str(self.ready["bootstrap_servers"])

    def end(self, number: int) -> tuple[int, str, str]:
        """(status, rest of stdout, stderr) after a signal."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, errors = self.process.communicate(timeout=_WAIT_S)
        return self.process.returncode, out, errors


@pytest.fixture
def processes() -> Iterator[list[Process]]:
    """Whatever a test starts is gone when it ends."""
    started: list[Process] = []
    yield started
    for process in started:
        process.end(signal.SIGKILL)


@pytest.mark.req("SYS-1")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_ready_line_and_a_clean_stop(processes: list[Process], tmp_path: Path, number: int) -> None:
    broker = Process("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), "--set", "num.partitions=7")
    processes.append(broker)
    assert broker.ready.keys() == {"bootstrap_servers", "listeners", "cluster_id", "data_dir", "data_dirs", "pid"}
    assert broker.ready["data_dir"] == str(tmp_path / "data")
    assert broker.ready["data_dirs"] == [broker.ready["data_dir"]]
    assert broker.ready["listeners"] == {"PLAINTEXT": broker.address}
    assert broker.ready["pid"] == broker.process.pid
    with WireClient(broker.address) as client:
        response = client.call(DescribeClusterRequest(), 0)
        assert response.cluster_id == broker.ready["cluster_id"]
        assert f"{response.brokers[0].host}:{response.brokers[0].port}" == broker.address
    status, out, errors = broker.end(number)
    assert (status, out) == (0, "")
    assert f"Terminating process due to signal {signal.Signals(number).name} " in errors
    assert "stopped" in errors
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_the_metrics_port_shows_what_the_broker_counts(processes: list[Process]) -> None:
    pytest.importorskip("prometheus_client")
    broker = Process("--listen", "127.0.0.1:0", "--metrics-port", "0")
    processes.append(broker)
    with WireClient(broker.address) as client:
        topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=3, replication_factor=1)
        assert client.call(CreateTopicsRequest(topics=[topic]), 5).topics[0].error_code == 0
    assert broker.ready["metrics"].startswith("http://127.0.0.1:")
    with urllib.request.urlopen(broker.ready["metrics"], timeout=_WAIT_S) as answer:
        lines = answer.read().decode().splitlines()
    assert "kafka_controller_kafkacontroller_globalpartitioncount 3.0" in lines
    assert 'kafka_network_requestmetrics_requests_total{request="CreateTopics",version="5"} 1.0' in lines
    status, _, errors = broker.end(signal.SIGTERM)
    assert (status, "Traceback" in errors) == (0, False)


@pytest.mark.parametrize(("lost", "fsync"), [(".", "kafka"), ("t-0", "always")])
def test_the_status_tells_of_what_the_disk_has_lost(
    processes: list[Process], tmp_path: Path, lost: str, fsync: str
) -> None:
    data = tmp_path / "data"
    broker = Process("--listen", "127.0.0.1:0", "--data-dir", str(data), "--fsync", fsync)
    processes.append(broker)
    with WireClient(broker.address) as client:
        topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        assert client.call(CreateTopicsRequest(topics=[topic]), 5).topics[0].error_code == 0
        Data = ProduceRequest.TopicProduceData
        records = build_batch([(-1, b"k", b"v", ())])
        part = Data.PartitionProduceData(index=0, records=records)
        asked = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[Data(name="t", partition_data=[part])])

        def produce() -> int:
            return int(client.call(asked, 9).responses[0].partition_responses[0].error_code)

        assert produce() == 0
        subprocess.run(["rm", "-rf", str(data / lost)], check=True)  # shutil's stumbles over what the broker renames
        while (code := produce()) == 0:
            time.sleep(0.02)
        assert code == error_codes.KAFKA_STORAGE_ERROR
    status, _, errors = broker.end(signal.SIGTERM)
    assert status == 1
    told = [line for line in errors.splitlines() if " ERROR " in line or " CRITICAL " in line]
    assert len(told) == 1 and str(data / lost) in told[0], errors
    assert "\nkafka-tools: the broker stopped" in errors
    assert not data.exists() or not (data / ".kafka_cleanshutdown").exists()


def test_a_properties_file_options_and_their_order(processes: list[Process], tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    file = tmp_path / "server.properties"
    file.write_text(
        f"node.id=7\nlisteners=PLAINTEXT://127.0.0.1:0,CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER\n"
        f"process.roles=broker,controller\nlog.dirs={other}\nnum.partitions=5\n"
    )
    broker = Process(str(file), "--data-dir", str(data), "--set", "num.partitions=2")
    processes.append(broker)
    with WireClient(broker.address) as client:
        assert client.call(DescribeClusterRequest(), 0).brokers[0].broker_id == 7
        topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=-1, replication_factor=-1)
        assert client.call(CreateTopicsRequest(topics=[topic]), 5).topics[0].num_partitions == 2
    assert data.exists() and not other.exists()


def test_a_temporary_directory_goes_with_the_broker(processes: list[Process]) -> None:
    broker = Process("--listen", "127.0.0.1:0")
    processes.append(broker)
    assert os.path.isdir(broker.ready["data_dir"])
    broker.end(signal.SIGTERM)
    assert not os.path.exists(broker.ready["data_dir"])


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["--listen", "nowhere"], 2, "invalid address"),
        (["--set", "num.partitions"], 2, "key=value"),
        (["--set", "num.partitions=many"], 1, "num.partitions"),
        (["absent.properties"], 1, "absent.properties"),
        (["--set", "node.id=x"], 1, "node.id"),
        (["--listen", "127.0.0.1:0", "--release", "0.1"], 1, "0.1"),
    ],
)
def test_what_cannot_start_says_so_in_one_line(arguments: list[str], status: int, text: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kafka_tools", "broker", "run", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=_WAIT_S, cwd=tmp_path, check=False)
    assert (ended.returncode, ended.stdout) == (status, "")
    assert text in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_directory_serves_one_broker_and_only_its_own(processes: list[Process], tmp_path: Path) -> None:
    broker = Process("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path))
    processes.append(broker)
    with pytest.raises(AssertionError, match="in use by another broker"):
        Process("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path))
    broker.end(signal.SIGKILL)
    with pytest.raises(AssertionError, match="belongs to node 1, not 2"):
        Process("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path), "--set", "node.id=2")
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=1\n")
    with pytest.raises(AssertionError, match="another broker"):
        Process("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path))


def test_what_clients_chose_begins_no_line_of_the_log(processes: list[Process], tmp_path: Path) -> None:
    """Ids of groups and of transactions, and names of clients and hosts, with line ends and a terminal's commands."""
    broker = Process("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), "--log-level", "debug")
    processes.append(broker)
    forged = "[2026-01-01 00:00:00,000] ERROR forged (kafka_tools)"
    name = f"a\n{forged}\r\n\x1b[2J\x9b2J\u2028{forged}\u202e"
    with WireClient(broker.address, client_id=name) as client:
        topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        misnamed = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        client.call(CreateTopicsRequest(topics=[topic, misnamed]), 5)
        Protocol = JoinGroupRequest.RequestProtocol
        joining = JoinGroupRequest(
            group_id=name, protocol_type="consumer", protocols=[Protocol(name=name, metadata=b"")],
            session_timeout_ms=10_000, rebalance_timeout_ms=10_000, reason=name,
        )  # fmt: skip
        joining.member_id = client.call(joining, 8).member_id
        client.call(joining, 8)
        member = LeaveGroupRequest.MemberIdentity(member_id=joining.member_id, reason=name)
        client.call(LeaveGroupRequest(group_id=name, members=[member]), 5)
        client.call(DeleteGroupsRequest(groups_names=[name]), 2)
        key = FindCoordinatorRequest(key_type=CoordinatorType.TRANSACTION, coordinator_keys=[name])
        client.call(key, 4)
        starting = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1)
        given = client.call(starting, 4)
        adding = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name, v3_and_below_producer_id=given.producer_id,
            v3_and_below_producer_epoch=given.producer_epoch, v3_and_below_topics=[Added(name="t", partitions=[0])],
        )  # fmt: skip
        assert client.call(adding, 3).results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0
        client.call(starting, 4)
    _, _, text = broker.end(signal.SIGTERM)
    assert forged in text, "nothing was logged that a client chose"
    lines = text.removesuffix("\n").split("\n")
    assert all(line.startswith("[") and not line.startswith(forged) for line in lines), text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)


def test_a_traceback_in_the_log_stands_below_its_line() -> None:
    record = logging.LogRecord("kafka_tools", logging.ERROR, "file", 1, "it failed: %s", ("a\nb",), None)
    try:
        raise ValueError("one\n[2026-01-01 00:00:00,000] ERROR forged\x1b[2J")
    except ValueError:
        record.exc_info = sys.exc_info()
    first, *below = LogLines().format(record).split("\n")
    assert first.endswith(r" ERROR it failed: a\nb (kafka_tools)")
    assert len(below) > 2 and all(line.startswith("    ") for line in below)
    assert below[-1] == r"    [2026-01-01 00:00:00,000] ERROR forged\x1b[2J"


def test_overrides() -> None:
    merged, dirs = with_overrides(
        {"listeners": "SSL://:1", "advertised.listeners": "SSL://a:1", "log.dirs": "/a,/b"},
        listen="[::1]:9092", data_dir=None, overrides={"a": "b=c"},
    )  # fmt: skip
    assert merged == {"listeners": "PLAINTEXT://[::1]:9092", "log.dirs": "/a,/b", "a": "b=c"}
    assert dirs == ["/a", "/b"]
    with pytest.raises(ConfigError, match="duplicate directory"):
        with_overrides({"log.dirs": "/a,/a"}, listen=None, data_dir=None, overrides={})
    for listen in (":19092", "[::1]:19092", "broker1:19092"):
        assert with_overrides({}, listen=listen, data_dir=None, overrides={})[0] == {
            "listeners": f"PLAINTEXT://{listen}"
        }


# In process


@pytest.mark.parametrize("given", ["data_dir", "log.dirs"])
def test_an_embedded_broker_restarts_on_its_data_in_another_working_directory(
    tmp_path: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    broker = EmbeddedBroker(data_dir="data") if given == "data_dir" else EmbeddedBroker(config={"log.dirs": "data"})
    with broker:
        cluster_id = broker.cluster_id
        monkeypatch.chdir(tmp_path / "elsewhere")
        broker.restart()
        assert broker.cluster_id == cluster_id
        assert broker.data_dir == str(tmp_path / "data")


def test_an_embedded_broker_restarts_on_its_port_with_its_data(tmp_path: Path) -> None:
    with EmbeddedBroker(data_dir=tmp_path) as broker:
        address, cluster = broker.bootstrap_servers, broker.cluster_id
        for kill in (True, False):
            broker.restart(kill=kill)
            assert (broker.bootstrap_servers, broker.cluster_id) == (address, cluster)
        with WireClient(broker.bootstrap_servers) as client:
            assert client.call(DescribeClusterRequest(), 0).cluster_id == cluster
    assert tmp_path.exists()


def test_an_embedded_brokers_own_directory_goes_when_it_stops() -> None:
    broker = EmbeddedBroker().start()
    directory = broker.data_dir
    assert os.path.isdir(directory)
    broker.stop()
    assert not os.path.exists(directory)
    broker.stop()


def test_a_failed_start_raises_what_failed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ConfigError, match="cannot create data directory"):
        EmbeddedBroker(data_dir=file / "below").start()


def test_the_fixture_gives_a_running_broker(kafka_broker: EmbeddedBroker) -> None:
    with WireClient(kafka_broker.bootstrap_servers) as client:
        assert client.call(DescribeClusterRequest(), 0).cluster_id == kafka_broker.cluster_id


def test_a_reader_that_is_gone_before_the_ready_line_stops_the_broker_cleanly(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [
        sys.executable,
        "-m",
        "kafka_tools",
        "broker",
        "run",
        "--listen",
        "127.0.0.1:0",
        "--data-dir",
        str(tmp_path),
    ]
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=_WAIT_S, check=False)
    os.close(writing)
    assert "stopped" in ended.stderr and "Traceback" not in ended.stderr
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_secrets_come_from_where_the_settings_say(tmp_path: Path) -> None:
    (tmp_path / "secrets.properties").write_text("tokens=of the file\n")
    config = {
        "config.providers": "file", "delegation.token.secret.key": f"${{file:{tmp_path}/secrets.properties:tokens}}",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }  # fmt: skip
    with EmbeddedBroker(config=config) as broker:
        token = broker.call(lambda core: core.tokens.create("User:a", "User:a", [], -1))
        expected = hmac.digest(b"of the file", token.token_id.encode(), "sha512")
        assert broker.call(lambda core: core.tokens.hmac(token)) == expected
    with pytest.raises(ConfigError, match=r"'file': unsupported config.providers.file.class \(not set\)"):
        EmbeddedBroker(config={"config.providers": "file"}).start()


def test_the_key_of_tokens_is_taken_from_a_file(processes: list[Process], tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a secret\n")
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    (tmp_path / "server.properties").write_text(
        "listeners=SASL_PLAINTEXT://127.0.0.1:0\nsasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256\n"
        f'plain.sasl.jaas.config={module} user_alice="pa";\n'
    )
    broker = Process(str(tmp_path / "server.properties"), "--delegation-token-key", str(tmp_path / "key"))
    processes.append(broker)
    values = {
        "bootstrap.servers": broker.address, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{module} username="alice" password="pa";',
    }  # fmt: skip
    with AdminClient(ClientConfig(values)) as admin:
        token = admin.create_delegation_token()
    assert token.hmac == hmac.digest(b"a secret", token.token_id.encode(), "sha512")
    with_token = f'username="{token.token_id}" password="{token.hmac_text}" tokenauth="true";'
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    values |= {"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": f"{scram} {with_token}"}
    with AdminClient(ClientConfig(values)) as admin:
        assert admin.describe_cluster().nodes
        with pytest.raises(BrokerError, match="DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"):
            admin.create_delegation_token()
    _, out, errors = broker.end(signal.SIGTERM)
    assert "a secret" not in out + errors and token.hmac_text not in out + errors


def test_kafka_delegation_tokens_on_the_bundled_broker(tmp_path: Path) -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    config = {
        "sasl.enabled.mechanisms": "PLAIN", "plain.sasl.jaas.config": f'{module} user_alice="pa" user_bob="pb";',
        "delegation.token.secret.key": "a secret",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    }  # fmt: skip
    with EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=config) as broker:

        def run(user: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
            path = tmp_path / f"{user}.properties"
            jaas = f'{module} username="{user}" password="p{user[0]}";'
            path.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n")
            command = [sys.executable, "-m", "kafka_tools", "delegation-tokens", "-b", broker.bootstrap_servers]
            return subprocess.run(
                [*command, "--command-config", str(path), *arguments],
                input=stdin, capture_output=True, text=True, timeout=_WAIT_S,
            )  # fmt: skip

        made = run("alice", "--create", "--max-life-time-period", "3600000")
        assert made.returncode == 0, made.stderr
        found = re.search(r"^(\S{22})\s+(\S{88})\s+User:alice\s", made.stdout, re.MULTILINE)
        assert found, made.stdout
        token_id, secret = found.groups()
        prolong = ("--renew", "--renew-time-period", "60000", "--hmac", "-")
        stranger = run("bob", *prolong, stdin=secret)
        assert stranger.returncode == 1 and "DELEGATION_TOKEN_OWNER_MISMATCH" in stranger.stderr
        assert secret not in stranger.stdout + stranger.stderr
        assert run("alice", *prolong, stdin=secret).returncode == 0
        assert token_id in run("alice", "--describe").stdout
        assert token_id not in run("bob", "--describe").stdout
        ended = run("alice", "--expire", "--expiry-time-period", "-1", "--hmac", "-", stdin=secret)
        assert ended.returncode == 0, ended.stderr
        assert token_id not in run("alice", "--describe").stdout


def test_a_collection_of_garbage_looks_at_what_was_made_since_the_one_before() -> None:
    class Known:
        pass

    def seen() -> int:
        """How many of them the next full collection looks at."""
        return sum(type(each) is Known for each in gc.get_objects())

    arrived = 0
    known = [Known()]
    collections = ShortCollections(lambda: arrived)
    collections.begin()
    try:
        assert seen() == 0, "what was there is left out"
        known += [Known() for _ in range(1000)]
        gc.collect(1)
        assert seen() == 1000
        gc.collect()
        assert seen() == 0
        last: Any = known.pop()
        last.itself, circle = last, weakref.ref(last)
        del last
        gc.collect()
        assert circle() is not None, "nothing looks at it any more"
        arrived = MOST_ARRIVED
        gc.collect()
        assert circle() is None
        assert seen() == 0
    finally:
        collections.end()
    assert seen() == len(known)
