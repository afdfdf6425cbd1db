"""Every operation against each fault: it ends in time, as an error of ours, and nothing failed counts as done."""

import uuid

import pytest

from kafka_tools.admin.calls.offsets import LATEST
from kafka_tools.admin.calls.quotas import quota_entity
from kafka_tools.admin.client import (
    AbortSpec,
    AclBinding,
    AclFilter,
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
from kafka_tools.errors import BrokerError, KafkaToolsError, NetworkError, WireError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.frames import framed
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.values import TopicPartition
from tests.net.peers import HANG_UP, SILENCE

T0 = TopicPartition("t", 0)
TOPIC = ConfigResource("topic", "t")
ACL = AclBinding("TOPIC", "t", "LITERAL", "User:a", "*", "READ", "ALLOW")
DIRECTORY = uuid.UUID(int=7)

OPERATIONS = {
    "describe_cluster": lambda admin: admin.describe_cluster(),
    "list_topics": lambda admin: admin.list_topics(),
    "describe_topics": lambda admin: admin.describe_topics(["t"]),
    "create_topics": lambda admin: admin.create_topics([NewTopic("t", 1, 1)]),
    "delete_topics": lambda admin: admin.delete_topics(["t"]),
    "create_partitions": lambda admin: admin.create_partitions({"t": NewPartitions(2)}),
    "delete_records": lambda admin: admin.delete_records({T0: 1}),
    "list_offsets": lambda admin: admin.list_offsets({T0: LATEST}),
    "describe_configs": lambda admin: admin.describe_configs([TOPIC]),
    "alter_configs": lambda admin: admin.alter_configs_incremental({TOPIC: [ConfigChange("a", "set", "1")]}),
    "replace_configs": lambda admin: admin.replace_configs({TOPIC: {"a": "1"}}),
    "list_config_resources": lambda admin: admin.list_config_resources(),
    "describe_client_quotas": lambda admin: admin.describe_client_quotas(),
    "alter_client_quotas": lambda admin: admin.alter_client_quotas({quota_entity({"user": "u"}): {"q": 1.0}}),
    "describe_scram": lambda admin: admin.describe_user_scram_credentials(["u"]),
    "alter_scram": lambda admin: admin.alter_user_scram_credentials([ScramDeletion("u", "SCRAM-SHA-256")]),
    "list_groups": lambda admin: admin.list_groups(),
    "describe_groups": lambda admin: admin.describe_groups(["g"]),
    "delete_groups": lambda admin: admin.delete_groups(["g"]),
    "list_group_offsets": lambda admin: admin.list_group_offsets("g"),
    "alter_group_offsets": lambda admin: admin.alter_group_offsets("g", {T0: CommittedOffset(1)}),
    "delete_group_offsets": lambda admin: admin.delete_group_offsets("g", [T0]),
    "remove_members": lambda admin: admin.remove_members("g", [MemberIdentity("m")]),
    "describe_share_groups": lambda admin: admin.describe_share_groups(["g"]),
    "list_share_group_offsets": lambda admin: admin.list_share_group_offsets({"g": [T0]}),
    "alter_share_group_offsets": lambda admin: admin.alter_share_group_offsets("g", {T0: 1}),
    "delete_share_group_offsets": lambda admin: admin.delete_share_group_offsets("g", ["t"]),
    "describe_acls": lambda admin: admin.describe_acls(),
    "create_acls": lambda admin: admin.create_acls([ACL]),
    "delete_acls": lambda admin: admin.delete_acls([AclFilter()]),
    "create_token": lambda admin: admin.create_delegation_token(),
    "renew_token": lambda admin: admin.renew_delegation_token(b"h"),
    "expire_token": lambda admin: admin.expire_delegation_token(b"h"),
    "describe_tokens": lambda admin: admin.describe_delegation_tokens(),
    "alter_reassignments": lambda admin: admin.alter_partition_reassignments({T0: [1]}),
    "list_reassignments": lambda admin: admin.list_partition_reassignments(),
    "elect_leaders": lambda admin: admin.elect_leaders([T0]),
    "describe_log_dirs": lambda admin: admin.describe_log_dirs([1]),
    "alter_log_dirs": lambda admin: admin.alter_replica_log_dirs({ReplicaPlace("t", 0, 1): "/d"}),
    "list_transactions": lambda admin: admin.list_transactions(),
    "describe_transactions": lambda admin: admin.describe_transactions(["x"]),
    "describe_producers": lambda admin: admin.describe_producers([T0]),
    "abort_transactions": lambda admin: admin.abort_transactions({T0: AbortSpec(1, 1, 1)}),
    "fence_producers": lambda admin: admin.fence_producers(["x"]),
    "update_features": lambda admin: admin.update_features({"f": FeatureUpdate(1)}),
    "describe_quorum": lambda admin: admin.describe_quorum(),
    "add_voter": lambda admin: admin.add_voter(1, DIRECTORY, [QuorumEndpoint("C", "h", 1)]),
    "remove_voter": lambda admin: admin.remove_voter(1, DIRECTORY),
    "unregister_broker": lambda admin: admin.unregister_broker(1),
}
LOOKUPS = (MetadataRequest, FindCoordinatorRequest, DescribeClusterRequest)
"""What calls send on the way; answered truthfully, so that the fault meets the call itself."""
ABOUT_THE_CLUSTER = ("describe_cluster", "list_topics")
"""Operations whose own request is one of the lookups."""


def every(operation):
    return pytest.mark.parametrize("name", sorted(operation))


def make(scripted, name, fault, timeout_s=30.0, **settings):
    """A client whose one broker answers lookups and meets every other request with ``fault(request, version)``."""
    # Topics are described through Metadata here, which is a lookup; pages have a fault of their own.
    cluster, admin = scripted(timeout_s=timeout_s, **settings)
    cluster.leaders = {T0: 1}
    own = LOOKUPS if name in ABOUT_THE_CLUSTER else ()

    def truth(request, version, node):
        if isinstance(request, MetadataRequest):
            return cluster.metadata(request)
        if isinstance(request, FindCoordinatorRequest):
            return cluster._coordinators(request, version)
        from kafka_tools.protocol.messages.describe_cluster import DescribeClusterResponse

        Broker = DescribeClusterResponse.Broker
        broker = Broker(broker_id=1, host="127.0.0.1", port=cluster.nodes[1].port)
        return DescribeClusterResponse(cluster_id="c", controller_id=1, brokers=[broker])

    class Handlers(dict):
        def get(self, request_class, default=None):
            if request_class in LOOKUPS and request_class not in own:
                return truth
            return lambda request, version, node: fault(request, version)

    cluster.handlers = Handlers()
    return cluster, admin


def failure_of(result):
    """The error in whatever an operation returned; None if it claims success."""
    if isinstance(result, Listing):
        return result.errors[0] if result.errors else None
    if isinstance(result, Outcomes):
        for outcome in result.values():
            inner = outcome.error or failure_of(outcome.value)
            if inner is not None:
                return inner
    if isinstance(result, dict):
        return next((failure for value in result.values() if (failure := failure_of(value)) is not None), None)
    return getattr(result, "error", None)


def run(operation, admin):
    try:
        return failure_of(operation(admin))
    except KafkaToolsError as error:
        return error


@every(OPERATIONS)
@pytest.mark.parametrize(
    "code",
    [error_codes.CLUSTER_AUTHORIZATION_FAILED, error_codes.INVALID_REQUEST, error_codes.UNKNOWN_SERVER_ERROR, 999],
)
def test_refusal_is_an_error_with_its_code(scripted, name, code):
    cluster, admin = make(scripted, name, lambda request, version: error_reply(request, version, code))
    error = run(OPERATIONS[name], admin)
    assert isinstance(error, BrokerError), error
    assert error_codes.error(code).name in str(error)
    own = [item for item in cluster.log if not isinstance(item[1], LOOKUPS) or name in ABOUT_THE_CLUSTER]
    assert len(own) <= 2, "a fatal error is not tried again"


# Topics that one page does not tell are left to Metadata, which is answered truthfully here.
@every(OPERATIONS.keys() - {"describe_topics"})
def test_error_that_may_pass_is_tried_again_as_often_as_set_or_told_at_once(scripted, name):
    code = error_codes.COORDINATOR_LOAD_IN_PROGRESS
    cluster, admin = make(scripted, name, lambda request, version: error_reply(request, version, code), retries=1)
    error = run(OPERATIONS[name], admin)
    assert isinstance(error, BrokerError), error
    assert error.code.code == code
    own = [item for item in cluster.log if not isinstance(item[1], LOOKUPS) or name in ABOUT_THE_CLUSTER]
    assert len(own) in (1, 2)


@every(OPERATIONS)
def test_silence_ends_at_the_deadline(scripted, name):
    _, admin = make(scripted, name, lambda request, version: SILENCE, timeout_s=0.25)
    error = run(OPERATIONS[name], admin)
    assert isinstance(error, NetworkError), error
    assert "timed out after 0.25 s" in str(error)


@every(OPERATIONS)
def test_hanging_up_ends_at_the_deadline_or_after_some_tries(scripted, name):
    _, admin = make(scripted, name, lambda request, version: HANG_UP, timeout_s=0.3)
    error = run(OPERATIONS[name], admin)
    assert isinstance(error, NetworkError), error
    assert "closed the connection" in str(error) or "timed out" in str(error)


@every(OPERATIONS)
def test_rubbish_is_a_wire_error(scripted, name):
    rubbish = framed(b"\x00\x00\x00\x02" + b"\xff" * 40)
    _, admin = make(scripted, name, lambda request, version: rubbish, timeout_s=5.0)
    error = run(OPERATIONS[name], admin)
    assert isinstance(error, WireError | NetworkError | BrokerError), error
