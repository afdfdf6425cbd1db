"""AddOffsetsToTxn (25): add a group's partition of ``__consumer_offsets`` to a transaction.

v2: PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before. With TxnOffsetCommit v5, clients do not need it (KIP-890).
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.runtime import mapped_errors
from kafka_tools.broker_embedded.coordinators.transactions.decisions import FENCED_AS_OLD, TxnProducer
from kafka_tools.broker_embedded.handlers._rights import check_group, check_transactional_id
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, AclOperation
from kafka_tools.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafka_tools.values import TopicPartition

VERSIONS = (0, 4)
AUTHORIZE = ()

_FENCED_FROM = 2


def handle(call: Call) -> Work[AddOffsetsToTxnResponse]:
    request = call.request
    check_transactional_id(call, AclOperation.WRITE, request.transactional_id)
    check_group(call, AclOperation.READ, request.group_id)
    producer = TxnProducer(request.producer_id, request.producer_epoch)
    with mapped_errors(FENCED_AS_OLD if call.version < _FENCED_FROM else {}):
        yield from call.broker.groups.log.ensured()
        at = TopicPartition(CONSUMER_OFFSETS, call.broker.groups.store.partition(request.group_id))
        yield from call.broker.transactions.add_partitions(request.transactional_id, producer, [at], 0)
    return AddOffsetsToTxnResponse()
