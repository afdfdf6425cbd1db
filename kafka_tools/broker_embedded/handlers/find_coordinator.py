"""FindCoordinator (10): the coordinator of a group or a transactional id. It is always this broker, the only one.

The first request creates ``__consumer_offsets`` or ``__transaction_state``. v1: key types. Share groups have no
coordinator here: INVALID_REQUEST, with a message. v4: several keys.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.refusals import default_error, default_message, error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, CoordinatorType
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorResponse

VERSIONS = (0, 6)
AUTHORIZE = ()


class Found(NamedTuple):
    """The coordinator's node, in the fields of both forms of the response."""

    node_id: int
    host: str
    port: int


def handle(call: Call) -> Work[FindCoordinatorResponse]:
    request = call.request
    key_type = request.key_type if call.version >= 1 else CoordinatorType.GROUP
    if key_type not in CoordinatorType.words:
        raise default_error(error_codes.INVALID_REQUEST)
    if call.version < 4:
        found = yield from _find(call, key_type, request.key)
        return FindCoordinatorResponse(error_message="NONE", **found._asdict())
    response = FindCoordinatorResponse()
    for key in request.coordinator_keys:
        yield
        try:
            found = yield from _find(call, key_type, key)
            coordinator = response.Coordinator(key=key, **found._asdict())
        except BrokerError as error:
            coordinator = response.Coordinator(
                key=key, node_id=-1, port=-1, error_code=error.code.code, error_message=error.broker_message
            )
        response.coordinators.append(coordinator)
    return response


def _find(call: Call, key_type: int, key: str) -> Work[Found]:
    if key_type == CoordinatorType.SHARE:
        raise error_for(error_codes.INVALID_REQUEST, "this broker does not serve share groups")
    if key_type == CoordinatorType.TRANSACTION:
        allowed = call.allowed_on_transactional_id(AclOperation.DESCRIBE, key)
        code = error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    else:
        allowed = call.allowed_on_group(AclOperation.DESCRIBE, key)
        code = error_codes.GROUP_AUTHORIZATION_FAILED
    if not allowed:
        raise error_for(code, default_message(code) if call.version < 4 else "")
    try:
        is_transaction = key_type == CoordinatorType.TRANSACTION
        coordinator = call.broker.transactions if is_transaction else call.broker.groups
        yield from coordinator.log.ensured()
    except BrokerError as error:  # as in Kafka while the topic is being created: clients retry
        raise error_for(error_codes.COORDINATOR_NOT_AVAILABLE, error.broker_message) from error
    node = call.node(call.broker.node_id)
    return Found(node.id, node.host, node.port)
