"""DescribeClientQuotas (48): read client quotas that match a filter (KIP-546)."""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, float64, int8, int16, int32, string


class DescribeClientQuotasRequest(Request, key=48, route=ANY_NODE, versions="0-1", flexible="1+"):
    """Request of DescribeClientQuotas.

    v1: flexible.
    """

    class ComponentData(Struct):
        entity_type = string()
        match_type = int8()
        match = string(nullable="0+")

    components = array(ComponentData)
    strict = boolean()


class DescribeClientQuotasResponse(Response, key=48, versions="0-1", flexible="1+"):
    """Response of DescribeClientQuotas.

    v1: flexible.
    """

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

    entries = array(EntryData, nullable="0+")
