"""Every decision about a transactional id, as ``TransactionCoordinator`` of Kafka takes it: state by state."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from kafka_tools.broker_embedded.coordinators.transactions.decisions import (
    Transaction,
    TxnProducer,
    completed,
    ended,
    extended,
    fenced,
    initialized,
)
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.enums import TransactionState as S
from kafka_tools.values import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOW = 1_000
LAST = 2**15 - 1


def known(state: str, *, id: int = 5, epoch: int = 3, **changes: object) -> Transaction:
    partitions = frozenset({T0}) if state in (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT) else frozenset()
    started = 500 if partitions else -1
    made = Transaction("x", id, epoch, 60_000, state, partitions, started, 600, previous_producer_id=id)
    return made._replace(**changes)  # type: ignore[arg-type]


def new_ids() -> Callable[[], int]:
    return count(100).__next__


def code_of(run: Callable[[], object]) -> int:
    with pytest.raises(BrokerError) as caught:
        run()
    return int(caught.value.code.code)


COMMIT, ABORT = True, False
BUSY, WRONG, FENCED = codes.CONCURRENT_TRANSACTIONS, codes.INVALID_TXN_STATE, codes.PRODUCER_FENCED
PREPARES = {COMMIT: S.PREPARE_COMMIT, ABORT: S.PREPARE_ABORT}


@pytest.mark.parametrize(
    ("state", "commit", "expected"),
    [
        (S.EMPTY, COMMIT, WRONG), (S.EMPTY, ABORT, WRONG),
        (S.ONGOING, COMMIT, S.PREPARE_COMMIT), (S.ONGOING, ABORT, S.PREPARE_ABORT),
        (S.PREPARE_COMMIT, COMMIT, BUSY), (S.PREPARE_COMMIT, ABORT, WRONG),
        (S.PREPARE_ABORT, COMMIT, WRONG), (S.PREPARE_ABORT, ABORT, BUSY),
        (S.COMPLETE_COMMIT, COMMIT, None), (S.COMPLETE_COMMIT, ABORT, WRONG),
        (S.COMPLETE_ABORT, COMMIT, WRONG), (S.COMPLETE_ABORT, ABORT, None),
    ],
)  # fmt: skip
def test_an_end_by_an_older_client_in_each_state(state: str, commit: bool, expected: object) -> None:
    current = known(state)

    def run(id: int = 5, epoch: int = 3) -> Transaction | None:
        return ended(current, TxnProducer(id, epoch), commit, NOW, 0, new_ids())

    assert code_of(lambda: run(6, 3)) == codes.INVALID_PRODUCER_ID_MAPPING
    assert code_of(lambda: run(5, 2)) == code_of(lambda: run(5, 4)) == FENCED
    if isinstance(expected, int):
        assert code_of(run) == expected
        return
    done = run()
    if expected is None:
        assert done is None
        return
    assert done is not None
    assert (done.state, done.epoch, done.partitions, done.started_ms) == (expected, 3, {T0}, 500)
    assert (done.client_version, done.next_producer_id) == (0, -1)


@pytest.mark.parametrize(
    ("state", "commit", "epoch", "expected"),
    [
        # the epoch as the client has it: the same, the one before (its answer was lost), an older one
        (S.EMPTY, COMMIT, 3, WRONG), (S.EMPTY, ABORT, 3, S.PREPARE_ABORT), (S.EMPTY, ABORT, 2, FENCED),
        (S.ONGOING, COMMIT, 3, S.PREPARE_COMMIT), (S.ONGOING, ABORT, 3, S.PREPARE_ABORT),
        (S.ONGOING, COMMIT, 2, FENCED),
        (S.PREPARE_COMMIT, COMMIT, 3, FENCED), (S.PREPARE_COMMIT, COMMIT, 2, BUSY), (S.PREPARE_COMMIT, ABORT, 2, WRONG),
        (S.PREPARE_ABORT, ABORT, 3, FENCED), (S.PREPARE_ABORT, ABORT, 2, BUSY), (S.PREPARE_ABORT, COMMIT, 2, WRONG),
        (S.COMPLETE_COMMIT, COMMIT, 3, WRONG), (S.COMPLETE_COMMIT, COMMIT, 2, None),
        (S.COMPLETE_COMMIT, ABORT, 2, WRONG),
        (S.COMPLETE_COMMIT, ABORT, 3, S.PREPARE_ABORT), (S.COMPLETE_COMMIT, COMMIT, 1, FENCED),
        (S.COMPLETE_ABORT, ABORT, 3, S.PREPARE_ABORT), (S.COMPLETE_ABORT, ABORT, 2, None),
        (S.COMPLETE_ABORT, COMMIT, 3, WRONG), (S.COMPLETE_ABORT, COMMIT, 2, WRONG),
        (S.COMPLETE_ABORT, ABORT, 1, FENCED),
    ],
)  # fmt: skip
def test_an_end_that_raises_the_epoch_in_each_state(state: str, commit: bool, epoch: int, expected: object) -> None:
    current = known(state, client_version=2)

    def run() -> Transaction | None:
        return ended(current, TxnProducer(5, epoch), commit, NOW, 2, new_ids())

    if isinstance(expected, int):
        assert code_of(run) == expected
        return
    done = run()
    if expected is None:
        assert done is None
        return
    assert done is not None
    assert (done.state, done.epoch, done.last_epoch, done.client_version) == (expected, 4, 3, 2)
    assert done.started_ms == (500 if state == S.ONGOING else NOW)
    after = completed(done, NOW + 1)
    assert after.state == (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
    assert (after.producer_id, after.epoch, after.partitions) == (5, 4, frozenset())


def test_the_last_epoch_is_followed_by_another_producer_id() -> None:
    current = known(S.ONGOING, epoch=LAST - 1, client_version=2)
    done = ended(current, TxnProducer(5, LAST - 1), COMMIT, NOW, 2, new_ids())
    assert done is not None
    assert (done.producer_id, done.epoch, done.next_producer_id) == (5, LAST, 100), "the markers carry the last epoch"
    after = completed(done, NOW)
    assert (after.producer_id, after.epoch, after.previous_producer_id) == (100, 0, 5)
    again = ended(after, TxnProducer(5, LAST - 1), COMMIT, NOW, 2, new_ids())
    assert again is None, "its answer was lost"
    assert code_of(lambda: ended(after, TxnProducer(5, LAST - 2), COMMIT, NOW, 2, new_ids())) == (
        codes.INVALID_PRODUCER_ID_MAPPING
    )


@pytest.mark.req("TX-8")
@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_who_starts_gets_the_next_epoch(state: str) -> None:
    begun = initialized(known(state), None, 9_000, NOW, new_ids())
    assert (begun.state, begun.producer_id, begun.epoch, begun.last_epoch) == (S.EMPTY, 5, 4, -1)
    assert (begun.timeout_ms, begun.started_ms, begun.updated_ms) == (9_000, -1, NOW)
    first = initialized(Transaction("x", 7), None, 9_000, NOW, new_ids())
    assert (first.producer_id, first.epoch) == (7, 0)


@pytest.mark.parametrize(
    ("expected", "outcome"),
    [
        (TxnProducer(5, 3), (5, 4, 3)),
        (TxnProducer(5, 2), (5, 3, 2)),  # the one before: it never saw the answer, and gets it again
        (TxnProducer(5, 1), FENCED),
        (TxnProducer(5, 4), FENCED),
        (TxnProducer(6, 3), FENCED),
        (TxnProducer(4, LAST - 1), FENCED),
    ],
)
def test_a_producer_that_goes_on_is_known_by_its_epoch(expected: TxnProducer, outcome: object) -> None:
    current = known(S.COMPLETE_COMMIT, last_epoch=2)

    def run() -> Transaction:
        return initialized(current, expected, 60_000, NOW, new_ids())

    if isinstance(outcome, int):
        assert code_of(run) == outcome
    else:
        begun = run()
        assert (begun.producer_id, begun.epoch, begun.last_epoch) == outcome


def test_used_up_epochs_lead_to_another_producer_id() -> None:
    current = known(S.EMPTY, epoch=LAST - 1)
    begun = initialized(current, None, 60_000, NOW, new_ids())
    assert (begun.producer_id, begun.epoch, begun.previous_producer_id, begun.last_epoch) == (100, 0, 5, -1)
    begun = initialized(current, TxnProducer(5, LAST - 1), 60_000, NOW, new_ids())
    assert (begun.producer_id, begun.epoch, begun.last_epoch) == (100, 0, LAST - 1)
    again = initialized(begun, TxnProducer(5, LAST - 1), 60_000, NOW, new_ids())
    assert (again.producer_id, again.epoch) == (100, 0), "who missed the answer gets it again"


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_who_starts_waits_for_the_markers(state: str) -> None:
    assert code_of(lambda: initialized(known(state), None, 60_000, NOW, new_ids())) == BUSY
    assert code_of(lambda: extended(known(state), TxnProducer(5, 3), frozenset({T1}), NOW, 0)) == BUSY


@pytest.mark.req("TX-11", "GAP-18")
@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT, S.ONGOING])
def test_the_first_partition_begins_a_transaction(state: str) -> None:
    current = known(state)
    grown = extended(current, TxnProducer(5, 3), frozenset({T1}), NOW, 2)
    assert grown is not None
    assert (grown.state, grown.client_version, grown.updated_ms) == (S.ONGOING, 2, NOW)
    assert grown.partitions == current.partitions | {T1}
    assert grown.started_ms == (500 if state == S.ONGOING else NOW)
    assert extended(grown, TxnProducer(5, 3), frozenset({T1}), NOW + 1, 2) is None, "nothing to write"
    assert code_of(lambda: extended(current, TxnProducer(5, 2), frozenset({T1}), NOW, 0)) == FENCED
    assert code_of(lambda: extended(current, TxnProducer(6, 3), frozenset({T1}), NOW, 0)) == (
        codes.INVALID_PRODUCER_ID_MAPPING
    )


@pytest.mark.parametrize(("version", "last"), [(0, -1), (1, -1), (2, 3)])
def test_the_coordinator_aborts_with_an_epoch_that_shuts_the_producer_out(version: int, last: int) -> None:
    decided = fenced(known(S.ONGOING), NOW, version, new_ids())
    assert (decided.state, decided.producer_id, decided.epoch, decided.last_epoch) == (S.PREPARE_ABORT, 5, 4, last)
    assert decided.partitions == {T0}
