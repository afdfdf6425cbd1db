"""StreamsGroupTopologyDescriptionUpdate (93): describe the topology of a Kafka Streams group.

Sent to the coordinator of the group by a member whose heartbeat returned topology_description_required. The coordinator
passes it to the plugin of group.streams.topology.description.plugin.class (KIP-1331).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    INVALID_REQUEST: the group id or member id is empty, or the topology epoch is not the current one of the group.
    GROUP_ID_NOT_FOUND: the group does not exist or has another type.
    UNKNOWN_MEMBER_ID: the group does not have this member.
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED: the plugin did not accept the description. The message says why.
    UNSUPPORTED_VERSION: streams groups are not enabled, or the broker has no such plugin.
"""

from __future__ import annotations

from kafka_tools.protocol.messages.streams_group_describe import TopologyDescription
from kafka_tools.protocol.schema import Request, Response, int16, int32, string, struct


class StreamsGroupTopologyDescriptionUpdateRequest(
    Request, key=93, effect="changes", versions="0", flexible="0+", rights={"group": "Read"}
):
    # Empty leads to INVALID_REQUEST.
    group_id = string()
    # A member of the group. Any other id leads to UNKNOWN_MEMBER_ID.
    member_id = string()
    # Version of the topology that the description belongs to. Another one than the group's leads to INVALID_REQUEST.
    topology_epoch = int32()
    topology_description = struct(TopologyDescription)


class StreamsGroupTopologyDescriptionUpdateResponse(Response, key=93, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+", default=None)
