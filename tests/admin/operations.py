"""Every operation of the admin client, ready to be called: what tests over all of them go through.

``tests/admin/test_interface.py`` holds this table against AdminClient, so that no operation can be left out of it.
"""

import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from kafka_tools.admin.calls.offsets import LATEST
from kafka_tools.admin.calls.quotas import quota_entity
from kafka_tools.admin.client import (
    AbortSpec,
    AclBinding,
    AclFilter,
    AdminClient,
    CommittedOffset,
    ConfigChange,
    ConfigResource,
    FeatureUpdate,
    MemberIdentity,
    NewPartitions,
    NewTopic,
    QuorumEndpoint,
    ReplicaPlace,
    ScramDeletion,
)
from kafka_tools.admin.outcomes import Listing, Outcomes
from kafka_tools.errors import KafkaToolsError
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.values import TopicPartition

T0 = TopicPartition("t", 0)
TOPIC = ConfigResource("topic", "t")
ACL = AclBinding("TOPIC", "t", "LITERAL", "User:a", "*", "READ", "ALLOW")
DIRECTORY = uuid.UUID(int=7)
REPLICA = ReplicaPlace("t", 0, 1)


class Operation(NamedTuple):
    """``since``: the oldest release whose brokers can do it, in ZooKeeper mode before 4.0. ``asks``: who answers."""

    call: Callable[[AdminClient], Any]
    asks: str
    since: str = "1.1"


ANY, CONTROLLER, LEADER, COORDINATOR, NODE = "any broker", "controller", "leader", "coordinator", "given broker"

OPERATIONS: dict[str, Operation] = {
    "describe_cluster": Operation(lambda admin: admin.describe_cluster(), ANY),
    "api_versions": Operation(lambda admin: admin.api_versions(), NODE),
    "list_topics": Operation(lambda admin: admin.list_topics(), ANY),
    "describe_topics": Operation(lambda admin: admin.describe_topics(["t"]), ANY),
    "create_topics": Operation(lambda admin: admin.create_topics([NewTopic("t", 1, 1)]), CONTROLLER),
    "delete_topics": Operation(lambda admin: admin.delete_topics(["t"]), CONTROLLER),
    "create_partitions": Operation(lambda admin: admin.create_partitions({"t": NewPartitions(2)}), CONTROLLER),
    "delete_records": Operation(lambda admin: admin.delete_records({T0: 1}), LEADER),
    "list_offsets": Operation(lambda admin: admin.list_offsets({T0: LATEST}), LEADER),
    "describe_configs": Operation(lambda admin: admin.describe_configs([TOPIC]), ANY),
    "alter_configs_incremental": Operation(
        lambda admin: admin.alter_configs_incremental({TOPIC: [ConfigChange("a", "set", "1")]}), ANY
    ),
    "replace_configs": Operation(lambda admin: admin.replace_configs({TOPIC: {"a": "1"}}), ANY),
    "list_config_resources": Operation(lambda admin: admin.list_config_resources(["client-metrics"]), ANY, "4.0"),
    "describe_client_quotas": Operation(lambda admin: admin.describe_client_quotas(), ANY, "2.6"),
    "describe_quotas": Operation(lambda admin: admin.describe_quotas("u", "c"), ANY, "2.6"),
    "alter_client_quotas": Operation(
        lambda admin: admin.alter_client_quotas({quota_entity({"user": "u"}): {"q": 1.0}}), CONTROLLER, "2.6"
    ),
    "describe_user_scram_credentials": Operation(
        lambda admin: admin.describe_user_scram_credentials(["u"]), ANY, "2.7"
    ),
    "alter_user_scram_credentials": Operation(
        lambda admin: admin.alter_user_scram_credentials([ScramDeletion("u", "SCRAM-SHA-256")]), CONTROLLER, "2.7"
    ),
    "list_groups": Operation(lambda admin: admin.list_groups(), NODE),
    "describe_groups": Operation(lambda admin: admin.describe_groups(["g"]), COORDINATOR),
    "describe_classic_groups": Operation(lambda admin: admin.describe_classic_groups(["g"]), COORDINATOR),
    "describe_share_groups": Operation(lambda admin: admin.describe_share_groups(["g"]), COORDINATOR, "4.1"),
    "describe_streams_groups": Operation(lambda admin: admin.describe_streams_groups(["g"]), COORDINATOR, "4.2"),
    "delete_groups": Operation(lambda admin: admin.delete_groups(["g"]), COORDINATOR),
    "remove_members": Operation(lambda admin: admin.remove_members("g", [MemberIdentity("m")]), COORDINATOR),
    "list_group_offsets": Operation(lambda admin: admin.list_group_offsets("g"), COORDINATOR),
    "list_groups_offsets": Operation(lambda admin: admin.list_groups_offsets({"g": [T0]}), COORDINATOR),
    "alter_group_offsets": Operation(
        lambda admin: admin.alter_group_offsets("g", {T0: CommittedOffset(1)}), COORDINATOR
    ),
    "alter_groups_offsets": Operation(lambda admin: admin.alter_groups_offsets({"g": {T0: 1}}), COORDINATOR),
    "delete_group_offsets": Operation(lambda admin: admin.delete_group_offsets("g", [T0]), COORDINATOR, "2.4"),
    "list_share_group_offsets": Operation(
        lambda admin: admin.list_share_group_offsets({"g": [T0]}), COORDINATOR, "4.1"
    ),
    "alter_share_group_offsets": Operation(
        lambda admin: admin.alter_share_group_offsets("g", {T0: 1}), COORDINATOR, "4.1"
    ),
    "alter_share_groups_offsets": Operation(
        lambda admin: admin.alter_share_groups_offsets({"g": {T0: 1}}), COORDINATOR, "4.1"
    ),
    "delete_share_group_offsets": Operation(
        lambda admin: admin.delete_share_group_offsets("g", ["t"]), COORDINATOR, "4.1"
    ),
    "describe_acls": Operation(lambda admin: admin.describe_acls(), ANY),
    "create_acls": Operation(lambda admin: admin.create_acls([ACL]), ANY),
    "delete_acls": Operation(lambda admin: admin.delete_acls([AclFilter()]), ANY),
    "create_delegation_token": Operation(lambda admin: admin.create_delegation_token(), ANY),
    "renew_delegation_token": Operation(lambda admin: admin.renew_delegation_token(b"h"), ANY),
    "expire_delegation_token": Operation(lambda admin: admin.expire_delegation_token(b"h"), ANY),
    "describe_delegation_tokens": Operation(lambda admin: admin.describe_delegation_tokens(), ANY),
    "alter_partition_reassignments": Operation(
        lambda admin: admin.alter_partition_reassignments({T0: [1]}), CONTROLLER, "2.4"
    ),
    "list_partition_reassignments": Operation(lambda admin: admin.list_partition_reassignments(), CONTROLLER, "2.4"),
    "elect_leaders": Operation(lambda admin: admin.elect_leaders([T0]), CONTROLLER, "2.2"),
    "describe_log_dirs": Operation(lambda admin: admin.describe_log_dirs([1]), NODE),
    "describe_replica_log_dirs": Operation(lambda admin: admin.describe_replica_log_dirs([REPLICA]), NODE),
    "alter_replica_log_dirs": Operation(lambda admin: admin.alter_replica_log_dirs({REPLICA: "/d"}), NODE),
    "list_transactions": Operation(lambda admin: admin.list_transactions(), NODE, "3.0"),
    "describe_transactions": Operation(lambda admin: admin.describe_transactions(["x"]), COORDINATOR, "3.0"),
    "describe_producers": Operation(lambda admin: admin.describe_producers([T0]), LEADER, "2.8"),
    "abort_transactions": Operation(lambda admin: admin.abort_transactions({T0: AbortSpec(1, 1, 1)}), LEADER),
    "fence_producers": Operation(lambda admin: admin.fence_producers(["x"]), COORDINATOR),
    "terminate_transaction": Operation(lambda admin: admin.terminate_transaction("x"), COORDINATOR),
    "describe_features": Operation(lambda admin: admin.describe_features(), ANY, "2.4"),
    "update_features": Operation(lambda admin: admin.update_features({"f": FeatureUpdate(1)}), CONTROLLER, "2.7"),
    "describe_quorum": Operation(lambda admin: admin.describe_quorum(), ANY, "4.0"),
    "add_voter": Operation(
        lambda admin: admin.add_voter(1, DIRECTORY, [QuorumEndpoint("C", "h", 1)]), ANY, "4.0"
    ),
    "remove_voter": Operation(lambda admin: admin.remove_voter(1, DIRECTORY), ANY, "4.0"),
    "unregister_broker": Operation(lambda admin: admin.unregister_broker(1), CONTROLLER, "4.0"),
    "unregister_controller": Operation(lambda admin: admin.unregister_controller(1), CONTROLLER, "4.4"),
}  # fmt: skip

LOOKUPS = (MetadataRequest, FindCoordinatorRequest, DescribeClusterRequest)
"""What calls send on the way to find out whom to ask."""
ABOUT_THE_CLUSTER = ("describe_cluster", "list_topics", "describe_topics")
"""Operations whose own request is one of the lookups."""
_WORDS_OF_CHANGES = ("add", "alter", "create", "delete", "elect", "expire", "fence", "remove", "renew", "replace")
_MORE_CHANGES = ("terminate_transaction", "unregister_broker", "unregister_controller", "update_features")
CHANGES = {name for name in OPERATIONS if name.startswith(_WORDS_OF_CHANGES) or name in _MORE_CHANGES}
CHANGES -= {"delete_records"}
"""Operations that must not be repeated when a broker may have done them; doing these twice is not doing them once."""


def failure_of(result: Any) -> KafkaToolsError | None:
    """The error in whatever an operation returned; None if it claims success."""
    if isinstance(result, Listing):
        return result.errors[0] if result.errors else None
    if isinstance(result, Outcomes):
        for outcome in result.values():
            inner = outcome.error or failure_of(outcome.value)
            if inner is not None:
                return inner
        return None
    if isinstance(result, dict):
        return next((failure for value in result.values() if (failure := failure_of(value)) is not None), None)
    error: KafkaToolsError | None = getattr(result, "error", None)
    return error


def run(name: str, admin: AdminClient) -> KafkaToolsError | None:
    """The error with which an operation ends; None if it claims success."""
    try:
        return failure_of(OPERATIONS[name].call(admin))
    except KafkaToolsError as error:
        return error
