"""TxnOffsetCommit (28): commit offsets of a group as part of a transaction.

Sent by producers to the coordinator of the group. The offsets become visible when the transaction commits.

Versions
    v1: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v2: the leader epoch of the committed offset (KIP-320).
    v3: flexible; member id and generation, so that former members cannot commit (KIP-447).
    v4: TRANSACTION_ABORTABLE (KIP-890).
    v5: the coordinator itself adds its partition to the transaction (KIP-890).
    v6: topics by id (KIP-1319).

Errors
    NOT_COORDINATOR: another broker coordinates the group.
    COORDINATOR_NOT_AVAILABLE: the coordinator is starting or stopping, or its topic cannot be used yet.
    COORDINATOR_LOAD_IN_PROGRESS: the coordinator is still loading its partition of __consumer_offsets.
    GROUP_AUTHORIZATION_FAILED: the client lacks READ on the group.
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: the client lacks WRITE on the transactional id.
    TOPIC_AUTHORIZATION_FAILED: the client lacks READ on the topic.
    INVALID_GROUP_ID: the group id is empty.
    UNKNOWN_MEMBER_ID: the group does not have this member (v3).
    ILLEGAL_GENERATION: the generation is not the current one of the group (v3).
    FENCED_INSTANCE_ID: another member has taken over this group.instance.id (v3).
    STALE_MEMBER_EPOCH: the member of a consumer group has a newer epoch.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    UNKNOWN_TOPIC_ID: no topic has this id (v6).
    OFFSET_METADATA_TOO_LARGE: the metadata has more characters than offset.metadata.max.bytes.
    INVALID_COMMIT_OFFSET_SIZE: the record of the commit is larger than __consumer_offsets allows.
    INVALID_REQUEST: the transactional id is empty.
    INVALID_PRODUCER_EPOCH: the epoch is older than the newest one of the producer.
    INVALID_TXN_STATE: the transaction does not contain the partition of the group.
    INVALID_PRODUCER_ID_MAPPING: the transaction belongs to another producer id.
    CONCURRENT_TRANSACTIONS: the coordinator is still completing the last transaction. Try again.
    TRANSACTION_ABORTABLE: the transaction does not contain the partition of the group. The producer must abort it (v4).
    REQUEST_TIMED_OUT: the replicas of __consumer_offsets did not confirm the commit in time.
    UNSUPPORTED_FOR_MESSAGE_FORMAT: the message format of __consumer_offsets does not support transactions.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string, uuid


class TxnOffsetCommitRequest(
    Request,
    key=28,
    effect="changes",
    versions="0-6",
    flexible="3+",
    rights={"transactional id": "Write", "group": "Read", "topic": "Read"},
):
    # Empty leads to INVALID_REQUEST.
    transactional_id = string()
    # Empty leads to INVALID_GROUP_ID.
    group_id = string()
    # The id that InitProducerId assigned. Another one leads to INVALID_PRODUCER_ID_MAPPING.
    producer_id = int64()
    # The epoch that came with the producer id. An older one leads to INVALID_PRODUCER_EPOCH.
    producer_epoch = int16()
    # Generation of a classic member, epoch of a consumer group member. -1: not checked.
    generation_id_or_member_epoch = int32(versions="3+", default=-1)
    # Member that read the records. Empty: not checked.
    member_id = string(versions="3+")
    # The member's group.instance.id. Null: a dynamic member.
    group_instance_id = string(versions="3+", nullable="3+", default=None)

    class RequestTopic(Struct):
        # Later versions send the topic id instead.
        name = string(versions="0-5", ignorable=True)
        # Earlier versions send the topic name instead.
        topic_id = uuid(versions="6+", ignorable=True)

        class RequestPartition(Struct):
            # A partition that does not exist leads to UNKNOWN_TOPIC_OR_PARTITION.
            partition_index = int32()
            # Offset of the next record to read.
            committed_offset = int64()
            # Leader epoch of the last record that was read. -1: unknown.
            committed_leader_epoch = int32(versions="2+", default=-1, ignorable=True)
            # Any text of the client. More than offset.metadata.max.bytes characters lead to OFFSET_METADATA_TOO_LARGE.
            # Null: empty.
            committed_metadata = string(nullable="0+")

        partitions = array(RequestPartition)

    # Offsets that become visible when the transaction commits.
    topics = array(RequestTopic)


class TxnOffsetCommitResponse(Response, key=28, versions="0-6", flexible="3+", throttles="1+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class ResponseTopic(Struct):
        # Later versions send the topic id instead.
        name = string(versions="0-5", ignorable=True)
        # Earlier versions send the topic name instead.
        topic_id = uuid(versions="6+", ignorable=True)

        class ResponsePartition(Struct):
            partition_index = int32()
            # Error of this partition. An error of the group is repeated in every partition. 0: no error.
            error_code = int16()

        partitions = array(ResponsePartition)

    # One result for each partition of the request.
    topics = array(ResponseTopic)
