"""ListGroups (16): the groups that a broker coordinates.

Sent by tools to every broker: each knows its own groups. Groups without DESCRIBE are left out.

Versions
    v1: throttle times in the response.
    v2: throttled clients wait by themselves; the response comes first (KIP-219).
    v3: flexible.
    v4: states, and a filter for them (KIP-518).
    v5: types, and a filter for them (KIP-848).

Errors
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping.
    COORDINATOR_LOAD_IN_PROGRESS: some partition of __consumer_offsets is still being read.
    CLUSTER_AUTHORIZATION_FAILED: no DESCRIBE on the cluster, in Kafka before 2.1.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, string


class ListGroupsRequest(Request, key=16, versions="0-5", flexible="3+", rights={"cluster": "Describe"}):
    states_filter = array(string(), versions="4+")
    types_filter = array(string(), versions="5+")


class ListGroupsResponse(Response, key=16, versions="0-5", flexible="3+", throttles="2+"):
    throttle_time_ms = int32(versions="1+", ignorable=True)
    error_code = int16()

    class ListedGroup(Struct):
        group_id = string()
        protocol_type = string()
        group_state = string(versions="4+", ignorable=True)
        group_type = string(versions="5+", ignorable=True)

    groups = array(ListedGroup)
