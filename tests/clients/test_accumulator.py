"""Batches, their order through retries and splits, and the sequences they carry."""

from __future__ import annotations

import pytest

from kafka_tools.clients.producing.accumulator import Accumulator
from kafka_tools.clients.producing.batch import ProducerBatch, ProducerIdentity
from kafka_tools.clients.producing.reports import Reports
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.errors import KafkaToolsError
from kafka_tools.values import TopicPartition

T0 = TopicPartition("t", 0)
IDENTITY = ProducerIdentity(7, 0)


def accumulator(**settings: object) -> Accumulator:
    limits = ProducerSettings()._replace(**{"batch_size_bytes": 200, "linger_ms": 10, **settings})
    return Accumulator(limits, Reports())


def append(accumulator: Accumulator, text: str, now_s: float = 0.0) -> tuple[ProducerBatch, bool]:
    value = text.encode()
    return accumulator.append(T0, (0, None, value, ()), len(value), now_s)


def values(batch: ProducerBatch) -> list[bytes | None]:
    return [record[2] for record in batch.records]


def take(accumulator: Accumulator, now_s: float = 100.0) -> ProducerBatch:
    batch = accumulator.take(T0, now_s, hurry=True)
    assert batch is not None
    accumulator.number(batch, IDENTITY)
    return batch


@pytest.mark.req("DESIGN-7")
def test_records_share_a_batch_until_it_is_full() -> None:
    acc = accumulator()
    assert not append(acc, "a" * 50)[1]
    assert not append(acc, "b" * 50)[1]
    assert append(acc, "c" * 50)[1]
    assert values(take(acc)) == [b"a" * 50, b"b" * 50]


def test_a_record_larger_than_a_batch_has_one_of_its_own() -> None:
    acc = accumulator()
    append(acc, "a")
    assert append(acc, "b" * 500)[1]
    append(acc, "c")
    assert [values(take(acc)) for _ in range(3)] == [[b"a"], [b"b" * 500], [b"c"]]


@pytest.mark.req("DESIGN-7")
def test_a_batch_waits_for_linger_unless_full_or_in_a_hurry() -> None:
    acc = accumulator()
    append(acc, "a", now_s=1.0)
    assert acc.take(T0, 1.005, hurry=False) is None
    assert acc.next_event_s(1.005) == pytest.approx(0.005)
    assert acc.take(T0, 1.010, hurry=False) is not None


def test_sequences_count_records_per_partition() -> None:
    acc = accumulator(batch_size_bytes=0)
    for text in "abc":
        append(acc, text)
    assert [take(acc).base_sequence for _ in range(3)] == [0, 1, 2]


def test_batches_that_come_back_leave_in_their_old_order_with_their_old_sequences() -> None:
    acc = accumulator(batch_size_bytes=0)
    for text in "abcd":
        append(acc, text)
    first, second, third = (take(acc) for _ in range(3))
    acc.retry(second, 100.0)
    assert acc.take(T0, 200.0, hurry=True) is None, "others are still out"
    acc.retry(first, 100.0)
    acc.finish(third)
    again = take(acc, 200.0)
    assert again is first
    assert acc.take(T0, 200.0, hurry=True) is None, "one by one until none is a repetition"
    acc.finish(again)
    assert take(acc, 200.0) is second
    acc.finish(second)
    assert values(take(acc, 200.0)) == [b"d"]
    assert (first.base_sequence, second.base_sequence) == (0, 1)


def test_nothing_follows_a_batch_that_is_sent_again_before_its_response() -> None:
    """A broker knows the last five batches. It may have stored the batch although it answered with an error."""
    acc = accumulator()
    for text in ("a", "b", "c"):
        append(acc, text * 200)
    first = take(acc)
    acc.retry(first, 100.0)
    again = take(acc, 200.0)
    assert again is first
    assert acc.take(T0, 200.0, hurry=True) is None
    acc.retry(first, 200.0)
    assert take(acc, 300.0) is first
    acc.finish(first)
    assert [values(take(acc, 300.0))[0] for _ in range(2)] == [b"b" * 200, b"c" * 200]


def test_retry_backs_off_longer_each_time() -> None:
    acc = accumulator(retry_backoff_ms=100, retry_backoff_max_ms=300)
    append(acc, "a")
    waits = []
    for _ in range(4):
        batch = take(acc)
        acc.retry(batch, 0.0)
        waits.append(round(batch.retry_at_s * 1000))
    assert waits == [100, 200, 300, 300]


def test_failed_batch_makes_the_next_one_start_a_new_epoch() -> None:
    acc = accumulator(batch_size_bytes=0)
    for text in "abc":
        append(acc, text)
    first, second = take(acc), take(acc)
    first.error = KafkaToolsError("gone")
    acc.finish(first)
    assert acc.take(T0, 200.0, hurry=True) is None, "the old epoch must be out of the way"
    acc.retry(second, 0.0)
    again = take(acc, 200.0)
    assert again is second
    assert (again.identity, again.base_sequence) == (ProducerIdentity(7, 1), 0)
    acc.finish(again)
    third = take(acc, 200.0)
    assert (third.identity, third.base_sequence) == (ProducerIdentity(7, 1), 1)


def test_split_batch_keeps_its_place_sequences_and_records() -> None:
    reports = Reports()
    acc = Accumulator(ProducerSettings()._replace(batch_size_bytes=200, linger_ms=10), reports)
    called: list[tuple[bytes | None, int]] = []
    for text in "abc":
        batch, _ = append(acc, text)
        batch.callbacks.append((len(batch.records) - 1, lambda part, at: called.append((part.records[at][2], at))))
    whole = take(acc)
    append(acc, "later")
    acc.split(whole)
    first = take(acc, 200.0)
    acc.finish(first)
    second = take(acc, 200.0)
    acc.finish(second)
    assert (values(first), values(second)) == ([b"a"], [b"b", b"c"])
    assert (first.base_sequence, second.base_sequence) == (0, 1)
    assert whole.locate(0) == (first, 0)
    assert whole.locate(2) == (second, 1)
    reports.run_callbacks()
    assert called == [(b"a", 0), (b"b", 0), (b"c", 1)]
    assert take(acc, 300.0).base_sequence == 3


def test_split_batch_can_be_split_again() -> None:
    acc = accumulator()
    for text in "abcd":
        append(acc, text)
    whole = take(acc)
    acc.split(whole)
    half = take(acc, 200.0)
    acc.split(half)
    assert whole.record_count == 4
    assert [values(whole.locate(index)[0])[whole.locate(index)[1]] for index in range(4)] == [b"a", b"b", b"c", b"d"]


@pytest.mark.req("PROD-5", "PROD-6")
def test_with_one_request_in_flight_a_partition_is_muted_while_a_batch_is_out_and_while_throttled() -> None:
    acc = accumulator(batch_size_bytes=0, max_in_flight=1, delivery_timeout_ms=1000)
    append(acc, "a", now_s=100.0)
    append(acc, "b", now_s=100.0)
    batch = take(acc)
    assert acc.take(T0, 500.0, hurry=True) is None
    assert acc.expired(500.0) == []
    acc.finish(batch)
    acc.mute(T0, until_s=600.0)
    assert acc.take(T0, 599.9, hurry=True) is None
    assert acc.expired(599.9) == []
    assert acc.next_event_s(599.0) == pytest.approx(1.0)
    assert values(take(acc, 600.0)) == [b"b"]


def test_waiting_batches_expire_after_the_delivery_timeout() -> None:
    acc = accumulator(delivery_timeout_ms=1000)
    append(acc, "a", now_s=1.0)
    assert acc.expired(1.9) == []
    gone = acc.expired(2.0)
    assert [values(batch) for batch in gone] == [[b"a"]]
    acc.finish(gone[0], in_flight=False)
    assert (acc.unfinished, acc.buffered_bytes) == (0, 0)


def test_memory_is_counted_until_batches_finish() -> None:
    acc = accumulator()
    append(acc, "a" * 50)
    batch = take(acc)
    assert acc.buffered_bytes >= 50
    acc.finish(batch)
    assert acc.buffered_bytes == 0


def test_epochs_end_and_ask_for_a_new_producer_id() -> None:
    acc = accumulator(batch_size_bytes=0)
    append(acc, "a")
    batch = acc.take(T0, 1.0, hurry=True)
    assert batch is not None
    acc.number(batch, ProducerIdentity(7, 2**15 - 1))
    assert not acc.epochs_used_up(7)
    batch.error = KafkaToolsError("gone")
    acc.finish(batch)
    assert acc.epochs_used_up(7)
    append(acc, "b")
    again = acc.take(T0, 200.0, hurry=True)
    assert again is not None
    acc.number(again, ProducerIdentity(8, 0))
    assert (again.identity, again.base_sequence) == (ProducerIdentity(8, 0), 0)
