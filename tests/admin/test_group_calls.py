"""Groups of every kind: what is described, what is filtered, who is made to leave, and what the principal may do."""

import pytest

from kafka_tools.admin.calls.streams_groups import StreamsAssignment, StreamsTopic, Subtopology
from kafka_tools.admin.client import MemberIdentity
from kafka_tools.errors import NotFound, UnsupportedVersion
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.streams_group_describe import (
    Assignment,
    Endpoint,
    KeyValue,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    TaskIds,
    TaskOffset,
    TopicInfo,
)
from kafka_tools.values import TopicPartition
from tests.net.peers import all_versions

READ_AND_DESCRIBE = 1 << 3 | 1 << 8
NO_NEW_GROUPS = {69: (0, -1)}


def classic(*groups):
    return lambda request, version, node: DescribeGroupsResponse(groups=list(groups))


def test_streams_group_with_its_topology_and_tasks(scripted):
    cluster, admin = scripted()
    Group = StreamsGroupDescribeResponse.DescribedGroup
    topology = Group.Topology(
        epoch=3,
        subtopologies=[
            Group.Topology.Subtopology(
                subtopology_id="0",
                source_topics=["in"],
                repartition_sink_topics=["re"],
                state_changelog_topics=[
                    TopicInfo(name="log", replication_factor=3, topic_configs=[KeyValue(key="k", value="v")])
                ],
            )
        ],
    )
    member = Group.Member(
        member_id="m",
        member_epoch=5,
        client_id="c",
        client_host="/h",
        topology_epoch=3,
        process_id="p",
        user_endpoint=Endpoint(host="here", port=9),
        client_tags=[KeyValue(key="zone", value="a")],
        task_offsets=[TaskOffset(subtopology_id="0", partition=1, offset=7)],
        assignment=Assignment(active_tasks=[TaskIds(subtopology_id="0", partitions=[1, 0])]),
    )
    told = Group(
        group_id="g",
        group_state="Stable",
        group_epoch=5,
        assignment_epoch=4,
        topology=topology,
        members=[member],
        authorized_operations=READ_AND_DESCRIBE,
    )
    gone = Group(group_id="none", error_code=error_codes.GROUP_ID_NOT_FOUND)
    cluster.handlers[StreamsGroupDescribeRequest] = lambda request, version, node: StreamsGroupDescribeResponse(
        groups=[told, gone]
    )
    outcomes = admin.describe_streams_groups(["g", "none"], include_authorized_operations=True)
    group = outcomes["g"].get()
    assert (group.state, group.group_epoch, group.assignment_epoch, group.topology_epoch) == ("Stable", 5, 4, 3)
    log = StreamsTopic("log", 0, 3, {"k": "v"})
    assert group.subtopologies == (Subtopology("0", ("in",), ("re",), (log,), ()),)
    assert group.authorized_operations == ("READ", "DESCRIBE")
    (found,) = group.members
    assert (found.user_endpoint, found.client_tags, found.task_offsets) == (("here", 9), {"zone": "a"}, {("0", 1): 7})
    assert found.assignment == StreamsAssignment({"0": (0, 1)}, {}, {})
    assert isinstance(outcomes["none"].error, NotFound)
    assert cluster.sent(StreamsGroupDescribeRequest)[0][1].include_authorized_operations is True


@pytest.mark.req("AC-31", "AC-34")
def test_groups_of_one_coordinator_are_described_together_and_each_fails_alone(scripted):
    # Kafka 1.1's client asked group by group; what a caller sees is the same.
    cluster, admin = scripted(versions=all_versions(NO_NEW_GROUPS))
    Group = DescribeGroupsResponse.DescribedGroup
    refused = Group(group_id="b", error_code=error_codes.GROUP_AUTHORIZATION_FAILED)
    cluster.handlers[DescribeGroupsRequest] = classic(Group(group_id="a", group_state="Empty"), refused)
    outcomes = admin.describe_groups(["a", "b"])
    assert outcomes["a"].get().state == "Empty"
    assert "GROUP_AUTHORIZATION_FAILED" in str(outcomes["b"].error)
    assert [request.groups for _, request, _ in cluster.sent(DescribeGroupsRequest)] == [["a", "b"]]


@pytest.mark.req("AC-35")
def test_every_kind_of_classic_group_gets_an_outcome(scripted):
    cluster, admin = scripted()
    Group = DescribeGroupsResponse.DescribedGroup
    cluster.handlers[DescribeGroupsRequest] = classic(
        *(
            Group(group_id=kind or "simple", group_state="Stable", protocol_type=kind)
            for kind in ("", "consumer", "odd")
        )
    )
    outcomes = admin.describe_classic_groups(["simple", "consumer", "odd"])
    kinds = {name: group.protocol_type for name, group in outcomes.raise_any().succeeded().items()}
    assert kinds == {"simple": "", "consumer": "consumer", "odd": "odd"}


@pytest.mark.req("AC-48")
def test_described_groups_are_an_outcome_each_or_all_or_nothing(scripted):
    cluster, admin = scripted(versions=all_versions(NO_NEW_GROUPS))
    Group = DescribeGroupsResponse.DescribedGroup
    dead = Group(group_id="b", group_state="Dead")
    cluster.handlers[DescribeGroupsRequest] = classic(Group(group_id="a", group_state="Empty"), dead)
    outcomes = admin.describe_groups(["a", "b"])
    assert list(outcomes.succeeded()) == ["a"]
    with pytest.raises(NotFound, match=r"Group b not found"):
        outcomes.raise_any()


def test_groups_are_sorted_out_by_protocol_type(scripted):
    cluster, admin = scripted()
    Group = ListGroupsResponse.ListedGroup
    cluster.handlers[DescribeClusterRequest] = lambda request, version, node: DescribeClusterResponse(
        controller_id=1,
        brokers=[DescribeClusterResponse.Broker(broker_id=1, host=cluster.nodes[1].host, port=cluster.nodes[1].port)],
    )
    cluster.handlers[ListGroupsRequest] = lambda request, version, node: ListGroupsResponse(
        groups=[Group(group_id="a", protocol_type="consumer"), Group(group_id="b", protocol_type="connect")]
    )
    assert [group.group_id for group in admin.list_groups(protocol_types=["connect"])] == ["b"]
    assert [group.group_id for group in admin.list_groups()] == ["a", "b"]


def test_all_members_leave_static_ones_by_their_instance(scripted):
    cluster, admin = scripted()
    Group = ConsumerGroupDescribeResponse.DescribedGroup
    members = [Group.Member(member_id="m1"), Group.Member(member_id="m2", instance_id="i2")]
    cluster.handlers[ConsumerGroupDescribeRequest] = lambda request, version, node: ConsumerGroupDescribeResponse(
        groups=[Group(group_id="g", group_state="Stable", members=members)]
    )
    cluster.handlers[LeaveGroupRequest] = lambda request, version, node: LeaveGroupResponse(
        members=[
            LeaveGroupResponse.MemberResponse(member_id=item.member_id, group_instance_id=item.group_instance_id)
            for item in request.members
        ]
    )
    outcomes = admin.remove_members("g", None).raise_any()
    assert list(outcomes) == [MemberIdentity("m1"), MemberIdentity("", "i2")]


def test_authorized_operations_are_told_when_asked_for(scripted):
    cluster, admin = scripted(versions=all_versions({60: (0, -1), 75: (0, -1), **NO_NEW_GROUPS}))
    cluster.leaders = {TopicPartition("t", 0): 1}

    def metadata(request, version, node):
        response = cluster.metadata(request)
        # DescribeCluster is not there: Metadata tells of the cluster up to v10.
        if request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = READ_AND_DESCRIBE
        for topic in response.topics:
            if request.include_topic_authorized_operations:
                topic.topic_authorized_operations = READ_AND_DESCRIBE
        return response

    cluster.handlers[MetadataRequest] = metadata
    for node in cluster.nodes.values():
        node.versions[3] = (0, 10)
    Group = DescribeGroupsResponse.DescribedGroup
    cluster.handlers[DescribeGroupsRequest] = classic(Group(group_id="g", authorized_operations=READ_AND_DESCRIBE))
    expected = ("READ", "DESCRIBE")
    assert admin.describe_cluster(include_authorized_operations=True).authorized_operations == expected
    assert admin.describe_cluster().authorized_operations is None
    topics = admin.describe_topics(["t"], include_authorized_operations=True)
    assert topics["t"].get().authorized_operations == expected
    assert admin.describe_topics(["t"])["t"].get().authorized_operations is None
    groups = admin.describe_groups(["g"], include_authorized_operations=True)
    assert groups["g"].get().authorized_operations == expected
    assert cluster.sent(DescribeGroupsRequest)[0][1].include_authorized_operations is True


def test_old_brokers_cannot_tell_authorized_operations(scripted):
    _, admin = scripted(versions=all_versions({3: (0, 7), 15: (0, 2), 60: (0, -1), 75: (0, -1), **NO_NEW_GROUPS}))
    text = "asking for the authorized operations of {} needs"
    with pytest.raises(UnsupportedVersion, match=text.format("the cluster")):
        admin.describe_cluster(include_authorized_operations=True)
    for outcomes, what in (
        (admin.describe_topics(["t"], include_authorized_operations=True), "topics"),
        (admin.describe_groups(["g"], include_authorized_operations=True), "groups"),
    ):
        with pytest.raises(UnsupportedVersion, match=text.format(what)):
            outcomes.raise_any()
