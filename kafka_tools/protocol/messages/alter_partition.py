"""AlterPartition (56): change the set of in-sync replicas of a partition.

Sent by partition leaders to the controller (KIP-497).

Versions
    v1: the state of recovery after an unclean election (KIP-704).
    v2: topics by id (KIP-841).
    v3: broker epochs of the in-sync replicas (KIP-903).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_CONTROLLER: the node is not, or no longer, the active controller. For a partition: the leader knows a newer
        leader epoch or partition epoch than this controller.
    STALE_BROKER_EPOCH: the broker is not registered, or has registered again with another epoch.
    UNKNOWN_TOPIC_ID: no topic has this id (v2).
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist, or (up to v1) the topic does not.
    FENCED_LEADER_EPOCH: the leader epoch is older than that of the partition.
    INVALID_UPDATE_VERSION: the partition epoch is older than that of the partition: fetch the new state first.
    INVALID_REQUEST: the sender is not the leader, the new set lacks the leader or contains a broker without a replica,
        or the recovery state is impossible.
    INELIGIBLE_REPLICA: a replica of the new set is fenced, is shutting down, or has registered again since (v2).
    OPERATION_NOT_ATTEMPTED: the same before v2.
    NEW_LEADER_ELECTED: the change was made, and completed a reassignment that moved the leader to another broker (v2).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, int64, string, uuid


class AlterPartitionRequest(
    Request, key=56, effect="changes", versions="0-3", dropped="0-1", flexible="0+", rights={"cluster": "ClusterAction"}
):
    # The leader that sends the request.
    broker_id = int32()
    # The epoch that the controller assigned when the broker registered. Another one leads to STALE_BROKER_EPOCH.
    broker_epoch = int64(default=-1)

    class TopicData(Struct):
        # Later versions send the topic id instead.
        topic_name = string(versions="0-1", ignorable=True)
        # Earlier versions send the topic name instead.
        topic_id = uuid(versions="2+", ignorable=True)

        class PartitionData(Struct):
            partition_index = int32()
            # Epoch in which the broker leads. An older one leads to FENCED_LEADER_EPOCH, a newer one to NOT_CONTROLLER.
            leader_epoch = int32()
            # All replicas that are in sync from now on, the leader included. From v3: new_isr_with_epochs.
            new_isr = array(int32(), versions="0-2")

            class BrokerState(Struct):
                # A replica that is in sync from now on.
                broker_id = int32(versions="3+")
                # The replica's epoch as it sent it in Fetch. -1: not known, and not checked.
                broker_epoch = int64(versions="3+", default=-1)

            # All replicas that are in sync from now on, the leader included. A stale epoch leads to INELIGIBLE_REPLICA.
            new_isr_with_epochs = array(BrokerState, versions="3+")
            # 0: recovered. 1: the leader is still recovering from an unclean election, and only it is in sync.
            leader_recovery_state = int8(versions="1+")
            # Epoch of the state that the leader wants to replace. An older one leads to INVALID_UPDATE_VERSION.
            partition_epoch = int32()

        partitions = array(PartitionData)

    topics = array(TopicData)


class AlterPartitionResponse(Response, key=56, versions="0-3", flexible="0+"):
    # Always 0: no quota applies to this request.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()

    class TopicData(Struct):
        # Later versions send the topic id instead.
        topic_name = string(versions="0-1", ignorable=True)
        # Earlier versions send the topic name instead.
        topic_id = uuid(versions="2+", ignorable=True)

        class PartitionData(Struct):
            partition_index = int32()
            # Error of this partition. 0: no error.
            error_code = int16()
            # Leader after the change. -1: none.
            leader_id = int32()
            # Epoch of the leader after the change. It rises with each election.
            leader_epoch = int32()
            # All replicas that are in sync after the change.
            isr = array(int32())
            # 0: recovered. 1: the leader is still recovering from an unclean election.
            leader_recovery_state = int8(versions="1+", ignorable=True)
            # Epoch of the new state. It rises with every change of the partition. Send it with the next request.
            partition_epoch = int32()

        partitions = array(PartitionData)

    topics = array(TopicData)
