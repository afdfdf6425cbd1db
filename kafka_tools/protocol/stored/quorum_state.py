"""The ``quorum-state`` file of a KRaft node; stored as JSON."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int32, int64, string, uuid


class QuorumStateData(Stored, versions="0-1", flexible="0+"):
    """Election state of a node of the metadata quorum, which must survive a restart.

    Each controller and broker writes the file before it votes or follows in a new epoch.

    v1: adds voted_directory_id; drops cluster_id, applied_offset and current_voters (KIP-853).
    """

    # Always empty: meta.properties has it.
    cluster_id = string(versions="0")
    # Node id. -1: the leader of the epoch is not known.
    leader_id = int32(default=-1)
    # Newest epoch that the node has seen.
    leader_epoch = int32(default=-1)
    # Node that received this node's vote in the epoch. -1: none.
    voted_id = int32(default=-1)
    # Directory id of that candidate. Zero: none.
    voted_directory_id = uuid(versions="1+")
    # Always 0.
    applied_offset = int64(versions="0")

    class Voter(Struct):
        # Node id, as in controller.quorum.voters.
        voter_id = int32(versions="0")

    # The voters when the file was written.
    current_voters = array(Voter, versions="0", nullable="0+")
