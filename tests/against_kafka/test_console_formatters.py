"""``kafka-console-consumer --formatter`` for internal topics beside the formatters of the newest Kafka and of 3.9.2.

A formatter does not ask which topic a record is from, so any record can be put before it: every type and version of the
records, tombstones, null keys, records of other types, and what is none.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from kafka_tools.admin.calls.topic_changes import NewTopic
from kafka_tools.admin.client import AdminClient
from kafka_tools.clients.producer import Producer
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol.codec import encode, encode_versioned
from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.test_dump_log_decoders import Pair, coordinator_pairs

SCRIPT = "import sys; del sys.argv[0]; from kafka_tools.scripts import main; main()"
"""A console script: its name, then its arguments."""

CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
MODULES = ("offset_commit", "group_metadata", "consumer_group", "share_group", "streams_group")

JavaTool = Callable[..., subprocess.CompletedProcess[Any]]


def pairs_of(*names: str) -> list[Pair]:
    """Random records of these modules' topics, and records that no formatter prints."""
    found = [import_module(f"kafka_tools.protocol.stored.{name}") for name in names]
    pairs = coordinator_pairs(
        {number: cls for module in found for number, cls in module.KEYS.items()},
        {number: cls for module in found for number, cls in module.VALUES.items()},
    )
    return [*pairs, (None, b"value"), (None, None)]


def topic_of(kafka: Any, pairs: list[Pair]) -> str:
    """A new topic of one partition with these records."""
    name = f"formatter-{uuid.uuid4().hex[:8]}"
    config = ClientConfig.load(bootstrap_servers=kafka.bootstrap_servers)
    with AdminClient(config) as admin:
        admin.create_topics([NewTopic(name, 1, 1)]).raise_any()
    with Producer(config) as producer:
        for key, value in pairs:
            producer.send(name, value, key)
        producer.flush()
    return name


def both(kafka: Any, java_tool: JavaTool, release: str, name: str, count: int, formatter: str) -> tuple[str, str]:
    """(ours, Kafka's): what the consumers print of a topic with this formatter."""
    arguments = (
        "--bootstrap-server", kafka.bootstrap_servers, "--topic", name, "--partition", "0", "--offset", "earliest",
        "--max-messages", str(count), "--timeout-ms", "60000", "--formatter", formatter,
    )  # fmt: skip
    theirs = java_tool(release, CONSUMER, *arguments)
    assert theirs.returncode == 0, theirs.stderr
    ours = subprocess.run(
        [sys.executable, "-c", SCRIPT, "kafka-console-consumer", *arguments],
        capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert ours.returncode == 0, ours.stderr
    return ours.stdout, theirs.stdout


@pytest.mark.req("DL-7", "DL-8", "DL-9")
@pytest.mark.parametrize(
    ("formatter", "modules"),
    [
        ("org.apache.kafka.tools.consumer.OffsetsMessageFormatter", MODULES),
        ("org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter", MODULES),
        ("org.apache.kafka.tools.consumer.ShareGroupMessageFormatter", MODULES),
        ("org.apache.kafka.tools.consumer.TransactionLogMessageFormatter", ("transaction_log",)),
        ("org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter", ("share_state",)),
    ],
)
def test_documents_are_those_of_kafka(
    formatter: str, modules: tuple[str, ...], kafka_new: Any, java_tool: JavaTool
) -> None:
    pairs = pairs_of(*modules)
    name = topic_of(kafka_new, pairs)
    ours, theirs = both(kafka_new, java_tool, NEWEST, name, len(pairs), formatter)
    for mine, kafkas in zip(split(ours), split(theirs), strict=False):
        assert mine == kafkas
    assert ours == theirs
    assert len(split(ours)) > 10


@pytest.mark.req("DL-7", "DL-8", "DL-9")
@pytest.mark.parametrize("kind", ["OffsetsMessageFormatter", "GroupMetadataMessageFormatter"])
def test_lines_are_those_of_kafka_3_9(kind: str, kafka_39: Any, java_tool: JavaTool) -> None:
    """The text of the Scala classes, which Kafka 4 has no more."""
    pairs = old_pairs()
    name = topic_of(kafka_39, pairs)
    formatter = f"kafka.coordinator.group.GroupMetadataManager${kind}"
    ours, theirs = both(kafka_39, java_tool, "3.9.2", name, len(pairs), formatter)
    assert ours.splitlines() == theirs.splitlines()
    assert sum("::NULL" in line for line in ours.splitlines()) == 1 and len(ours.splitlines()) >= 5


def old_pairs() -> list[Pair]:
    """Commits and groups (of one member: several are in the order of a hash map) in the versions that 3.9 reads."""
    commit = b"\x00\x01" + encode(OffsetCommitKey(group="g", topic="t", partition=1), 0)
    group = b"\x00\x02" + encode(GroupMetadataKey(group="grp"), 0)
    pairs: list[Pair] = [(commit, None), (group, None), (None, b"no key")]
    for version in range(4):
        value = OffsetCommitValue(offset=5, metadata="m", commit_timestamp=77)
        if version == 1:
            value.expire_timestamp = 99
        if version == 3:
            value.leader_epoch = 4
        pairs.append((commit, encode_versioned(value, version)))
        member = MemberMetadata(member_id="m1", client_id="c", client_host="/h", session_timeout=6)
        if version >= 1:
            member.rebalance_timeout = 5
        if version >= 3:
            member.group_instance_id = "instance"
        for members in ([], [member]):
            for protocol_type in ("consumer", ""):
                state = GroupMetadataValue(protocol_type=protocol_type, generation=3, members=members)
                state.protocol, state.leader = ("range", "m1") if members else (None, None)
                pairs.append((group, encode_versioned(state, version)))
    return pairs


def split(text: str) -> list[str]:
    return text.replace('}{"key"', '}\n{"key"').split("\n")
