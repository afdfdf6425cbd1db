"""StreamsGroupTopologyDescriptionUpdate (93): a member describes the topology of its Kafka Streams group.

Sent to the group's coordinator by a member whose heartbeat was answered with topology_description_required; the
coordinator hands it to the plugin of group.streams.topology.description.plugin.class (KIP-1331).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    INVALID_REQUEST: an empty member id, or a description that contradicts itself.
    INVALID_GROUP_ID: the group id is empty.
    GROUP_ID_NOT_FOUND: no such group, or one of another type.
    UNKNOWN_MEMBER_ID: the group has no such member.
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED: the plugin did not take it; the message says why.
    UNSUPPORTED_VERSION: streams groups are not enabled, or the broker has no such plugin.
"""

from __future__ import annotations

from kafka_tools.protocol.messages.streams_group_describe import TopologyDescription
from kafka_tools.protocol.schema import Request, Response, int16, int32, string, struct


class StreamsGroupTopologyDescriptionUpdateRequest(
    Request, key=93, versions="0", flexible="0+", rights={"group": "Read"}
):
    group_id = string()
    member_id = string()
    topology_epoch = int32()
    topology_description = struct(TopologyDescription)


class StreamsGroupTopologyDescriptionUpdateResponse(Response, key=93, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)
