"""TxnOffsetCommit (28): commit a group's offsets as part of a transaction; they take effect when it commits.

- Up to v4 the group's partition must have been added to the transaction (AddOffsetsToTxn). v5 adds it (KIP-890).
- v3: members and generations, so that those left behind cannot commit (KIP-447). v4: TRANSACTION_ABORTABLE.
- v6: topics by id (KIP-1319).
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.offsets import PreparedCommit
from kafka_tools.broker_embedded.coordinators.transactions.decisions import TxnProducer
from kafka_tools.broker_embedded.handlers._offset_topics import Wanted, answered, committer
from kafka_tools.broker_embedded.handlers._rights import check_group, check_transactional_id
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, AclOperation
from kafka_tools.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from kafka_tools.values import TopicPartition

VERSIONS = (0, 6)
AUTHORIZE = ()

_ABORTABLE_FROM = 4
_ADDS_FROM = 5
_BY_ID = 6


def handle(call: Call) -> Work[TxnOffsetCommitResponse]:
    request, broker = call.request, call.broker
    check_transactional_id(call, AclOperation.WRITE, request.transactional_id)
    check_group(call, AclOperation.READ, request.group_id)
    now_ms = broker.clock.now_ms()
    producer = TxnProducer(request.producer_id, request.producer_epoch)

    def commit(wanted: list[Wanted]) -> Work[list[int]]:
        if not wanted:
            return []
        offsets = ((each.at, each.committed(now_ms)) for each in wanted)
        prepared = yield from broker.groups.offsets.prepare(request.group_id, offsets, producer)
        return (yield from _commit(call, producer, prepared))

    topics = yield from answered(call, TxnOffsetCommitResponse.ResponseTopic, commit, by_id=call.version >= _BY_ID)
    return TxnOffsetCommitResponse(topics=topics)


def _commit(call: Call, producer: TxnProducer, prepared: PreparedCommit) -> Work[list[int]]:
    """The error code of each partition. An error of the group, the member or the producer applies to all."""
    request, broker = call.request, call.broker
    try:
        if not request.group_id:
            raise error_for(error_codes.INVALID_GROUP_ID)
        broker.groups.store.loading.check(request.group_id)
        if not broker.groups.log.partitions:
            raise error_for(error_codes.NOT_COORDINATOR)
        at = TopicPartition(CONSUMER_OFFSETS, broker.groups.store.partition(request.group_id))
        yield from _check(call, producer, at)
        if call.version >= _ADDS_FROM:
            yield from broker.slices.durable()  # else an offset could be left that belongs to no transaction
            yield from _check(call, producer, at)  # the transaction may have ended
        return broker.groups.offsets.commit(request.group_id, committer(request), prepared, call.version, producer)
    except BrokerError as error:
        return [error.code.code] * len(prepared.codes)


def _check(call: Call, producer: TxnProducer, at: TopicPartition) -> Work[None]:
    """BrokerError unless the group's partition is in the transaction. For newer clients, this adds it."""
    verification = call.broker.verification
    if verification.is_needed(producer, at):
        adds, knows_abortable = call.version >= _ADDS_FROM, call.version >= _ABORTABLE_FROM
        refused = yield from verification.ask(
            call.request.transactional_id, producer, [at], adds=adds, knows_abortable=knows_abortable
        )
        for error in refused.values():
            raise error
