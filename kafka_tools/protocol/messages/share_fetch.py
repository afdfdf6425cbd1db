"""ShareFetch (78): fetch and acknowledge records of a share group."""

from __future__ import annotations

from kafka_tools.protocol.routes import PARTITION_LEADER
from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uuid,
)


class ShareFetchRequest(Request, key=78, route=PARTITION_LEADER, versions="0-2", flexible="0+"):
    """Request of ShareFetch.

    v1: adds max_records, batch_size; drops topics[].partitions[].partition_max_bytes.
    v2: adds share_acquire_mode, is_renew_ack.
    """

    group_id = string(nullable="0+", default=None)
    member_id = string(nullable="0+")
    share_session_epoch = int32()
    max_wait_ms = int32()
    min_bytes = int32()
    max_bytes = int32(default=2147483647)
    max_records = int32(versions="1+")
    batch_size = int32(versions="1+")
    share_acquire_mode = int8(versions="2+", ignorable=True)
    is_renew_ack = boolean(versions="2+")

    class FetchTopic(Struct):
        topic_id = uuid(map_key=True)

        class FetchPartition(Struct):
            partition_index = int32(map_key=True)
            partition_max_bytes = int32(versions="0")

            class AcknowledgementBatch(Struct):
                first_offset = int64()
                last_offset = int64()
                acknowledge_types = array(int8())

            acknowledgement_batches = array(AcknowledgementBatch)

        partitions = array(FetchPartition)

    topics = array(FetchTopic)

    class ForgottenTopic(Struct):
        topic_id = uuid()
        partitions = array(int32())

    forgotten_topics_data = array(ForgottenTopic)


class ShareFetchResponse(Response, key=78, versions="0-2", flexible="0+"):
    """Response of ShareFetch.

    v1: adds acquisition_lock_timeout_ms.
    """

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+", default=None)
    acquisition_lock_timeout_ms = int32(versions="1+")

    class ShareFetchableTopicResponse(Struct):
        topic_id = uuid(map_key=True)

        class PartitionData(Struct):
            partition_index = int32()
            error_code = int16()
            error_message = string(nullable="0+", default=None)
            acknowledge_error_code = int16()
            acknowledge_error_message = string(nullable="0+", default=None)

            class LeaderIdAndEpoch(Struct):
                leader_id = int32()
                leader_epoch = int32()

            current_leader = struct(LeaderIdAndEpoch)
            records = records(nullable="0", default=b"")

            class AcquiredRecords(Struct):
                first_offset = int64()
                last_offset = int64()
                delivery_count = int16()

            acquired_records = array(AcquiredRecords)

        partitions = array(PartitionData)

    responses = array(ShareFetchableTopicResponse)

    class NodeEndpoint(Struct):
        node_id = int32(map_key=True)
        host = string()
        port = int32()
        rack = string(nullable="0+", default=None)

    node_endpoints = array(NodeEndpoint)
