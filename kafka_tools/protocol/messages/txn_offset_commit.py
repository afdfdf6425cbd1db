"""TxnOffsetCommit (28): commit a group's offsets as part of a transaction.

Sent by producers to the group's coordinator; the offsets count once the transaction commits.

Versions
    v1: throttled clients wait by themselves; the response comes first (KIP-219).
    v2: the leader epoch of the committed offset (KIP-320).
    v3: flexible; member and generation, so that members that were left behind cannot commit (KIP-447).
    v4: TRANSACTION_ABORTABLE (KIP-890).
    v5: the coordinator adds its partition to the transaction by itself (KIP-890).
    v6: topics by id (KIP-1319).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator still reads its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: no READ on the group.
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: no WRITE on the transactional id.
    TOPIC_AUTHORIZATION_FAILED: no READ on the topic.
    INVALID_GROUP_ID: the group id is empty.
    UNKNOWN_MEMBER_ID: the group has no such member (v3).
    ILLEGAL_GENERATION: the generation is not the group's (v3).
    FENCED_INSTANCE_ID: another member took over this group.instance.id (v3).
    STALE_MEMBER_EPOCH: the member of a group of the new protocol has a newer epoch.
    UNKNOWN_TOPIC_OR_PARTITION: no such partition.
    UNKNOWN_TOPIC_ID: no topic has this id (v6).
    OFFSET_METADATA_TOO_LARGE: the metadata has more characters than offset.metadata.max.bytes.
    INVALID_COMMIT_OFFSET_SIZE: the record of the commit is larger than the offsets topic takes.
    INVALID_REQUEST: the transactional id is empty.
    INVALID_PRODUCER_EPOCH: an epoch older than the producer's newest.
    INVALID_TXN_STATE: the group's partition is not in the transaction.
    INVALID_PRODUCER_ID_MAPPING: the transaction is not that of this producer id.
    CONCURRENT_TRANSACTIONS: the last transaction is still being completed: try again.
    TRANSACTION_ABORTABLE: the group's partition is not in the transaction, to clients that know it (v4).
    REQUEST_TIMED_OUT: the offsets topic's replicas did not follow in time.
    UNSUPPORTED_FOR_MESSAGE_FORMAT: the offsets topic's message format has no transactions.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class TxnOffsetCommitRequest(
    Request,
    key=28,
    versions="0-6",
    flexible="3+",
    rights={"transactional id": "Write", "group": "Read", "topic": "Read"},
):
    transactional_id = string()
    group_id = string()
    producer_id = int64()
    producer_epoch = int16()
    # the generation of a classic member, the epoch of one of the new protocol; -1: no member
    generation_id_or_member_epoch = int32(versions="3+", default=-1)
    member_id = string(versions="3+")
    group_instance_id = string(versions="3+", nullable="3+", default=None)

    class RequestTopic(Struct):
        name = string(versions="0-5", ignorable=True)
        topic_id = uuid(versions="6+", ignorable=True)

        class RequestPartition(Struct):
            partition_index = int32()
            committed_offset = int64()
            committed_leader_epoch = int32(versions="2+", default=-1, ignorable=True)
            committed_metadata = string(nullable="0+")

        partitions = array(RequestPartition)

    topics = array(RequestTopic)


class TxnOffsetCommitResponse(Response, key=28, versions="0-6", flexible="3+", throttles="1+"):
    throttle_time_ms = int32()

    class ResponseTopic(Struct):
        name = string(versions="0-5", ignorable=True)
        topic_id = uuid(versions="6+", ignorable=True)

        class ResponsePartition(Struct):
            partition_index = int32()
            error_code = int16()

        partitions = array(ResponsePartition)

    topics = array(ResponseTopic)
