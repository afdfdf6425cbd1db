"""Control records: types, values, markers, and what is none of them."""

from __future__ import annotations

import uuid

import pytest

from kafka_tools.errors import CorruptBatch
from kafka_tools.protocol.codec import encode
from kafka_tools.protocol.enums import ControlRecordType
from kafka_tools.protocol.stored.control_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
)
from kafka_tools.records.batches import batches
from kafka_tools.records.build import build_batch
from kafka_tools.records.control import (
    NAMES,
    EndMarker,
    build_control_batch,
    build_marker,
    control_type,
    control_value,
    read_marker,
)

VOTERS = VotersRecord(voters=[VotersRecord.Voter(voter_id=1, voter_directory_id=uuid.UUID(int=7))])
VALUES = [
    (ControlRecordType.LEADER_CHANGE, LeaderChangeMessage(leader_id=3, voters=[Voter(voter_id=3)])),
    (ControlRecordType.SNAPSHOT_HEADER, SnapshotHeaderRecord(last_contained_log_timestamp=12)),
    (ControlRecordType.SNAPSHOT_FOOTER, SnapshotFooterRecord()),
    (ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1)),
    (ControlRecordType.KRAFT_VOTERS, VOTERS),
]


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_says_which_transaction_it_ends_and_how(committed: bool) -> None:
    data = build_marker(
        9, 2, committed=committed, coordinator_epoch=4, timestamp=5_000, base_offset=100, leader_epoch=1
    )
    (view,) = batches(data)
    assert (view.producer_id, view.producer_epoch, view.base_sequence, view.partition_leader_epoch) == (9, 2, -1, 1)
    assert view.is_control and view.is_transactional and view.crc_ok()
    assert read_marker(view) == EndMarker(100, 5_000, committed, 4)
    (record,) = view.records()
    number = control_type(record.key)
    assert NAMES[number] == ("COMMIT" if committed else "ABORT")
    message, version = control_value(number, record.value)
    assert (message.coordinator_epoch, version) == (4, 0)  # type: ignore[attr-defined]


def test_records_of_the_metadata_log_come_back_as_they_were_written() -> None:
    data = build_control_batch([(number, encode(value, 0)) for number, value in VALUES], timestamp=5, base_offset=7)
    (view,) = batches(data)
    assert view.is_control and not view.is_transactional
    assert read_marker(view) is None
    found = [
        (control_type(record.key), control_value(control_type(record.key), record.value)) for record in view.records()
    ]
    assert found == [(number, (value, 0)) for number, value in VALUES]


def test_a_newer_version_of_a_value_is_read_as_the_newest_known_one() -> None:
    value = encode(SnapshotHeaderRecord(version=9, last_contained_log_timestamp=12), 0)
    message, version = control_value(ControlRecordType.SNAPSHOT_HEADER, value)
    assert (message.last_contained_log_timestamp, version) == (12, 0)  # type: ignore[attr-defined]


def test_an_empty_control_batch_has_no_marker() -> None:
    (view,) = batches(build_batch([], base_offset=5, last_offset=5, control=True, producer_id=1, producer_epoch=0))
    assert read_marker(view) is None


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\1"])
def test_a_key_that_is_none_is_said(key: bytes | None) -> None:
    with pytest.raises(CorruptBatch, match="control record"):
        control_type(key)


@pytest.mark.parametrize("value", [None, b"", b"\0", b"\0\0\0\0\0"])
def test_a_value_that_is_none_is_said(value: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        control_value(1, value)
    (view,) = batches(build_batch([(1, b"\0\0\0\1", value, ())], control=True, transactional=True))
    with pytest.raises(CorruptBatch, match="marker at offset 0 is truncated"):
        read_marker(view)


def test_every_cut_value_is_an_error_or_shorter() -> None:
    for number, value in VALUES:
        data = encode(value, 0)
        for size in range(len(data)):
            with pytest.raises(CorruptBatch):
                control_value(number, data[:size])
