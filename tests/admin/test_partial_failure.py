"""Of two keys in one call one fails: the other is done, and only what may be tried again is asked for again."""

import copy

import pytest

from kafka_tools.admin.calls.offsets import LATEST
from kafka_tools.admin.calls.quotas import quota_entity
from kafka_tools.admin.client import (
    AbortSpec,
    AclBinding,
    AclFilter,
    ConfigChange,
    ConfigResource,
    MemberIdentity,
    NewPartitions,
    NewTopic,
    ReplicaPlace,
    ScramDeletion,
)
from kafka_tools.errors import AuthenticationFailed, BrokerError, TlsFailed
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import encode
from kafka_tools.values import TopicPartition
from tests.admin.operations import CHANGES
from tests.admin.virtual_cluster import VirtualCluster
from tests.net.peers import HANG_UP

T0, U0 = TopicPartition("t", 0), TopicPartition("u", 0)
T, U = ConfigResource("topic", "t"), ConfigResource("topic", "u")
SET = [ConfigChange("a", "set", "1")]
SPEC = AbortSpec(1, 1, 1)


def acl(name):
    return AclBinding("TOPIC", name, "LITERAL", "User:a", "*", "READ", "ALLOW")


CALLS = {
    "create_topics": lambda admin: admin.create_topics([NewTopic("t", 1, 1), NewTopic("u", 1, 1)]),
    "delete_topics": lambda admin: admin.delete_topics(["t", "u"]),
    "create_partitions": lambda admin: admin.create_partitions({"t": NewPartitions(2), "u": NewPartitions(2)}),
    "delete_records": lambda admin: admin.delete_records({T0: 1, U0: 1}),
    "list_offsets": lambda admin: admin.list_offsets({T0: LATEST, U0: LATEST}),
    "describe_configs": lambda admin: admin.describe_configs([T, U]),
    "alter_configs_incremental": lambda admin: admin.alter_configs_incremental({T: SET, U: SET}),
    "replace_configs": lambda admin: admin.replace_configs({T: {"a": "1"}, U: {"a": "1"}}),
    "alter_client_quotas": lambda admin: admin.alter_client_quotas(
        {quota_entity({"user": name}): {"q": 1.0} for name in ("t", "u")}
    ),
    "alter_user_scram_credentials": lambda admin: admin.alter_user_scram_credentials(
        [ScramDeletion(name, "SCRAM-SHA-256") for name in ("t", "u")]
    ),
    "describe_classic_groups": lambda admin: admin.describe_classic_groups(["t", "u"]),
    "describe_share_groups": lambda admin: admin.describe_share_groups(["t", "u"]),
    "describe_streams_groups": lambda admin: admin.describe_streams_groups(["t", "u"]),
    "delete_groups": lambda admin: admin.delete_groups(["t", "u"]),
    "create_acls": lambda admin: admin.create_acls([acl("t"), acl("u")]),
    "delete_acls": lambda admin: admin.delete_acls(
        [AclFilter(resource_type="TOPIC", resource_name=name) for name in ("t", "u")]
    ),
    "alter_partition_reassignments": lambda admin: admin.alter_partition_reassignments({T0: [1], U0: [1]}),
    "describe_transactions": lambda admin: admin.describe_transactions(["t", "u"]),
    "describe_producers": lambda admin: admin.describe_producers([T0, U0]),
    "abort_transactions": lambda admin: admin.abort_transactions({T0: SPEC, U0: SPEC}),
    "alter_group_offsets": lambda admin: admin.alter_group_offsets("g", {T0: 1, U0: 1}),
    "delete_group_offsets": lambda admin: admin.delete_group_offsets("g", [T0, U0]),
    "alter_share_group_offsets": lambda admin: admin.alter_share_group_offsets("g", {T0: 1, U0: 1}),
    "delete_share_group_offsets": lambda admin: admin.delete_share_group_offsets("g", ["t", "u"]),
    "elect_leaders": lambda admin: admin.elect_leaders([T0, U0]),
    "remove_members": lambda admin: admin.remove_members("g", [MemberIdentity("t"), MemberIdentity("u")]),
}
TOGETHER = {
    "alter_group_offsets", "delete_group_offsets", "alter_share_group_offsets", "delete_share_group_offsets",
    "elect_leaders", "remove_members",
}  # fmt: skip
"""Calls about one group, or one election: their items are told together and not asked for again one by one."""

WITHOUT_NAMES = {"create_acls", "delete_acls"}
"""Calls whose answers are in the order of the request, and hold no names."""


def fail_first(item, version, code):
    """Put ``code`` into the first entry of an answer, as deep as entries hold codes."""
    for field in item.FIELDS:
        if version in field.versions and field.kind == "array" and field.item.kind == "struct":
            for entry in getattr(item, field.name) or ():
                if fail_first(entry, version, code):
                    return True
                if any(inner.name == "error_code" and version in inner.versions for inner in entry.FIELDS):
                    entry.error_code = code
                    return True
    return False


def call(name, code, times):
    cluster = VirtualCluster()
    left = [times]

    def fault(request, version, node):
        if not cluster.is_own(name, request) or not left[0]:
            return None
        left[0] -= 1
        response = cluster.truth(request, version)
        assert fail_first(response, version, code), response
        return response

    cluster.fault = fault
    with cluster.admin() as admin:
        outcomes = CALLS[name](admin)
    return outcomes, [(request, version) for _, _, request, version in cluster.sent(name)]


@pytest.mark.parametrize("name", sorted(CALLS))
def test_one_key_fails_and_the_other_is_done(name):
    outcomes, sent = call(name, error_codes.TOPIC_AUTHORIZATION_FAILED, 1)
    first, second = outcomes
    assert isinstance(outcomes[first].error, BrokerError)
    assert outcomes[first].error.code.code == error_codes.TOPIC_AUTHORIZATION_FAILED
    assert outcomes[second].error is None
    assert len(sent) == 1


@pytest.mark.parametrize("name", sorted(set(CALLS) - TOGETHER))
def test_only_the_key_that_failed_is_asked_for_again(name):
    code = error_codes.NOT_CONTROLLER if name in CHANGES else error_codes.NOT_LEADER_OR_FOLLOWER
    outcomes, sent = call(name, code, 1)
    outcomes.raise_any()
    assert len(outcomes) == 2
    sizes = [len(encode(request, version)) for request, version in sent]
    assert len(sizes) == 2
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize("name", sorted(set(CALLS) - TOGETHER - WITHOUT_NAMES))
@pytest.mark.parametrize("code", [error_codes.NONE, error_codes.NOT_CONTROLLER, error_codes.INVALID_REQUEST])
def test_what_was_not_asked_for_is_not_told(name, code):
    """A broker that answers with more than it was asked does not make keys."""
    cluster = VirtualCluster()
    answers = []

    def fault(request, version, node):
        if not cluster.is_own(name, request):
            return None
        response = cluster.truth(request, version)
        answers.append(response)
        return add_stranger(response, version, code)

    cluster.fault = fault
    with cluster.admin(timeout_s=5.0) as admin:
        outcomes = CALLS[name](admin)
    assert len(outcomes) == 2
    assert outcomes.failures() == {}
    assert len(answers) == 1


def add_stranger(response, version, code):
    """One more entry, with another name, in the first list of the answer that holds names."""
    for field in response.FIELDS:
        entries = getattr(response, field.name) if version in field.versions and field.kind == "array" else None
        if not entries or field.item.kind != "struct":
            continue
        stranger = copy.deepcopy(entries[0])
        rename(stranger, version)
        if any(inner.name == "error_code" for inner in stranger.FIELDS):
            stranger.error_code = code
        else:
            fail_first(stranger, version, code)
        entries.append(stranger)
        return response
    return response


def rename(item, version):
    """Another name for everything in an entry that has one."""
    for field in item.FIELDS:
        if version not in field.versions:
            continue
        if field.kind == "string" and field.name not in ("error_message", "entity_type") and getattr(item, field.name):
            setattr(item, field.name, "stranger")
        elif field.kind == "array" and field.item.kind == "struct":
            for inner in getattr(item, field.name) or ():
                rename(inner, version)


def refusing(error):
    """In place of ``refuses`` of a node: connections to it end with this error."""

    def refuses():
        raise error

    return refuses


def test_a_node_that_lets_nobody_in_does_not_hide_what_the_others_did():
    cluster = VirtualCluster()
    error = TlsFailed("the certificate has expired")
    cluster.nodes[0].refuses = refusing(error)
    with cluster.admin() as admin:
        moved = admin.alter_replica_log_dirs({ReplicaPlace("t", 0, id): "/d" for id in (1, 2, 3)})
    assert [outcome.error for outcome in moved.values()] == [error, None, None]


def test_what_is_done_is_told_when_the_next_login_is_refused():
    cluster = VirtualCluster()
    error = AuthenticationFailed("the user is gone")

    def fault(request, version, node):
        if not cluster.is_own("create_topics", request):
            return HANG_UP if cluster.sent("create_topics") else None
        response = cluster.truth(request, version)
        response.topics[1].error_code = error_codes.NOT_CONTROLLER
        # Who is the controller now can only be asked on a new connection, and none gets that far.
        for other in cluster.nodes:
            other.refuses = refusing(error)
        return response

    cluster.fault = fault
    with cluster.admin() as admin:
        created = admin.create_topics([NewTopic("t", 1, 1), NewTopic("u", 1, 1)])
    assert created["t"].error is None
    assert created["u"].error is error


def test_a_login_that_nobody_accepts_is_raised():
    cluster = VirtualCluster()
    with cluster.admin() as admin:
        admin.list_topics()
        for node in cluster.nodes[1:]:
            node.refuses = refusing(AuthenticationFailed("wrong password"))
        with pytest.raises(AuthenticationFailed):
            admin.describe_log_dirs([2, 3])
