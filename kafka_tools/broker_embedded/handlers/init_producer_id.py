"""InitProducerId (22): a producer id for idempotent producing; transactional ids are refused.

v3: a producer that lost its sequence asks with its former id and epoch, and gets a new id as well.
v6 is Kafka's unstable version and is not served.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, AclResourceType
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdResponse

VERSIONS = (0, 5)
AUTHORIZE = ()  # IDEMPOTENT_WRITE on the cluster, or WRITE on any topic (KIP-679)


def handle(call: Call) -> InitProducerIdResponse:
    request = call.request
    if request.transactional_id is not None:  # no transactions here
        return _refused(error_codes.INVALID_REQUEST)
    if not _may_produce(call):
        return _refused(error_codes.CLUSTER_AUTHORIZATION_FAILED)
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _refused(error_codes.INVALID_REQUEST)
    return InitProducerIdResponse(producer_id=call.broker.producer_ids.next_id(), producer_epoch=0)


def _refused(code: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)


def _may_produce(call: Call) -> bool:
    return call.allowed_on_cluster(AclOperation.IDEMPOTENT_WRITE) or call.allowed_somewhere(
        AclOperation.WRITE, AclResourceType.TOPIC
    )
