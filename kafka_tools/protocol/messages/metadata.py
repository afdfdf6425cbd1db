"""Metadata (3): describe brokers, topics, partitions and their leaders.

v0 reads an empty topic list as all topics; from v1 on null is all and empty none. From v10 a topic may be
asked for by id with a null name (v12 brokers answer it).
"""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, string, uuid


class MetadataRequest(Request, key=3, route=ANY_NODE, versions="0-13", flexible="9+"):
    """Request of Metadata.

    v4: adds allow_auto_topic_creation.
    v8: adds include_cluster_authorized_operations, include_topic_authorized_operations.
    v9: flexible.
    v10: adds topics[].topic_id.
    v11: drops include_cluster_authorized_operations.
    """

    class RequestTopic(Struct):
        topic_id = uuid(versions="10+", ignorable=True)
        name = string(nullable="10+")

    topics = array(RequestTopic, nullable="1+")
    allow_auto_topic_creation = boolean(versions="4+", default=True)
    include_cluster_authorized_operations = boolean(versions="8-10")
    include_topic_authorized_operations = boolean(versions="8+")


class MetadataResponse(Response, key=3, versions="0-13", flexible="9+"):
    """Response of Metadata.

    v1: adds brokers[].rack, controller_id, topics[].is_internal.
    v2: adds cluster_id.
    v3: adds throttle_time_ms.
    v5: adds topics[].partitions[].offline_replicas.
    v7: adds topics[].partitions[].leader_epoch.
    v8: adds topics[].topic_authorized_operations, cluster_authorized_operations.
    v9: flexible.
    v10: adds topics[].topic_id.
    v11: drops cluster_authorized_operations.
    v13: adds error_code.
    """

    throttle_time_ms = int32(versions="3+", ignorable=True)

    class ResponseBroker(Struct):
        node_id = int32(map_key=True)
        host = string()
        port = int32()
        rack = string(versions="1+", nullable="1+", default=None, ignorable=True)

    brokers = array(ResponseBroker)
    cluster_id = string(versions="2+", nullable="2+", default=None, ignorable=True)
    controller_id = int32(versions="1+", default=-1, ignorable=True)

    class ResponseTopic(Struct):
        error_code = int16()
        name = string(nullable="12+", map_key=True)
        topic_id = uuid(versions="10+", ignorable=True)
        is_internal = boolean(versions="1+", ignorable=True)

        class ResponsePartition(Struct):
            error_code = int16()
            partition_index = int32()
            leader_id = int32()
            leader_epoch = int32(versions="7+", default=-1, ignorable=True)
            replica_nodes = array(int32())
            isr_nodes = array(int32())
            offline_replicas = array(int32(), versions="5+", ignorable=True)

        partitions = array(ResponsePartition)
        topic_authorized_operations = int32(versions="8+", default=-2147483648)

    topics = array(ResponseTopic)
    cluster_authorized_operations = int32(versions="8-10", default=-2147483648)
    error_code = int16(versions="13+", ignorable=True)
