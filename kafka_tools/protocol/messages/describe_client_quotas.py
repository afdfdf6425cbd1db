"""DescribeClientQuotas (48): the client quotas of entities that match a filter.

Sent by tools to any broker. A component matches one name, the default entity, or any; strict leaves out entities with
components that the filter does not name (KIP-546).

Versions
    v1: flexible.

Errors
    INVALID_REQUEST: an unknown or repeated entity type, an unknown kind of match, IP together with others.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE_CONFIGS on the cluster.
    UNSUPPORTED_VERSION: an entity type that the broker does not know.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, float64, int8, int16, int32, string


class DescribeClientQuotasRequest(
    Request, key=48, versions="0-1", flexible="1+", rights={"cluster": "DescribeConfigs"}
):
    class ComponentData(Struct):
        entity_type = string()
        match_type = int8()  # 0 one name, 1 the default entity, 2 any
        match = string(nullable="0+")

    components = array(ComponentData)
    strict = boolean()  # leave out entities with further components


class DescribeClientQuotasResponse(Response, key=48, versions="0-1", flexible="1+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+")

    class EntryData(Struct):
        class EntityData(Struct):
            entity_type = string()
            entity_name = string(nullable="0+")

        entity = array(EntityData)

        class ValueData(Struct):
            key = string()
            value = float64()

        values = array(ValueData)

    entries = array(EntryData, nullable="0+", on_error=None)
