"""StopReplica (5): stop replicas on a broker, and delete them if asked.

Sent by the controller to brokers in ZooKeeper mode. KRaft brokers read the metadata log instead, and Kafka 4.0 dropped
the API.

Versions
    v1: broker epochs; partitions grouped by topic (KIP-380).
    v2: flexible.
    v3: leader epochs, so that a late request does not delete anything (KIP-570).
    v4: is_kraft_controller, for the migration to KRaft (KIP-866).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    STALE_CONTROLLER_EPOCH: the controller has been replaced.
    STALE_BROKER_EPOCH: the broker has registered again with a newer epoch (v1).
    FENCED_LEADER_EPOCH: the leader epoch is older than the one that the broker knows (v3).
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string


class StopReplicaRequest(
    Request, key=5, effect="destroys", versions="0-4", flexible="2+", rights={"cluster": "ClusterAction"}
):
    # Node id of the controller that sends the request.
    controller_id = int32()
    # True: a KRaft controller sends the request, during the migration from ZooKeeper.
    is_kraft_controller = boolean(versions="4+", json="isKRaftController")
    # Counts the controllers. A smaller one than the broker knows leads to STALE_CONTROLLER_EPOCH.
    controller_epoch = int32()
    # The epoch that the receiving broker got when it registered. An older one leads to STALE_BROKER_EPOCH. -1: not
    # checked.
    broker_epoch = int64(versions="1+", default=-1, ignorable=True)
    # True: delete all these replicas. From v3 delete_partition says so for each of them.
    delete_partitions = boolean(versions="0-2")

    class PartitionV0(Struct):
        topic_name = string(versions="0")
        partition_index = int32(versions="0")

    # Replicas to stop in v0. Later versions send topics.
    ungrouped_partitions = array(PartitionV0, versions="0")

    class TopicV1(Struct):
        name = string(versions="1-2")
        partition_indexes = array(int32(), versions="1-2")

    # Replicas to stop in v1 and v2. Later versions send topic_states.
    topics = array(TopicV1, versions="1-2")

    class TopicState(Struct):
        topic_name = string(versions="3+")

        class PartitionState(Struct):
            partition_index = int32(versions="3+")
            # An older one than the broker knows leads to FENCED_LEADER_EPOCH. -1: not checked. -2: the topic is being
            # deleted, not checked.
            leader_epoch = int32(versions="3+", default=-1)
            # True: delete the replica from the disk. False: only stop fetching and serving it.
            delete_partition = boolean(versions="3+")

        partition_states = array(PartitionState, versions="3+")

    # Replicas to stop.
    topic_states = array(TopicState, versions="3+")


class StopReplicaResponse(Response, key=5, versions="0-4", flexible="2+"):
    # Error of the whole request. 0: no error.
    error_code = int16()

    class PartitionError(Struct):
        topic_name = string()
        partition_index = int32()
        # Error of this partition. 0: no error.
        error_code = int16()

    # One result for each partition of the request. Empty: the whole request failed.
    partition_errors = array(PartitionError)
