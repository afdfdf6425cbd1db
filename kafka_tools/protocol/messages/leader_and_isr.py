"""LeaderAndIsr (4): tell a broker which partitions it leads or follows.

Sent by the controller to brokers in ZooKeeper mode. KRaft brokers read the metadata log instead, and Kafka 4.0 dropped
the API.

Versions
    v1: whether a replica is new, and KAFKA_STORAGE_ERROR (KIP-113).
    v2: broker epochs; partitions grouped by topic (KIP-380).
    v3: replicas that a reassignment adds and removes (KIP-455).
    v4: flexible.
    v5: topic ids (KIP-516).
    v6: the state of recovery after an unclean election (KIP-704).
    v7: is_kraft_controller, for the migration to KRaft (KIP-866).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    STALE_CONTROLLER_EPOCH: the controller has been replaced. For a partition: its leader epoch is not newer than the
        one that the broker knows.
    STALE_BROKER_EPOCH: the broker has registered again with a newer epoch (v2).
    UNKNOWN_TOPIC_OR_PARTITION: the broker is not among the replicas of the partition.
    INCONSISTENT_TOPIC_ID: the log of the partition has another topic id (v5).
    KAFKA_STORAGE_ERROR: the log directory of the partition has failed (v1).
"""

from __future__ import annotations

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
    string,
    uuid,
)


class PartitionState(Struct):
    # Later versions group the partitions by topic.
    topic_name = string(versions="0-1", ignorable=True)
    partition_index = int32()
    # Epoch of the controller that made the last change of leader or in-sync replicas.
    controller_epoch = int32()
    # Broker id of the leader. -1: none. -2: the topic is being deleted.
    leader = int32()
    # Counts the leaders of the partition. A smaller one than the broker knows leads to STALE_CONTROLLER_EPOCH.
    leader_epoch = int32()
    # Broker ids of the in-sync replicas.
    isr = array(int32())
    # Version of the partition's state in ZooKeeper, to change it conditionally.
    partition_epoch = int32()
    # Broker ids of all replicas, the preferred leader first.
    replicas = array(int32())
    # Replicas that a reassignment adds. Empty: none.
    adding_replicas = array(int32(), versions="3+", ignorable=True)
    # Replicas that a reassignment removes. Empty: none.
    removing_replicas = array(int32(), versions="3+", ignorable=True)
    # True: the replica is new, and the broker may create its log anywhere. False: a missing log may be on a failed
    # disk.
    is_new = boolean(versions="1+", ignorable=True)
    # 1: the leader still recovers from an unclean election. 0: it does not.
    leader_recovery_state = int8(versions="6+")


class LeaderAndIsrRequest(
    Request, key=4, effect="changes", versions="0-7", flexible="4+", rights={"cluster": "ClusterAction"}
):
    # Node id of the controller that sends the request.
    controller_id = int32()
    # True: a KRaft controller sends the request, during the migration from ZooKeeper.
    is_kraft_controller = boolean(versions="7+", json="isKRaftController")
    # Counts the controllers. A smaller one than the broker knows leads to STALE_CONTROLLER_EPOCH.
    controller_epoch = int32()
    # The epoch that the receiving broker got when it registered. An older one leads to STALE_BROKER_EPOCH. -1: not
    # checked.
    broker_epoch = int64(versions="2+", default=-1, ignorable=True)
    # 0 not specified, 1 only what changed, 2 all partitions of the broker.
    type = int8(versions="5+")
    # Later versions send topic_states instead.
    ungrouped_partition_states = array(PartitionState, versions="0-1")

    class TopicState(Struct):
        topic_name = string(versions="2+")
        # Zero: the topic has no id.
        topic_id = uuid(versions="5+", ignorable=True)
        partition_states = array(PartitionState, versions="2+")

    # Partitions that the broker leads or follows.
    topic_states = array(TopicState, versions="2+")

    class LiveLeader(Struct):
        broker_id = int32()
        # Host on the listener for traffic between brokers.
        host_name = string()
        port = int32()

    # Endpoints of the leaders that the followers fetch from.
    live_leaders = array(LiveLeader)


class PartitionError(Struct):
    # Later versions group the errors by topic id.
    topic_name = string(versions="0-4", ignorable=True)
    partition_index = int32()
    # Error of this partition. 0: no error.
    error_code = int16()


class LeaderAndIsrResponse(Response, key=4, versions="0-7", flexible="4+"):
    # Error of the whole request. 0: no error.
    error_code = int16()
    # One result for each partition of the request.
    partition_errors = array(PartitionError, versions="0-4")

    class TopicError(Struct):
        topic_id = uuid(versions="5+", map_key=True)
        # One result for each partition of the request.
        partition_errors = array(PartitionError, versions="5+")

    # In place of partition_errors.
    topics = array(TopicError, versions="5+")
