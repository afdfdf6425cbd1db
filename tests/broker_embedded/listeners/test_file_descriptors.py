"""A broker that has no descriptors left says so once, and takes connections again when it has some."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from pathlib import Path

from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from tests.broker_embedded.wire_client import WireClient

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
    refusals = [line for line in log.splitlines() if "accepts no connections for now" in line]
    again = [line for line in log.splitlines() if "accepts connections again" in line]
    assert 1 <= len(refusals) <= len(again) + 1 <= 5, log
    assert "Too many open files" in refusals[0]
