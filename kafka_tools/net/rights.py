"""The operations that a principal must be allowed for each request, so that a refusal names the missing one.

Operations and resources as in Kafka's documentation, "Operations and Resources on Protocols". A refusal's error code
tells which kind of resource was in the way.
"""

from __future__ import annotations

from kafka_tools.errors import AuthorizationFailed
from kafka_tools.protocol import error_codes

_KINDS = {
    error_codes.TOPIC_AUTHORIZATION_FAILED: "topic",
    error_codes.GROUP_AUTHORIZATION_FAILED: "group",
    error_codes.CLUSTER_AUTHORIZATION_FAILED: "cluster",
    error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional id",
    error_codes.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "delegation token",
}
_DESCRIBE_GROUPS = {"group": "Describe", "topic": "Describe"}
NEEDED: dict[str, dict[str, str]] = {
    "AddPartitionsToTxn": {"transactional id": "Write", "topic": "Write", "cluster": "ClusterAction"},
    "AddRaftVoter": {"cluster": "Alter"},
    "AlterClientQuotas": {"cluster": "AlterConfigs"},
    "AlterConfigs": {"topic": "AlterConfigs", "cluster": "AlterConfigs", "group": "AlterConfigs"},
    "AlterPartitionReassignments": {"cluster": "Alter"},
    "AlterReplicaLogDirs": {"cluster": "Alter"},
    "AlterShareGroupOffsets": {"group": "Read", "topic": "Read"},
    "AlterUserScramCredentials": {"cluster": "Alter"},
    "ConsumerGroupDescribe": _DESCRIBE_GROUPS,
    "ConsumerGroupHeartbeat": {"group": "Read", "topic": "Describe"},
    "CreateAcls": {"cluster": "Alter"},
    "CreateDelegationToken": {"delegation token": "CreateTokens on the user"},
    "CreatePartitions": {"topic": "Alter"},
    "CreateTopics": {"topic": "Create on the topic or on the cluster", "cluster": "Create on the cluster"},
    "DeleteAcls": {"cluster": "Alter"},
    "DeleteGroups": {"group": "Delete"},
    "DeleteRecords": {"topic": "Delete"},
    "DeleteShareGroupOffsets": {"group": "Delete", "topic": "Read"},
    "DeleteTopics": {"topic": "Delete"},
    "DescribeAcls": {"cluster": "Describe"},
    "DescribeClientQuotas": {"cluster": "DescribeConfigs"},
    "DescribeConfigs": {"topic": "DescribeConfigs", "cluster": "DescribeConfigs", "group": "DescribeConfigs"},
    "DescribeDelegationToken": {"delegation token": "Describe"},
    "DescribeGroups": _DESCRIBE_GROUPS,
    "DescribeLogDirs": {"cluster": "Describe"},
    "DescribeProducers": {"topic": "Read"},
    "DescribeQuorum": {"cluster": "Describe"},
    "DescribeShareGroupOffsets": _DESCRIBE_GROUPS,
    "DescribeTopicPartitions": {"topic": "Describe"},
    "DescribeTransactions": {"transactional id": "Describe"},
    "DescribeUserScramCredentials": {"cluster": "Describe"},
    "ElectLeaders": {"cluster": "Alter"},
    "Fetch": {"topic": "Read"},
    "FindCoordinator": {"group": "Describe", "transactional id": "Describe"},
    "Heartbeat": {"group": "Read"},
    "IncrementalAlterConfigs": {"topic": "AlterConfigs", "cluster": "AlterConfigs", "group": "AlterConfigs"},
    "InitProducerId": {"transactional id": "Write", "cluster": "IdempotentWrite"},
    "JoinGroup": {"group": "Read"},
    "LeaveGroup": {"group": "Read"},
    "ListConfigResources": {"cluster": "DescribeConfigs"},
    "ListGroups": {"cluster": "Describe"},
    "ListOffsets": {"topic": "Describe"},
    "ListPartitionReassignments": {"cluster": "Describe"},
    "Metadata": {"topic": "Describe"},
    "OffsetCommit": {"group": "Read", "topic": "Read"},
    "OffsetDelete": {"group": "Delete", "topic": "Read"},
    "OffsetFetch": {"group": "Describe", "topic": "Describe"},
    "OffsetForLeaderEpoch": {"topic": "Describe"},
    "Produce": {"topic": "Write", "transactional id": "Write", "cluster": "IdempotentWrite"},
    "RemoveRaftVoter": {"cluster": "Alter"},
    "ShareGroupDescribe": _DESCRIBE_GROUPS,
    "StreamsGroupDescribe": _DESCRIBE_GROUPS,
    "SyncGroup": {"group": "Read"},
    "UnregisterBroker": {"cluster": "Alter"},
    "UnregisterController": {"cluster": "Alter"},
    "UpdateFeatures": {"cluster": "Alter"},
    "WriteTxnMarkers": {"cluster": "Alter"},
}
"""API -> kind of resource -> the operation that is asked for on it, or the whole phrase where there is a choice."""


def needed(api: str, code: int) -> str | None:
    """The right that was missing for a request with error ``code``: ``Delete on the topic``; None where none was."""
    kind = _KINDS.get(code)
    found = NEEDED.get(api, {}).get(kind or "")
    if found is None:
        return None
    return found if " on " in found else f"{found} on the {kind}"


def with_right(text: str, api: str, code: int) -> str:
    """The text of a refusal with the right that the request takes, where one is missing."""
    right = needed(api, code)
    return text if right is None or right in text else f"{text} (it takes {right})"


def name_what_is_missing(error: Exception, api: str) -> None:
    """Add to a refusal for want of rights which right the request takes; leaves other errors alone."""
    if isinstance(error, AuthorizationFailed):
        error.args = (with_right(str(error), api, error.code.code),)
