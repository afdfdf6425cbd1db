"""The Kafka 2.2 protocol guide: API keys and ranges, newest layouts, error codes, as data of one line each.

Layouts are the guide's: types in wire order, ``[...]`` an array. They have no names: those are not on the wire, and
the guide calls many fields differently from Kafka's definitions, whose names ``test_definitions.py`` compares.
"""

from __future__ import annotations

import pytest

from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.codec_source import is_inline
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.releases import max_versions
from kafka_tools.protocol.schema import Struct
from kafka_tools.protocol.stored.group_metadata import MemberMetadata

RENAMED = {"ElectPreferredLeaders": "ElectLeaders"}
RETRIABLE_SINCE = {9, 51}
"""Codes whose flag changed after 2.2: the flags are those of 4.3.1 (docs/decisions.md)."""

# key, name, oldest, newest, first version with throttle_time_ms and its place
APIS = [
    pytest.param(0, "Produce", 0, 7, "v1, LAST", marks=pytest.mark.req("PROTO-K0"), id="Produce"),
    pytest.param(1, "Fetch", 0, 10, "v1, first", marks=pytest.mark.req("PROTO-K1"), id="Fetch"),
    pytest.param(2, "ListOffsets", 0, 5, "v2, first", marks=pytest.mark.req("PROTO-K2"), id="ListOffsets"),
    pytest.param(3, "Metadata", 0, 7, "v3, first", marks=pytest.mark.req("PROTO-K3"), id="Metadata"),
    pytest.param(4, "LeaderAndIsr", 0, 2, "none", marks=pytest.mark.req("PROTO-K4"), id="LeaderAndIsr"),
    pytest.param(5, "StopReplica", 0, 1, "none", marks=pytest.mark.req("PROTO-K5"), id="StopReplica"),
    pytest.param(6, "UpdateMetadata", 0, 5, "none", marks=pytest.mark.req("PROTO-K6"), id="UpdateMetadata"),
    pytest.param(7, "ControlledShutdown", 0, 2, "none", marks=pytest.mark.req("PROTO-K7"), id="ControlledShutdown"),
    pytest.param(8, "OffsetCommit", 0, 6, "v3, first", marks=pytest.mark.req("PROTO-K8"), id="OffsetCommit"),
    pytest.param(9, "OffsetFetch", 0, 5, "v3, first", marks=pytest.mark.req("PROTO-K9"), id="OffsetFetch"),
    pytest.param(10, "FindCoordinator", 0, 2, "v1, first", marks=pytest.mark.req("PROTO-K10"), id="FindCoordinator"),
    pytest.param(11, "JoinGroup", 0, 4, "v2, first", marks=pytest.mark.req("PROTO-K11"), id="JoinGroup"),
    pytest.param(12, "Heartbeat", 0, 2, "v1, first", marks=pytest.mark.req("PROTO-K12"), id="Heartbeat"),
    pytest.param(13, "LeaveGroup", 0, 2, "v1, first", marks=pytest.mark.req("PROTO-K13"), id="LeaveGroup"),
    pytest.param(14, "SyncGroup", 0, 2, "v1, first", marks=pytest.mark.req("PROTO-K14"), id="SyncGroup"),
    pytest.param(15, "DescribeGroups", 0, 2, "v1, first", marks=pytest.mark.req("PROTO-K15"), id="DescribeGroups"),
    pytest.param(16, "ListGroups", 0, 2, "v1, first", marks=pytest.mark.req("PROTO-K16"), id="ListGroups"),
    pytest.param(17, "SaslHandshake", 0, 1, "none", marks=pytest.mark.req("PROTO-K17"), id="SaslHandshake"),
    pytest.param(18, "ApiVersions", 0, 2, "v1, LAST", marks=pytest.mark.req("PROTO-K18"), id="ApiVersions"),
    pytest.param(19, "CreateTopics", 0, 3, "v2, first", marks=pytest.mark.req("PROTO-K19"), id="CreateTopics"),
    pytest.param(20, "DeleteTopics", 0, 3, "v1, first", marks=pytest.mark.req("PROTO-K20"), id="DeleteTopics"),
    pytest.param(21, "DeleteRecords", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K21"), id="DeleteRecords"),
    pytest.param(22, "InitProducerId", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K22"), id="InitProducerId"),
    pytest.param(
        23, "OffsetForLeaderEpoch", 0, 2, "v2, first", marks=pytest.mark.req("PROTO-K23"), id="OffsetForLeaderEpoch"
    ),
    pytest.param(
        24, "AddPartitionsToTxn", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K24"), id="AddPartitionsToTxn"
    ),
    pytest.param(25, "AddOffsetsToTxn", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K25"), id="AddOffsetsToTxn"),
    pytest.param(26, "EndTxn", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K26"), id="EndTxn"),
    pytest.param(27, "WriteTxnMarkers", 0, 0, "none", marks=pytest.mark.req("PROTO-K27"), id="WriteTxnMarkers"),
    pytest.param(28, "TxnOffsetCommit", 0, 2, "v0, first", marks=pytest.mark.req("PROTO-K28"), id="TxnOffsetCommit"),
    pytest.param(29, "DescribeAcls", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K29"), id="DescribeAcls"),
    pytest.param(30, "CreateAcls", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K30"), id="CreateAcls"),
    pytest.param(31, "DeleteAcls", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K31"), id="DeleteAcls"),
    pytest.param(32, "DescribeConfigs", 0, 2, "v0, first", marks=pytest.mark.req("PROTO-K32"), id="DescribeConfigs"),
    pytest.param(33, "AlterConfigs", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K33"), id="AlterConfigs"),
    pytest.param(
        34, "AlterReplicaLogDirs", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K34"), id="AlterReplicaLogDirs"
    ),
    pytest.param(35, "DescribeLogDirs", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K35"), id="DescribeLogDirs"),
    pytest.param(36, "SaslAuthenticate", 0, 1, "none", marks=pytest.mark.req("PROTO-K36"), id="SaslAuthenticate"),
    pytest.param(37, "CreatePartitions", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K37"), id="CreatePartitions"),
    pytest.param(
        38, "CreateDelegationToken", 0, 1, "v0, LAST", marks=pytest.mark.req("PROTO-K38"), id="CreateDelegationToken"
    ),
    pytest.param(
        39, "RenewDelegationToken", 0, 1, "v0, LAST", marks=pytest.mark.req("PROTO-K39"), id="RenewDelegationToken"
    ),
    pytest.param(
        40, "ExpireDelegationToken", 0, 1, "v0, LAST", marks=pytest.mark.req("PROTO-K40"), id="ExpireDelegationToken"
    ),
    pytest.param(
        41,
        "DescribeDelegationToken",
        0,
        1,
        "v0, LAST",
        marks=pytest.mark.req("PROTO-K41"),
        id="DescribeDelegationToken",
    ),
    pytest.param(42, "DeleteGroups", 0, 1, "v0, first", marks=pytest.mark.req("PROTO-K42"), id="DeleteGroups"),
    pytest.param(
        43, "ElectPreferredLeaders", 0, 0, "v0, first", marks=pytest.mark.req("PROTO-K43"), id="ElectPreferredLeaders"
    ),
]

CHANGES = {
    "Produce": ("v3 +transactional_id", "v1 +throttle_time_ms, v2 +log_append_time_ms, v5 +log_start_offset", 6),
    "Fetch": (
        "v3 +max_bytes, v4 +isolation_level, v5 +log_start_offset, v7 +session_id +session_epoch "
        "+forgotten_topics_data, v9 +current_leader_epoch",
        "v1 +throttle_time_ms, v4 +last_stable_offset +aborted_transactions, v5 +log_start_offset, v7 +error_code "
        "+session_id",
        8,
    ),
    "ListOffsets": (
        "v1 -max_num_offsets, v2 +isolation_level, v4 +current_leader_epoch",
        "v1 -old_style_offsets +timestamp +offset, v2 +throttle_time_ms, v4 +leader_epoch",
        3,
    ),
    "Metadata": (
        "v1 topics?, v4 +allow_auto_topic_creation",
        "v1 +rack +controller_id +is_internal, v2 +cluster_id, v3 +throttle_time_ms, v5 +offline_replicas, "
        "v7 +leader_epoch",
        6,
    ),
    "LeaderAndIsr": ("v1 +is_new, v2 -ungrouped_partition_states +broker_epoch +topic_states", "", None),
    "StopReplica": ("v1 -ungrouped_partitions +broker_epoch +topics", "", None),
    "UpdateMetadata": (
        "v1 -v0_host -v0_port +endpoints, v2 +rack, v3 +listener, v4 +offline_replicas, v5 -ungrouped_partition_states "
        "+broker_epoch +topic_states",
        "",
        None,
    ),
    "ControlledShutdown": ("v2 +broker_epoch", "", None),
    "OffsetCommit": (
        "v1 +generation_id_or_member_epoch +member_id +commit_timestamp, v2 -commit_timestamp +retention_time_ms, "
        "v5 -retention_time_ms, v6 +committed_leader_epoch",
        "v3 +throttle_time_ms",
        4,
    ),
    "OffsetFetch": ("v2 topics?", "v2 +error_code, v3 +throttle_time_ms, v5 +committed_leader_epoch", 4),
    "FindCoordinator": ("v1 +key_type", "v1 +throttle_time_ms +error_message", 2),
    "JoinGroup": ("v1 +rebalance_timeout_ms", "v2 +throttle_time_ms", 3),
    "Heartbeat": ("", "v1 +throttle_time_ms", 2),
    "LeaveGroup": ("", "v1 +throttle_time_ms", 2),
    "SyncGroup": ("", "v1 +throttle_time_ms", 2),
    "DescribeGroups": ("", "v1 +throttle_time_ms", 2),
    "ListGroups": ("", "v1 +throttle_time_ms", 2),
    "SaslHandshake": ("", "", None),
    "ApiVersions": ("", "v1 +throttle_time_ms", 2),
    "CreateTopics": ("v1 +validate_only", "v1 +error_message, v2 +throttle_time_ms", 3),
    "DeleteTopics": ("", "v1 +throttle_time_ms", 2),
    "DeleteRecords": ("", "", 1),
    "InitProducerId": ("", "", 1),
    "OffsetForLeaderEpoch": ("v2 +current_leader_epoch", "v1 +leader_epoch, v2 +throttle_time_ms", 2),
    "AddPartitionsToTxn": ("", "", 1),
    "AddOffsetsToTxn": ("", "", 1),
    "EndTxn": ("", "", 1),
    "WriteTxnMarkers": ("", "", None),
    "TxnOffsetCommit": ("v2 +committed_leader_epoch", "", 1),
    "DescribeAcls": ("v1 +pattern_type_filter", "v1 +pattern_type", 1),
    "CreateAcls": ("v1 +resource_pattern_type", "", 1),
    "DeleteAcls": ("v1 +pattern_type_filter", "v1 +pattern_type", 1),
    "DescribeConfigs": ("v1 +include_synonyms", "v1 -is_default +config_source +synonyms", 2),
    "AlterConfigs": ("", "", 1),
    "AlterReplicaLogDirs": ("", "", 1),
    "DescribeLogDirs": ("", "", 1),
    "SaslAuthenticate": ("", "v1 +session_lifetime_ms", None),
    "CreatePartitions": ("", "", 1),
    "CreateDelegationToken": ("", "", 1),
    "RenewDelegationToken": ("", "", 1),
    "ExpireDelegationToken": ("", "", 1),
    "DescribeDelegationToken": ("", "", 1),
    "DeleteGroups": ("", "", 1),
    "ElectPreferredLeaders": ("", "", 0),
}
"""Name -> what each version changed in request and response, and the first one after which clients hold back.

``+`` a field that is new, ``-`` one that is gone, ``?`` one that may be null from then on. A structure that is new or
gone stands for its fields.
"""

# name, direction, version, types in wire order
LAYOUTS = [
    pytest.param(
        "Produce",
        "request",
        7,
        "NULLABLE_STRING INT16 INT32 [STRING [INT32 RECORDS]]",
        marks=pytest.mark.req("PROTO-L0q"),
        id="Produce-request-v7",
    ),
    pytest.param(
        "Produce",
        "response",
        7,
        "[STRING [INT32 INT16 INT64 INT64 INT64]] INT32",
        marks=pytest.mark.req("PROTO-L0r"),
        id="Produce-response-v7",
    ),
    pytest.param(
        "Fetch",
        "request",
        10,
        ("INT32 INT32 INT32 INT32 INT8 INT32 INT32 [STRING [INT32 INT32 INT64 INT64 INT32]] [STRING [INT32]]"),
        marks=pytest.mark.req("PROTO-L1q"),
        id="Fetch-request-v10",
    ),
    pytest.param(
        "Fetch",
        "response",
        10,
        ("INT32 INT16 INT32 [STRING [INT32 INT16 INT64 INT64 INT64 [INT64 INT64] RECORDS]]"),
        marks=pytest.mark.req("PROTO-L1r"),
        id="Fetch-response-v10",
    ),
    pytest.param(
        "ListOffsets",
        "request",
        5,
        "INT32 INT8 [STRING [INT32 INT32 INT64]]",
        marks=pytest.mark.req("PROTO-L2q"),
        id="ListOffsets-request-v5",
    ),
    pytest.param(
        "ListOffsets",
        "response",
        5,
        "INT32 [STRING [INT32 INT16 INT64 INT64 INT32]]",
        marks=pytest.mark.req("PROTO-L2r"),
        id="ListOffsets-response-v5",
    ),
    pytest.param(
        "Metadata",
        "request",
        7,
        "[STRING] BOOLEAN",
        marks=pytest.mark.req("PROTO-L3q"),
        id="Metadata-request-v7",
    ),
    pytest.param(
        "Metadata",
        "response",
        7,
        (
            "INT32 [INT32 STRING INT32 NULLABLE_STRING] NULLABLE_STRING INT32 [INT16 STRING BOOLEAN [INT16 INT32 "
            "INT32 INT32 [INT32] [INT32] [INT32]]]"
        ),
        marks=pytest.mark.req("PROTO-L3r"),
        id="Metadata-response-v7",
    ),
    pytest.param(
        "LeaderAndIsr",
        "request",
        2,
        ("INT32 INT32 INT64 [STRING [INT32 INT32 INT32 INT32 [INT32] INT32 [INT32] BOOLEAN]] [INT32 STRING INT32]"),
        marks=pytest.mark.req("PROTO-L4q"),
        id="LeaderAndIsr-request-v2",
    ),
    pytest.param(
        "LeaderAndIsr",
        "response",
        2,
        "INT16 [STRING INT32 INT16]",
        marks=pytest.mark.req("PROTO-L4r"),
        id="LeaderAndIsr-response-v2",
    ),
    pytest.param(
        "StopReplica",
        "request",
        1,
        "INT32 INT32 INT64 BOOLEAN [STRING [INT32]]",
        marks=pytest.mark.req("PROTO-L5q"),
        id="StopReplica-request-v1",
    ),
    pytest.param(
        "StopReplica",
        "response",
        1,
        "INT16 [STRING INT32 INT16]",
        marks=pytest.mark.req("PROTO-L5r"),
        id="StopReplica-response-v1",
    ),
    pytest.param(
        "UpdateMetadata",
        "request",
        5,
        (
            "INT32 INT32 INT64 [STRING [INT32 INT32 INT32 INT32 [INT32] INT32 [INT32] [INT32]]] [INT32 [INT32 "
            "STRING STRING INT16] NULLABLE_STRING]"
        ),
        marks=pytest.mark.req("PROTO-L6q"),
        id="UpdateMetadata-request-v5",
    ),
    pytest.param(
        "UpdateMetadata",
        "response",
        5,
        "INT16",
        marks=pytest.mark.req("PROTO-L6r"),
        id="UpdateMetadata-response-v5",
    ),
    pytest.param(
        "ControlledShutdown",
        "request",
        2,
        "INT32 INT64",
        marks=pytest.mark.req("PROTO-L7q"),
        id="ControlledShutdown-request-v2",
    ),
    pytest.param(
        "ControlledShutdown",
        "response",
        2,
        "INT16 [STRING INT32]",
        marks=pytest.mark.req("PROTO-L7r"),
        id="ControlledShutdown-response-v2",
    ),
    pytest.param(
        "OffsetCommit",
        "request",
        6,
        ("STRING INT32 STRING [STRING [INT32 INT64 INT32 NULLABLE_STRING]]"),
        marks=pytest.mark.req("PROTO-L8q"),
        id="OffsetCommit-request-v6",
    ),
    pytest.param(
        "OffsetCommit",
        "response",
        6,
        "INT32 [STRING [INT32 INT16]]",
        marks=pytest.mark.req("PROTO-L8r"),
        id="OffsetCommit-response-v6",
    ),
    pytest.param(
        "OffsetFetch",
        "request",
        5,
        "STRING [STRING [INT32]]",
        marks=pytest.mark.req("PROTO-L9q"),
        id="OffsetFetch-request-v5",
    ),
    pytest.param(
        "OffsetFetch",
        "response",
        5,
        ("INT32 [STRING [INT32 INT64 INT32 NULLABLE_STRING INT16]] INT16"),
        marks=pytest.mark.req("PROTO-L9r"),
        id="OffsetFetch-response-v5",
    ),
    pytest.param(
        "FindCoordinator",
        "request",
        2,
        "STRING INT8",
        marks=pytest.mark.req("PROTO-L10q"),
        id="FindCoordinator-request-v2",
    ),
    pytest.param(
        "FindCoordinator",
        "response",
        2,
        "INT32 INT16 NULLABLE_STRING INT32 STRING INT32",
        marks=pytest.mark.req("PROTO-L10r"),
        id="FindCoordinator-response-v2",
    ),
    pytest.param(
        "JoinGroup",
        "request",
        4,
        "STRING INT32 INT32 STRING STRING [STRING BYTES]",
        marks=pytest.mark.req("PROTO-L11q"),
        id="JoinGroup-request-v4",
    ),
    pytest.param(
        "JoinGroup",
        "response",
        4,
        "INT32 INT16 INT32 STRING STRING STRING [STRING BYTES]",
        marks=pytest.mark.req("PROTO-L11r"),
        id="JoinGroup-response-v4",
    ),
    pytest.param(
        "Heartbeat",
        "request",
        2,
        "STRING INT32 STRING",
        marks=pytest.mark.req("PROTO-L12q"),
        id="Heartbeat-request-v2",
    ),
    pytest.param(
        "Heartbeat",
        "response",
        2,
        "INT32 INT16",
        marks=pytest.mark.req("PROTO-L12r"),
        id="Heartbeat-response-v2",
    ),
    pytest.param(
        "LeaveGroup",
        "request",
        2,
        "STRING STRING",
        marks=pytest.mark.req("PROTO-L13q"),
        id="LeaveGroup-request-v2",
    ),
    pytest.param(
        "LeaveGroup",
        "response",
        2,
        "INT32 INT16",
        marks=pytest.mark.req("PROTO-L13r"),
        id="LeaveGroup-response-v2",
    ),
    pytest.param(
        "SyncGroup",
        "request",
        2,
        "STRING INT32 STRING [STRING BYTES]",
        marks=pytest.mark.req("PROTO-L14q"),
        id="SyncGroup-request-v2",
    ),
    pytest.param(
        "SyncGroup",
        "response",
        2,
        "INT32 INT16 BYTES",
        marks=pytest.mark.req("PROTO-L14r"),
        id="SyncGroup-response-v2",
    ),
    pytest.param(
        "DescribeGroups",
        "request",
        2,
        "[STRING]",
        marks=pytest.mark.req("PROTO-L15q"),
        id="DescribeGroups-request-v2",
    ),
    pytest.param(
        "DescribeGroups",
        "response",
        2,
        ("INT32 [INT16 STRING STRING STRING STRING [STRING STRING STRING BYTES BYTES]]"),
        marks=pytest.mark.req("PROTO-L15r"),
        id="DescribeGroups-response-v2",
    ),
    pytest.param(
        "ListGroups",
        "request",
        2,
        "",
        marks=pytest.mark.req("PROTO-L16q"),
        id="ListGroups-request-v2",
    ),
    pytest.param(
        "ListGroups",
        "response",
        2,
        "INT32 INT16 [STRING STRING]",
        marks=pytest.mark.req("PROTO-L16r"),
        id="ListGroups-response-v2",
    ),
    pytest.param(
        "SaslHandshake",
        "request",
        1,
        "STRING",
        marks=pytest.mark.req("PROTO-L17q"),
        id="SaslHandshake-request-v1",
    ),
    pytest.param(
        "SaslHandshake",
        "response",
        1,
        "INT16 [STRING]",
        marks=pytest.mark.req("PROTO-L17r"),
        id="SaslHandshake-response-v1",
    ),
    pytest.param(
        "ApiVersions",
        "request",
        2,
        "",
        marks=pytest.mark.req("PROTO-L18q"),
        id="ApiVersions-request-v2",
    ),
    pytest.param(
        "ApiVersions",
        "response",
        2,
        "INT16 [INT16 INT16 INT16] INT32",
        marks=pytest.mark.req("PROTO-L18r"),
        id="ApiVersions-response-v2",
    ),
    pytest.param(
        "CreateTopics",
        "request",
        3,
        ("[STRING INT32 INT16 [INT32 [INT32]] [STRING NULLABLE_STRING]] INT32 BOOLEAN"),
        marks=pytest.mark.req("PROTO-L19q"),
        id="CreateTopics-request-v3",
    ),
    pytest.param(
        "CreateTopics",
        "response",
        3,
        "INT32 [STRING INT16 NULLABLE_STRING]",
        marks=pytest.mark.req("PROTO-L19r"),
        id="CreateTopics-response-v3",
    ),
    pytest.param(
        "DeleteTopics",
        "request",
        3,
        "[STRING] INT32",
        marks=pytest.mark.req("PROTO-L20q"),
        id="DeleteTopics-request-v3",
    ),
    pytest.param(
        "DeleteTopics",
        "response",
        3,
        "INT32 [STRING INT16]",
        marks=pytest.mark.req("PROTO-L20r"),
        id="DeleteTopics-response-v3",
    ),
    pytest.param(
        "DeleteRecords",
        "request",
        1,
        "[STRING [INT32 INT64]] INT32",
        marks=pytest.mark.req("PROTO-L21q"),
        id="DeleteRecords-request-v1",
    ),
    pytest.param(
        "DeleteRecords",
        "response",
        1,
        "INT32 [STRING [INT32 INT64 INT16]]",
        marks=pytest.mark.req("PROTO-L21r"),
        id="DeleteRecords-response-v1",
    ),
    pytest.param(
        "InitProducerId",
        "request",
        1,
        "NULLABLE_STRING INT32",
        marks=pytest.mark.req("PROTO-L22q"),
        id="InitProducerId-request-v1",
    ),
    pytest.param(
        "InitProducerId",
        "response",
        1,
        "INT32 INT16 INT64 INT16",
        marks=pytest.mark.req("PROTO-L22r"),
        id="InitProducerId-response-v1",
    ),
    pytest.param(
        "OffsetForLeaderEpoch",
        "request",
        2,
        "[STRING [INT32 INT32 INT32]]",
        marks=pytest.mark.req("PROTO-L23q"),
        id="OffsetForLeaderEpoch-request-v2",
    ),
    pytest.param(
        "OffsetForLeaderEpoch",
        "response",
        2,
        "INT32 [STRING [INT16 INT32 INT32 INT64]]",
        marks=pytest.mark.req("PROTO-L23r"),
        id="OffsetForLeaderEpoch-response-v2",
    ),
    pytest.param(
        "AddPartitionsToTxn",
        "request",
        1,
        "STRING INT64 INT16 [STRING [INT32]]",
        marks=pytest.mark.req("PROTO-L24q"),
        id="AddPartitionsToTxn-request-v1",
    ),
    pytest.param(
        "AddPartitionsToTxn",
        "response",
        1,
        "INT32 [STRING [INT32 INT16]]",
        marks=pytest.mark.req("PROTO-L24r"),
        id="AddPartitionsToTxn-response-v1",
    ),
    pytest.param(
        "AddOffsetsToTxn",
        "request",
        1,
        "STRING INT64 INT16 STRING",
        marks=pytest.mark.req("PROTO-L25q"),
        id="AddOffsetsToTxn-request-v1",
    ),
    pytest.param(
        "AddOffsetsToTxn",
        "response",
        1,
        "INT32 INT16",
        marks=pytest.mark.req("PROTO-L25r"),
        id="AddOffsetsToTxn-response-v1",
    ),
    pytest.param(
        "EndTxn",
        "request",
        1,
        "STRING INT64 INT16 BOOLEAN",
        marks=pytest.mark.req("PROTO-L26q"),
        id="EndTxn-request-v1",
    ),
    pytest.param(
        "EndTxn",
        "response",
        1,
        "INT32 INT16",
        marks=pytest.mark.req("PROTO-L26r"),
        id="EndTxn-response-v1",
    ),
    pytest.param(
        "WriteTxnMarkers",
        "request",
        0,
        "[INT64 INT16 BOOLEAN [STRING [INT32]] INT32]",
        marks=pytest.mark.req("PROTO-L27q"),
        id="WriteTxnMarkers-request-v0",
    ),
    pytest.param(
        "WriteTxnMarkers",
        "response",
        0,
        "[INT64 [STRING [INT32 INT16]]]",
        marks=pytest.mark.req("PROTO-L27r"),
        id="WriteTxnMarkers-response-v0",
    ),
    pytest.param(
        "TxnOffsetCommit",
        "request",
        2,
        ("STRING STRING INT64 INT16 [STRING [INT32 INT64 INT32 NULLABLE_STRING]]"),
        marks=pytest.mark.req("PROTO-L28q"),
        id="TxnOffsetCommit-request-v2",
    ),
    pytest.param(
        "TxnOffsetCommit",
        "response",
        2,
        "INT32 [STRING [INT32 INT16]]",
        marks=pytest.mark.req("PROTO-L28r"),
        id="TxnOffsetCommit-response-v2",
    ),
    pytest.param(
        "DescribeAcls",
        "request",
        1,
        ("INT8 NULLABLE_STRING INT8 NULLABLE_STRING NULLABLE_STRING INT8 INT8"),
        marks=pytest.mark.req("PROTO-L29q"),
        id="DescribeAcls-request-v1",
    ),
    pytest.param(
        "DescribeAcls",
        "response",
        1,
        ("INT32 INT16 NULLABLE_STRING [INT8 STRING INT8 [STRING STRING INT8 INT8]]"),
        marks=pytest.mark.req("PROTO-L29r"),
        id="DescribeAcls-response-v1",
    ),
    pytest.param(
        "CreateAcls",
        "request",
        1,
        "[INT8 STRING INT8 STRING STRING INT8 INT8]",
        marks=pytest.mark.req("PROTO-L30q"),
        id="CreateAcls-request-v1",
    ),
    pytest.param(
        "CreateAcls",
        "response",
        1,
        "INT32 [INT16 NULLABLE_STRING]",
        marks=pytest.mark.req("PROTO-L30r"),
        id="CreateAcls-response-v1",
    ),
    pytest.param(
        "DeleteAcls",
        "request",
        1,
        ("[INT8 NULLABLE_STRING INT8 NULLABLE_STRING NULLABLE_STRING INT8 INT8]"),
        marks=pytest.mark.req("PROTO-L31q"),
        id="DeleteAcls-request-v1",
    ),
    pytest.param(
        "DeleteAcls",
        "response",
        1,
        ("INT32 [INT16 NULLABLE_STRING [INT16 NULLABLE_STRING INT8 STRING INT8 STRING STRING INT8 INT8]]"),
        marks=pytest.mark.req("PROTO-L31r"),
        id="DeleteAcls-response-v1",
    ),
    pytest.param(
        "DescribeConfigs",
        "request",
        2,
        "[INT8 STRING [STRING]] BOOLEAN",
        marks=pytest.mark.req("PROTO-L32q"),
        id="DescribeConfigs-request-v2",
    ),
    pytest.param(
        "DescribeConfigs",
        "response",
        2,
        (
            "INT32 [INT16 NULLABLE_STRING INT8 STRING [STRING NULLABLE_STRING BOOLEAN INT8 BOOLEAN [STRING "
            "NULLABLE_STRING INT8]]]"
        ),
        marks=pytest.mark.req("PROTO-L32r"),
        id="DescribeConfigs-response-v2",
    ),
    pytest.param(
        "AlterConfigs",
        "request",
        1,
        "[INT8 STRING [STRING NULLABLE_STRING]] BOOLEAN",
        marks=pytest.mark.req("PROTO-L33q"),
        id="AlterConfigs-request-v1",
    ),
    pytest.param(
        "AlterConfigs",
        "response",
        1,
        "INT32 [INT16 NULLABLE_STRING INT8 STRING]",
        marks=pytest.mark.req("PROTO-L33r"),
        id="AlterConfigs-response-v1",
    ),
    pytest.param(
        "AlterReplicaLogDirs",
        "request",
        1,
        "[STRING [STRING [INT32]]]",
        marks=pytest.mark.req("PROTO-L34q"),
        id="AlterReplicaLogDirs-request-v1",
    ),
    pytest.param(
        "AlterReplicaLogDirs",
        "response",
        1,
        "INT32 [STRING [INT32 INT16]]",
        marks=pytest.mark.req("PROTO-L34r"),
        id="AlterReplicaLogDirs-response-v1",
    ),
    pytest.param(
        "DescribeLogDirs",
        "request",
        1,
        "[STRING [INT32]]",
        marks=pytest.mark.req("PROTO-L35q"),
        id="DescribeLogDirs-request-v1",
    ),
    pytest.param(
        "DescribeLogDirs",
        "response",
        1,
        "INT32 [INT16 STRING [STRING [INT32 INT64 INT64 BOOLEAN]]]",
        marks=pytest.mark.req("PROTO-L35r"),
        id="DescribeLogDirs-response-v1",
    ),
    pytest.param(
        "SaslAuthenticate",
        "request",
        1,
        "BYTES",
        marks=pytest.mark.req("PROTO-L36q"),
        id="SaslAuthenticate-request-v1",
    ),
    pytest.param(
        "SaslAuthenticate",
        "response",
        1,
        "INT16 NULLABLE_STRING BYTES INT64",
        marks=pytest.mark.req("PROTO-L36r"),
        id="SaslAuthenticate-response-v1",
    ),
    pytest.param(
        "CreatePartitions",
        "request",
        1,
        "[STRING INT32 [[INT32]]] INT32 BOOLEAN",
        marks=pytest.mark.req("PROTO-L37q"),
        id="CreatePartitions-request-v1",
    ),
    pytest.param(
        "CreatePartitions",
        "response",
        1,
        "INT32 [STRING INT16 NULLABLE_STRING]",
        marks=pytest.mark.req("PROTO-L37r"),
        id="CreatePartitions-response-v1",
    ),
    pytest.param(
        "CreateDelegationToken",
        "request",
        1,
        "[STRING STRING] INT64",
        marks=pytest.mark.req("PROTO-L38q"),
        id="CreateDelegationToken-request-v1",
    ),
    pytest.param(
        "CreateDelegationToken",
        "response",
        1,
        "INT16 STRING STRING INT64 INT64 INT64 STRING BYTES INT32",
        marks=pytest.mark.req("PROTO-L38r"),
        id="CreateDelegationToken-response-v1",
    ),
    pytest.param(
        "RenewDelegationToken",
        "request",
        1,
        "BYTES INT64",
        marks=pytest.mark.req("PROTO-L39q"),
        id="RenewDelegationToken-request-v1",
    ),
    pytest.param(
        "RenewDelegationToken",
        "response",
        1,
        "INT16 INT64 INT32",
        marks=pytest.mark.req("PROTO-L39r"),
        id="RenewDelegationToken-response-v1",
    ),
    pytest.param(
        "ExpireDelegationToken",
        "request",
        1,
        "BYTES INT64",
        marks=pytest.mark.req("PROTO-L40q"),
        id="ExpireDelegationToken-request-v1",
    ),
    pytest.param(
        "ExpireDelegationToken",
        "response",
        1,
        "INT16 INT64 INT32",
        marks=pytest.mark.req("PROTO-L40r"),
        id="ExpireDelegationToken-response-v1",
    ),
    pytest.param(
        "DescribeDelegationToken",
        "request",
        1,
        "[STRING STRING]",
        marks=pytest.mark.req("PROTO-L41q"),
        id="DescribeDelegationToken-request-v1",
    ),
    pytest.param(
        "DescribeDelegationToken",
        "response",
        1,
        ("INT16 [STRING STRING INT64 INT64 INT64 STRING BYTES [STRING STRING]] INT32"),
        marks=pytest.mark.req("PROTO-L41r"),
        id="DescribeDelegationToken-response-v1",
    ),
    pytest.param(
        "DeleteGroups",
        "request",
        1,
        "[STRING]",
        marks=pytest.mark.req("PROTO-L42q"),
        id="DeleteGroups-request-v1",
    ),
    pytest.param(
        "DeleteGroups",
        "response",
        1,
        "INT32 [STRING INT16]",
        marks=pytest.mark.req("PROTO-L42r"),
        id="DeleteGroups-response-v1",
    ),
    pytest.param(
        "ElectPreferredLeaders",
        "request",
        0,
        "[STRING [INT32]] INT32",
        marks=pytest.mark.req("PROTO-L43q"),
        id="ElectPreferredLeaders-request-v0",
    ),
    pytest.param(
        "ElectPreferredLeaders",
        "response",
        0,
        "INT32 [STRING [INT32 INT16 NULLABLE_STRING]]",
        marks=pytest.mark.req("PROTO-L43r"),
        id="ElectPreferredLeaders-response-v0",
    ),
]

# code, name, retriable
ERRORS = [
    pytest.param(-1, "UNKNOWN_SERVER_ERROR", False, marks=pytest.mark.req("PROTO-Em1"), id="UNKNOWN_SERVER_ERROR"),
    pytest.param(0, "NONE", False, marks=pytest.mark.req("PROTO-E0"), id="NONE"),
    pytest.param(1, "OFFSET_OUT_OF_RANGE", False, marks=pytest.mark.req("PROTO-E1"), id="OFFSET_OUT_OF_RANGE"),
    pytest.param(2, "CORRUPT_MESSAGE", True, marks=pytest.mark.req("PROTO-E2"), id="CORRUPT_MESSAGE"),
    pytest.param(
        3, "UNKNOWN_TOPIC_OR_PARTITION", True, marks=pytest.mark.req("PROTO-E3"), id="UNKNOWN_TOPIC_OR_PARTITION"
    ),
    pytest.param(4, "INVALID_FETCH_SIZE", False, marks=pytest.mark.req("PROTO-E4"), id="INVALID_FETCH_SIZE"),
    pytest.param(5, "LEADER_NOT_AVAILABLE", True, marks=pytest.mark.req("PROTO-E5"), id="LEADER_NOT_AVAILABLE"),
    pytest.param(6, "NOT_LEADER_FOR_PARTITION", True, marks=pytest.mark.req("PROTO-E6"), id="NOT_LEADER_FOR_PARTITION"),
    pytest.param(7, "REQUEST_TIMED_OUT", True, marks=pytest.mark.req("PROTO-E7"), id="REQUEST_TIMED_OUT"),
    pytest.param(8, "BROKER_NOT_AVAILABLE", False, marks=pytest.mark.req("PROTO-E8"), id="BROKER_NOT_AVAILABLE"),
    pytest.param(9, "REPLICA_NOT_AVAILABLE", False, marks=pytest.mark.req("PROTO-E9"), id="REPLICA_NOT_AVAILABLE"),
    pytest.param(10, "MESSAGE_TOO_LARGE", False, marks=pytest.mark.req("PROTO-E10"), id="MESSAGE_TOO_LARGE"),
    pytest.param(11, "STALE_CONTROLLER_EPOCH", False, marks=pytest.mark.req("PROTO-E11"), id="STALE_CONTROLLER_EPOCH"),
    pytest.param(
        12, "OFFSET_METADATA_TOO_LARGE", False, marks=pytest.mark.req("PROTO-E12"), id="OFFSET_METADATA_TOO_LARGE"
    ),
    pytest.param(13, "NETWORK_EXCEPTION", True, marks=pytest.mark.req("PROTO-E13"), id="NETWORK_EXCEPTION"),
    pytest.param(
        14, "COORDINATOR_LOAD_IN_PROGRESS", True, marks=pytest.mark.req("PROTO-E14"), id="COORDINATOR_LOAD_IN_PROGRESS"
    ),
    pytest.param(
        15, "COORDINATOR_NOT_AVAILABLE", True, marks=pytest.mark.req("PROTO-E15"), id="COORDINATOR_NOT_AVAILABLE"
    ),
    pytest.param(16, "NOT_COORDINATOR", True, marks=pytest.mark.req("PROTO-E16"), id="NOT_COORDINATOR"),
    pytest.param(
        17, "INVALID_TOPIC_EXCEPTION", False, marks=pytest.mark.req("PROTO-E17"), id="INVALID_TOPIC_EXCEPTION"
    ),
    pytest.param(18, "RECORD_LIST_TOO_LARGE", False, marks=pytest.mark.req("PROTO-E18"), id="RECORD_LIST_TOO_LARGE"),
    pytest.param(19, "NOT_ENOUGH_REPLICAS", True, marks=pytest.mark.req("PROTO-E19"), id="NOT_ENOUGH_REPLICAS"),
    pytest.param(
        20,
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        True,
        marks=pytest.mark.req("PROTO-E20"),
        id="NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    ),
    pytest.param(21, "INVALID_REQUIRED_ACKS", False, marks=pytest.mark.req("PROTO-E21"), id="INVALID_REQUIRED_ACKS"),
    pytest.param(22, "ILLEGAL_GENERATION", False, marks=pytest.mark.req("PROTO-E22"), id="ILLEGAL_GENERATION"),
    pytest.param(
        23, "INCONSISTENT_GROUP_PROTOCOL", False, marks=pytest.mark.req("PROTO-E23"), id="INCONSISTENT_GROUP_PROTOCOL"
    ),
    pytest.param(24, "INVALID_GROUP_ID", False, marks=pytest.mark.req("PROTO-E24"), id="INVALID_GROUP_ID"),
    pytest.param(25, "UNKNOWN_MEMBER_ID", False, marks=pytest.mark.req("PROTO-E25"), id="UNKNOWN_MEMBER_ID"),
    pytest.param(
        26, "INVALID_SESSION_TIMEOUT", False, marks=pytest.mark.req("PROTO-E26"), id="INVALID_SESSION_TIMEOUT"
    ),
    pytest.param(27, "REBALANCE_IN_PROGRESS", False, marks=pytest.mark.req("PROTO-E27"), id="REBALANCE_IN_PROGRESS"),
    pytest.param(
        28, "INVALID_COMMIT_OFFSET_SIZE", False, marks=pytest.mark.req("PROTO-E28"), id="INVALID_COMMIT_OFFSET_SIZE"
    ),
    pytest.param(
        29, "TOPIC_AUTHORIZATION_FAILED", False, marks=pytest.mark.req("PROTO-E29"), id="TOPIC_AUTHORIZATION_FAILED"
    ),
    pytest.param(
        30, "GROUP_AUTHORIZATION_FAILED", False, marks=pytest.mark.req("PROTO-E30"), id="GROUP_AUTHORIZATION_FAILED"
    ),
    pytest.param(
        31, "CLUSTER_AUTHORIZATION_FAILED", False, marks=pytest.mark.req("PROTO-E31"), id="CLUSTER_AUTHORIZATION_FAILED"
    ),
    pytest.param(32, "INVALID_TIMESTAMP", False, marks=pytest.mark.req("PROTO-E32"), id="INVALID_TIMESTAMP"),
    pytest.param(
        33, "UNSUPPORTED_SASL_MECHANISM", False, marks=pytest.mark.req("PROTO-E33"), id="UNSUPPORTED_SASL_MECHANISM"
    ),
    pytest.param(34, "ILLEGAL_SASL_STATE", False, marks=pytest.mark.req("PROTO-E34"), id="ILLEGAL_SASL_STATE"),
    pytest.param(35, "UNSUPPORTED_VERSION", False, marks=pytest.mark.req("PROTO-E35"), id="UNSUPPORTED_VERSION"),
    pytest.param(36, "TOPIC_ALREADY_EXISTS", False, marks=pytest.mark.req("PROTO-E36"), id="TOPIC_ALREADY_EXISTS"),
    pytest.param(37, "INVALID_PARTITIONS", False, marks=pytest.mark.req("PROTO-E37"), id="INVALID_PARTITIONS"),
    pytest.param(
        38, "INVALID_REPLICATION_FACTOR", False, marks=pytest.mark.req("PROTO-E38"), id="INVALID_REPLICATION_FACTOR"
    ),
    pytest.param(
        39, "INVALID_REPLICA_ASSIGNMENT", False, marks=pytest.mark.req("PROTO-E39"), id="INVALID_REPLICA_ASSIGNMENT"
    ),
    pytest.param(40, "INVALID_CONFIG", False, marks=pytest.mark.req("PROTO-E40"), id="INVALID_CONFIG"),
    pytest.param(41, "NOT_CONTROLLER", True, marks=pytest.mark.req("PROTO-E41"), id="NOT_CONTROLLER"),
    pytest.param(42, "INVALID_REQUEST", False, marks=pytest.mark.req("PROTO-E42"), id="INVALID_REQUEST"),
    pytest.param(
        43,
        "UNSUPPORTED_FOR_MESSAGE_FORMAT",
        False,
        marks=pytest.mark.req("PROTO-E43"),
        id="UNSUPPORTED_FOR_MESSAGE_FORMAT",
    ),
    pytest.param(44, "POLICY_VIOLATION", False, marks=pytest.mark.req("PROTO-E44"), id="POLICY_VIOLATION"),
    pytest.param(
        45, "OUT_OF_ORDER_SEQUENCE_NUMBER", False, marks=pytest.mark.req("PROTO-E45"), id="OUT_OF_ORDER_SEQUENCE_NUMBER"
    ),
    pytest.param(
        46, "DUPLICATE_SEQUENCE_NUMBER", False, marks=pytest.mark.req("PROTO-E46"), id="DUPLICATE_SEQUENCE_NUMBER"
    ),
    pytest.param(47, "INVALID_PRODUCER_EPOCH", False, marks=pytest.mark.req("PROTO-E47"), id="INVALID_PRODUCER_EPOCH"),
    pytest.param(48, "INVALID_TXN_STATE", False, marks=pytest.mark.req("PROTO-E48"), id="INVALID_TXN_STATE"),
    pytest.param(
        49, "INVALID_PRODUCER_ID_MAPPING", False, marks=pytest.mark.req("PROTO-E49"), id="INVALID_PRODUCER_ID_MAPPING"
    ),
    pytest.param(
        50, "INVALID_TRANSACTION_TIMEOUT", False, marks=pytest.mark.req("PROTO-E50"), id="INVALID_TRANSACTION_TIMEOUT"
    ),
    pytest.param(
        51, "CONCURRENT_TRANSACTIONS", False, marks=pytest.mark.req("PROTO-E51"), id="CONCURRENT_TRANSACTIONS"
    ),
    pytest.param(
        52,
        "TRANSACTION_COORDINATOR_FENCED",
        False,
        marks=pytest.mark.req("PROTO-E52"),
        id="TRANSACTION_COORDINATOR_FENCED",
    ),
    pytest.param(
        53,
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        False,
        marks=pytest.mark.req("PROTO-E53"),
        id="TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    ),
    pytest.param(54, "SECURITY_DISABLED", False, marks=pytest.mark.req("PROTO-E54"), id="SECURITY_DISABLED"),
    pytest.param(
        55, "OPERATION_NOT_ATTEMPTED", False, marks=pytest.mark.req("PROTO-E55"), id="OPERATION_NOT_ATTEMPTED"
    ),
    pytest.param(56, "KAFKA_STORAGE_ERROR", True, marks=pytest.mark.req("PROTO-E56"), id="KAFKA_STORAGE_ERROR"),
    pytest.param(57, "LOG_DIR_NOT_FOUND", False, marks=pytest.mark.req("PROTO-E57"), id="LOG_DIR_NOT_FOUND"),
    pytest.param(
        58, "SASL_AUTHENTICATION_FAILED", False, marks=pytest.mark.req("PROTO-E58"), id="SASL_AUTHENTICATION_FAILED"
    ),
    pytest.param(59, "UNKNOWN_PRODUCER_ID", False, marks=pytest.mark.req("PROTO-E59"), id="UNKNOWN_PRODUCER_ID"),
    pytest.param(
        60, "REASSIGNMENT_IN_PROGRESS", False, marks=pytest.mark.req("PROTO-E60"), id="REASSIGNMENT_IN_PROGRESS"
    ),
    pytest.param(
        61,
        "DELEGATION_TOKEN_AUTH_DISABLED",
        False,
        marks=pytest.mark.req("PROTO-E61"),
        id="DELEGATION_TOKEN_AUTH_DISABLED",
    ),
    pytest.param(
        62, "DELEGATION_TOKEN_NOT_FOUND", False, marks=pytest.mark.req("PROTO-E62"), id="DELEGATION_TOKEN_NOT_FOUND"
    ),
    pytest.param(
        63,
        "DELEGATION_TOKEN_OWNER_MISMATCH",
        False,
        marks=pytest.mark.req("PROTO-E63"),
        id="DELEGATION_TOKEN_OWNER_MISMATCH",
    ),
    pytest.param(
        64,
        "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
        False,
        marks=pytest.mark.req("PROTO-E64"),
        id="DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
    ),
    pytest.param(
        65,
        "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        False,
        marks=pytest.mark.req("PROTO-E65"),
        id="DELEGATION_TOKEN_AUTHORIZATION_FAILED",
    ),
    pytest.param(
        66, "DELEGATION_TOKEN_EXPIRED", False, marks=pytest.mark.req("PROTO-E66"), id="DELEGATION_TOKEN_EXPIRED"
    ),
    pytest.param(67, "INVALID_PRINCIPAL_TYPE", False, marks=pytest.mark.req("PROTO-E67"), id="INVALID_PRINCIPAL_TYPE"),
    pytest.param(68, "NON_EMPTY_GROUP", False, marks=pytest.mark.req("PROTO-E68"), id="NON_EMPTY_GROUP"),
    pytest.param(69, "GROUP_ID_NOT_FOUND", False, marks=pytest.mark.req("PROTO-E69"), id="GROUP_ID_NOT_FOUND"),
    pytest.param(
        70, "FETCH_SESSION_ID_NOT_FOUND", True, marks=pytest.mark.req("PROTO-E70"), id="FETCH_SESSION_ID_NOT_FOUND"
    ),
    pytest.param(
        71, "INVALID_FETCH_SESSION_EPOCH", True, marks=pytest.mark.req("PROTO-E71"), id="INVALID_FETCH_SESSION_EPOCH"
    ),
    pytest.param(72, "LISTENER_NOT_FOUND", True, marks=pytest.mark.req("PROTO-E72"), id="LISTENER_NOT_FOUND"),
    pytest.param(
        73, "TOPIC_DELETION_DISABLED", False, marks=pytest.mark.req("PROTO-E73"), id="TOPIC_DELETION_DISABLED"
    ),
    pytest.param(74, "FENCED_LEADER_EPOCH", True, marks=pytest.mark.req("PROTO-E74"), id="FENCED_LEADER_EPOCH"),
    pytest.param(75, "UNKNOWN_LEADER_EPOCH", True, marks=pytest.mark.req("PROTO-E75"), id="UNKNOWN_LEADER_EPOCH"),
    pytest.param(
        76, "UNSUPPORTED_COMPRESSION_TYPE", False, marks=pytest.mark.req("PROTO-E76"), id="UNSUPPORTED_COMPRESSION_TYPE"
    ),
    pytest.param(77, "STALE_BROKER_EPOCH", False, marks=pytest.mark.req("PROTO-E77"), id="STALE_BROKER_EPOCH"),
    pytest.param(78, "OFFSET_NOT_AVAILABLE", True, marks=pytest.mark.req("PROTO-E78"), id="OFFSET_NOT_AVAILABLE"),
    pytest.param(79, "MEMBER_ID_REQUIRED", False, marks=pytest.mark.req("PROTO-E79"), id="MEMBER_ID_REQUIRED"),
    pytest.param(
        80,
        "PREFERRED_LEADER_NOT_AVAILABLE",
        True,
        marks=pytest.mark.req("PROTO-E80"),
        id="PREFERRED_LEADER_NOT_AVAILABLE",
    ),
    pytest.param(81, "GROUP_MAX_SIZE_REACHED", False, marks=pytest.mark.req("PROTO-E81"), id="GROUP_MAX_SIZE_REACHED"),
]


@pytest.mark.req("PROTO-23", "PROTO-24", "EASY-5")
@pytest.mark.parametrize(("key", "name", "oldest", "newest", "throttle"), APIS)
def test_release_2_2_advertises_exactly_the_guides_keys_and_ranges(
    key: int, name: str, oldest: int, newest: int, throttle: str
) -> None:
    assert sorted(max_versions("2.2")) == list(range(44))
    assert max_versions("2.2")[key] == (oldest, newest)
    assert registry.row_by_key(key).name == RENAMED.get(name, name)
    response = registry.api(key).response
    inline = {v: [f.name for f in response.FIELDS if is_inline(f, v)] for v in range(oldest, newest + 1)}
    if throttle == "none":
        assert not any("throttle_time_ms" in names for names in inline.values())
        return
    first, place = int(throttle[1]), throttle.split(", ")[1]
    for version, names in inline.items():
        assert ("throttle_time_ms" in names) == (version >= first)
        if version >= first:
            assert names.index("throttle_time_ms") == (0 if place == "first" else len(names) - 1)


@pytest.mark.parametrize(("key", "name", "oldest", "newest", "throttle"), APIS)
def test_what_each_version_changed_and_when_clients_hold_back(
    key: int, name: str, oldest: int, newest: int, throttle: str
) -> None:
    request, response, hold_back_from = CHANGES[name]
    api = registry.api(key)
    assert changes(api.request, oldest, newest) == request
    assert changes(api.response, oldest, newest) == response
    for version in range(oldest, newest + 1):
        answer = api.response()
        if "throttle_time_ms" in fields(api.response, version):
            answer.throttle_time_ms = 7
        expected_ms = 7 if hold_back_from is not None and version >= hold_back_from else 0
        assert answer.client_must_wait_ms(version) == expected_ms, version


@pytest.mark.parametrize(("name", "direction", "version", "types"), LAYOUTS)
def test_the_newest_messages_of_2_2_have_the_guides_types_in_its_order(
    name: str, direction: str, version: int, types: str
) -> None:
    api = registry.api(next(row.key for row in registry.rows() if row.name == RENAMED.get(name, name)))
    assert shape(api.request if direction == "request" else api.response, version) == types


@pytest.mark.parametrize(("code", "name", "retriable"), ERRORS)
def test_error_codes_have_the_guides_numbers_names_and_flags(code: int, name: str, retriable: bool) -> None:
    row = error_codes.error(code)
    assert row == error_codes.by_name(name)
    assert row.code == code
    assert row.retriable == (True if code in RETRIABLE_SINCE else retriable)


def changes(cls: type[Struct], oldest: int, newest: int) -> str:
    """What each version after the oldest changed, in the words of CHANGES."""
    said = []
    for version in range(oldest + 1, newest + 1):
        before, now = fields(cls, version - 1), fields(cls, version)
        gone = [f"-{last(path)}" for path in before if path not in now and is_told(path, now)]
        new = [f"+{last(path)}" for path in now if path not in before and is_told(path, before)]
        nullable = [f"{last(path)}?" for path in now if now[path] and path in before and not before[path]]
        if gone or new or nullable:
            said.append(f"v{version} {' '.join(gone + new + nullable)}")
    return ", ".join(said)


def fields(cls: type[Struct], version: int, above: str = "") -> dict[str, bool]:
    """Path of every field in a version, in wire order -> whether it may be null."""
    found: dict[str, bool] = {}
    for field in cls.FIELDS:
        if is_inline(field, version):
            found[above + field.name] = version in field.nullable
            item = field
            while item.kind == "array":
                item = item.item
            if item.kind == "struct":
                found |= fields(item.item, version, f"{above}{field.name}.")
    return found


def last(path: str) -> str:
    return path.rpartition(".")[2]


def is_told(path: str, others: dict[str, bool]) -> bool:
    """Whether a field stands for itself: the structure that it is in is there in both versions."""
    return "." not in path or path.rpartition(".")[0] in others


def shape(cls: type[Struct], version: int) -> str:
    """Types in wire order; structs inline, arrays in brackets, as in the guide."""
    parts = []
    for field in cls.FIELDS:
        if is_inline(field, version):
            parts.append(type_text(field, version))
    return " ".join(part for part in parts if part)


def type_text(field: Field, version: int) -> str:
    if field.kind == "array":
        return f"[{type_text(field.item, version)}]"
    if field.kind == "struct":
        return shape(field.item, version)
    nullable = version in field.nullable and field.kind in ("string", "bytes")
    return ("NULLABLE_" if nullable else "") + field.kind.upper()


@pytest.mark.req("EASY-10")
def test_timeouts_of_a_stored_member_stand_the_other_way_round_than_in_a_request() -> None:
    def timeouts(cls: type[Struct], version: int) -> list[str]:
        return [field.name for field in cls.FIELDS if "timeout" in field.name and is_inline(field, version)]

    assert timeouts(MemberMetadata, 0) == ["session_timeout"]
    assert timeouts(MemberMetadata, 1) == ["rebalance_timeout", "session_timeout"]
    assert timeouts(JoinGroupRequest, 1) == ["session_timeout_ms", "rebalance_timeout_ms"]
