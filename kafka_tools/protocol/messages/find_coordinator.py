"""FindCoordinator (10): find the coordinator of a group, a transactional id or a share partition.

Sent by clients to any broker. The first request creates the internal topic if it does not exist yet.

Versions
    v1: key types and error messages; throttle times in the response.
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: flexible.
    v4: several keys at once (KIP-699).
    v5: TRANSACTION_ABORTABLE (KIP-890).
    v6: share partitions (KIP-932).

Errors
    COORDINATOR_NOT_AVAILABLE: Kafka is creating the internal topic, or its partition has no leader.
    INVALID_REQUEST: the key type is unknown, or the transactional id is empty.
    INVALID_GROUP_ID: the group id is null.
    INVALID_TOPIC_EXCEPTION: the internal topic cannot be created.
    GROUP_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the group.
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the transactional id.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks CLUSTER_ACTION on the cluster, which key type 2 requires.
    TRANSACTION_ABORTABLE: Kafka does not send it yet. The producer must abort the transaction (v5).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class FindCoordinatorRequest(
    Request,
    key=10,
    effect="reads",
    versions="0-6",
    flexible="3+",
    rights={"group": "Describe", "transactional id": "Describe", "cluster": "ClusterAction"},
):
    # A group id, a transactional id, or group:topic id:partition, as key_type says.
    key = string(versions="0-3")
    # 0 group, 1 transactional id, 2 share partition (v6). Other values lead to INVALID_REQUEST.
    key_type = int8(versions="1+")
    # In place of key. All keys have the same key_type.
    coordinator_keys = array(string(), versions="4+")


class FindCoordinatorResponse(Response, key=10, versions="0-6", flexible="3+", throttles="2+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="1+", ignorable=True)
    # Error of the whole request. 0: no error.
    error_code = int16(versions="0-3")
    # Explains the error in words. Without an error Kafka sends the text NONE.
    error_message = string(versions="1-3", nullable="1+", ignorable=True)
    # Broker id of the coordinator. -1: with an error.
    node_id = int32(versions="0-3", on_error=-1)
    # Host on the listener that the request came through. Empty: with an error.
    host = string(versions="0-3")
    # -1: with an error.
    port = int32(versions="0-3", on_error=-1)

    class Coordinator(Struct):
        # The value from the request.
        key = string(versions="4+")
        # Broker id of the coordinator. -1: with an error.
        node_id = int32(versions="4+", on_error=-1)
        # Host on the listener that the request came through. Empty: with an error.
        host = string(versions="4+")
        # -1: with an error.
        port = int32(versions="4+", on_error=-1)
        # Error of this key. 0: no error.
        error_code = int16(versions="4+")
        # Explains the error in words. Null or empty: no explanation.
        error_message = string(versions="4+", nullable="4+", ignorable=True)

    # One result for each of coordinator_keys (v4).
    coordinators = array(Coordinator, versions="4+")
