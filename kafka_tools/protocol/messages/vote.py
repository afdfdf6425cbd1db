"""Vote (52): ask for a vote in an election of the leader of the metadata quorum.

Sent by candidates to the other voters (KIP-595).

Versions
    v1: directory ids of voters, and endpoints (KIP-853).
    v2: pre-votes, which do not disturb a leader that the voters can reach (KIP-996).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    INCONSISTENT_CLUSTER_ID: the request names another cluster.
    INVALID_REQUEST: the partition is not __cluster_metadata-0, an id or offset is negative, or the last epoch is too
        new.
    FENCED_LEADER_EPOCH: the epoch of the request is older than the one that the node knows.
    INVALID_VOTER_KEY: the node has another id or another log directory id than the request names (v1).
    INCONSISTENT_VOTER_SET: the candidate is not a voter (Kafka before 3.9).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)


class VoteRequest(
    Request, key=52, effect="changes", versions="0-2", flexible="0+", rights={"cluster": "ClusterAction"}
):
    # Null: not known, and not checked. Any other id leads to INCONSISTENT_CLUSTER_ID.
    cluster_id = string(nullable="0+", default=None)
    # The voter that should receive the request. A node with another id answers INVALID_VOTER_KEY. -1: not checked.
    voter_id = int32(versions="1+", default=-1, ignorable=True)

    class TopicData(Struct):
        # Always __cluster_metadata.
        topic_name = string()

        class PartitionData(Struct):
            # Always 0.
            partition_index = int32()
            # Epoch for which the candidate wants the vote. An older one than the node knows leads to
            # FENCED_LEADER_EPOCH.
            replica_epoch = int32()
            # The candidate, which sends the request.
            replica_id = int32()
            # Id of the metadata log directory of the candidate. Zero: not known.
            replica_directory_id = uuid(versions="1+", ignorable=True)
            # Log directory id of the voter that should receive the request. Zero: not known, and not checked.
            voter_directory_id = uuid(versions="1+", ignorable=True)
            # Epoch of the last record in the log of the candidate. It must be below replica_epoch, or with pre_vote not
            # above it.
            last_offset_epoch = int32()
            # End offset of the log of the candidate. A voter rejects a candidate whose log is behind its own.
            last_offset = int64()
            # True: ask whether the candidate would win, without a change of the voter's epoch or vote. False: a real
            # vote.
            pre_vote = boolean(versions="2+")

        partitions = array(PartitionData)

    # Exactly one partition. Anything else leads to INVALID_REQUEST.
    topics = array(TopicData)


class VoteResponse(Response, key=52, versions="0-2", flexible="0+"):
    # Error of the whole request. 0: no error.
    error_code = int16()

    class TopicData(Struct):
        topic_name = string()

        class PartitionData(Struct):
            partition_index = int32()
            # Error of this partition. 0: no error, but the vote may still be refused.
            error_code = int16()
            # The leader that the answering node follows. -1: none.
            leader_id = int32()
            # Newest epoch that the answering node knows. A higher one ends the candidacy.
            leader_epoch = int32()
            # True: the node votes for the candidate. A majority of the voters elects it.
            vote_granted = boolean()

        partitions = array(PartitionData)

    topics = array(TopicData)

    class NodeEndpoint(Struct):
        # The node that leader_id names.
        node_id = int32(versions="1+", map_key=True)
        host = string(versions="1+")
        port = uint16(versions="1+")

    # Where to reach the leader that the partition names. Empty if there is no leader.
    node_endpoints = array(NodeEndpoint, versions="1+", tag=0)
