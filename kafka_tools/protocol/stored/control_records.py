"""Keys and values of control batches.

The key of every control record is a ControlRecordTypeSchema after its int16 version.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, int16, int32, int64, string, struct, uint16, uuid


class ControlRecordTypeSchema(Stored, versions="0"):
    """Key: 0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer, 5 KRaft version, 6 voters."""

    type = int16()


class EndTxnMarker(Stored, versions="0"):
    """Value of a commit or abort marker."""

    coordinator_epoch = int32()


class Voter(Struct):
    voter_id = int32()
    voter_directory_id = uuid(versions="1+")


class LeaderChangeMessage(Stored, versions="0-1", flexible="0+"):
    """Value of the first batch of a quorum leader: who voted.

    v1: adds voters[].voter_directory_id, granting_voters[].voter_directory_id.
    """

    version = int16()
    leader_id = int32()
    voters = array(Voter)
    granting_voters = array(Voter)


class SnapshotHeaderRecord(Stored, versions="0", flexible="0+"):
    """First record of a snapshot."""

    version = int16()
    last_contained_log_timestamp = int64()


class SnapshotFooterRecord(Stored, versions="0", flexible="0+"):
    """Last record of a snapshot."""

    version = int16()


class KRaftVersionRecord(Stored, versions="0", flexible="0+"):
    """The kraft.version in force."""

    version = int16()
    kraft_version = int16(json="kRaftVersion")


class VotersRecord(Stored, versions="0", flexible="0+"):
    """The voters of the metadata quorum."""

    version = int16()

    class Voter(Struct):
        voter_id = int32()
        voter_directory_id = uuid()

        class Endpoint(Struct):
            name = string(map_key=True)
            host = string()
            port = uint16()

        endpoints = array(Endpoint)

        class KRaftVersionFeature(Struct):
            min_supported_version = int16()
            max_supported_version = int16()

        kraft_version_feature = struct(KRaftVersionFeature, json="kRaftVersionFeature")

    voters = array(Voter)
