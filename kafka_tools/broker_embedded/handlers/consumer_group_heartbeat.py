"""ConsumerGroupHeartbeat (68): the only request of members of consumer groups (KIP-848).

UNSUPPORTED_VERSION if the protocol is disabled: group.version 0, or group.coordinator.rebalance.protocols without
"consumer". Clients fail with this error. If the API were not advertised instead, a client would wait without an error.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import check_group
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

VERSIONS = (0, 1)
AUTHORIZE = ()


def handle(call: Call) -> Work[ConsumerGroupHeartbeatResponse]:
    request, groups = call.request, call.broker.groups
    if not groups.settings.enabled:
        raise error_for(error_codes.UNSUPPORTED_VERSION)
    check_group(call, AclOperation.READ, request.group_id)
    for name in dict.fromkeys(request.subscribed_topic_names or ()):
        yield
        if not call.allowed_on_topic(AclOperation.DESCRIBE, name):
            raise error_for(error_codes.TOPIC_AUTHORIZATION_FAILED)
    return (
        yield from groups.consumer.heartbeat(
            request,
            call.version,
            call.client_id,
            f"/{call.client_host}",  # as Java prints an address
            lambda name: call.allowed_on_topic(AclOperation.DESCRIBE, name),
        )
    )
