"""AlterClientQuotas (49): set and remove client quotas.

Sent by tools to any broker, which forwards it to the controller. Quotas that the request does not name keep their
values (KIP-546).

Versions
    v1: flexible.

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    INVALID_REQUEST: the entity is empty, repeated or impossible, the quota is unknown, or the value is invalid.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER_CONFIGS on the cluster.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, float64, int16, int32, string


class AlterClientQuotasRequest(
    Request, key=49, effect="changes", versions="0-1", flexible="1+", rights={"cluster": "AlterConfigs"}
):
    class EntryData(Struct):
        class EntityData(Struct):
            # user, client-id or ip. An ip does not combine with the other types.
            entity_type = string()
            # Name of the user or client, or an address. Null: the default entity of the type.
            entity_name = string(nullable="0+")

        # The entity whose quotas change: one component for each type, for example a user and a client id.
        entity = array(EntityData)

        class OpData(Struct):
            # Name of the quota, such as producer_byte_rate, consumer_byte_rate or request_percentage.
            key = string()
            # New value of the quota, in the unit of its key: bytes per second, percent, or a rate. Ignored if remove is
            # true.
            value = float64()
            # True: delete this quota, so that a more general entity applies again. False: set it to value.
            remove = boolean()

        # Quotas to set and delete. The other quotas of the entity keep their values.
        ops = array(OpData)

    entries = array(EntryData)
    # True: check the request and report errors, but change nothing.
    validate_only = boolean()


class AlterClientQuotasResponse(Response, key=49, versions="0-1", flexible="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class EntryData(Struct):
        # Error of this entity. 0: its quotas have changed.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+")

        class EntityData(Struct):
            entity_type = string()
            # Null: the default entity of the type.
            entity_name = string(nullable="0+")

        entity = array(EntityData, echoed="0+")

    # One result for each entity of the request.
    entries = array(EntryData)
