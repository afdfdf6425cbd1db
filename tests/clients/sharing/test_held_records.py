"""Acquired records of one partition: what is returned, acknowledged, renewed; offsets without record."""

from __future__ import annotations

import pytest

from kafka_tools.clients.sharing.acquired_data import AcquiredData, AcquiredPartition
from kafka_tools.clients.sharing.held_records import Acknowledged, AcknowledgeType, HeldRecords, SharedRecord
from kafka_tools.errors import InputError
from kafka_tools.records.build import build_batch
from kafka_tools.values import TopicPartition

T0 = TopicPartition("t", 0)
ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType


def record(offset: int, delivery_count: int = 1) -> SharedRecord:
    return SharedRecord("t", 0, offset, 0, 0, None, b"%d" % offset, (), -1, delivery_count)


def held(*offsets: int) -> HeldRecords:
    found = HeldRecords(T0)
    found.add(map(record, offsets))
    return found


def data(records: bytes, *ranges: tuple[int, int]) -> AcquiredData:
    rows = [
        AcquiredPartition.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=number)
        for number, (first, last) in enumerate(ranges, 1)
    ]
    return AcquiredData(T0, AcquiredPartition(records=records, acquired_records=rows), check_crcs=True, expires_s=0.0)


def batch(first: int, *values: bytes) -> bytes:
    return build_batch([(0, None, value, ()) for value in values], base_offset=first)


def test_acknowledgements_are_sent_as_ranges_of_one_type() -> None:
    found = held(3, 4, 5, 7, 8)
    found.acknowledge(4, RELEASE)
    found.acknowledge(8, REJECT)
    found.acknowledge(8, ACCEPT)
    assert found.unacknowledged == 3
    found.accept_rest()
    assert found.take() == ([(3, 3, 1), (4, 4, 2), (5, 5, 1), (7, 8, 1)], {3, 4, 5, 7, 8})
    assert found.is_idle
    assert found.take() == ([], set())


def test_only_acknowledged_records_are_sent() -> None:
    found = held(3, 4)
    found.acknowledge(4, ACCEPT)
    found.add_range(Acknowledged(0, 2, 0))
    assert found.take() == ([(0, 2, 0), (4, 4, 1)], {4})
    assert found.unacknowledged == 1
    with pytest.raises(InputError, match="The record cannot be acknowledged: t-0 at offset 4"):
        found.acknowledge(4, ACCEPT)


def test_renewed_record_comes_back_once_the_broker_confirms() -> None:
    found = held(3, 4)
    found.acknowledge(3, RENEW)
    found.acknowledge(4, ACCEPT)
    sent, _ = found.take()
    assert sent == [(3, 3, 4), (4, 4, 1)]
    assert found.is_renewing
    assert found.done(sent, failed=False) == [record(3)]
    assert not found.is_renewing


def test_record_whose_lock_was_not_renewed_is_gone() -> None:
    found = held(3)
    found.acknowledge(3, RENEW)
    assert found.done(found.take()[0], failed=True) == []
    assert found.is_idle


def test_offsets_without_record_are_gaps_and_other_members_records_are_left_out() -> None:
    found = data(batch(5, b"a", b"b", b"c") + batch(10, b"d"), (4, 5), (7, 9), (10, 11))
    taken = found.take(10)
    assert [(each.offset, each.value, each.delivery_count) for each in taken] == [
        (5, b"a", 1),
        (7, b"c", 2),
        (10, b"d", 3),
    ]
    assert found.without_record == [(4, 4, 0), (8, 9, 0), (11, 11, 0)]
    assert found.is_empty


def test_huge_range_of_a_broker_costs_no_more_than_its_data() -> None:
    found = data(batch(5, b"a"), (0, 2**62))
    assert len(found.take(10)) == 1
    assert found.without_record == [(0, 4, 0), (6, 2**62, 0)]


def test_batch_that_cannot_be_read_is_rejected_and_the_others_are_returned() -> None:
    spoilt = bytearray(batch(6, b"b", b"c"))
    spoilt[-1] ^= 1
    found = data(batch(5, b"a") + bytes(spoilt) + batch(8, b"d"), (5, 6), (7, 8))
    assert [each.value for each in found.take(10)] == [b"a", b"d"]
    assert found.without_record == [(6, 6, REJECT), (7, 7, REJECT)]
    assert "t-0 at offset 6: the CRC does not match" in str(found.failure)


def test_data_is_returned_in_pieces() -> None:
    found = data(batch(5, b"a", b"b", b"c"), (5, 7))
    assert [each.offset for each in found.take(2)] == [5, 6]
    assert [each.offset for each in found.take(2)] == [7]
