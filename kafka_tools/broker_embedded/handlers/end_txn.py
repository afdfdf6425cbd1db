"""EndTxn (26): commit or abort a transaction. The response is sent once the decision is in the log.

v2: PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before. v5: the end bumps the producer's epoch, and the response
contains it (KIP-890).
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.runtime import mapped_errors
from kafka_tools.broker_embedded.coordinators.transactions.decisions import EPOCH_BUMPING, FENCED_AS_OLD, TxnProducer
from kafka_tools.broker_embedded.handlers._rights import check_transactional_id
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.end_txn import EndTxnResponse

VERSIONS = (0, 5)
AUTHORIZE = ()

_FENCED_FROM = 2
_BUMPS_FROM = 5


def handle(call: Call) -> Work[EndTxnResponse]:
    request = call.request
    check_transactional_id(call, AclOperation.WRITE, request.transactional_id)
    producer = TxnProducer(request.producer_id, request.producer_epoch)
    version = EPOCH_BUMPING if call.version >= _BUMPS_FROM else 0
    transactions = call.broker.transactions
    with mapped_errors(FENCED_AS_OLD if call.version < _FENCED_FROM else {}):
        goes_on = yield from transactions.end(request.transactional_id, producer, request.committed, version)
    return EndTxnResponse(producer_id=goes_on.id, producer_epoch=goes_on.epoch)
