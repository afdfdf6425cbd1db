"""Every operation, and every option that not all brokers have, on each release from 1.1 to 4.3.

A release is its table of API versions. What it lacks must be one line that says what is missing and who lacks it;
nothing may fail later, when a request is written in a version that cannot carry it.
"""

import pytest

from kafka_tools.admin.calls.offsets import EARLIEST_LOCAL, EARLIEST_PENDING_UPLOAD, LATEST_TIERED, MAX_TIMESTAMP
from kafka_tools.admin.client import AclFilter, FeatureUpdate, MemberIdentity, NewTopic, Principal
from kafka_tools.errors import UnsupportedVersion
from kafka_tools.protocol.releases import releases
from tests.admin.operations import DIRECTORY, OPERATIONS, T0, Operation, failure_of
from tests.admin.virtual_cluster import VirtualCluster

ANY = ""
ALL_RELEASES = releases()
RELEASES = ALL_RELEASES[ALL_RELEASES.index("1.1") :]
OPTIONS = {
    "fenced brokers": Operation(lambda admin: admin.describe_cluster(include_fenced_brokers=True), ANY, "4.0"),
    "operations on the cluster": Operation(
        lambda admin: admin.describe_cluster(include_authorized_operations=True), ANY, "2.3"
    ),
    "operations on topics": Operation(
        lambda admin: admin.describe_topics(["t"], include_authorized_operations=True), ANY, "2.3"
    ),
    "operations on groups": Operation(
        lambda admin: admin.describe_groups(["g"], include_authorized_operations=True), ANY, "2.3"
    ),
    "topics by id": Operation(lambda admin: admin.describe_topics([DIRECTORY]), ANY, "3.1"),
    "deletion by id": Operation(lambda admin: admin.delete_topics([DIRECTORY]), ANY, "2.8"),
    "defaults of new topics": Operation(lambda admin: admin.create_topics([NewTopic("t")]), ANY, "2.4"),
    "groups by state": Operation(lambda admin: admin.list_groups(["Empty"]), ANY, "2.6"),
    "groups by type": Operation(lambda admin: admin.list_groups((), ["consumer"]), ANY, "3.8"),
    "classic groups": Operation(lambda admin: admin.list_groups((), ["classic"]), ANY, "1.1"),
    "several members": Operation(
        lambda admin: admin.remove_members("g", [MemberIdentity("a"), MemberIdentity("b")]), ANY, "2.4"
    ),
    "static members": Operation(lambda admin: admin.remove_members("g", [MemberIdentity("", "i")]), ANY, "2.4"),
    "stable offsets": Operation(lambda admin: admin.list_group_offsets("g", require_stable=True), ANY, "1.1"),
    "offsets of several groups": Operation(lambda admin: admin.list_groups_offsets({"g": None, "h": [T0]}), ANY, "1.1"),
    "largest timestamp": Operation(lambda admin: admin.list_offsets({T0: MAX_TIMESTAMP}), ANY, "3.0"),
    "earliest local": Operation(lambda admin: admin.list_offsets({T0: EARLIEST_LOCAL}), ANY, "3.5"),
    "latest tiered": Operation(lambda admin: admin.list_offsets({T0: LATEST_TIERED}), ANY, "3.9"),
    "pending upload": Operation(lambda admin: admin.list_offsets({T0: EARLIEST_PENDING_UPLOAD}), ANY, "4.2"),
    "committed only": Operation(lambda admin: admin.list_offsets({T0: 5}, read_committed=True), ANY, "1.1"),
    "prefixed ACLs": Operation(lambda admin: admin.describe_acls(AclFilter(pattern_type="PREFIXED")), ANY, "2.0"),
    "tokens of others": Operation(
        lambda admin: admin.create_delegation_token(owner=Principal("User", "a")), ANY, "3.3"
    ),
    "unclean election": Operation(lambda admin: admin.elect_leaders([T0], unclean=True), ANY, "2.4"),
    "fixed replication factor": Operation(
        lambda admin: admin.alter_partition_reassignments({T0: [1]}, allow_replication_factor_change=False), ANY, "4.1"
    ),
    "transactions by duration": Operation(lambda admin: admin.list_transactions(longer_than_ms=5), ANY, "3.8"),
    "transactions by pattern": Operation(lambda admin: admin.list_transactions(pattern="a.*"), ANY, "4.1"),
    "validated features": Operation(
        lambda admin: admin.update_features({"f": FeatureUpdate(1)}, validate_only=True), ANY, "3.3"
    ),
    "unsafe downgrades": Operation(lambda admin: admin.update_features({"f": FeatureUpdate(1, 3)}), ANY, "3.3"),
    "all types of resources": Operation(lambda admin: admin.list_config_resources(), ANY, "4.1"),
}


def outcome(operation, admin):
    try:
        return failure_of(operation.call(admin))
    except UnsupportedVersion as error:
        return error


@pytest.mark.parametrize("release", RELEASES)
def test_what_a_release_can_do_works_and_what_it_cannot_is_told(release):
    wrong = []
    for name, operation in (OPERATIONS | OPTIONS).items():
        with VirtualCluster(release=release).admin() as admin:
            error = outcome(operation, admin)
        can = RELEASES.index(release) >= RELEASES.index(operation.since)
        told = isinstance(error, UnsupportedVersion) and "kafka" in str(error)
        if (error is not None) if can else not told:
            wrong.append((name, str(error)))
    assert not wrong
