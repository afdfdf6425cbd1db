"""AddOffsetsToTxn (25): make a group's partition of ``__consumer_offsets`` part of a transaction.

v2: PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before. From TxnOffsetCommit v5 on nobody needs to ask (KIP-890).
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.transactions.decisions import TxnProducer
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, AclOperation
from kafka_tools.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafka_tools.values import TopicPartition

VERSIONS = (0, 4)
AUTHORIZE = ()

_FENCED_FROM = 2


def handle(call: Call) -> Work[AddOffsetsToTxnResponse]:
    request = call.request
    if not call.allowed_on_transactional_id(AclOperation.WRITE, request.transactional_id):
        raise error_for(error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if not call.allowed_on_group(AclOperation.READ, request.group_id):
        raise error_for(error_codes.GROUP_AUTHORIZATION_FAILED)
    producer = TxnProducer(request.producer_id, request.producer_epoch)
    try:
        yield from call.broker.state_topics.ensured(CONSUMER_OFFSETS)
        at = TopicPartition(CONSUMER_OFFSETS, call.broker.groups.store.partition(request.group_id))
        yield from call.broker.transactions.add_partitions(request.transactional_id, producer, [at], 0)
    except BrokerError as error:
        if error.code.code == error_codes.PRODUCER_FENCED and call.version < _FENCED_FROM:
            raise error_for(error_codes.INVALID_PRODUCER_EPOCH) from error
        raise
    return AddOffsetsToTxnResponse()
