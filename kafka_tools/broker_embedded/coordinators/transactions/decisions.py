"""All decisions about a transactional id: from its state and a request to the next state or an error.

Rules and their order are those of ``TransactionCoordinator`` and ``TransactionMetadata`` (KIP-98, KIP-360,
KIP-890). The functions use no log, no clock and no leaders. ``coordinator`` writes a decision before it takes effect.
With transaction version 2 (KIP-890), every end of a transaction bumps the producer's epoch, so that late requests of
one transaction cannot become part of the next.
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
"""The first transaction version in which an end bumps the epoch."""

IDLE = (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
"""States without an open transaction. An id that is idle for a long time expires."""
PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
"""States in which the decision is written, but not all of its markers."""

FENCED_AS_OLD = {error_codes.PRODUCER_FENCED: error_codes.INVALID_PRODUCER_EPOCH}
"""The code for clients that do not know PRODUCER_FENCED."""

NewId = Callable[[], int]
"""Returns an unused producer id."""


class TxnProducer(NamedTuple):
    """The producer id and epoch that a client claims."""

    id: int
    epoch: int


class Transaction(NamedTuple):
    """The state of a transactional id. Times are milliseconds since 1970, -1: none.

    ``last_epoch``: the previous epoch, with which a producer that missed a response may retry (not in the log).
    ``next_producer_id``: the producer id after the transaction, if the epochs of this id are used up.
    ``client_version``: the transaction version of the client.
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
        """Whether the written decision is to commit."""
        return self.state == TransactionState.PREPARE_COMMIT

    def _next(self, **changes: object) -> Transaction:
        return self._replace(previous_producer_id=self.producer_id, **changes)  # type: ignore[arg-type]


def initialized(
    current: Transaction, expected: TxnProducer | None, timeout_ms: int, now_ms: int, new_id: NewId
) -> Transaction:
    """The next epoch for a producer that starts. ``expected``: the id and epoch of a continuing producer (KIP-360).

    BrokerError PRODUCER_FENCED or CONCURRENT_TRANSACTIONS. An open transaction must be ``fenced`` first.
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
        return begun  # its last response was lost
    raise error_for(error_codes.PRODUCER_FENCED)


def check_may_go_on(current: Transaction, expected: TxnProducer | None) -> None:
    """BrokerError PRODUCER_FENCED if the producer id never belonged to the transactional id."""
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
    """The transaction with more partitions; None if it has them all. Raises like ``check_producer``."""
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
    """The transaction with the producer's decision; None if the decision was executed before.

    BrokerError INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS while the same decision is being
    executed, or INVALID_TXN_STATE.
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
    if bumped or overflowed:  # a retry
        _check_ended(current, commit)
        return None
    if not commit:  # of an empty transaction: this bumps the epoch, too
        return _prepared(current, commit, now_ms, client_version, new_id)._replace(started_ms=now_ms)
    raise error_for(error_codes.INVALID_TXN_STATE)


def _check_ended(current: Transaction, commit: bool) -> None:
    """BrokerError unless this decision was executed."""
    if current.state == (TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT):
        raise error_for(error_codes.CONCURRENT_TRANSACTIONS)
    if current.state != (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT):
        raise error_for(error_codes.INVALID_TXN_STATE)


def fenced(current: Transaction, now_ms: int, version: int, new_id: NewId) -> Transaction:
    """An open transaction that the coordinator aborts, with an epoch that fences its producer.

    ``version``: the transaction version of the cluster, since no client sent a request.
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
    """The transaction after all its markers are written."""
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
    """Whether no producer can get a higher epoch. The coordinator reserves the highest epoch for fencing."""
    return epoch >= _LAST_EPOCH - 1
