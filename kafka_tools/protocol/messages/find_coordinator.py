"""FindCoordinator (10): which broker coordinates a group, a transactional id or a share partition.

Sent by clients to any broker. Key types: 0 a group, 1 a transactional id, 2 a share partition
(group:topic id:partition). The first question creates the internal topic where it is missing.

Versions
    v1: key types and error messages; throttle times in the response.
    v2: throttled clients wait by themselves; the response comes first (KIP-219).
    v3: flexible.
    v4: several keys at once (KIP-699).
    v5: TRANSACTION_ABORTABLE (KIP-890).
    v6: share partitions (KIP-932).

Errors
    COORDINATOR_NOT_AVAILABLE: the internal topic is being created, or its partition has no leader.
    INVALID_REQUEST: a key type that the broker does not know, or an empty transactional id.
    INVALID_GROUP_ID: the group id is null.
    INVALID_TOPIC_EXCEPTION: the internal topic cannot be created.
    GROUP_AUTHORIZATION_FAILED: no DESCRIBE on the group.
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: no DESCRIBE on the transactional id.
    CLUSTER_AUTHORIZATION_FAILED: a share partition, which only brokers ask for.
    TRANSACTION_ABORTABLE: reserved for clients that know it (v5).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class FindCoordinatorRequest(
    Request,
    key=10,
    versions="0-6",
    flexible="3+",
    rights={"group": "Describe", "transactional id": "Describe", "cluster": "ClusterAction"},
):
    key = string(versions="0-3")
    key_type = int8(versions="1+")  # 0 group, 1 transactional id, 2 share partition
    coordinator_keys = array(string(), versions="4+")


class FindCoordinatorResponse(Response, key=10, versions="0-6", flexible="3+", throttles="2+"):
    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16(versions="0-3")
    error_message = string(versions="1-3", nullable="1+", ignorable=True)
    node_id = int32(versions="0-3", on_error=-1)
    host = string(versions="0-3")
    port = int32(versions="0-3", on_error=-1)

    class Coordinator(Struct):
        key = string(versions="4+")
        node_id = int32(versions="4+", on_error=-1)
        host = string(versions="4+")
        port = int32(versions="4+", on_error=-1)
        error_code = int16(versions="4+")
        error_message = string(versions="4+", nullable="4+", ignorable=True)

    coordinators = array(Coordinator, versions="4+")
