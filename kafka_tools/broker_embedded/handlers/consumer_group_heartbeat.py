"""ConsumerGroupHeartbeat (68): UNSUPPORTED_VERSION to everybody, as Kafka where the protocol "consumer" is turned off.

It is served for this answer alone: with it a librdkafka consumer of ``group.protocol=consumer`` ends, which waits in
silence where brokers do not advertise v1. Nobody is asked for rights, as in ``KafkaApis``.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.refusals import refuse
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

VERSIONS = (0, 1)
AUTHORIZE = ()


def handle(call: Call) -> ConsumerGroupHeartbeatResponse:
    raise refuse(error_codes.UNSUPPORTED_VERSION)
