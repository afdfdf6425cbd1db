"""Every decoder of kafka-dump-log beside Kafka's own tool, on logs with random records of the topics they read.

The golden files hold what brokers write; these hold whatever the formats allow, and what they do not.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.commands import running
from kafka_tools.commands.logs.dump_log import PROGRAM, command
from kafka_tools.protocol import as_json
from kafka_tools.protocol.codec import encode, encode_versioned
from kafka_tools.protocol.primitives import write_unsigned_varint
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import cluster_metadata, remote_log_metadata
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafka_tools.records.build import build_batch
from tests.against_kafka.jars import NEWEST
from tests.dump.test_decoders import WHY
from tests.dump.test_golden import output
from tests.protocol.generate import edge_messages, message

RELEASE = NEWEST
MAIN = "org.apache.kafka.tools.DumpLogSegments"
SAMPLES = 6

JavaTool = Callable[..., subprocess.CompletedProcess[str]]
Pair = tuple[bytes | None, bytes | None]


def ours(*arguments: str) -> str:
    with output() as (stdout, stderr):
        status = running.run(command, list(arguments), PROGRAM)
        text = stdout.data().decode()
    assert status == 0, stderr.data().decode()
    return text


def compare(java_tool: JavaTool, folder: Path, pairs: list[Pair], *options: str) -> list[str]:
    """Both tools on a log of these records; our lines of records, which must be Kafka's."""
    path = folder / "00000000000000000000.log"
    path.write_bytes(
        b"".join(
            build_batch([(1000 + number, key, value, ())], base_offset=number)
            for number, (key, value) in enumerate(pairs)
        )
    )
    theirs = java_tool(RELEASE, MAIN, *options, "--files", str(path))
    assert theirs.returncode == 0, theirs.stderr
    mine = ours(*options, "--files", str(path))
    for our, their in zip(mine.split("\n"), theirs.stdout.split("\n"), strict=False):
        assert our == their
    assert mine == theirs.stdout
    return [line for line in mine.split("\n") if line.startswith("| offset")]


def samples(cls: type[Stored], *, key: bool = False) -> Iterator[tuple[int, Any]]:
    """(version, message) of every version: edges and random ones."""
    for version in [0] if key else range(cls.MIN_VERSION, cls.MAX_VERSION + 1):
        for each in edge_messages(cls, version):
            yield version, each
        for seed in range(SAMPLES):
            yield version, message(cls, version, seed)


def coordinator_pairs(keys: Mapping[int, type[Stored]], values: Mapping[int, type[Stored]]) -> list[Pair]:
    """Records of every type and version of a coordinator's topic, tombstones, and records that are none."""
    pairs: list[Pair] = []
    for number, cls in keys.items():
        written = [number.to_bytes(2, "big") + encode(each, 0) for _, each in samples(cls, key=True)]
        contents = [encode_versioned(each, version) for version, each in samples(values[number])]
        pairs += [(key, contents[at % len(contents)]) for at, key in enumerate(written)]
        pairs += [(written[at % len(written)], value) for at, value in enumerate(contents)]
        pairs.append((written[0], None))
    pairs += [(b"\x03\xe7" + b"unknown type", b"\x00\x00"), (b"\xff\xff", b"\x00\x00")]
    return pairs


@pytest.mark.parametrize(
    ("option", "modules"),
    [
        ("--offsets-decoder", ("offset_commit", "group_metadata", "consumer_group", "share_group", "streams_group")),
        ("--transaction-log-decoder", ("transaction_log",)),
        ("--share-group-state-decoder", ("share_state",)),
    ],
)
@pytest.mark.req("DL-6")
def test_records_of_coordinators(option: str, modules: tuple[str, ...], java_tool: JavaTool, tmp_path: Path) -> None:
    found = [import_module(f"kafka_tools.protocol.stored.{name}") for name in modules]
    pairs = coordinator_pairs(
        {number: cls for module in found for number, cls in module.KEYS.items()},
        {number: cls for module in found for number, cls in module.VALUES.items()},
    )
    lines = compare(java_tool, tmp_path, pairs, option)
    assert len(lines) == len(pairs)
    assert sum(": {" in line for line in lines) > len(pairs) / 2


def test_records_that_are_none_of_a_coordinators(java_tool: JavaTool, tmp_path: Path) -> None:
    key = b"\x00\x01" + encode(OffsetCommitKey(group="g", topic="t", partition=1), 0)
    value = encode_versioned(OffsetCommitValue(offset=5), 3)
    pairs: list[Pair] = [
        *((broken, value) for broken in (b"", b"\x00", key[:2], key[:-1], key + b"more", b"\x03\xe7")),
        *((key, broken) for broken in (b"", b"\x00", b"\x00\x09" + value[2:], value[:-1], value + b"more")),
        *((key, broken) for broken in (b"\xff\xff" + value[2:], None)),
        *((damaged, content) for damaged, content, _, _, _ in WHY),
    ]
    compare(java_tool, tmp_path, pairs, "--offsets-decoder")


def framed(number: int, version: int, body: bytes) -> bytes:
    head = bytearray()
    for each in (1, number, version):
        write_unsigned_varint(head, each)
    return bytes(head) + body


def test_records_of_the_metadata_log(java_tool: JavaTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for what is masked, which is shown here to be compared."""
    monkeypatch.setattr(as_json, "is_secret", lambda struct, field: False)
    pairs: list[Pair] = [
        (None, framed(number, version, encode(each, version)))
        for number, cls in cluster_metadata.RECORDS.items()
        for version, each in samples(cls)
    ]
    # A version that is not known yet is read as the newest one.
    pairs += [
        (None, framed(number, cls.MAX_VERSION + 3, encode(next(samples(cls))[1], cls.MAX_VERSION)))
        for number, cls in cluster_metadata.RECORDS.items()
        if cls.MIN_VERSION == cls.MAX_VERSION
    ]
    lines = compare(java_tool, tmp_path, pairs, "--cluster-metadata-decoder")
    assert sum('"data":{' in line for line in lines) == len(pairs)


def test_records_of_tiered_storage(java_tool: JavaTool, tmp_path: Path) -> None:
    """Kafka's classes refuse some values; what they say then is printed too."""
    rng = random.Random(405)
    pairs: list[Pair] = [(None, None)]
    for number, cls in remote_log_metadata.RECORDS.items():
        for _, each in samples(cls):
            for name, states in (("remote_log_segment_state", 4), ("remote_partition_delete_state", 3)):
                if hasattr(each, name) and rng.random() < 0.9:
                    setattr(each, name, rng.randrange(states))
            pairs.append((None, framed(number, 0, encode(each, 0))))
            if not hasattr(each, "segment_leader_epochs"):
                continue
            if not each.segment_leader_epochs:
                entry: Any = cls.SegmentLeaderEpochEntry  # type: ignore[attr-defined]
                each.segment_leader_epochs = [entry(leader_epoch=epoch, offset=epoch * 7) for epoch in (3, 1, 2)]
            for each.start_offset, each.end_offset in ((0, 0), (4, 9), (5, 4), (-1, 3), (3, -1)):
                pairs.append((None, framed(number, 0, encode(each, 0))))
    lines = compare(java_tool, tmp_path, pairs, "--remote-log-metadata-decoder")
    assert len(lines) == len(pairs) and sum("{segmentId=" in line for line in lines) > 20


NO_TEXT = b"a\xff\xed\xa0\x80\xc3\xe4\xbd"
"""Bytes that are not UTF-8: one that never is, an encoded surrogate, two sequences that are cut off."""


def spoilt(data: bytes) -> bytes:
    """``data`` with NO_TEXT for each name of as many letters."""
    changed = data.replace(b"Q" * len(NO_TEXT), NO_TEXT)
    assert changed != data
    return changed


def test_names_that_are_not_utf_8(java_tool: JavaTool, tmp_path: Path) -> None:
    name = "Q" * len(NO_TEXT)
    key = b"\x00\x01" + spoilt(encode(OffsetCommitKey(group=name, topic=name, partition=1), 0))
    value = spoilt(encode_versioned(OffsetCommitValue(offset=5, metadata=name), 3))
    member = MemberMetadata(
        member_id=name,
        subscription=encode_versioned(ConsumerProtocolSubscription(topics=[name]), 0),
        assignment=encode_versioned(ConsumerProtocolAssignment(), 0),
    )
    group = b"\x00\x02" + spoilt(encode(GroupMetadataKey(group=name), 0))
    state = spoilt(encode_versioned(GroupMetadataValue(protocol_type="consumer", members=[member]), 3))
    lines = compare(java_tool, tmp_path, [(key, value), (key, None), (group, state)], "--offsets-decoder")
    assert [line.count("\ufffd") for line in lines] == [12, 8, 12]
    topic = spoilt(encode(cluster_metadata.TopicRecord(name=name), 0))
    number = next(number for number, cls in cluster_metadata.RECORDS.items() if cls is cluster_metadata.TopicRecord)
    (line,) = compare(java_tool, tmp_path, [(None, framed(number, 0, topic))], "--cluster-metadata-decoder")
    assert line.count("\ufffd") == 4


BROKEN = (
    *(b"", b"\x02", b"\x00", b"\x00\x00", b"\x02\x00\x00", b"\x01", b"\x01\xe7\x07\x00", b"\x01\x00", b"\x01\x00\x09"),
    *(b"\x80" * 6, b"\x80\x80\x80\x80\x08", b"\xff\xff\xff\xff\x0f", b"\x80\x80\x04", b"\x01\x80\x80\x04\x00"),
    *(b"\x01\x80", b"\x01\x02\x80", b"\x01\x02\x80\x80\x04", b"\x01\x00\x00abc", b"\x01\x02\x00" + bytes(18)),
)
"""Values that are not records of the metadata log or of tiered storage."""


@pytest.mark.parametrize("option", ["--cluster-metadata-decoder", "--remote-log-metadata-decoder"])
def test_values_that_are_no_records(option: str, java_tool: JavaTool, tmp_path: Path) -> None:
    lines = compare(java_tool, tmp_path, [(None, value) for value in BROKEN], option)
    assert all("skipping. " in line for line in lines)


@pytest.mark.parametrize(
    ("decoder", "data"),
    [
        ("StringDecoder", [b"", b"text", "größe 価格".encode(), b"\xff\xfe", b"\xed\xa0\x80", None]),
        ("LongDecoder", [bytes(8), (2**63 - 1).to_bytes(8, "big"), b"\xff" * 8, None]),
        ("IntegerDecoder", [bytes(4), b"\x7f\xff\xff\xff", b"\xff" * 4, None]),
    ],
)
def test_decoders_of_keys_and_values(
    decoder: str, data: list[bytes | None], java_tool: JavaTool, tmp_path: Path
) -> None:
    name = f"org.apache.kafka.tools.api.{decoder}"
    pairs: list[Pair] = [(each, data[-1 - at]) for at, each in enumerate(data)]
    compare(java_tool, tmp_path, pairs, "--key-decoder-class", name, "--value-decoder-class", name)


def test_no_option_of_kafkas_tool_is_missing(java_tool: JavaTool) -> None:
    text = java_tool(RELEASE, MAIN, "--help").stderr
    theirs = set(re.findall(r"^(--[a-z][a-z-]+)", text, re.MULTILINE))
    assert len(theirs) > 15, text
    mine = {name for parameter in command.params for name in parameter.opts}
    assert theirs - mine - {"--help", "--version"} == set()
