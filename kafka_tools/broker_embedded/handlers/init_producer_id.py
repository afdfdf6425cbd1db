"""InitProducerId (22): a producer id for idempotent producing, or the next epoch of a transactional id's producer.

v3: a producer that continues after an error sends its id and epoch (KIP-360); without a transactional id it gets a new
id. v4: PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before. v6, with two-phase commit (KIP-939), is Kafka's
unstable version and is not served.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.runtime import mapped_code
from kafka_tools.broker_embedded.coordinators.transactions.decisions import FENCED_AS_OLD, TxnProducer
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, AclResourceType
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdResponse

VERSIONS = (0, 5)
AUTHORIZE = ()  # WRITE on the transactional id, or as in _may_produce

_GOES_ON_FROM = 3
_FENCED_FROM = 4
_NEW = TxnProducer(-1, -1)


def handle(call: Call) -> Work[InitProducerIdResponse]:
    request = call.request
    transactional_id = request.transactional_id
    if transactional_id is None:
        if not _may_produce(call):
            return _refused(error_codes.CLUSTER_AUTHORIZATION_FAILED)
    elif not call.allowed_on_transactional_id(AclOperation.WRITE, transactional_id):
        return _refused(error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    expected = TxnProducer(request.producer_id, request.producer_epoch) if call.version >= _GOES_ON_FROM else _NEW
    if expected != _NEW and -1 in expected:
        return _refused(error_codes.INVALID_REQUEST)
    if transactional_id is None:
        return InitProducerIdResponse(producer_id=call.broker.producer_ids.next_id(), producer_epoch=0)
    try:
        producer = yield from call.broker.transactions.init_producer_id(
            transactional_id, request.transaction_timeout_ms, None if expected == _NEW else expected
        )
    except BrokerError as error:
        return _refused(mapped_code(error, FENCED_AS_OLD if call.version < _FENCED_FROM else {}))
    return InitProducerIdResponse(producer_id=producer.id, producer_epoch=producer.epoch)


def _refused(code: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)


def _may_produce(call: Call) -> bool:
    return call.allowed_on_cluster(AclOperation.IDEMPOTENT_WRITE) or call.allowed_somewhere(
        AclOperation.WRITE, AclResourceType.TOPIC
    )
