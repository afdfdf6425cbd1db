"""The admin client has every operation and every option of Kafka's Admin interface, under the names given here.

``kafka_admin.txt`` is Kafka's list; ``tests/against_kafka/test_admin_interface.py`` holds it against Kafka's jar.
"""

import inspect
from pathlib import Path

import pytest

from kafka_tools.admin.calls import offsets
from kafka_tools.admin.client import AdminClient
from tests.admin.operations import OPERATIONS

KAFKA = {
    name: set(options.split())
    for name, _, options in (
        line.partition(" ")
        for line in (Path(__file__).parent / "kafka_admin.txt").read_text().splitlines()
        if not line.startswith("#")
    )
}
KAFKA_OFFSET_SPECS = KAFKA.pop("OffsetSpec")

OURS = {
    "abortTransaction": "abort_transactions",
    "addRaftVoter": "add_voter",
    "alterClientQuotas": "alter_client_quotas",
    "alterConsumerGroupOffsets": "alter_group_offsets",
    "alterPartitionReassignments": "alter_partition_reassignments",
    "alterReplicaLogDirs": "alter_replica_log_dirs",
    "alterShareGroupOffsets": "alter_share_group_offsets",
    "alterStreamsGroupOffsets": "alter_group_offsets",
    "alterUserScramCredentials": "alter_user_scram_credentials",
    "createAcls": "create_acls",
    "createDelegationToken": "create_delegation_token",
    "createPartitions": "create_partitions",
    "createTopics": "create_topics",
    "deleteAcls": "delete_acls",
    "deleteConsumerGroupOffsets": "delete_group_offsets",
    "deleteConsumerGroups": "delete_groups",
    "deleteRecords": "delete_records",
    "deleteShareGroupOffsets": "delete_share_group_offsets",
    "deleteShareGroups": "delete_groups",
    "deleteStreamsGroupOffsets": "delete_group_offsets",
    "deleteStreamsGroups": "delete_groups",
    "deleteTopics": "delete_topics",
    "describeAcls": "describe_acls",
    "describeClassicGroups": "describe_classic_groups",
    "describeClientQuotas": "describe_client_quotas",
    "describeCluster": "describe_cluster",
    "describeConfigs": "describe_configs",
    "describeConsumerGroups": "describe_groups",
    "describeDelegationToken": "describe_delegation_tokens",
    "describeFeatures": "describe_features",
    "describeLogDirs": "describe_log_dirs",
    "describeMetadataQuorum": "describe_quorum",
    "describeProducers": "describe_producers",
    "describeReplicaLogDirs": "describe_replica_log_dirs",
    "describeShareGroups": "describe_share_groups",
    "describeStreamsGroups": "describe_streams_groups",
    "describeTopics": "describe_topics",
    "describeTransactions": "describe_transactions",
    "describeUserScramCredentials": "describe_user_scram_credentials",
    "electLeaders": "elect_leaders",
    "expireDelegationToken": "expire_delegation_token",
    "fenceProducers": "fence_producers",
    "forceTerminateTransaction": "terminate_transaction",
    "incrementalAlterConfigs": "alter_configs_incremental",
    "listClientMetricsResources": "list_config_resources",
    "listConfigResources": "list_config_resources",
    "listConsumerGroupOffsets": "list_groups_offsets",
    "listConsumerGroups": "list_groups",
    "listGroups": "list_groups",
    "listOffsets": "list_offsets",
    "listPartitionReassignments": "list_partition_reassignments",
    "listShareGroupOffsets": "list_share_group_offsets",
    "listStreamsGroupOffsets": "list_groups_offsets",
    "listTopics": "list_topics",
    "listTransactions": "list_transactions",
    "removeMembersFromConsumerGroup": "remove_members",
    "removeRaftVoter": "remove_voter",
    "renewDelegationToken": "renew_delegation_token",
    "unregisterBroker": "unregister_broker",
    "unregisterController": "unregister_controller",
    "updateFeatures": "update_features",
}
NO_OPERATIONS = {
    "close": "a method of ours too, of no request",
    "create": "the constructor",
    "clientInstanceId": "telemetry of clients (KIP-714), which a tool does not send",
    "metrics": "a tool that ends after its call has no metrics",
    "registerMetricForSubscription": "as clientInstanceId",
    "unregisterMetricFromSubscription": "as clientInstanceId",
}
OPTIONS = {
    "timeoutMs": "timeout_s",
    "inGroupStates": "states",
    "inStates": "states",
    "withTypes": "types",
    "withProtocolTypes": "protocol_types",
    "filterOnDuration": "longer_than_ms",
    "filterOnTransactionalIdPattern": "pattern",
    "filterProducerIds": "producer_ids",
    "filterStates": "states",
    "isolationLevel": "read_committed",
    "listInternal": "include_internal",
    "partitionSizeLimitPerResponse": "page_size",
    "collection": "members",
    "maxlifeTimeMs": "max_lifetime_ms",
    "expiryTimePeriodMs": "period_ms",
    "renewTimePeriodMs": "period_ms",
}
"""Kafka's option -> our parameter, where it is not the same word in snake case."""
BEYOND = {
    "alter_groups_offsets",  # of many groups at once
    "alter_share_groups_offsets",  # the same
    "api_versions",  # Kafka's tool asks node by node
    "describe_quotas",  # which quota counts for a user and client
    "list_group_offsets",  # of one group
    "nodes",  # of describe_cluster
    "replace_configs",  # alterConfigs, which Kafka 4.0 dropped; the only way on brokers before 2.3
}
NOT_OPERATIONS = {"ask", "ask_group", "close", "cluster", "deadline", "run"}


def snake(name):
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def public_methods():
    return {name for name in dir(AdminClient) if not name.startswith("_")}


def test_every_operation_of_kafka_s_is_one_of_ours():
    assert set(KAFKA) == set(OURS) | set(NO_OPERATIONS)
    assert public_methods() - NOT_OPERATIONS == set(OURS.values()) | BEYOND


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_option_of_kafka_s_is_a_parameter(name):
    parameters = set(inspect.signature(getattr(AdminClient, OURS[name])).parameters)
    wanted = {OPTIONS.get(option, snake(option)) for option in KAFKA[name]}
    assert wanted <= parameters
    assert "deadline" in parameters


def test_every_offset_that_kafka_lists_can_be_asked_for():
    ours = {"latest", "earliest", "maxTimestamp", "earliestLocal", "latestTiered", "earliestPendingUpload"}
    assert ours | {"forTimestamp"} == KAFKA_OFFSET_SPECS  # a timestamp stands for itself
    codes = [getattr(offsets, snake(name).upper()) for name in ours]
    assert sorted(codes) == [-6, -5, -4, -3, -2, -1]


def test_the_table_of_operations_lacks_none():
    assert set(OPERATIONS) == public_methods() - NOT_OPERATIONS - {"nodes"}
