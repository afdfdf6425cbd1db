"""DescribeClientQuotas (48): list the client quotas of entities that match a filter.

Sent by tools to any broker. The response lists the quotas of each entity. It does not say which of them apply to a
client (KIP-546).

Versions
    v1: flexible.

Errors
    INVALID_REQUEST: an entity type is empty or repeated, match_type is unknown, or ip occurs together with another
        type.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE_CONFIGS on the cluster.
    UNSUPPORTED_VERSION: the broker does not know the entity type.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, float64, int8, int16, int32, string


class DescribeClientQuotasRequest(
    Request, key=48, effect="reads", versions="0-1", flexible="1+", rights={"cluster": "DescribeConfigs"}
):
    class ComponentData(Struct):
        # user, client-id or ip. An ip does not combine with the other types.
        entity_type = string()
        # 0: the name in match. 1: the default entity of the type. 2: any name, or the default.
        match_type = int8()
        # The name to find. Null unless match_type is 0.
        match = string(nullable="0+")

    # Conditions that an entity must all meet. Empty and not strict: every entity.
    components = array(ComponentData)
    # True: leave out entities with types that components does not name.
    strict = boolean()


class DescribeClientQuotasResponse(Response, key=48, versions="0-1", flexible="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+")

    class EntryData(Struct):
        class EntityData(Struct):
            entity_type = string()
            # Null: the default entity of the type.
            entity_name = string(nullable="0+")

        # The entity: one component for each type, for example a user and a client id.
        entity = array(EntityData)

        class ValueData(Struct):
            # Name of the quota, such as producer_byte_rate or request_percentage.
            key = string()
            # In the unit of the key: bytes per second, percent, or a rate.
            value = float64()

        # Quotas that are set for exactly this entity.
        values = array(ValueData)

    # Entities that match. Null: with an error.
    entries = array(EntryData, nullable="0+", on_error=None)
