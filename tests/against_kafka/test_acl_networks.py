"""Which networks an ACL's host may be, and which clients are in them: the bundled broker and Kafka's ``CidrUtils``."""

from __future__ import annotations

import subprocess

from kafka_tools.broker_embedded.security import networks
from tests.against_kafka.jars import ENVIRONMENT, NEWEST
from tests.against_kafka.java_programs import compiled

NETWORKS = [
    "0.0.0.0/0", "0.0.0.0/1", "10.0.0.0/8", "10.1.2.3/16", "10.0.0.1/31", "10.0.0.1/32", "010.0.0.0/8", "10.0.0.0/08",
    "255.255.255.255/32", "::/0", "::1/128", "2001:db8::/32", "2001:DB8::1/32", "2001:db8::/032", "[2001:db8::]/32",
    "2001:db8::%1/32", "fe80::/10", "::10.0.0.0/104", "::ffff:10.0.0.0/104", "::ffff:a00:0/120", "::ffff:10.0.0.0/8",
    "10.0.0.0/33", "10.0.0.0/99", "10.0.0.0/008", "10.0.0.0/+8", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8/8",
    "10.0.0.0/255.0.0.0", "256.0.0.0/8", "10.0.0/8", "10/8", "/8", "*/0", "a/8", "localhost/8", "2001:db8::/129",
    "2001:db8::/99999999999", "2001:db8::/", "2001:db8::/x", "2001:db8::/32/1", ":/0", ":::/0", "a:b/0", "[::1/8",
    "::1]/8", "1:2:3:4:5:6:7:8:9/32",
]  # fmt: skip
ADDRESSES = [
    "10.0.0.0", "10.0.0.1", "10.1.255.255", "11.0.0.1", "192.168.1.1", "255.255.255.255", "0.0.0.1",
    "0:0:0:0:0:0:0:1", "2001:db8:0:0:0:0:0:7", "2001:db9:0:0:0:0:0:7", "fe80:0:0:0:0:0:0:1%1", "0:0:0:0:0:0:a00:1",
]  # fmt: skip


def test_networks_are_taken_and_cover_what_kafka_says() -> None:
    asked = [(network, address) for network in NETWORKS for address in ADDRESSES]
    done = subprocess.run(
        compiled("Networks", NEWEST),
        input="".join(f"{network} {address}\n" for network, address in asked),
        capture_output=True, text=True, encoding="utf-8", timeout=300, env=ENVIRONMENT, check=True,
    )  # fmt: skip
    assert list(map(_ours, asked)) == done.stdout.splitlines()


def _ours(asked: tuple[str, str]) -> str:
    network, address = asked
    try:
        found = networks.parsed(network)
    except ValueError as problem:
        return f"{problem}\tfalse"
    return f"taken\t{str(found.covers(networks.address_of(address))).lower()}"
