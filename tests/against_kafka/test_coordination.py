"""Groups, offsets, configs, quotas and SCRAM users: the bundled broker answers as Kafka does.

Each script sends the same requests to both and compares the answers: error codes, texts, and what is described.
Member ids are random, so they are named by the order in which they appear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.alter_configs import AlterConfigsRequest
from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolSubscription
from tests.against_kafka.harness import RealKafka
from tests.broker_embedded.configs.test_configs import REFUSED, THROTTLED

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
NAME = "coordination"
"""Of the topic, and the beginning of the names of groups and users: the cluster is shared."""


class Peer:
    """One broker, and the names given to the member ids it made up."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._exchange = Exchange(ClientConfig.load(bootstrap_servers=bootstrap_servers), clock=SystemClock())
        self.node = self._exchange.bootstrap(self._deadline())
        self.members: list[str] = []
        self.node_id = ""

    def _deadline(self) -> Deadline:
        return Deadline(SystemClock(), 60)

    def call(self, request: Any, version: int | None = None) -> Any:
        return self._exchange.call(self.node, request, self._deadline(), version)

    def send(self, request: Any) -> Any:
        """A request whose answer is taken later, on a connection of its own."""
        return self._exchange.send(self.node, request, self._deadline(), channel=f"parked-{id(request)}")

    def wait(self, pending: Any) -> Any:
        self._exchange.wait([pending])
        return pending.response

    def named(self, member_id: str) -> str:
        """A member id as "member N", the empty one as it is."""
        if member_id and member_id not in self.members:
            self.members.append(member_id)
        return f"member {self.members.index(member_id)}" if member_id else ""

    def close(self) -> None:
        self._exchange.close()


@pytest.fixture(scope="module")
def embedded() -> Iterator[EmbeddedBroker]:
    config = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.replication.factor": "1"}
    with EmbeddedBroker(config=config) as broker:
        yield broker


@pytest.fixture
def peers(kafka_new: RealKafka, embedded: EmbeddedBroker) -> Iterator[tuple[Peer, Peer]]:
    pair = Peer(kafka_new.bootstrap_servers), Peer(embedded.bootstrap_servers)
    for peer in pair:
        prepare(peer)
    yield pair
    for peer in pair:
        peer.close()


def prepare(peer: Peer) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name=NAME, num_partitions=2, replication_factor=1)
    peer.call(CreateTopicsRequest(topics=[topic], timeout_ms=30_000))
    find = FindCoordinatorRequest(coordinator_keys=[NAME])
    for _ in range(900):  # a real broker needs a moment to make the offsets topic and load it
        found = peer.call(find).coordinators[0]
        listed = peer.call(ListGroupsRequest())
        ready = peer.call(commit_request(f"{NAME}-probe", {0: (1, "")}), 9).topics[0].partitions[0]
        if not found.error_code and not listed.error_code and not ready.error_code:
            peer.node_id = str(found.node_id)
            return
        SystemClock().sleep(0.1)
    raise AssertionError("the coordinator never became available")


def same(peers: tuple[Peer, Peer], script: Callable[[Peer], Iterable[Any]]) -> None:
    """Run a script on both, step by step. A step is an answer, or a function that reads what an earlier step wrote:
    a KRaft broker learns of that a moment later."""
    real_steps, our_steps = (script(peer) for peer in peers)
    for number, (real, ours) in enumerate(zip_longest(real_steps, our_steps)):
        if callable(ours):
            read, ours, real = real, ours(), real()
            deadline = Deadline(SystemClock(), 30)
            while real != ours and not deadline.expired:
                SystemClock().sleep(0.1)
                real = read()
        assert ours == real, f"step {number}"


def commit_request(
    group: str, offsets: dict[int, tuple[int, str | None]], generation: int = -1, member: str = "", topic: str = NAME
) -> OffsetCommitRequest:
    request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=generation, member_id=member)
    entry = request.RequestTopic(name=topic)
    entry.partitions = [
        entry.RequestPartition(partition_index=number, committed_offset=offset, committed_metadata=text)
        for number, (offset, text) in offsets.items()
    ]
    request.topics = [entry]
    return request


def join_request(group: str, member: str = "", instance: str | None = None, **fields: Any) -> JoinGroupRequest:
    metadata = encode_versioned(ConsumerProtocolSubscription(topics=[NAME]), 1)
    values = {
        "group_id": group,
        "session_timeout_ms": 30_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member,
        "group_instance_id": instance,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequest.RequestProtocol(name="range", metadata=metadata)],
    }
    return JoinGroupRequest(**(values | fields))


def joined(peer: Peer, response: Any) -> Any:
    return (
        response.error_code,
        response.generation_id,
        response.protocol_type,
        response.protocol_name,
        peer.named(response.leader),
        response.skip_assignment,
        peer.named(response.member_id),
        sorted((peer.named(m.member_id), m.group_instance_id, bytes(m.metadata)) for m in response.members),
    )


def described(peer: Peer, group: str, version: int | None = None) -> Any:
    (found,) = peer.call(DescribeGroupsRequest(groups=[group]), version).groups
    return (
        found.error_code, found.error_message, found.group_state, found.protocol_type, found.protocol_data,
        found.authorized_operations,
        sorted((peer.named(m.member_id), m.group_instance_id, m.client_host, bytes(m.member_metadata),
                bytes(m.member_assignment)) for m in found.members),
    )  # fmt: skip


def sync_request(group: str, member: str, generation: int, instance: str | None = None, **given: bytes) -> Any:
    request = SyncGroupRequest(
        group_id=group, generation_id=generation, member_id=member, group_instance_id=instance,
        protocol_type="consumer", protocol_name="range",
    )  # fmt: skip
    request.assignments = [request.RequestAssignment(member_id=member, assignment=data) for data in given.values()]
    return request


def synced(response: Any) -> Any:
    return response.error_code, response.protocol_type, response.protocol_name, bytes(response.assignment)


# groups


def test_a_dynamic_member_joins_syncs_rejoins_and_leaves(peers: tuple[Peer, Peer]) -> None:
    group = f"{NAME}-dynamic"

    def script(peer: Peer) -> list[Any]:
        out: list[Any] = [joined(peer, peer.call(join_request(group)))]
        member = peer.members[0]
        out.append(joined(peer, peer.call(join_request(group, member))))
        out.append(described(peer, group))
        out.append(
            [r.error_code for r in peer.call(commit_request(group, {0: (1, "")}, 1, member), 9).topics[0].partitions]
        )
        out.append(synced(peer.call(sync_request(group, member, 1, data=b"mine"))))
        out.append(synced(peer.call(sync_request(group, member, 1))))
        out.append(described(peer, group))
        out.append(joined(peer, peer.call(join_request(group, member))))
        beat = HeartbeatRequest(group_id=group, generation_id=2, member_id=member)
        out.append(peer.call(beat).error_code)
        out.append(peer.call(DeleteGroupsRequest(groups_names=[group])).results[0].error_code)
        leave = LeaveGroupRequest(group_id=group)
        leave.members = [leave.MemberIdentity(member_id=member), leave.MemberIdentity(member_id="nobody")]
        response = peer.call(leave)
        out.append((response.error_code, [(peer.named(m.member_id), m.error_code) for m in response.members]))
        out.append(described(peer, group))
        out.append(peer.call(DeleteGroupsRequest(groups_names=[group])).results[0].error_code)
        out.append(described(peer, group))
        out.append(described(peer, group, 5))
        return out

    same(peers, script)


def test_two_members_rebalance_as_one_joins_and_one_leaves(peers: tuple[Peer, Peer]) -> None:
    group = f"{NAME}-two"

    def script(peer: Peer) -> list[Any]:
        first = peer.call(join_request(group)).member_id
        out: list[Any] = [joined(peer, peer.call(join_request(group, first)))]
        peer.call(sync_request(group, first, 1, data=b"all"))
        second = peer.call(join_request(group)).member_id
        waiting = peer.send(join_request(group, second))
        beat = HeartbeatRequest(group_id=group, generation_id=1, member_id=first)
        for _ in range(1200):  # the second join may still be on its way
            code = peer.call(beat).error_code
            if code:
                break
            SystemClock().sleep(0.05)
        out.append(code)
        out.append(synced(peer.call(sync_request(group, first, 1))))
        rejoined = peer.call(join_request(group, first))
        out += [joined(peer, rejoined), joined(peer, peer.wait(waiting))]
        follower = peer.send(sync_request(group, second, 2))
        request = sync_request(group, first, 2)
        request.assignments = [
            request.RequestAssignment(member_id=member, assignment=data)
            for member, data in ((first, b"one"), (second, b"two"))
        ]
        out += [synced(peer.call(request)), synced(peer.wait(follower)), described(peer, group)]
        leave = LeaveGroupRequest(group_id=group)
        leave.members = [leave.MemberIdentity(member_id=first)]
        peer.call(leave)
        out += [described(peer, group), joined(peer, peer.call(join_request(group, second)))]
        leave.members = [leave.MemberIdentity(member_id=second)]
        out += [peer.call(leave).members[0].error_code, described(peer, group)]
        return out

    same(peers, script)


@pytest.mark.parametrize("version", [8, 9])
def test_static_members_come_back_and_fence_their_former_selves(peers: tuple[Peer, Peer], version: int) -> None:
    group = f"{NAME}-static-{version}"

    def script(peer: Peer) -> list[Any]:
        out: list[Any] = [joined(peer, peer.call(join_request(group, instance="i"), version))]
        old = peer.members[0]
        out.append(synced(peer.call(sync_request(group, old, 1, "i", data=b"mine"))))
        out.append(joined(peer, peer.call(join_request(group, instance="i"), version)))
        new = peer.members[1]
        beat = HeartbeatRequest(group_id=group, generation_id=1, member_id=old, group_instance_id="i")
        out.append(peer.call(beat).error_code)
        out.append(synced(peer.call(sync_request(group, new, 1, "i"))))
        out.append(joined(peer, peer.call(join_request(group, old, "i"), version)))
        out.append(described(peer, group))
        leave = LeaveGroupRequest(group_id=group)
        leave.members = [leave.MemberIdentity(member_id="", group_instance_id=name) for name in ("i", "j")]
        out.append([(m.member_id, m.group_instance_id, m.error_code) for m in peer.call(leave).members])
        out.append(described(peer, group))
        return out

    same(peers, script)


def test_what_is_refused_is_refused_with_the_same_code(peers: tuple[Peer, Peer]) -> None:
    group = f"{NAME}-refused"

    def script(peer: Peer) -> list[Any]:
        member = peer.call(join_request(group)).member_id
        peer.call(join_request(group, member))
        peer.call(sync_request(group, member, 1, data=b""))
        joins = [
            join_request(""),
            join_request(group, "nobody"),
            join_request(f"{NAME}-never", "nobody"),
            join_request(group, "nobody", "instance"),
            join_request(group, session_timeout_ms=1),
            join_request(group, session_timeout_ms=1_800_001),
            join_request(group, protocol_type="connect"),
            join_request(group, protocols=[]),
            join_request(f"{NAME}-new", protocols=[]),
            join_request(f"{NAME}-new", protocol_type=""),
        ]
        out: list[Any] = [joined(peer, peer.call(request)) for request in joins]
        out += [joined(peer, peer.call(join_request(group, "nobody"), version)) for version in (5, 6, 7)]
        out.append(described(peer, f"{NAME}-never"))
        syncs = [
            sync_request("", member, 1),
            sync_request(f"{NAME}-never", member, 1),
            sync_request(group, "nobody", 1),
            sync_request(group, member, 7),
            sync_request(group, member, 1, "instance"),
            SyncGroupRequest(group_id=group, generation_id=1, member_id=member),
        ]
        out += [synced(peer.call(request)) for request in syncs]
        for name, generation, who in ((group, 7, member), (group, 1, "x"), ("", 1, "x"), (f"{NAME}-never", 1, "x")):
            beat = HeartbeatRequest(group_id=name, generation_id=generation, member_id=who)
            out.append(peer.call(beat).error_code)
        for name in ("", f"{NAME}-never"):
            leave = LeaveGroupRequest(group_id=name)
            leave.members = [leave.MemberIdentity(member_id="x")]
            response = peer.call(leave)
            out.append((response.error_code, [m.error_code for m in response.members]))
        leave = LeaveGroupRequest(group_id=group, member_id="x")
        out.append((peer.call(leave, 2).error_code, peer.call(leave, 2).members))
        return out

    same(peers, script)


def test_groups_are_listed_alike(peers: tuple[Peer, Peer]) -> None:
    group = f"{NAME}-listed"

    def script(peer: Peer) -> list[Any]:
        peer.call(commit_request(group, {0: (1, "")}), 9)
        out: list[Any] = []
        filters: dict[str, list[str]]
        for version, filters in (
            (5, {}),
            (5, {"types_filter": ["CLASSIC"]}),
            (5, {"types_filter": ["consumer"]}),
            (4, {"states_filter": ["empty"]}),
            (4, {"states_filter": ["Stable"]}),
            (3, {}),
        ):
            response = peer.call(ListGroupsRequest(**filters), version)
            mine = [g for g in response.groups if g.group_id == group]
            out.append((response.error_code, [(g.protocol_type, g.group_state, g.group_type) for g in mine]))
        return out

    same(peers, script)


# offsets


@pytest.mark.parametrize("version", range(2, 10))
def test_commits_and_fetches_are_answered_alike(peers: tuple[Peer, Peer], version: int) -> None:
    group = f"{NAME}-offsets-{version}"

    def fetched(peer: Peer, topics: dict[str, list[int]] | None) -> Any:
        if version >= 8:
            wanted = OffsetFetchRequest.RequestGroup(group_id=group, topics=None)
            if topics is not None:
                wanted.topics = [wanted.RequestTopics(name=n, partition_indexes=p) for n, p in topics.items()]
            (found,) = peer.call(OffsetFetchRequest(groups=[wanted]), version).groups
        else:
            request = OffsetFetchRequest(group_id=group, topics=None)
            if topics is not None:
                request.topics = [request.RequestTopic(name=n, partition_indexes=p) for n, p in topics.items()]
            found = peer.call(request, version)
        return found.error_code, sorted(
            (t.name, p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code)
            for t in found.topics
            for p in t.partitions
        )

    def committed(peer: Peer, *args: Any, **rest: Any) -> Any:
        response = peer.call(commit_request(group, *args, **rest), version)
        return sorted((t.name, p.partition_index, p.error_code) for t in response.topics for p in t.partitions)

    def script(peer: Peer) -> list[Any]:
        out = [fetched(peer, None), fetched(peer, {NAME: [0, 7], "nosuch": [0]})]
        out.append(committed(peer, {0: (1, "")}, 3, "nobody"))
        out.append(committed(peer, {0: (5, "note"), 1: (6, None), 9: (7, "")}))
        out.append(committed(peer, {0: (5, "x" * 4097), 1: (7, "y" * 4096)}))
        out.append(committed(peer, {0: (5, "")}, topic="nosuch"))
        out.append(committed(peer, {0: (8, "")}, -1, "somebody"))
        out += [fetched(peer, None), fetched(peer, {NAME: [0, 1, 2]})]
        for topic, numbers in ((NAME, [0, 9]), ("nosuch", [0])):
            request = OffsetDeleteRequest(group_id=group)
            entry = request.RequestTopic(name=topic)
            entry.partitions = [entry.RequestPartition(partition_index=number) for number in numbers]
            request.topics = [entry]
            response = peer.call(request)
            codes = sorted((p.partition_index, p.error_code) for t in response.topics for p in t.partitions)
            out.append((response.error_code, codes))
        out.append(fetched(peer, None))
        for name in ("", f"{NAME}-never"):
            response = peer.call(OffsetDeleteRequest(group_id=name))
            out.append((response.error_code, response.topics))
        return out

    same(peers, script)


# configs, quotas, SCRAM

OWN_TEXT = ("listeners", "num.io.threads", "max.connections.per.ip.overrides")
"""Configs whose refusal is worded by us: Kafka's texts are those of its own classes."""

OWN_NODES = ((BROKER, "2"), (BROKER, "x"))
"""Broker ids that mean something else in the test's cluster."""

ALIKE = [
    row
    for row in REFUSED
    if row[0] not in (8, 64) and row[2] != 9 and row[3] not in OWN_TEXT and (row[0], row[1]) not in OWN_NODES
]


def altered(peer: Peer, kind: int, name: str, *changes: tuple[int, str, str | None]) -> Any:
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    resource = Resource(resource_type=kind, resource_name=name)
    resource.configs = [
        Resource.AlterableConfig(name=key, config_operation=operation, value=value) for operation, key, value in changes
    ]
    (result,) = peer.call(IncrementalAlterConfigsRequest(resources=[resource])).responses
    return result.error_code, result.error_message


def comes_with_the_cluster(entry: Any) -> bool:
    """Whether a value hangs on how the cluster was set up: server.properties, or the features of a new 4.3 cluster."""
    return entry.name == "min.insync.replicas" or any(synonym.source == 4 for synonym in entry.synonyms)


def configs_of(peer: Peer, kind: int, name: str) -> Any:
    resource = DescribeConfigsRequest.Resource(resource_type=kind, resource_name=name, configuration_keys=None)
    (result,) = peer.call(DescribeConfigsRequest(resources=[resource], include_synonyms=True)).results
    return result.error_code, result.error_message, {
        entry.name: None if comes_with_the_cluster(entry) else (
            entry.value, entry.config_source, entry.read_only, entry.is_sensitive, entry.config_type,
            [(s.name, s.value, s.source) for s in entry.synonyms],
        )
        for entry in result.configs
    }  # fmt: skip


def listed(peer: Peer, version: int, types: Iterable[int] = ()) -> Any:
    """What ListConfigResources tells of this test's resources and of brokers."""
    response = peer.call(ListConfigResourcesRequest(resource_types=list(types)), version)
    found = {(entry.resource_type, entry.resource_name) for entry in response.config_resources}
    return response.error_code, sorted(entry for entry in found if entry[1] in (NAME, peer.node_id))


def test_changes_are_refused_with_the_same_code_and_text(peers: tuple[Peer, Peer]) -> None:
    def script(peer: Peer) -> list[Any]:
        out = []
        for kind, name, operation, key, value, _, _ in ALIKE:
            resource = {"t1": NAME, "1": peer.node_id}.get(name, name)
            code, text = altered(peer, kind, resource, (operation, key, value))
            out.append((kind, name, key, value, code, text))
        return out

    same(peers, script)


def test_topics_groups_and_client_metrics_are_described_alike(peers: tuple[Peer, Peer]) -> None:
    def script(peer: Peer) -> Iterator[Any]:
        for kind, name in ((TOPIC, NAME), (TOPIC, "nosuch"), (TOPIC, ""), (GROUP, "other"), (CLIENT_METRICS, "other")):
            yield lambda kind=kind, name=name: configs_of(peer, kind, name)
        yield altered(peer, TOPIC, NAME, (0, "retention.ms", " 5000 "), (2, "cleanup.policy", "compact"))
        yield altered(peer, TOPIC, NAME, (0, "preallocate", "TRUE"), (0, THROTTLED, "0:1, 1:1"))
        yield altered(peer, TOPIC, NAME, (0, "min.cleanable.dirty.ratio", "1e-1"), (1, "nope", None))
        yield altered(peer, GROUP, NAME, (0, "consumer.session.timeout.ms", "50000"))
        yield altered(peer, CLIENT_METRICS, NAME, (0, "interval.ms", "1000"), (0, "metrics", "a,b"))
        yield lambda: listed(peer, 0)
        for types in ([GROUP, CLIENT_METRICS], [BROKER, 8], [TOPIC], [7], []):
            yield lambda types=types: listed(peer, 1, types)
        for kind in (TOPIC, GROUP, CLIENT_METRICS):
            yield lambda kind=kind: configs_of(peer, kind, NAME)
            yield configs_of(peer, kind, "")
        names = ("retention.ms", "cleanup.policy", "preallocate", THROTTLED, "min.cleanable.dirty.ratio")
        yield altered(peer, TOPIC, NAME, *((1, name, None) for name in names))

    same(peers, script)


def test_the_old_alter_replaces_and_is_refused_alike(peers: tuple[Peer, Peer]) -> None:
    def replaced(peer: Peer, *resources: tuple[int, str, dict[str, str | None]], validate_only: bool = False) -> Any:
        Resource = AlterConfigsRequest.Resource
        request = AlterConfigsRequest(validate_only=validate_only)
        for kind, name, configs in resources:
            resource = Resource(resource_type=kind, resource_name=name)
            resource.configs = [Resource.AlterableConfig(name=key, value=value) for key, value in configs.items()]
            request.resources.append(resource)
        responses = peer.call(request).responses
        return [(r.resource_type, r.resource_name, r.error_code, r.error_message) for r in responses]

    def set_configs(peer: Peer) -> Any:
        return {key: value for key, value in configs_of(peer, TOPIC, NAME)[2].items() if value and value[1] == 1}

    def script(peer: Peer) -> Iterator[Any]:
        yield replaced(peer, (TOPIC, NAME, {"retention.ms": "7", "segment.bytes": "2000000"}))
        yield lambda: set_configs(peer)
        yield replaced(peer, (TOPIC, NAME, {"segment.bytes": "3000000"}))
        yield lambda: set_configs(peer)
        yield replaced(peer, (TOPIC, NAME, {"nope": "1"}), (TOPIC, "nosuch", {}), (TOPIC, "", {}))
        yield replaced(peer, (TOPIC, NAME, {"retention.ms": None}))
        yield replaced(peer, (TOPIC, NAME, {"retention.ms": "8"}), validate_only=True)
        yield lambda: set_configs(peer)
        yield replaced(peer, (TOPIC, NAME, {}))
        yield lambda: set_configs(peer)

    same(peers, script)


def test_brokers_have_the_same_configs_with_the_same_defaults(peers: tuple[Peer, Peer]) -> None:
    described = [configs_of(peer, BROKER, peer.node_id)[2] for peer in peers]
    own = {key for configs in described for key, value in configs.items() if value is None}

    def shared(answer: Any) -> Any:
        code, text, configs = answer
        return code, text, {key: value for key, value in configs.items() if key not in own}

    def script(peer: Peer) -> Iterator[Any]:
        name = peer.node_id
        changes = ((0, "log.retention.ms", "100000"), (0, "unknown.custom", "x"), (2, "log.cleanup.policy", "compact"))
        yield lambda: shared(configs_of(peer, BROKER, name))
        yield altered(peer, BROKER, name, *changes)
        yield altered(peer, BROKER, "", (0, "log.retention.ms", "200000"))
        yield lambda: shared(configs_of(peer, BROKER, name))
        yield lambda: shared(configs_of(peer, BROKER, ""))
        yield altered(peer, BROKER, name, *((1, key, None) for _, key, _ in changes))
        yield altered(peer, BROKER, "", (1, "log.retention.ms", None))

    same(peers, script)
    assert len(shared(configs_of(peers[0], BROKER, peers[0].node_id))[2]) > 300


def test_quotas_are_kept_and_refused_alike(peers: tuple[Peer, Peer]) -> None:
    user = f"{NAME}-user"
    Entry = AlterClientQuotasRequest.EntryData

    def entry(entity: dict[str, str | None], **limits: float | None) -> Any:
        return Entry(
            entity=[Entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
            ops=[Entry.OpData(key=k, value=v or 0.0, remove=v is None) for k, v in limits.items()],
        )

    def altered_quota(peer: Peer, *entries: Any) -> Any:
        response = peer.call(AlterClientQuotasRequest(entries=list(entries)))
        return [
            (r.error_code, r.error_message, sorted((e.entity_type, e.entity_name) for e in r.entity))
            for r in response.entries
        ]

    def filtered(peer: Peer, strict: bool, *components: tuple[str, int, str | None]) -> Any:
        Component = DescribeClientQuotasRequest.ComponentData
        parts = [Component(entity_type=kind, match_type=how, match=match) for kind, how, match in components]
        response = peer.call(DescribeClientQuotasRequest(components=parts, strict=strict))
        found = None
        if response.entries is not None:
            found = sorted(
                (sorted((e.entity_type, e.entity_name) for e in f.entity), sorted((v.key, v.value) for v in f.values))
                for f in response.entries
            )
        return response.error_code, response.error_message, found

    def script(peer: Peer) -> Iterator[Any]:
        yield altered_quota(peer, entry({"user": user}, producer_byte_rate=100.0, request_percentage=12.5))
        yield altered_quota(peer, entry({"user": user, "client-id": "c"}, consumer_byte_rate=7.0))
        yield altered_quota(peer, entry({"user": user}, nope=1.0))
        yield altered_quota(peer, entry({"user": user}, producer_byte_rate=1.5))
        yield altered_quota(peer, entry({"user": user}, producer_byte_rate=1e19))
        yield altered_quota(peer, entry({"user": user}, producer_byte_rate=-1.0))
        yield altered_quota(peer, entry({"user": ""}, producer_byte_rate=1.0))
        yield altered_quota(peer, entry({"foo": "x"}, producer_byte_rate=1.0))
        yield altered_quota(peer, entry({}, producer_byte_rate=1.0))
        yield altered_quota(peer, entry({"ip": "1.2.3.4", "user": user}, connection_creation_rate=1.0))
        yield altered_quota(peer, entry({"ip": "not..valid"}, connection_creation_rate=1.0))
        yield altered_quota(peer, entry({"ip": "1.2.3.4"}, connection_creation_rate=1e10))
        yield altered_quota(peer, entry({"user": user}, connection_creation_rate=1.0))
        yield lambda: filtered(peer, True, ("user", 0, user))
        yield lambda: filtered(peer, False, ("user", 0, user))
        yield lambda: filtered(peer, False, ("user", 0, user), ("client-id", 2, None))
        yield lambda: filtered(peer, False, ("foo", 0, "x"))
        yield lambda: filtered(peer, False, ("user", 0, None))
        yield lambda: filtered(peer, False, ("user", 1, "x"))
        yield lambda: filtered(peer, False, ("user", 7, None))
        yield lambda: filtered(peer, False, ("ip", 2, None), ("user", 2, None))
        yield lambda: filtered(peer, False, ("user", 2, None), ("user", 2, None))
        yield altered_quota(peer, entry({"user": user}, producer_byte_rate=None, request_percentage=None, nope=None))
        yield altered_quota(peer, entry({"user": user, "client-id": "c"}, consumer_byte_rate=None))
        yield lambda: filtered(peer, False, ("user", 0, user))

    same(peers, script)


def test_scram_users_are_kept_and_refused_alike(peers: tuple[Peer, Peer]) -> None:
    Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion

    def upsert(user: str, mechanism: int = 1, iterations: int = 4096) -> Any:
        return Upsertion(name=user, mechanism=mechanism, iterations=iterations, salt=b"s", salted_password=b"p" * 32)

    def altered_users(peer: Peer, *upsertions: Any, deletions: tuple[Any, ...] = ()) -> Any:
        request = AlterUserScramCredentialsRequest(upsertions=list(upsertions), deletions=list(deletions))
        return sorted((r.user, r.error_code, r.error_message) for r in peer.call(request).results)

    def described_users(peer: Peer, *users: str) -> Any:
        names = [DescribeUserScramCredentialsRequest.UserName(name=user) for user in users]
        response = peer.call(DescribeUserScramCredentialsRequest(users=names))
        return response.error_code, response.error_message, sorted(
            (r.user, r.error_code, r.error_message, sorted((c.mechanism, c.iterations) for c in r.credential_infos))
            for r in response.results
        )  # fmt: skip

    a, b = f"{NAME}-a", f"{NAME}-b"

    def script(peer: Peer) -> Iterator[Any]:
        yield altered_users(peer, upsert(a), upsert(b, 2, 8192))
        yield altered_users(peer, upsert(a, 1, 4095))
        yield altered_users(peer, upsert(a, 1, 16385))
        yield altered_users(peer, upsert(""), upsert(b, 9))
        yield altered_users(peer, upsert(a), upsert(a, 2))
        yield altered_users(peer, upsert(a), deletions=(Deletion(name=a, mechanism=1),))
        yield altered_users(peer, deletions=(Deletion(name=a, mechanism=2), Deletion(name=b, mechanism=7)))
        yield lambda: described_users(peer, a, b, "nobody", "twice", "twice")
        yield altered_users(peer, deletions=(Deletion(name=a, mechanism=1), Deletion(name=b, mechanism=2)))
        yield lambda: described_users(peer, a, b)

    same(peers, script)
