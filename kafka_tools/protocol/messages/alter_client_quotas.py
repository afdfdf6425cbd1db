"""AlterClientQuotas (49): set and remove client quotas.

Sent by tools to any broker, which passes it to the controller. A null name is the default entity; quotas that are not
named stay (KIP-546).

Versions
    v1: flexible.

Errors
    NOT_CONTROLLER: the node is not the active controller (any more).
    INVALID_REQUEST: an empty, repeated or impossible entity, an unknown quota, a value that it does not take.
    CLUSTER_AUTHORIZATION_FAILED: no ALTER_CONFIGS on the cluster.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, float64, int16, int32, string


class AlterClientQuotasRequest(Request, key=49, versions="0-1", flexible="1+", rights={"cluster": "AlterConfigs"}):
    class EntryData(Struct):
        class EntityData(Struct):
            entity_type = string()
            entity_name = string(nullable="0+")  # null: the default entity

        entity = array(EntityData)

        class OpData(Struct):
            key = string()
            value = float64()
            remove = boolean()

        ops = array(OpData)

    entries = array(EntryData)
    validate_only = boolean()


class AlterClientQuotasResponse(Response, key=49, versions="0-1", flexible="1+"):
    throttle_time_ms = int32()

    class EntryData(Struct):
        error_code = int16()
        error_message = string(nullable="0+")

        class EntityData(Struct):
            entity_type = string()
            entity_name = string(nullable="0+")

        entity = array(EntityData, echoed="0+")

    entries = array(EntryData)
