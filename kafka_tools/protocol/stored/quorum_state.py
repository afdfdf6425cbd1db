"""The ``quorum-state`` file of a KRaft node; stored as JSON."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int32, int64, string, uuid


class QuorumStateData(Stored, versions="0-1", flexible="0+"):
    """Leader, epoch and vote of a quorum node.

    v1: adds voted_directory_id; drops cluster_id, applied_offset, current_voters,
        current_voters[].voter_id.
    """

    cluster_id = string(versions="0")
    leader_id = int32(default=-1)
    leader_epoch = int32(default=-1)
    voted_id = int32(default=-1)
    voted_directory_id = uuid(versions="1+")
    applied_offset = int64(versions="0")

    class Voter(Struct):
        voter_id = int32(versions="0")

    current_voters = array(Voter, versions="0", nullable="0+")
