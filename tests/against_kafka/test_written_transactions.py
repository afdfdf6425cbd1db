"""What transactions leave on the bundled broker's disk, read by Kafka's own dump tool and served by Kafka's clients."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.protocol.enums import TransactionState
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.storage.check import check_partition
from tests.against_kafka.jars import NEWEST
from tests.broker_embedded.coordinators.test_transactions import Client
from tests.broker_embedded.disk_broker import DiskBroker

Tool = Callable[..., subprocess.CompletedProcess[str]]
DUMP = "org.apache.kafka.tools.DumpLogSegments"
FEW = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}


@pytest.fixture(scope="module", params=[False, True], ids=["older clients", "clients of version 2"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("data")
    broker = DiskBroker(directory, FEW)
    broker.create("t", index_interval_bytes="100")
    client, other = Client(broker, bumps=request.param), Client(broker, "left open", bumps=request.param)
    for each in (client, other):
        assert each.init() == 0
    broker.call(FindCoordinatorRequest(key="g"), 0)
    for turn in range(8):
        if not request.param:
            client.add(0)
            client.add_offsets()
        client.produce(b"%d" % turn * 50)
        assert client.commit_offset(turn, version=5 if request.param else 3) == 0
        assert client.end(turn % 3 != 0) == 0
    if not request.param:
        other.add(0)
    other.produce(b"open")
    broker.core.close()
    return directory


@pytest.mark.req("TX-1", "TX-21")
def test_kafka_reads_the_log_of_transactions(written: Path, java_tool: Tool) -> None:
    (path,) = (written / "__transaction_state-0").glob("*.log")
    done = java_tool(NEWEST, DUMP, "--transaction-log-decoder", "--files", str(path))
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "payload:" in line]
    assert len(lines) > 20
    for status in TransactionState.all[:6]:  # from Empty to CompleteAbort
        assert any(f'"transactionStatus":"{status}",' in line for line in lines), (status, lines[:3])
    assert "isvalid: false" not in done.stdout


def test_kafka_finds_nothing_wrong_in_what_transactions_wrote(written: Path, java_tool: Tool) -> None:
    for name in ("t-0", "__transaction_state-0", "__consumer_offsets-0"):
        directory = written / name
        assert [finding for finding in check_partition(directory) if finding.is_damage] == []
        files = [path for path in sorted(directory.iterdir()) if path.stat().st_size]
        for suffix, options in (
            (".log", ["--deep-iteration"]), (".index", ["--index-sanity-check"]),
            (".timeindex", ["--index-sanity-check"]), (".txnindex", []), (".snapshot", []),
        ):  # fmt: skip
            named = ",".join(str(path) for path in files if path.suffix == suffix)
            if named:
                done = java_tool(NEWEST, DUMP, *options, "--files", named)
                output = done.stdout + done.stderr
                assert done.returncode == 0, output
                for bad in ("isvalid: false", "ismatch", "Out of order", "not found", "xception"):
                    assert bad not in output
    markers = java_tool(NEWEST, DUMP, "--deep-iteration", "--files", str(next((written / "t-0").glob("*0.log"))))
    assert "endTxnMarker: ABORT" in markers.stdout
