"""Images from files: a directory is its newest snapshot and the log behind it, and what is hostile is one line."""

from __future__ import annotations

import os
import random
import uuid
from pathlib import Path

import pytest

from kafka_tools.cluster_image import image
from kafka_tools.cluster_image.image import Provenance
from kafka_tools.commands.logs.shell.loading import load
from kafka_tools.commands.logs.shell.nodes import TreeDirectory, TreeFile, root
from kafka_tools.commands.logs.shell.texts import zoned_time
from kafka_tools.errors import LogError
from kafka_tools.protocol.feature_levels import LATEST_PRODUCTION
from kafka_tools.protocol.stored import cluster_metadata as records
from kafka_tools.records.build import build_batch
from kafka_tools.storage.check import check_file, check_partition
from kafka_tools.storage.names import log_file_name
from kafka_tools.storage.segment import Segment
from tests.cluster_image.files import ORDERS, TIME_MS, changes, encoded, log_bytes, state, write_log, write_snapshot
from tests.corpus.golden import newest_cases


def topics(path: Path) -> set[str]:
    return set(load(str(path)).image.topics.by_name)


def text_at(path: Path, *names: str) -> str:
    node: TreeDirectory | TreeFile | None = root(load(str(path)).image)
    for name in names:
        assert isinstance(node, TreeDirectory)
        node = node.child(name)
    assert isinstance(node, TreeFile)
    return node.text()


def metadata_directory(tmp_path: Path) -> Path:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    return folder


def test_changes_removals_and_transactions_are_replayed(tmp_path: Path) -> None:
    path = write_log(tmp_path)
    assert topics(path) == {"orders", "in-one", "in-two"}
    assert load(str(path)).refused is None
    partition = text_at(path, "image", "topics", "byName", "orders", "0")
    assert "isr=[30, 1], removingReplicas=[], addingReplicas=[], elr=[], lastKnownElr=[], leader=30" in partition
    assert "leaderEpoch=3, partitionEpoch=5" in partition
    assert text_at(path, "image", "cluster", "brokers", "1").count("fenced=true") == 1
    assert load(str(path)).image.tokens == {}


def test_every_kind_of_record_has_its_place() -> None:
    of_transactions = {records.BeginTransactionRecord, records.EndTransactionRecord, records.AbortTransactionRecord}
    assert {*image._APPLY, *of_transactions} == set(records.RECORDS.values())


def test_a_controller_that_was_unregistered_is_gone(tmp_path: Path) -> None:
    path = tmp_path / log_file_name(0)
    removal = [
        records.UnregisterControllerRecord(controller_id=3000),
        records.UnregisterControllerRecord(controller_id=9),
    ]
    path.write_bytes(log_bytes([state(), removal]))
    loaded = load(str(path))
    assert (loaded.refused, loaded.image.controllers) == (None, {})
    assert [finding for finding in check_file(str(path), records=True) if finding.is_damage] == []


def test_what_the_newest_kafka_left_has_an_image_and_no_damage() -> None:
    """Feature levels in the first snapshot, and a controller that was unregistered and came back."""
    (case,) = (case for case in newest_cases() if case.id.startswith("cluster-metadata"))
    loaded = load(str(case.cwd))
    assert (loaded.refused, sorted(loaded.image.controllers)) == (None, [1, 2])
    assert loaded.image.features["metadata.version"] == LATEST_PRODUCTION
    assert {"orders", "paid", "__share_group_state"} <= set(loaded.image.topics.by_name)
    found = check_partition(case.cwd / "__cluster_metadata-0", records=True)
    assert [finding for finding in found if finding.is_damage] == []


def test_a_directory_is_its_newest_snapshot_and_the_log_behind_it(tmp_path: Path) -> None:
    folder = metadata_directory(tmp_path)
    write_snapshot(folder, "00000000000000000010-0000000001.checkpoint")
    write_snapshot(folder, "00000000000000000100-0000000007.checkpoint")
    # Offsets 90 to 109: the first ten are in the snapshot already, and would be refused once more.
    again = [[records.RemoveTopicRecord(topic_id=uuid.UUID(int=404))]] * 10
    later = [[records.TopicRecord(name=f"later-{n}", topic_id=uuid.UUID(int=1000 + n))] for n in range(10)]
    (folder / log_file_name(90)).write_bytes(log_bytes([*again, *later], base_offset=90))
    for path in (folder, tmp_path):
        loaded = load(str(path))
        assert loaded.refused is None
        assert set(loaded.image.topics.by_name) == {"orders", "old", *(f"later-{n}" for n in range(10))}
        assert loaded.image.provenance.offset == 109
    (folder / log_file_name(90)).unlink()
    assert load(str(folder)).image.provenance == Provenance(99, 7, TIME_MS)


def test_a_hole_between_snapshot_and_log_is_refused(tmp_path: Path) -> None:
    folder = metadata_directory(tmp_path)
    (folder / log_file_name(90)).write_bytes(log_bytes([state()], base_offset=90))
    with pytest.raises(LogError, match="the log starts at offset 90, and no snapshot exists"):
        load(str(folder))
    write_snapshot(folder, "00000000000000000010-0000000001.checkpoint")
    with pytest.raises(LogError, match="the log starts at offset 90, and the snapshot ends at offset 10"):
        load(str(folder))


def test_a_transaction_that_has_not_ended_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / log_file_name(0)
    topic = records.TopicRecord(name="half", topic_id=uuid.UUID(int=9))
    path.write_bytes(log_bytes([state(), [records.BeginTransactionRecord(), topic], [topic]]))
    loaded = load(str(path))
    assert set(loaded.image.topics.by_name) == {"orders", "old"}
    assert loaded.remarks == ["ignored a transaction in progress, of 2 records"]
    assert loaded.image.provenance.offset == len(state()) - 1


def test_a_record_that_contradicts_the_image_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / log_file_name(0)
    wrong = [
        records.UnfenceBrokerRecord(id=9, epoch=1),
        records.FenceBrokerRecord(id=1, epoch=99),
        records.PartitionChangeRecord(partition_id=0, topic_id=uuid.UUID(int=404)),
        records.PartitionChangeRecord(partition_id=77, topic_id=ORDERS),
        records.PartitionChangeRecord(partition_id=0, topic_id=ORDERS, replicas=[1], directories=[ORDERS, ORDERS]),
        records.RemoveAccessControlEntryRecord(id=uuid.UUID(int=404)),
        records.ClientQuotaRecord(entity=[], key="q", value=1.0),
        records.FeatureLevelRecord(name="metadata.version", feature_level=1),
        records.DelegationTokenRecord(owner="nobody", requester="User:a", token_id="t"),
        records.EndTransactionRecord(),
    ]
    path.write_bytes(log_bytes([state(), wrong, [records.TopicRecord(name="last", topic_id=uuid.UUID(int=3))]]))
    loaded = load(str(path))
    at = len(state())
    assert loaded.refused == f"cannot apply {path}: the record at offset {at}: broker 9 is not registered (and 9 more)"
    assert set(loaded.image.topics.by_name) == {"orders", "old", "last"}
    assert loaded.image.topics.by_name["orders"].partitions[0].replicas == [1, 30]


@pytest.mark.parametrize("size", [9, 16, 60, 61, 100])
def test_a_torn_end_is_a_remark_of_a_log_and_damage_of_a_snapshot(tmp_path: Path, size: int) -> None:
    log = tmp_path / log_file_name(0)
    whole = log_bytes([state()])
    log.write_bytes(whole + log_bytes(changes(), len(state()))[:size])
    loaded = load(str(log))
    assert set(loaded.image.topics.by_name) == {"orders", "old"}
    assert any("a broker may be writing it" in remark for remark in loaded.remarks)
    snapshot = write_snapshot(tmp_path)
    snapshot.write_bytes(snapshot.read_bytes()[:-size])
    with pytest.raises(LogError):
        load(str(snapshot))


def test_a_zero_filled_end_is_nothing(tmp_path: Path) -> None:
    log = tmp_path / log_file_name(0)
    log.write_bytes(log_bytes([state()]) + bytes(5000))
    assert load(str(log)).remarks == []


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 100, random.Random(7).randbytes(4096), b"root:x:0:0:root:/root:/bin/sh\n" * 10],
    ids=["empty", "zeros", "noise", "text"],
)
def test_a_file_of_something_else_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    for name in ("passwd", log_file_name(0), "bootstrap.checkpoint"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(LogError) as caught:
            load(str(tmp_path / name))
        assert str(tmp_path / name) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("magic", [0, 1])
def test_records_of_a_topic_are_not_metadata(tmp_path: Path, magic: int) -> None:
    path = tmp_path / log_file_name(0)
    path.write_bytes(build_batch([(TIME_MS, None, b"some value", ())], magic=magic))
    with pytest.raises(LogError, match=f"a batch of magic {magic} is not metadata"):
        load(str(path))
    path.write_bytes(build_batch([(TIME_MS, None, b"some value", ())]))
    assert ": the record at offset 0: " in (load(str(path)).refused or "")


def test_a_snapshot_without_its_end_is_damage(tmp_path: Path) -> None:
    snapshot = write_snapshot(tmp_path)
    with Segment(snapshot) as segment:
        *_, footer = segment.walk()
    snapshot.write_bytes(snapshot.read_bytes()[: footer.file_position])
    with pytest.raises(LogError, match="does not end with the footer of a snapshot"):
        load(str(snapshot))


def test_a_flipped_bit_is_damage(tmp_path: Path) -> None:
    snapshot = write_snapshot(tmp_path)
    content = bytearray(snapshot.read_bytes())
    content[len(content) // 2] ^= 1
    snapshot.write_bytes(content)
    with pytest.raises(LogError, match=r"at position \d+: the CRC of the batch does not match"):
        load(str(snapshot))


def test_values_that_are_cut_anywhere_are_refused_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / log_file_name(0)
    values = [encoded(record)[:cut] for record in state() for cut in (0, 1, 3, len(encoded(record)) // 2)]
    good = encoded(records.TopicRecord(name="good", topic_id=uuid.UUID(int=3)))
    path.write_bytes(build_batch([(TIME_MS, None, value, ()) for value in (*values, good)]))
    loaded = load(str(path))
    assert "good" in loaded.image.topics.by_name
    assert loaded.refused is not None


def test_what_is_no_file_or_has_no_metadata_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LogError, match="is not a file"):
        load(str(tmp_path / "pipe"))
    with pytest.raises(LogError, match="contains no metadata log"):
        load(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        load(str(tmp_path / "nothing"))


@pytest.mark.parametrize(
    "moment_ms, text",
    [
        (0, "1970-01-01T00:00:00Z[UTC]"),
        (-1, "1969-12-31T23:59:59.999Z[UTC]"),
        (951_782_400_010, "2000-02-29T00:00:00.01Z[UTC]"),
        (253_402_300_800_000, "+10000-01-01T00:00:00Z[UTC]"),
        (-62_198_755_200_000, "-0001-01-01T00:00:00Z[UTC]"),
        (2**63 - 1, "+292278994-08-17T07:12:55.807Z[UTC]"),
        (-(2**63), "-292275055-05-16T16:47:04.192Z[UTC]"),
    ],
)
def test_times_are_java_s_in_every_year(moment_ms: int, text: str) -> None:
    assert zoned_time(moment_ms) == text
