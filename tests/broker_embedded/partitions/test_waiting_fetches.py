"""Fetches that wait for min_bytes: what completes them, and how often the log is read for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.records.batches import batches
from tests.broker_embedded.disk_broker import DiskBroker, Pending, fetch_request
from tests.broker_embedded.transactional_client import Client

FEW = {"transaction.state.log.num.partitions": "1"}
LONG = b"x" * 10_000
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DiskBroker]:
    made = DiskBroker(tmp_path / "data", FEW)
    made.create("t", 2)
    yield made
    made.core.close()


@pytest.fixture
def client(broker: DiskBroker) -> Client:
    made = Client(broker)
    assert made.init() == 0
    assert made.add(0) == [0]
    return made


def values(waiting: Pending, partition: int = 0) -> list[bytes | None]:
    """What a fetch that is over got of a partition, without markers."""
    (topic,) = waiting.response.responses
    (data,) = (each.records for each in topic.partitions if each.partition_index == partition)
    return [record.value for view in batches(bytes(data)) if not view.is_control for record in view.records()]


def waits_for_much(broker: DiskBroker, isolation_level: int) -> Pending:
    """A fetch that waits for half a long record and more, and for no time that a test comes to."""
    wanted = fetch_request("t", 0, min_bytes=5_000, max_wait_ms=30_000, isolation_level=isolation_level)
    return broker.send(wanted, 11)


def when_read(broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> None:
    """Call ``run`` whenever the log of the first partition is read."""
    log = broker.core.partitions.led("t", 0).log
    read = log.read

    def noted(*asked: Any, **how: Any) -> bytes:
        run()
        return read(*asked, **how)

    monkeypatch.setattr(log, "read", noted)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("was_there", [True, False])
def test_the_end_of_a_transaction_completes_a_fetch_that_waits_for_what_it_held_back(
    broker: DiskBroker, client: Client, was_there: bool, commit: bool
) -> None:
    if was_there:
        client.produce(LONG)
    waiting = waits_for_much(broker, READ_COMMITTED)
    if not was_there:
        client.produce(LONG)
    assert waiting.response is None
    client.end(commit=commit)
    assert values(waiting) == [LONG]


def test_a_transaction_that_ends_before_another_one_completes_nothing_that_still_waits_for_more(
    broker: DiskBroker, client: Client
) -> None:
    other = Client(broker, "other")
    assert (other.init(), other.add(0)) == (0, [0])
    client.produce(b"little")
    other.produce(LONG)
    waiting = waits_for_much(broker, READ_COMMITTED)
    client.end(commit=True)  # what is readable now is less than the fetch waits for
    assert waiting.response is None
    other.end(commit=True)
    assert values(waiting) == [b"little", LONG]


@pytest.mark.parametrize("isolation_level", [READ_UNCOMMITTED, READ_COMMITTED])
def test_nothing_is_read_before_there_may_be_enough(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, isolation_level: int
) -> None:
    reads: list[None] = []
    when_read(broker, monkeypatch, lambda: reads.append(None))
    waiting = waits_for_much(broker, isolation_level)
    for _ in range(20):
        broker.produce("t", broker.batch(b"little"))
    assert len(reads) == 1
    broker.produce("t", broker.batch(LONG))
    assert values(waiting) == [b"little"] * 20 + [LONG]
    assert len(reads) == 2


def test_what_an_open_transaction_holds_back_is_read_once_it_ends(
    broker: DiskBroker, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[None] = []
    when_read(broker, monkeypatch, lambda: reads.append(None))
    client.produce(b"begun")
    waiting = waits_for_much(broker, READ_COMMITTED)
    for _ in range(3):
        broker.produce("t", broker.batch(LONG))
    assert len(reads) == 1
    client.end(commit=True)
    assert values(waiting) == [b"begun", LONG, LONG, LONG]
    assert len(reads) == 2


@pytest.mark.parametrize("isolation_level", [READ_UNCOMMITTED, READ_COMMITTED])
def test_what_comes_while_other_partitions_are_read_completes_a_fetch(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch, isolation_level: int
) -> None:
    when_read(broker, monkeypatch, lambda: broker.clock.advance(1))  # longer than a slice
    wanted = fetch_request("t", 0, max_wait_ms=30_000, isolation_level=isolation_level)
    wanted.topics += fetch_request("t", 0, partition=1).topics
    waiting = broker.send(wanted, 11)
    assert len(broker.core.slices) == 1  # the second partition is read when others had their turn
    broker.produce("t", broker.batch(b"meanwhile"))
    while len(broker.core.slices):
        broker.core.step()
    broker.core.step()
    assert values(waiting) == [b"meanwhile"]
