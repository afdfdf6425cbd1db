"""AssignReplicasToDirs (73): tell the controller in which log directories replicas are.

Sent by KRaft brokers to the active controller (KIP-858).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    STALE_BROKER_EPOCH: the broker is not registered, or has registered again with another epoch.
    UNSUPPORTED_VERSION: the metadata.version of the cluster has no log directory ids.
    BROKER_ID_NOT_REGISTERED: the broker is not registered.
    UNKNOWN_TOPIC_ID: no topic has this id.
    UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist.
    NOT_LEADER_OR_FOLLOWER: the partition has no replica on this broker.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, uuid


class AssignReplicasToDirsRequest(
    Request, key=73, effect="changes", versions="0", flexible="0+", rights={"cluster": "ClusterAction"}
):
    # The broker whose replicas these are.
    broker_id = int32()
    # The epoch that the controller assigned when the broker registered. Another one leads to STALE_BROKER_EPOCH.
    broker_epoch = int64(default=-1)

    class DirectoryData(Struct):
        # Id of a log directory of this broker, from its meta.properties file.
        id = uuid()

        class TopicData(Struct):
            topic_id = uuid()

            class PartitionData(Struct):
                partition_index = int32()

            partitions = array(PartitionData)

        # Partitions whose replica is now in this directory.
        topics = array(TopicData)

    # Only replicas that are new in a directory, not all replicas of the broker.
    directories = array(DirectoryData)


class AssignReplicasToDirsResponse(Response, key=73, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()

    class DirectoryData(Struct):
        id = uuid()

        class TopicData(Struct):
            topic_id = uuid()

            class PartitionData(Struct):
                partition_index = int32()
                # 0: the controller has recorded the directory of this replica.
                error_code = int16()

            partitions = array(PartitionData)

        topics = array(TopicData)

    directories = array(DirectoryData)
