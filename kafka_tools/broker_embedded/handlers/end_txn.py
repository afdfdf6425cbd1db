"""EndTxn (26): commit or abort a transaction. The answer comes once the decision is in the log.

v2: PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before. v5: the end raises the producer's epoch, and the answer
tells it (KIP-890).
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.transactions.decisions import EPOCH_BUMPING, TxnProducer
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.end_txn import EndTxnResponse

VERSIONS = (0, 5)
AUTHORIZE = ()

_FENCED_FROM = 2
_BUMPS_FROM = 5


def handle(call: Call) -> Work[EndTxnResponse]:
    request = call.request
    if not call.allowed_on_transactional_id(AclOperation.WRITE, request.transactional_id):
        raise error_for(error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    producer = TxnProducer(request.producer_id, request.producer_epoch)
    version = EPOCH_BUMPING if call.version >= _BUMPS_FROM else 0
    try:
        goes_on = yield from call.broker.transactions.end(
            request.transactional_id, producer, request.committed, version
        )
    except BrokerError as error:
        if error.code.code == error_codes.PRODUCER_FENCED and call.version < _FENCED_FROM:
            raise error_for(error_codes.INVALID_PRODUCER_EPOCH) from error
        raise
    return EndTxnResponse(producer_id=goes_on.id, producer_epoch=goes_on.epoch)
