"""Faults: what each operation makes of errors, moves, silence and lost connections."""

import pytest

from kafka_tools.admin import driver
from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.admin.calls.records import HIGH_WATERMARK
from kafka_tools.admin.client import NewPartitions, NewTopic
from kafka_tools.errors import (
    AlreadyExists,
    AuthorizationFailed,
    BrokerError,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    NotFound,
    PartialFailure,
    WireError,
)
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafka_tools.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.values import TopicPartition
from tests.admin.virtual_cluster import VirtualCluster
from tests.net.peers import HANG_UP, SILENCE, all_versions

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def low_watermarks(request, codes=None, low=5):
    Topic = DeleteRecordsResponse.TopicResult
    return DeleteRecordsResponse(
        topics=[
            Topic(
                name=topic.name,
                partitions=[
                    Topic.PartitionResult(
                        partition_index=item.partition_index,
                        low_watermark=low,
                        error_code=(codes or {}).get(item.partition_index, 0),
                    )
                    for item in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def created(request, code=0):
    Topic = CreateTopicsResponse.CreatableTopicResult
    return CreateTopicsResponse(topics=[Topic(name=topic.name, error_code=code) for topic in request.topics])


def groups(*names):
    return ListGroupsResponse(groups=[ListGroupsResponse.ListedGroup(group_id=name) for name in names])


@pytest.mark.req("AC-30")
def test_partitions_go_to_their_leaders_in_one_request_each(scripted):
    cluster, admin = scripted(2)
    cluster.leaders = {T0: 1, T1: 2, TopicPartition("u", 0): 2}
    cluster.handlers[DeleteRecordsRequest] = lambda request, version, node: low_watermarks(request)
    outcomes = admin.delete_records({T0: 5, T1: HIGH_WATERMARK, TopicPartition("u", 0): 7})
    assert outcomes.raise_any().succeeded() == {T0: 5, T1: 5, TopicPartition("u", 0): 5}
    assert list(outcomes) == [T0, T1, TopicPartition("u", 0)]
    sent = {node: [topic.name for topic in request.topics] for node, request, _ in cluster.sent(DeleteRecordsRequest)}
    assert sent == {1: ["t"], 2: ["t", "u"]}


def test_one_failed_partition_is_a_value_beside_the_others(scripted):
    cluster, admin = scripted()
    cluster.leaders = {T0: 1, T1: 1}
    codes = {1: error_codes.OFFSET_OUT_OF_RANGE}
    cluster.handlers[DeleteRecordsRequest] = lambda request, version, node: low_watermarks(request, codes)
    outcomes = admin.delete_records({T0: 5, T1: 6})
    assert outcomes[T0].get() == 5
    with pytest.raises(BrokerError, match=r"OFFSET_OUT_OF_RANGE"):
        outcomes.raise_any()


def test_several_failures_are_one_error_that_names_each(scripted):
    cluster, admin = scripted()
    cluster.leaders = {T0: 1, T1: 1}
    codes = {0: error_codes.OFFSET_OUT_OF_RANGE, 1: error_codes.TOPIC_AUTHORIZATION_FAILED}
    cluster.handlers[DeleteRecordsRequest] = lambda request, version, node: low_watermarks(request, codes)
    outcomes = admin.delete_records({T0: 5, T1: 6})
    assert isinstance(outcomes[T1].error, AuthorizationFailed)
    with pytest.raises(PartialFailure, match=r"2 of 2 failed: t-0: .*OFFSET_OUT_OF_RANGE.*t-1: TOPIC_AUTH"):
        outcomes.raise_any()


@pytest.mark.req("PROTO-11", "PROTO-12")
def test_moved_leader_is_looked_up_again_for_its_keys_only(scripted):
    cluster, admin = scripted(2)
    cluster.leaders = {T0: 1, T1: 1}

    def delete(request, version, node):
        cluster.leaders[T1] = 2
        codes = {1: error_codes.NOT_LEADER_OR_FOLLOWER} if node == 1 else {}
        return low_watermarks(request, codes)

    cluster.handlers[DeleteRecordsRequest] = delete
    admin.delete_records({T0: 5, T1: 6}).raise_any()
    asked = [
        (node, [item.partition_index for item in request.topics[0].partitions])
        for node, request, _ in cluster.sent(DeleteRecordsRequest)
    ]
    assert asked == [(1, [0, 1]), (2, [1])]


def test_partition_without_a_leader_is_waited_for(scripted):
    cluster, admin = scripted()
    cluster.leaders = {T0: -1}
    cluster.handlers[DeleteRecordsRequest] = lambda request, version, node: low_watermarks(request)

    def metadata(request, version, node):
        if len(cluster.sent(MetadataRequest)) == 3:
            cluster.leaders[T0] = 1
        return cluster.metadata(request)

    cluster.handlers[MetadataRequest] = metadata
    assert admin.delete_records({T0: 5})[T0].get() == 5


def test_partition_without_a_leader_ends_at_the_deadline_with_the_reason():
    cluster = VirtualCluster()

    def without_leader(request, version, node):
        if not isinstance(request, MetadataRequest):
            return None
        response = cluster.truth(request, version)
        for topic in response.topics:
            for partition in topic.partitions:
                partition.leader_id, partition.error_code = -1, error_codes.LEADER_NOT_AVAILABLE
        return response

    cluster.fault = without_leader
    with cluster.admin(timeout_s=0.3) as admin:
        with pytest.raises(
            DeadlineExceeded, match=r"timed out after 0\.3 s: delete records; last: LEADER_NOT_AVAILABLE: t-0"
        ):
            admin.delete_records({T0: 5})[T0].get()


def test_unknown_topic_fails_after_a_short_grace():
    cluster = VirtualCluster()

    def without_the_topic(request, version, node):
        if not isinstance(request, MetadataRequest):
            return None
        response = cluster.truth(request, version)
        for topic in response.topics:
            topic.partitions, topic.error_code = [], error_codes.UNKNOWN_TOPIC_OR_PARTITION
        return response

    cluster.fault = without_the_topic
    with cluster.admin() as admin, pytest.raises(NotFound, match=r"UNKNOWN_TOPIC_OR_PARTITION"):
        admin.delete_records({T0: 5})[T0].get()
    asked = [request for _, _, request, _ in cluster.log if isinstance(request, MetadataRequest)]
    assert len(asked) >= 2
    assert cluster.network.clock.monotonic_s() < 2 * driver.UNKNOWN_GRACE_S + 1


def test_topic_that_appears_within_the_grace_is_found(scripted):
    cluster, admin = scripted()
    cluster.handlers[DeleteRecordsRequest] = lambda request, version, node: low_watermarks(request)

    def metadata(request, version, node):
        if len(cluster.sent(MetadataRequest)) == 2:
            cluster.leaders[T0] = 1
        return cluster.metadata(request)

    cluster.handlers[MetadataRequest] = metadata
    assert admin.delete_records({T0: 5})[T0].get() == 5


@pytest.mark.req("AC-24", "EASY-8", "AM-8")
def test_not_controller_clears_the_controller_and_repeats_the_call(scripted):
    cluster, admin = scripted(2)

    def create(request, version, node):
        cluster.controller = 2
        return created(request, 0 if node == 2 else error_codes.NOT_CONTROLLER)

    cluster.handlers[CreateTopicsRequest] = create
    assert admin.create_topics([NewTopic("a", 1, 1), NewTopic("b", 1, 1)]).raise_any()
    assert [node for node, _, _ in cluster.sent(CreateTopicsRequest)] == [1, 2]


def test_cluster_without_a_controller_is_waited_for(scripted):
    cluster, admin = scripted()
    cluster.controller = -1
    cluster.handlers[CreateTopicsRequest] = lambda request, version, node: created(request)

    def metadata(request, version, node):
        if len(cluster.sent(MetadataRequest)) == 3:
            cluster.controller = 1
        return cluster.metadata(request)

    cluster.handlers[MetadataRequest] = metadata
    admin.create_topics([NewTopic("a", 1, 1)]).raise_any()


def test_change_that_timed_out_on_the_broker_is_not_repeated(scripted):
    cluster, admin = scripted()
    cluster.handlers[CreateTopicsRequest] = lambda request, version, node: created(
        request, error_codes.REQUEST_TIMED_OUT
    )
    with pytest.raises(BrokerError, match=r"REQUEST_TIMED_OUT"):
        admin.create_topics([NewTopic("a", 1, 1)]).raise_any()
    assert len(cluster.sent(CreateTopicsRequest)) == 1


def test_connection_lost_during_a_change_is_repeated_and_the_doubt_is_told(scripted):
    cluster, admin = scripted()

    def create(request, version, node):
        first = len(cluster.sent(CreateTopicsRequest)) == 1
        return HANG_UP if first else created(request, error_codes.TOPIC_ALREADY_EXISTS)

    cluster.handlers[CreateTopicsRequest] = create
    with pytest.raises(AlreadyExists) as caught:
        admin.create_topics([NewTopic("a", 1, 1)]).raise_any()
    assert "earlier attempt" in caught.value.hint


@pytest.mark.parametrize(
    ("code", "change"),
    [
        (error_codes.INVALID_PARTITIONS, lambda admin: admin.create_partitions({"t": NewPartitions(2)})),
        (error_codes.NO_REASSIGNMENT_IN_PROGRESS, lambda admin: admin.alter_partition_reassignments({T0: None})),
    ],
)
def test_doubt_is_told_too_where_a_second_attempt_finds_nothing_left_to_do(code, change):
    cluster = VirtualCluster()
    changes = (CreatePartitionsRequest, AlterPartitionReassignmentsRequest)

    def fault(request, version, node):
        if not isinstance(request, changes):
            return None
        first = sum(isinstance(item[2], changes) for item in cluster.log) == 1
        return HANG_UP if first else error_reply(request, version, code)

    cluster.fault = fault
    with cluster.admin() as admin:
        (error,) = change(admin).failures().values()
    assert "earlier attempt" in error.hint


@pytest.mark.req("AC-8", "AC-10")
def test_lost_connections_are_retried_up_to_the_setting(scripted):
    cluster, admin = scripted(retries=2)
    cluster.leaders = {T0: 1}
    cluster.handlers[DeleteRecordsRequest] = lambda request, version, node: low_watermarks(
        request, {0: error_codes.NOT_LEADER_OR_FOLLOWER}
    )
    with pytest.raises(BrokerError, match=r"NOT_LEADER_OR_FOLLOWER"):
        admin.delete_records({T0: 5}).raise_any()
    assert len(cluster.sent(DeleteRecordsRequest)) == 3


def test_silent_node_ends_at_the_deadline():
    cluster = VirtualCluster()
    cluster.fault = lambda request, version, node: SILENCE if isinstance(request, DeleteRecordsRequest) else None
    with cluster.admin(timeout_s=0.4) as admin:
        with pytest.raises(DeadlineExceeded, match=r"timed out after 0\.4 s waiting for .* to answer DeleteRecords"):
            admin.delete_records({T0: 5})[T0].get()


@pytest.mark.req("AC-21")
def test_deadline_of_one_call_and_the_client_s_default(scripted):
    _, admin = scripted(timeout_s=None, default_api_timeout_ms=1234)
    assert admin.deadline().timeout_s == pytest.approx(1.234)
    assert admin.deadline(5).timeout_s == 5


def test_key_that_the_answer_leaves_out_is_an_error_and_not_a_success(scripted):
    cluster, admin = scripted()
    cluster.leaders = {T0: 1, T1: 1}

    def delete(request, version, node):
        response = low_watermarks(request)
        del response.topics[0].partitions[1]
        return response

    cluster.handlers[DeleteRecordsRequest] = delete
    outcomes = admin.delete_records({T0: 5, T1: 6})
    assert outcomes[T0].get() == 5
    with pytest.raises(WireError, match=r"did not report a result for t-1 in its response to DeleteRecords"):
        outcomes[T1].get()


@pytest.mark.req("AC-23")
def test_key_that_is_given_twice_is_sent_once(scripted):
    cluster, admin = scripted()
    cluster.handlers[DeleteTopicsRequest] = lambda request, version, node: DeleteTopicsResponse(
        responses=[DeleteTopicsResponse.DeletableTopicResult(name=topic.name) for topic in request.topics]
    )
    assert len(admin.delete_topics(["a", "a"])) == 1
    assert len(cluster.sent(DeleteTopicsRequest)[0][1].topics) == 1


@pytest.mark.req("AC-22", "AC-25")
def test_empty_name_fails_alone_and_nothing_is_sent_for_it(scripted):
    cluster, admin = scripted()
    cluster.handlers[DeleteTopicsRequest] = lambda request, version, node: DeleteTopicsResponse(
        responses=[DeleteTopicsResponse.DeletableTopicResult(name=topic.name) for topic in request.topics]
    )
    outcomes = admin.delete_topics(["", "a"])
    assert outcomes["a"].error is None
    with pytest.raises(BrokerError, match=r"INVALID_TOPIC_EXCEPTION: .* cannot be represented in a request"):
        outcomes[""].get()
    assert [[topic.name for topic in request.topics] for _, request, _ in cluster.sent(DeleteTopicsRequest)] == [["a"]]
    assert isinstance(admin.delete_topics([""])[""].error, BrokerError)
    assert len(cluster.sent(DeleteTopicsRequest)) == 1


@pytest.mark.req("AC-33")
def test_coordinator_that_is_not_available_yet_is_waited_for(scripted):
    cluster, admin = scripted()

    def find(request, version, node):
        if len(cluster.sent(FindCoordinatorRequest)) < 3:
            Coordinator = FindCoordinatorResponse.Coordinator
            code = error_codes.COORDINATOR_NOT_AVAILABLE
            return FindCoordinatorResponse(
                coordinators=[Coordinator(key=key, error_code=code) for key in request.coordinator_keys]
            )
        return cluster._coordinators(request, version)

    cluster.handlers[FindCoordinatorRequest] = find
    cluster.handlers[DeleteGroupsRequest] = _deleted
    admin.delete_groups(["g"]).raise_any()


@pytest.mark.req("AC-33", "GAP-16")
def test_error_of_the_coordinator_lookup_is_not_passed_over(scripted):
    cluster, admin = scripted()
    Coordinator = FindCoordinatorResponse.Coordinator
    cluster.handlers[FindCoordinatorRequest] = lambda request, version, node: FindCoordinatorResponse(
        coordinators=[
            Coordinator(key=key, error_code=error_codes.GROUP_AUTHORIZATION_FAILED) for key in request.coordinator_keys
        ]
    )
    with pytest.raises(AuthorizationFailed, match=r"GROUP_AUTHORIZATION_FAILED"):
        admin.delete_groups(["g"])["g"].get()


def _deleted(request, version, node, code=0):
    Result = DeleteGroupsResponse.DeletableGroupResult
    return DeleteGroupsResponse(results=[Result(group_id=name, error_code=code) for name in request.groups_names])


@pytest.mark.parametrize("find_version", [2, 3, 6])
def test_moved_coordinator_is_looked_up_again(scripted, find_version):
    cluster, admin = scripted(2, versions=all_versions({10: (0, find_version)}))

    def delete(request, version, node):
        cluster.coordinator = 2
        return _deleted(request, version, node, 0 if node == 2 else error_codes.NOT_COORDINATOR)

    cluster.handlers[DeleteGroupsRequest] = delete
    assert admin.delete_groups(["g", "h"]).raise_any()
    assert [node for node, _, _ in cluster.sent(DeleteGroupsRequest)] == [1, 2]


@pytest.mark.req("AC-39", "AC-41", "AC-42", "AC-43", "CG-2", "EASY-7")
def test_groups_of_all_brokers_are_merged_and_failed_brokers_are_told(scripted):
    cluster, admin = scripted(3)

    def listed(request, version, node):
        if node == 2:
            return ListGroupsResponse(error_code=error_codes.CLUSTER_AUTHORIZATION_FAILED)
        return groups("b", "both") if node == 1 else groups("a", "both")

    cluster.handlers[ListGroupsRequest] = listed
    cluster.handlers.update(_describe_cluster(cluster))
    found = admin.list_groups()
    assert [group.group_id for group in found] == ["a", "b", "both"]
    assert ["Error listing groups on" in str(error) for error in found.errors] == [True]
    assert sorted(node for node, _, _ in cluster.sent(ListGroupsRequest)) == [1, 2, 3]
    with pytest.raises(AuthorizationFailed):
        found.complete()


@pytest.mark.req("AC-41", "AC-43")
def test_of_several_brokers_that_cannot_list_the_first_error_counts_and_each_is_told(scripted):
    cluster, admin = scripted(3)
    codes = {1: error_codes.GROUP_AUTHORIZATION_FAILED, 2: error_codes.CLUSTER_AUTHORIZATION_FAILED}

    def listed(request, version, node):
        return ListGroupsResponse(error_code=codes[node]) if node in codes else groups("c")

    cluster.handlers[ListGroupsRequest] = listed
    cluster.handlers.update(_describe_cluster(cluster))
    found = admin.list_groups()
    assert [group.group_id for group in found] == ["c"]
    assert len(found.errors) == 2
    for id, error in zip((1, 2), found.errors, strict=True):
        row = error_codes.error(codes[id])
        where = f"{cluster.nodes[id].host}:{cluster.nodes[id].port} (id {id})"
        assert str(error).startswith(f"{row.name}: Error listing groups on {where}: {row.text}")
    with pytest.raises(AuthorizationFailed, match="GROUP_AUTHORIZATION_FAILED"):
        found.complete()


@pytest.mark.req("AC-43")
def test_broker_that_is_down_costs_its_part_only(scripted):
    cluster, admin = scripted(2)
    cluster.handlers[ListGroupsRequest] = lambda request, version, node: groups("a")
    cluster.handlers.update(_describe_cluster(cluster))
    cluster.nodes[2].refuses = lambda: True
    found = admin.list_groups()
    assert [group.group_id for group in found] == ["a"]
    assert isinstance(found.errors[0], ConnectFailed)


def _describe_cluster(cluster):
    from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

    def answer(request, version, node):
        Broker = DescribeClusterResponse.Broker
        brokers = [Broker(broker_id=id, host=item.host, port=item.port) for id, item in cluster.nodes.items()]
        return DescribeClusterResponse(cluster_id="scripted", controller_id=cluster.controller, brokers=brokers)

    return {DescribeClusterRequest: answer}


def test_wrong_address_fails_at_once(free_port):
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.net.config import ClientConfig

    with AdminClient(ClientConfig({"bootstrap.servers": f"127.0.0.1:{free_port()}"}), timeout_s=30) as admin:
        with pytest.raises(ConnectFailed, match=r"Connection refused"):
            admin.list_topics()


def test_node_that_hangs_up_on_everything_is_tried_a_few_times_only(scripted):
    cluster, admin = scripted()
    cluster.handlers[MetadataRequest] = lambda request, version, node: HANG_UP
    with pytest.raises(Disconnected, match=r"closed the connection") as caught:
        admin.delete_records({T0: 5})
    assert "security.protocol" in caught.value.hint
    assert len(cluster.sent(MetadataRequest)) == driver.UNREACHABLE_TRIES


def test_a_served_clients_connection_that_ends_over_a_large_request_is_not_taken_for_a_missing_login():
    cluster = VirtualCluster()
    cluster.fault = lambda request, version, node: HANG_UP if isinstance(request, DescribeLogDirsRequest) else None
    with cluster.admin() as admin:
        admin.list_topics()
        for count, words in ((60_000, "larger than their socket.request.max.bytes"), (1, "may require a SASL login")):
            many = [TopicPartition("t", number) for number in range(count)]
            error = admin.describe_log_dirs([3], many)[3].error
            assert "disconnected" in str(error)
            assert words in error.hint
            assert ("SASL" in error.hint) == (count == 1)


def test_many_reassignments_are_asked_for_and_begun_in_pieces():
    """Kafka's controllers change 10,000 partitions in one request at most, and fail those beyond."""
    cluster = VirtualCluster()
    many = {TopicPartition("t", number): [1] for number in range(12_000)}
    with cluster.admin() as admin:
        assert list(admin.alter_partition_reassignments(many).succeeded()) == list(many)
        assert admin.list_partition_reassignments(list(many)) == {}
        places = [ReplicaPlace("t", number, 1) for number in range(12_000)]
        assert list(admin.describe_replica_log_dirs(places)) == places
    asked = [request for _, _, request, _ in cluster.log]
    altered = [each for each in asked if isinstance(each, AlterPartitionReassignmentsRequest)]
    listed = [each for each in asked if isinstance(each, ListPartitionReassignmentsRequest)]
    described = [each for each in asked if isinstance(each, DescribeLogDirsRequest)]
    assert [len(each.topics[0].partitions) for each in altered] == [5000, 5000, 2000]
    assert [len(each.topics[0].partition_indexes) for each in listed] == [5000, 5000, 2000]
    assert [len(each.topics[0].partitions) for each in described] == [5000, 5000, 2000]
