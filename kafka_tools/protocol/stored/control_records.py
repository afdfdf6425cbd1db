"""Keys and values of control batches.

The key of every control record is a ControlRecordTypeSchema after its int16 version.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int16, int32, int64, string, struct, uint16, uuid


class ControlRecordTypeSchema(Stored, versions="0"):
    """Key of a control record: the type of its value.

    The node that writes a control batch puts it before the value. A control batch contains no data of users.
    """

    # 0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer, 5 KRaft version, 6 voters. Readers skip
    # types that they do not know.
    type = int16()


class EndTxnMarker(Stored, versions="0"):
    """Value of a commit or abort marker.

    The leader of a partition appends it when the transaction coordinator sends WriteTxnMarkers.
    """

    # Leader epoch of the coordinator's partition of __transaction_state. Leaders refuse markers of an older one.
    coordinator_epoch = int32()


class Voter(Struct):
    # node.id of the controller.
    voter_id = int32()
    # Id of its metadata log directory, which tells a voter with a new disk from the old one.
    voter_directory_id = uuid(versions="1+")


class LeaderChangeMessage(Stored, versions="0-1", flexible="0+"):
    """Value of the first batch of a quorum leader: who voted.

    The new leader of __cluster_metadata writes it at the start of its epoch.

    v1: adds voters[].voter_directory_id, granting_voters[].voter_directory_id.
    """

    # Version of the layout. 1 has directory ids.
    version = int16()
    # Node id of the new leader.
    leader_id = int32()
    # All voters of the epoch.
    voters = array(Voter)
    # The voters that elected the leader, the leader itself among them.
    granting_voters = array(Voter)


class SnapshotHeaderRecord(Stored, versions="0", flexible="0+"):
    """First record of a snapshot.

    The node that takes the snapshot writes it.
    """

    # Always 0.
    version = int16()
    # Append time of the last record that the snapshot covers, in ms since 1970.
    last_contained_log_timestamp = int64()


class SnapshotFooterRecord(Stored, versions="0", flexible="0+"):
    """Last record of a snapshot. Without it the file is not complete.

    The node that takes the snapshot writes it.
    """

    # Always 0.
    version = int16()


class KRaftVersionRecord(Stored, versions="0", flexible="0+"):
    """The kraft.version in force.

    `kafka-storage format` writes it into the first snapshot. The leader writes it after an upgrade of kraft.version.
    """

    # Always 0.
    version = int16()
    # 0: voters come from controller.quorum.voters. 1: from VotersRecord (KIP-853).
    kraft_version = int16(json="kRaftVersion")


class VotersRecord(Stored, versions="0", flexible="0+"):
    """The voters of the metadata quorum (KIP-853).

    `kafka-storage format` writes it into the first snapshot. The leader writes it when a voter is added, removed or
    updated.
    """

    # Always 0.
    version = int16()

    class Voter(Struct):
        # node.id of the controller.
        voter_id = int32()
        # Id of its metadata log directory, which tells a voter with a new disk from the old one.
        voter_directory_id = uuid()

        class Endpoint(Struct):
            # Listener name, one of controller.listener.names.
            name = string(map_key=True)
            # Host name or address.
            host = string()
            port = uint16()

        # Addresses under which other nodes reach the voter.
        endpoints = array(Endpoint)

        class KRaftVersionFeature(Struct):
            # Lowest level, inclusive.
            min_supported_version = int16()
            # Highest level, inclusive.
            max_supported_version = int16()

        # Levels of kraft.version that the voter's software supports. An upgrade needs the level in every voter's range.
        kraft_version_feature = struct(KRaftVersionFeature, json="kRaftVersionFeature")

    # All voters from here on. The record replaces the earlier one.
    voters = array(Voter)
