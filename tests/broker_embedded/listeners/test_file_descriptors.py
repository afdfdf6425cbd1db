"""A broker that has no descriptors left says so once, and takes connections again when it has some."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.produce import ProduceRequest
from kafka_tools.records.build import build_batch
from kafka_tools.values import parse_address
from tests.broker_embedded.wire_client import WireClient, make_topics

FILES = 64
RUN = """
import resource, sys
from kafka_tools.broker_embedded import process
resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))
import logging
logging.basicConfig(stream=sys.stderr)
def ready(line):
    import json
    print(json.loads(line)["bootstrap_servers"], flush=True)
process.run({{"listeners": "PLAINTEXT://127.0.0.1:0"}}, [sys.argv[1]], release=None, fsync="kafka", ready=ready)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="how many files a process has open is asked of /proc")
def test_descriptors_are_kept_for_logs_in_a_flood(tmp_path: Path) -> None:
    """What is produced, and the new files that this takes, is not refused because of who connects."""
    broker = subprocess.Popen(
        [sys.executable, "-c", RUN.format(files=100), str(tmp_path / "data")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    crowd: list[socket.socket] = []
    try:
        assert broker.stdout is not None
        address = broker.stdout.readline().strip()
        with WireClient(address) as client:
            make_topics(client, {"t": {"segment.bytes": "1048576"}})
            for _ in range(300):
                crowd.append(socket.socket())
                crowd[-1].setblocking(False)
                crowd[-1].connect_ex(parse_address(address))
            deadline = Deadline(SystemClock(), 60)
            while len(os.listdir(f"/proc/{broker.pid}/fd")) < 50:
                assert not deadline.expired
            batch = build_batch([(1_700_000_000_000, None, bytes(400_000), ())])
            Data = ProduceRequest.TopicProduceData
            data = [Data(name="t", partition_data=[Data.PartitionProduceData(index=0, records=batch)])]
            for _ in range(12):  # four segments
                answer = client.call(ProduceRequest(acks=1, timeout_ms=1000, topic_data=data), 7)
                assert answer.responses[0].partition_responses[0].error_code == 0
            make_topics(client, {"made": {}})
        for each in crowd:
            each.close()
        with WireClient(address) as late:
            assert late.call(DescribeClusterRequest(), 0).error_code == 0
    finally:
        broker.terminate()
        _, log = broker.communicate(timeout=60)
    assert "Traceback" not in log
    assert log.count("Too many open files") == 1, log


def test_no_descriptors_left_is_one_line_and_accepting_goes_on(tmp_path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 4 * FILES
    broker = subprocess.Popen(
        [sys.executable, "-c", RUN.format(files=FILES), str(tmp_path / "data")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert broker.stdout is not None
        address = broker.stdout.readline().strip()
        host, _, port = address.rpartition(":")
        first = WireClient(address)
        crowd = [socket.create_connection((host, int(port)), 30) for _ in range(3 * FILES)]
        assert first.call(DescribeClusterRequest(), 0).error_code == 0  # served all the while
        for each in crowd:
            each.close()
        with WireClient(address) as late:
            assert late.call(DescribeClusterRequest(), 0).error_code == 0
        first._socket.close()
    finally:
        broker.terminate()
        _, log = broker.communicate(timeout=60)
    assert "Traceback" not in log
    refusals = [line for line in log.splitlines() if "cannot accept connections for now" in line]
    assert len(refusals) == 1, log
    assert "Too many open files" in refusals[0]
