"""ListGroups (16): list the groups that a broker coordinates.

Sent by tools to every broker, because each broker knows only its own groups. The response omits groups on which the
client lacks DESCRIBE.

Versions
    v1: throttle times in the response.
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: flexible.
    v4: states of groups, and a filter for them (KIP-518).
    v5: types of groups, and a filter for them (KIP-848).

Errors
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading a partition of __consumer_offsets.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the cluster (Kafka before 2.1).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class ListGroupsRequest(Request, key=16, effect="reads", versions="0-5", flexible="3+", rights={"cluster": "Describe"}):
    # Only groups in these states, such as Stable or Empty. An empty list: all states.
    states_filter = array(string(), versions="4+")
    # Only groups of these types: classic, consumer, share, streams. An empty list: all types.
    types_filter = array(string(), versions="5+")


class ListGroupsResponse(Response, key=16, versions="0-5", flexible="3+", throttles="2+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="1+", ignorable=True)
    # Error of the whole request. 0: no error.
    error_code = int16()

    class ListedGroup(Struct):
        group_id = string()
        # "consumer" for consumers, "connect" for Connect workers. Empty: a group that has only offsets.
        protocol_type = string()
        # Such as Stable or Empty.
        group_state = string(versions="4+", ignorable=True)
        # classic, consumer, share or streams.
        group_type = string(versions="5+", ignorable=True)

    groups = array(ListedGroup)
