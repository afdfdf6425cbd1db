"""One transactional id, and every decision about it: a state and a request in, the next state or an error code out.

Rules and their order are those of ``TransactionCoordinator`` and ``TransactionMetadata`` (KIP-98, KIP-360,
KIP-890). Knows no log, no time of its own and no partitions' leaders: ``coordinator`` writes what is decided here
before it holds. With transaction version 2 (KIP-890) every end of a transaction raises the producer's epoch, so that
what is late of one transaction cannot become part of the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import TransactionState
from kafka_tools.values import TopicPartition

NO_ID = -1
NO_EPOCH = -1
_LAST_EPOCH = 2**15 - 1
EPOCH_BUMPING = 2
"""The transaction version from which on an end raises the epoch."""

IDLE = (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
"""Nothing is open; what has been idle for long expires."""
PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
"""The decision is written, not all of its markers are."""

FENCED_AS_OLD = {error_codes.PRODUCER_FENCED: error_codes.INVALID_PRODUCER_EPOCH}
"""The code for clients that know no PRODUCER_FENCED."""

NewId = Callable[[], int]
"""A producer id that nobody has had."""


class TxnProducer(NamedTuple):
    """The producer id and epoch that a client claims."""

    id: int
    epoch: int


class Transaction(NamedTuple):
    """What is known of a transactional id. Times are milliseconds since 1970, -1: none.

    ``last_epoch`` is the epoch before, of which a producer that missed an answer may ask again (not in the log).
    ``next_producer_id`` takes over when the transaction is complete, because the epochs of this one are used up.
    ``client_version`` is the transaction version that the client works at.
    """

    id: str
    producer_id: int
    epoch: int = NO_EPOCH
    timeout_ms: int = 0
    state: str = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    started_ms: int = -1
    updated_ms: int = -1
    previous_producer_id: int = NO_ID
    next_producer_id: int = NO_ID
    last_epoch: int = NO_EPOCH
    client_version: int = 0

    @property
    def epoch_is_used_up(self) -> bool:
        return _is_used_up(self.epoch)

    @property
    def commits(self) -> bool:
        """Whether the decision that is written is to commit."""
        return self.state == TransactionState.PREPARE_COMMIT

    def _next(self, **changes: object) -> Transaction:
        return self._replace(previous_producer_id=self.producer_id, **changes)  # type: ignore[arg-type]


def initialized(
    current: Transaction, expected: TxnProducer | None, timeout_ms: int, now_ms: int, new_id: NewId
) -> Transaction:
    """The id with the next epoch for a producer that starts. ``expected``: what a producer that goes on has (KIP-360).

    BrokerError PRODUCER_FENCED or CONCURRENT_TRANSACTIONS. An id whose transaction is open has to be ``fenced`` first.
    """
    check_may_go_on(current, expected)
    if current.state in PREPARED:
        raise error_for(error_codes.CONCURRENT_TRANSACTIONS)
    begun = current._next(
        state=TransactionState.EMPTY, timeout_ms=timeout_ms, partitions=frozenset(), started_ms=-1, updated_ms=now_ms
    )
    if current.epoch_is_used_up and (expected is None or expected.epoch == current.epoch):
        last = NO_EPOCH if expected is None else current.epoch
        return begun._replace(producer_id=new_id(), epoch=0, last_epoch=last)
    if current.epoch_is_used_up:
        raise error_for(error_codes.UNKNOWN_SERVER_ERROR)
    if expected is None:
        return begun._replace(epoch=current.epoch + 1, last_epoch=NO_EPOCH)
    if expected.epoch == current.epoch or current.epoch == NO_EPOCH:
        return begun._replace(epoch=current.epoch + 1, last_epoch=current.epoch)
    if expected.epoch == current.last_epoch:
        return begun  # its last answer was lost
    raise error_for(error_codes.PRODUCER_FENCED)


def check_may_go_on(current: Transaction, expected: TxnProducer | None) -> None:
    """BrokerError PRODUCER_FENCED for a producer that was never the id's; of which epoch it is does not matter yet."""
    if expected is None or current.epoch == NO_EPOCH or expected.id == current.producer_id:
        return
    if expected.id != current.previous_producer_id or not _is_used_up(expected.epoch):
        raise error_for(error_codes.PRODUCER_FENCED)


def check_producer(current: Transaction, producer: TxnProducer) -> None:
    """BrokerError unless this producer may add to the transaction now."""
    if current.producer_id != producer.id:
        raise error_for(error_codes.INVALID_PRODUCER_ID_MAPPING)
    if current.epoch != producer.epoch:
        raise error_for(error_codes.PRODUCER_FENCED)
    if current.state in PREPARED:
        raise error_for(error_codes.CONCURRENT_TRANSACTIONS)


def extended(
    current: Transaction, producer: TxnProducer, added: frozenset[TopicPartition], now_ms: int, client_version: int
) -> Transaction | None:
    """The transaction with more partitions; None if it has them all. BrokerError as ``check_producer``."""
    check_producer(current, producer)
    if current.state == TransactionState.ONGOING and added <= current.partitions:
        return None
    return current._next(
        state=TransactionState.ONGOING,
        partitions=current.partitions | added,
        started_ms=now_ms if current.state in IDLE else current.started_ms,
        updated_ms=now_ms,
        client_version=client_version,
    )


def ended(
    current: Transaction, producer: TxnProducer, commit: bool, now_ms: int, client_version: int, new_id: NewId
) -> Transaction | None:
    """The transaction with the producer's decision; None for one that has been carried out before.

    BrokerError INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS while the same decision is being
    carried out, or INVALID_TXN_STATE.
    """
    if client_version < EPOCH_BUMPING:
        if current.producer_id != producer.id:
            raise error_for(error_codes.INVALID_PRODUCER_ID_MAPPING)
        if current.epoch != producer.epoch:
            raise error_for(error_codes.PRODUCER_FENCED)
        if current.state == TransactionState.ONGOING:
            return _prepared(current, commit, now_ms, client_version, new_id)
        _check_ended(current, commit)
        return None
    overflowed = (
        current.previous_producer_id == producer.id and producer.epoch == _LAST_EPOCH - 1 and current.epoch == 0
    )
    bumped = current.epoch == producer.epoch + 1
    if current.producer_id != producer.id and not overflowed:
        raise error_for(error_codes.INVALID_PRODUCER_ID_MAPPING)
    is_same = producer.epoch == current.epoch
    if current.state in PREPARED:
        valid = bumped
    elif current.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT):
        valid = bumped or overflowed or is_same
    else:
        valid = is_same
    if not valid:
        raise error_for(error_codes.PRODUCER_FENCED)
    if current.state == TransactionState.ONGOING:
        return _prepared(current, commit, now_ms, client_version, new_id)
    if bumped or overflowed:  # asked once more
        _check_ended(current, commit)
        return None
    if not commit:  # of nothing: the epoch rises all the same
        return _prepared(current, commit, now_ms, client_version, new_id)._replace(started_ms=now_ms)
    raise error_for(error_codes.INVALID_TXN_STATE)


def _check_ended(current: Transaction, commit: bool) -> None:
    """BrokerError unless this decision has been carried out."""
    if current.state == (TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT):
        raise error_for(error_codes.CONCURRENT_TRANSACTIONS)
    if current.state != (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT):
        raise error_for(error_codes.INVALID_TXN_STATE)


def fenced(current: Transaction, now_ms: int, version: int, new_id: NewId) -> Transaction:
    """An open transaction that the coordinator aborts, with an epoch that shuts its producer out.

    ``version`` is the transaction version of the cluster, since no client asked.
    """
    if version >= EPOCH_BUMPING:
        return _prepared(current, False, now_ms, version, new_id)
    bumped = current._replace(epoch=min(current.epoch + 1, _LAST_EPOCH), last_epoch=NO_EPOCH)
    return _prepared(bumped, False, now_ms, 0, new_id)


def _prepared(current: Transaction, commit: bool, now_ms: int, client_version: int, new_id: NewId) -> Transaction:
    changed = current._next(
        state=TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
        updated_ms=now_ms,
        client_version=client_version,
        next_producer_id=NO_ID,
    )
    if client_version < EPOCH_BUMPING:
        return changed
    return changed._replace(
        epoch=min(current.epoch + 1, _LAST_EPOCH),
        last_epoch=current.epoch,
        next_producer_id=new_id() if current.epoch_is_used_up else NO_ID,
    )


def completed(current: Transaction, now_ms: int) -> Transaction:
    """The transaction once all its markers are written."""
    done = current._next(
        state=TransactionState.COMPLETE_COMMIT if current.commits else TransactionState.COMPLETE_ABORT,
        partitions=frozenset(),
        updated_ms=now_ms,
        next_producer_id=NO_ID,
    )
    if current.client_version >= EPOCH_BUMPING and current.next_producer_id != NO_ID:
        return done._replace(producer_id=current.next_producer_id, epoch=0)
    return done


def _is_used_up(epoch: int) -> bool:
    """Whether no epoch is left to give out; the last one of all belongs to the coordinator, to fence with."""
    return epoch >= _LAST_EPOCH - 1
