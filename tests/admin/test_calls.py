"""Single calls: what older versions cannot say, precedence of quotas, merged configurations, odd answers."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kafka_tools.admin.calls as calls_package
from kafka_tools.admin.calls.acls import AclBinding, AclFilter
from kafka_tools.admin.calls.config_changes import ConfigChange
from kafka_tools.admin.calls.configs import ConfigEntry, ConfigResource, ConfigSynonym
from kafka_tools.admin.calls.groups import decode_assignment
from kafka_tools.admin.calls.members import REASON, MemberIdentity
from kafka_tools.admin.calls.merged_configs import append_what_is_missing, merge_changes
from kafka_tools.admin.calls.offsets import EARLIEST_LOCAL, LATEST, MAX_TIMESTAMP, FetchGroupOffsets
from kafka_tools.admin.calls.permissions import operations_of
from kafka_tools.admin.calls.quotas import SOURCES, effective, quota_entity
from kafka_tools.admin.calls.share_groups import ShareOffset
from kafka_tools.admin.calls.tokens import parse_hmac, parse_principal
from kafka_tools.admin.calls.topic_changes import DeleteTopics
from kafka_tools.admin.calls.topics import DescribeTopics
from kafka_tools.admin.client import NewPartitions
from kafka_tools.admin.driver import AdminCall, Reply
from kafka_tools.errors import InputError, NotFound, UnsupportedVersion, WireError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from kafka_tools.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_tools.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafka_tools.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from kafka_tools.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafka_tools.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_tools.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolAssignment
from kafka_tools.values import Node, TopicPartition
from tests.net.peers import all_versions

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.mark.req("QT-2", "QT-21", "QT-22")
@pytest.mark.parametrize("strongest", range(8))
def test_most_specific_quota_wins(strongest):
    levels = [
        {"user": "u", "client-id": "c"},
        {"user": "u", "client-id": None},
        {"user": "u"},
        {"user": None, "client-id": "c"},
        {"user": None, "client-id": None},
        {"user": None},
        {"client-id": "c"},
        {"client-id": None},
    ]
    quotas = {quota_entity(level): {"producer_byte_rate": float(number)} for number, level in enumerate(levels)}
    for level in levels[:strongest]:
        del quotas[quota_entity(level)]
    found = effective(quotas, "u", "c")["producer_byte_rate"]
    assert (found.value, found.source, found.source_text) == (float(strongest), strongest, SOURCES[strongest])


@pytest.mark.req("QT-4", "QT-33")
def test_entities_are_the_same_whatever_their_order_and_refused_when_impossible():
    assert quota_entity({"client-id": "c", "user": "u"}) == quota_entity([("user", "u"), ("client-id", "c")])
    for parts in ({}, {"topic": "t"}, {"ip": "1.2.3.4", "user": "u"}):
        with pytest.raises(InputError, match=r"invalid quota entity"):
            quota_entity(parts)


def entry(name, value, source="DYNAMIC_TOPIC_CONFIG", sensitive=False):
    return ConfigEntry(name, value, source, sensitive, False)


TOPIC = ConfigResource("topic", "t")
names = st.sampled_from(["a", "b", "c", "d"])
texts = st.text("xyz", max_size=3)


@pytest.mark.req("CFG-29")
@given(
    st.dictionaries(names, texts),
    st.lists(st.builds(ConfigChange, names, st.sampled_from(["set", "delete"]), texts), max_size=6),
)
def test_merged_configuration_keeps_what_no_change_names(current, changes):
    merged = merge_changes(TOPIC, [entry(name, value) for name, value in current.items()], changes)
    named = {change.name for change in changes}
    for name in "abcd":
        if name not in named:
            assert merged.get(name) == current.get(name)
        else:
            last = [change for change in changes if change.name == name][-1]
            assert merged.get(name) == (last.value if last.operation == "set" else None)


def test_merged_lists_append_and_subtract():
    current = [entry("l", "a,b"), entry("d", "x", "DEFAULT_CONFIG")]
    changes = [
        ConfigChange("l", "append", "b,c"),
        ConfigChange("l", "subtract", "a"),
        ConfigChange("d", "append", "y"),
    ]
    assert merge_changes(TOPIC, current, changes) == {"l": "b,c", "d": "x,y"}


def test_lists_are_appended_to_kafkas_default_and_not_to_the_clusters():
    synonyms = (ConfigSynonym("log.l", "b", "STATIC_BROKER_CONFIG"), ConfigSynonym("log.l", "a", "DEFAULT_CONFIG"))
    current = [entry("l", "b", "STATIC_BROKER_CONFIG")._replace(synonyms=synonyms)]
    assert merge_changes(TOPIC, current, [ConfigChange("l", "append", "c")]) == {"l": "a,c"}


def test_brokers_that_append_what_is_there_are_asked_for_what_is_missing():
    current = [entry("l", "a,b"), entry("d", "x", "DEFAULT_CONFIG"), entry("n", "5")._replace(type="LONG")]
    changes = [
        ConfigChange("l", "append", "b,c,c"),
        ConfigChange("d", "append", "x"),
        ConfigChange("new", "append", "y"),
        ConfigChange("n", "append", "5"),
        ConfigChange("l", "subtract", "a"),
    ]
    adjusted = append_what_is_missing(TOPIC, current, changes)
    assert [tuple(change) for change in adjusted] == [
        ("l", "append", "c"),
        ("d", "set", "x"),
        ("new", "append", "y"),
        ("n", "append", "5"),  # no list: the broker says so
        ("l", "subtract", "a"),
    ]


def test_defaults_are_not_written_back():
    assert merge_changes(TOPIC, [entry("d", "x", "DEFAULT_CONFIG")], [ConfigChange("a", "set", "1")]) == {"a": "1"}


def test_sensitive_value_that_would_be_lost_refuses_the_change():
    current = [entry("secret", None, sensitive=True), entry("a", "1")]
    with pytest.raises(InputError, match=r"topic t: .* would drop secret"):
        merge_changes(TOPIC, current, [ConfigChange("a", "set", "2")])
    assert merge_changes(TOPIC, current, [ConfigChange("secret", "delete")]) == {"a": "1"}
    assert merge_changes(TOPIC, current, [ConfigChange("secret", "set", "n")]) == {"secret": "n", "a": "1"}


def test_other_types_cannot_be_replaced():
    with pytest.raises(InputError, match=r"brokers before 2\.3 cannot change this"):
        merge_changes(ConfigResource("group", "g"), [], [])


@pytest.mark.req("AC-9")
def test_offsets_that_an_old_broker_cannot_tell_fail_alone(scripted):
    cluster, admin = scripted(versions=all_versions({2: (0, 7)}))
    cluster.leaders = {T0: 1, T1: 1, TopicPartition("t", 2): 1}
    Topic = ListOffsetsResponse.TopicResponse
    cluster.handlers[ListOffsetsRequest] = lambda request, version, node: ListOffsetsResponse(
        topics=[
            Topic(
                name="t",
                partitions=[
                    Topic.PartitionResponse(partition_index=item.partition_index, offset=9, leader_epoch=3)
                    for item in request.topics[0].partitions
                ],
            )
        ]
    )
    specs = {T0: LATEST, T1: EARLIEST_LOCAL, TopicPartition("t", 2): MAX_TIMESTAMP}
    outcomes = admin.list_offsets(specs)
    assert isinstance(outcomes[T1].error, UnsupportedVersion)
    assert [offset.offset for offset in outcomes.succeeded().values()] == [9, 9]
    [(_, request, version)] = cluster.sent(ListOffsetsRequest)
    assert (len(request.topics[0].partitions), version) == (2, 7)


def test_offsets_of_many_groups_go_in_one_request_or_one_each(scripted):
    for newest, requests in ((10, 1), (9, 1), (8, 1), (7, 3), (1, 3)):
        cluster, admin = scripted(versions=all_versions({9: (0, newest)}))

        def answer(request, version, node):
            if version >= 8:
                Group = OffsetFetchResponse.ResponseGroup
                return OffsetFetchResponse(groups=[Group(group_id=group.group_id) for group in request.groups])
            return OffsetFetchResponse()

        cluster.handlers[OffsetFetchRequest] = answer
        wanted = {"a": [T0], "b": [T0], "c": [T1]}
        assert list(admin.list_groups_offsets(wanted).raise_any()) == ["a", "b", "c"]
        assert len(cluster.sent(OffsetFetchRequest)) == requests
        # v10 names topics by id, which a client of names does not have.
        assert {version for _, _, version in cluster.sent(OffsetFetchRequest)} == {min(newest, 9)}


def test_groups_by_state_and_type_on_old_brokers(scripted):
    cluster, admin = scripted(versions=all_versions({16: (0, 3), 60: (0, -1)}))
    cluster.handlers[ListGroupsRequest] = lambda request, version, node: ListGroupsResponse(
        groups=[ListGroupsResponse.ListedGroup(group_id="g", protocol_type="consumer")]
    )
    assert [group.group_id for group in admin.list_groups(types=["classic", "consumer"])] == ["g"]
    with pytest.raises(UnsupportedVersion, match=r"listing groups of type share"):
        admin.list_groups(types=["share"])
    with pytest.raises(UnsupportedVersion, match=r"listing groups by state"):
        admin.list_groups(states=["Empty"])


@pytest.mark.req("ACL-4")
def test_acls_before_pattern_types(scripted):
    cluster, admin = scripted(versions=all_versions({29: (0, 0), 30: (0, 0)}))
    cluster.handlers[CreateAclsRequest] = lambda request, version, node: CreateAclsResponse(
        results=[CreateAclsResponse.AclCreationResult() for _ in request.creations]
    )
    cluster.handlers[DescribeAclsRequest] = lambda request, version, node: DescribeAclsResponse()
    literal = AclBinding("TOPIC", "t", "LITERAL", "User:a", "*", "READ", "ALLOW")
    admin.create_acls([literal]).raise_any()
    with pytest.raises(UnsupportedVersion, match=r"a prefixed pattern"):
        admin.create_acls([literal._replace(pattern_type="PREFIXED")]).raise_any()
    assert admin.describe_acls() == []
    with pytest.raises(UnsupportedVersion, match=r"pattern type MATCH"):
        admin.describe_acls(AclFilter(pattern_type="MATCH"))
    with pytest.raises(InputError, match=r"invalid operation 'FLY'"):
        admin.create_acls([literal._replace(operation="FLY")]).raise_any()


@pytest.mark.req("LD-7")
def test_empty_answer_about_log_dirs_is_a_refusal(scripted):
    cluster, admin = scripted(versions=all_versions({35: (0, 2)}))
    cluster.handlers[DescribeLogDirsRequest] = lambda request, version, node: DescribeLogDirsResponse()
    outcome = admin.describe_log_dirs([1])[1]
    assert "may lack DESCRIBE on the cluster" in str(outcome.error)


def test_operations_of_a_bit_field():
    assert operations_of(-(2**31)) is None
    assert operations_of((1 << 3) | (1 << 11)) == ("READ", "ALTER_CONFIGS")


@pytest.mark.req("AC-36")
def test_assignment_bytes():
    Topic = ConsumerProtocolAssignment.TopicPartition
    assignment = ConsumerProtocolAssignment(assigned_partitions=[Topic(topic="t", partitions=[1, 0])])
    data = encode_versioned(assignment, 1)
    assert decode_assignment(b"") == ()
    assert decode_assignment(data) == (T0, T1)
    assert decode_assignment(b"\x00\x09" + data[2:] + b"newer fields") == (T0, T1)
    for cut in range(1, len(data) - 4):
        with pytest.raises(WireError):
            decode_assignment(data[:cut])


def test_texts_of_tokens():
    assert str(parse_principal("User:a:b")) == "User:a:b"
    assert [str(parse_principal(text)) for text in (":alice", "User:")] == [":alice", "User:"], "Kafka stores them"
    with pytest.raises(InputError, match=r"expected User:name"):
        parse_principal("alice")
    assert parse_hmac("AAEC") == b"\x00\x01\x02"
    with pytest.raises(InputError) as caught:
        parse_hmac("not base64 secret")
    assert "secret" not in str(caught.value)


def test_imports_stay_light():
    # ssl, hashlib and asyncio cost more than everything a plain listing needs.
    heavy = ["ssl", "hashlib", "asyncio", "logging", "dataclasses", "numpy", "cryptography"]
    program = (
        "import sys; from kafka_tools.admin.client import AdminClient; from kafka_tools.net.config import ClientConfig;"
        "admin = AdminClient(ClientConfig.load('127.0.0.1:1'), timeout_s=5)\n"
        "try: admin.list_topics()\n"
        "except Exception as error: assert 'refused' in str(error), error\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
    assert run.stdout.strip() == "[]"


def left(request, version, node):
    if version < 3:
        return LeaveGroupResponse()
    Member = LeaveGroupResponse.MemberResponse
    members = [Member(member_id=each.member_id, group_instance_id=each.group_instance_id) for each in request.members]
    return LeaveGroupResponse(members=members)


def test_members_leave_together_or_one_by_one(scripted):
    static, dynamic = MemberIdentity(instance_id="i-1"), MemberIdentity("m-1")
    cluster, admin = scripted()
    cluster.handlers[LeaveGroupRequest] = left
    assert list(admin.remove_members("g", [static, dynamic]).raise_any()) == [static, dynamic]
    assert [each.reason for each in cluster.sent(LeaveGroupRequest)[0][1].members] == [REASON, REASON]
    assert admin.remove_members("g", []) == {}
    cluster, admin = scripted(versions=all_versions({13: (0, 2)}))
    cluster.handlers[LeaveGroupRequest] = left
    admin.remove_members("g", [dynamic]).raise_any()
    assert cluster.sent(LeaveGroupRequest)[0][1].member_id == "m-1"
    for members in ([static], [dynamic, MemberIdentity("m-2")]):
        with pytest.raises(UnsupportedVersion, match=r"several members, or static ones"):
            admin.remove_members("g", members)


def test_offsets_of_share_groups(scripted):
    cluster, admin = scripted()
    Group = DescribeShareGroupOffsetsResponse.ResponseGroup
    Partition = Group.ResponseTopic.ResponsePartition
    partitions = [
        Partition(partition_index=0, start_offset=5, leader_epoch=-1, lag=7),
        Partition(partition_index=1, start_offset=-1, leader_epoch=-1),
        Partition(partition_index=2, error_code=error_codes.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    cluster.handlers[DescribeShareGroupOffsetsRequest] = lambda request, version, node: (
        DescribeShareGroupOffsetsResponse(
            groups=[Group(group_id="g", topics=[Group.ResponseTopic(topic_name="t", partitions=partitions)])]
        )
    )
    found = admin.list_share_group_offsets({"g": None})["g"].get()
    assert found.succeeded() == {T0: ShareOffset(5, None, 7), T1: None}
    assert list(found.failures()) == [TopicPartition("t", 2)]
    assert cluster.sent(DescribeShareGroupOffsetsRequest)[0][1].groups[0].topics is None


@pytest.mark.req("GAP-16")
def test_group_of_another_protocol_is_described_without_guessing_at_its_bytes(scripted):
    cluster, admin = scripted(versions=all_versions({69: (0, -1)}))
    Group = DescribeGroupsResponse.DescribedGroup
    member = Group.DescribedGroupMember(member_id="w", client_id="c", client_host="/h", member_assignment=b"\x00\x01x")
    cluster.handlers[DescribeGroupsRequest] = lambda request, version, node: DescribeGroupsResponse(
        groups=[Group(group_id="g", group_state="Stable", protocol_type="connect", members=[member])]
    )
    described = admin.describe_groups(["g"])["g"].get()
    assert (described.protocol_type, described.members[0].assignment) == ("connect", ())


@pytest.mark.req("AC-28")
def test_partitions_are_added_to_a_total_with_the_places_of_the_new_ones(scripted):
    cluster, admin = scripted()
    cluster.handlers[CreatePartitionsRequest] = lambda request, version, node: CreatePartitionsResponse(
        results=[CreatePartitionsResponse.TopicResult(name=topic.name) for topic in request.topics]
    )
    admin.create_partitions({"t": NewPartitions(3, [[1], [2]])}, validate_only=True).raise_any()
    [(_, request, _)] = cluster.sent(CreatePartitionsRequest)
    assert (request.topics[0].count, request.validate_only) == (3, True)
    assert [item.broker_ids for item in request.topics[0].assignments] == [[1], [2]]
    assert 0 < request.timeout_ms <= 30_000


@pytest.mark.req("AC-29")
def test_topic_that_the_answer_lacks_is_not_found(scripted):
    cluster, admin = scripted(versions=all_versions({75: (0, -1)}))
    cluster.leaders = {T0: 1}
    outcomes = admin.describe_topics(["t", "none"])
    assert outcomes["t"].get().name == "t"
    with pytest.raises(NotFound, match=r"Topic none not found\."):
        outcomes["none"].get()


def test_answers_whose_topics_lack_their_names_are_errors_or_left_out(scripted):
    cluster, admin = scripted(versions=all_versions({75: (0, -1)}))
    cluster.leaders = {T0: 1}
    nameless = MetadataResponse.ResponseTopic(name=None, topic_id=uuid.UUID(int=7))
    known = cluster.metadata

    def metadata(request, version, node_id):
        response = known(request)
        response.topics.append(nameless)
        return response

    cluster.handlers[MetadataRequest] = metadata
    assert [topic.name for topic in admin.list_topics()] == ["t"]
    with pytest.raises(WireError, match="does not contain its name"):
        admin.describe_topics([uuid.UUID(int=7)]).raise_any()
    Result = DeleteTopicsResponse.DeletableTopicResult
    cluster.handlers[DeleteTopicsRequest] = lambda request, version, node_id: DeleteTopicsResponse(
        responses=[Result(name=None, topic_id=uuid.UUID(int=9), error_code=3), Result(name="t")]
    )
    admin.delete_topics(["t"]).raise_any()


def test_pages_of_topics_without_names_are_an_error(scripted):
    cluster, admin = scripted()
    Topic = DescribeTopicPartitionsResponse.ResponseTopic
    cluster.handlers[DescribeTopicPartitionsRequest] = lambda *_: DescribeTopicPartitionsResponse(
        topics=[Topic(name=None)]
    )
    with pytest.raises(WireError, match="without a name"):
        admin.describe_topics(["t"]).raise_any()


def test_every_call_names_the_class_of_its_answers():
    calls = [
        each
        for module in pkgutil.iter_modules(calls_package.__path__)
        for each in vars(importlib.import_module(f"{calls_package.__name__}.{module.name}")).values()
        if isinstance(each, type) and issubclass(each, AdminCall) and each is not AdminCall
    ]
    assert len(calls) > 40
    for call in calls:
        assert "Response" in inspect.signature(call.interpret).parameters["reply"].annotation, call


class Unsearched(list):
    """Keys of a request, of which nobody may look for one by walking through them; some walk once for all."""

    walks = 0

    def __contains__(self, key):
        raise AssertionError("looked for a key among all")

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


@pytest.mark.parametrize(
    ("call", "keys", "response", "version"),
    [
        pytest.param(
            FetchGroupOffsets({f"g{number}": None for number in range(50)}, True),
            [f"g{number}" for number in range(50)],
            OffsetFetchResponse(
                groups=[OffsetFetchResponse.ResponseGroup(group_id=f"g{number}", topics=[]) for number in range(50)]
            ),
            8,
            id="group offsets",
        ),
        pytest.param(
            DescribeTopics(),
            [*[f"t{number}" for number in range(25)], *[uuid.UUID(int=1 + number) for number in range(25)]],
            MetadataResponse(
                topics=[
                    *[MetadataResponse.ResponseTopic(name=f"t{number}", partitions=[]) for number in range(25)],
                    *[
                        MetadataResponse.ResponseTopic(name=f"u{number}", topic_id=uuid.UUID(int=1 + number))
                        for number in range(25)
                    ],
                ]
            ),
            12,
            id="topics",
        ),
        pytest.param(
            DeleteTopics(True),
            [uuid.UUID(int=1 + number) for number in range(50)],
            DeleteTopicsResponse(
                responses=[
                    DeleteTopicsResponse.DeletableTopicResult(name=None, topic_id=uuid.UUID(int=1 + number))
                    for number in range(50)
                ]
            ),
            6,
            id="deleted topics",
        ),
    ],
)
def test_an_answer_about_many_keys_is_not_searched_for_each(call, keys, response, version):
    """10,000 groups were half a second of comparing names."""
    asked = Unsearched(keys)
    reply = Reply(asked, response, version, Node(1, "h", 1))
    call.interpret(reply)
    assert list(reply.completed) == keys
    assert asked.walks <= 2
