"""AlterClientQuotas (49): set or remove client quotas (KIP-546)."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, float64, int16, int32, string


class AlterClientQuotasRequest(Request, key=49, route=CONTROLLER, versions="0-1", flexible="1+"):
    """Request of AlterClientQuotas.

    v1: flexible.
    """

    class EntryData(Struct):
        class EntityData(Struct):
            entity_type = string()
            entity_name = string(nullable="0+")

        entity = array(EntityData)

        class OpData(Struct):
            key = string()
            value = float64()
            remove = boolean()

        ops = array(OpData)

    entries = array(EntryData)
    validate_only = boolean()


class AlterClientQuotasResponse(Response, key=49, versions="0-1", flexible="1+"):
    """Response of AlterClientQuotas.

    v1: flexible.
    """

    throttle_time_ms = int32()

    class EntryData(Struct):
        error_code = int16()
        error_message = string(nullable="0+")

        class EntityData(Struct):
            entity_type = string()
            entity_name = string(nullable="0+")

        entity = array(EntityData)

    entries = array(EntryData)
