"""ListConfigResources (74): the names of resources that have, or can have, configs (KIP-1142).

v0 (as ListClientMetricsResources): client metrics subscriptions only. v1: by type; no types means all.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.configs.store import BROKER, BROKER_LOGGER, CLIENT_METRICS, KINDS, TOPIC
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.list_config_resources import ListConfigResourcesResponse

VERSIONS = (0, 1)
AUTHORIZE = (AclOperation.DESCRIBE_CONFIGS,)


def handle(call: Call) -> ListConfigResourcesResponse:
    types = (CLIENT_METRICS,) if call.version == 0 else dict.fromkeys(call.request.resource_types or KINDS)
    unknown = [kind for kind in types if kind not in KINDS]
    if unknown:
        raise error_for(error_codes.UNSUPPORTED_VERSION, f"cannot list resource types {unknown}")
    response = ListConfigResourcesResponse()
    for kind in types:
        for name in _names(call, kind):
            response.config_resources.append(response.ConfigResource(resource_name=name, resource_type=kind))
    return response


def _names(call: Call, kind: int) -> list[str]:
    if kind == TOPIC:
        return sorted(call.broker.cluster.topics)
    if kind in (BROKER, BROKER_LOGGER):
        return [str(node_id) for node_id in sorted(call.broker.cluster.brokers)]
    return call.broker.configs.names(kind)
