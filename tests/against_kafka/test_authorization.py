"""Who may not do what: the bundled broker refuses as Kafka does, request by request.

The requests are those of the broker's own table (``tests/broker_embedded/security/test_authorization_table.py``). A
user asks both brokers, first without any right, then with every right but the one that a row is about.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.security.acls import ALL, ALLOW, DENY, LITERAL, RESOURCE_TYPES
from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.protocol import registry
from kafka_tools.protocol.enums import CLUSTER_NAME, AclOperation, AclResourceType
from kafka_tools.protocol.messages.create_acls import CreateAclsRequest
from kafka_tools.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_acls import DeleteAclsRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.describe_acls import DescribeAclsRequest
from kafka_tools.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kafka_tools.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.against_kafka.harness import RealKafka, Setup, eventually
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.test_admin_operations import KRAFT_AUTHORIZER, MASTER_KEY
from tests.broker_embedded.security.test_authorization_table import (
    HANDLERS,
    REFUSALS,
    SERVED,
    Need,
    Row,
    error_codes_in,
    name_of,
)

ANY = 1
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SETTINGS = (("authorizer.class.name", KRAFT_AUTHORIZER), ("super.users", "User:ANONYMOUS;User:admin"), *MASTER_KEY)


class Peer:
    """One broker, asked by a super user without a name, and by alice."""

    def __init__(self, plaintext: str, sasl: str) -> None:
        module = f'{PLAIN} username="alice" password="alice-secret";'
        alice = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": module}
        self._root = self._exchange({"bootstrap.servers": plaintext})
        self._named = self._exchange({"bootstrap.servers": sasl, **alice})
        self.topic_id: Any = None

    def _exchange(self, values: dict[str, str]) -> tuple[Exchange, Any]:
        exchange = Exchange(ClientConfig(values), clock=SystemClock())
        return exchange, exchange.bootstrap(Deadline(SystemClock(), 60))

    def root(self, request: Any, version: int | None = None) -> Any:
        exchange, node = self._root
        return exchange.call(node, request, Deadline(SystemClock(), 60), version)

    def alice(self, request: Any, version: int | None = None) -> Any:
        exchange, node = self._named
        return exchange.call(node, request, Deadline(SystemClock(), 60), version)

    def refusals(self, entry: Row) -> set[int]:
        """What alice is told that she may not do."""
        api = registry.api(entry.stem)
        version = HANDLERS[entry.stem].max_version if entry.version is None else entry.version
        topics = {"t": SimpleNamespace(id=self.topic_id)}
        tokens = SimpleNamespace(create=lambda *_: None)
        core = SimpleNamespace(cluster=SimpleNamespace(topics=topics), tokens=tokens)
        request = api.request(**entry.fields(api.request, SimpleNamespace(core=core)))  # type: ignore[arg-type]
        return error_codes_in(self.alice(request, version)) & REFUSALS

    def make_topic(self) -> None:
        topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        self.root(CreateTopicsRequest(topics=[topic], timeout_ms=30_000))
        settled(lambda: self._metadata().error_code == 0 and self._metadata().partitions[0].leader_id >= 0)
        self.topic_id = self._metadata().topic_id
        settled(self._commits)  # a real broker needs a moment to make the offsets topic and load it

    def _commits(self) -> bool:
        """Whether a commit made the group."""
        (found,) = self.root(FindCoordinatorRequest(coordinator_keys=["g"])).coordinators
        if found.error_code:
            return False
        Topic = OffsetCommitRequest.RequestTopic
        topic = Topic(name="t", partitions=[Topic.RequestPartition(partition_index=0, committed_offset=0)])
        request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, topics=[topic])
        return not self.root(request, 9).topics[0].partitions[0].error_code

    def _metadata(self) -> Any:
        request = MetadataRequest(topics=[MetadataRequest.RequestTopic(name="t")])
        return self.root(request, 12).topics[0]

    def remove(self) -> None:
        self.root(DeleteGroupsRequest(groups_names=["g"]))
        states = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in ("t", "new")]
        self.root(DeleteTopicsRequest(topics=states, timeout_ms=30_000), 6)

    def let(self, entries: list[tuple[int, str, int, int]]) -> None:
        """Make these alice's entries, and no others: (resource type, name, operation, permission)."""
        everything: dict[str, Any] = {
            "resource_type_filter": ANY, "resource_name_filter": None, "pattern_type_filter": ANY,
            "principal_filter": "User:alice", "host_filter": None, "operation": ANY, "permission_type": ANY,
        }  # fmt: skip
        self.root(DeleteAclsRequest(filters=[DeleteAclsRequest.Filter(**everything)]))
        if entries:
            creations = [
                CreateAclsRequest.AclCreation(
                    resource_type=kind, resource_name=name, resource_pattern_type=LITERAL, principal="User:alice",
                    host="*", operation=operation, permission_type=permission,
                )
                for kind, name, operation, permission in entries
            ]  # fmt: skip
            results = self.root(CreateAclsRequest(creations=creations)).results
            assert {result.error_code for result in results} == {0}
        wanted = set(entries)

        def there() -> bool:
            found = self.root(DescribeAclsRequest(**everything)).resources
            return wanted == {
                (row.resource_type, row.resource_name, acl.operation, acl.permission_type)
                for row in found
                for acl in row.acls
            }

        settled(there)

    def close(self) -> None:
        for exchange, _ in (self._root, self._named):
            exchange.close()


def settled(holds: Callable[[], bool]) -> None:
    """A KRaft broker learns of changes a moment later."""
    deadline = Deadline(SystemClock(), 60)
    while not holds():
        assert not deadline.expired
        SystemClock().sleep(0.05)


@contextlib.contextmanager
def prepared(peer: Peer) -> Iterator[Peer]:
    try:
        peer.make_topic()
        yield peer
    finally:
        peer.let([])
        peer.remove()
        peer.close()


@pytest.fixture(scope="module")
def peers(real_kafka: Callable[[Setup], RealKafka]) -> Iterator[tuple[Peer, Peer]]:
    real = real_kafka(Setup(NEWEST, listeners=("PLAINTEXT", "SASL_PLAINTEXT"), properties=SETTINGS))
    config = {
        **dict(SETTINGS), "sasl.enabled.mechanisms": "PLAIN",
        "plain.sasl.jaas.config": f'{PLAIN} user_alice="alice-secret";',
    }  # fmt: skip
    listeners = "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"
    with EmbeddedBroker(listeners=listeners, config=config) as ours, contextlib.ExitStack() as stack:
        host, port = ours.call(lambda core: core.registration.endpoints["SASL_PLAINTEXT"])
        yield (
            stack.enter_context(prepared(Peer(real.bootstrap_servers, real.bootstrap("SASL_PLAINTEXT")))),
            stack.enter_context(prepared(Peer(ours.bootstrap_servers, f"{host}:{port}"))),
        )


def test_who_may_do_nothing_is_told_the_same(peers: tuple[Peer, Peer]) -> None:
    theirs, ours = ({name_of(entry): peer.refusals(entry) for entry in SERVED} for peer in peers)
    assert ours == theirs
    assert sum(map(bool, theirs.values())) > 40


EVERYTHING = [
    (kind, CLUSTER_NAME if kind == AclResourceType.CLUSTER else "*", ALL, ALLOW) for kind in sorted(RESOURCE_TYPES)
]


@pytest.mark.parametrize(
    "lacking",
    sorted({each for entry in SERVED for each in entry.needs if each.code}, key=str),
    ids=lambda each: " and ".join(each.one_of),
)
def test_who_lacks_one_right_is_told_the_same(peers: tuple[Peer, Peer], lacking: Need) -> None:
    denied = []
    for question in lacking.one_of:
        operation, kind, name = question.split(" ")
        shown = "*" if name == "hardcode" else name
        denied.append((AclResourceType.numbers[kind], shown, AclOperation.numbers[operation], DENY))
    rows = [entry for entry in SERVED if lacking in entry.needs]
    for peer in peers:
        peer.let([*EVERYTHING, *denied])
    for entry in rows:

        def told(entry: Row = entry) -> None:  # Kafka's controller has the entries a moment after its broker, or before
            theirs, ours = (peer.refusals(entry) for peer in peers)
            assert ours == theirs == {lacking.code}, name_of(entry)

        eventually(told)


def test_token_requests_are_answered_the_same(peers: tuple[Peer, Peer]) -> None:
    """Errors with every field of the answer; times as what they are relative to each other."""
    for peer in peers:
        peer.let(EVERYTHING)
    theirs, ours = (list(token_answers(peer)) for peer in peers)
    assert ours == theirs


def token_answers(peer: Peer) -> Iterator[Any]:
    Renewer = CreateDelegationTokenRequest.CreatableRenewers

    def told(response: Any) -> tuple[int, int]:
        return response.error_code, response.expiry_timestamp_ms

    def create(asking: Callable[..., Any], *renewers: str, max_ms: int = -1, **owner: str) -> Any:
        named = [Renewer(principal_type=kind, principal_name="x") for kind in renewers]
        return asking(CreateDelegationTokenRequest(renewers=named, max_lifetime_ms=max_ms, **owner))

    unknown = b"x" * 64
    for asking in (peer.root, peer.alice):  # without a name no token request is allowed
        yield told(asking(RenewDelegationTokenRequest(hmac=unknown, renew_period_ms=-1)))
        yield told(asking(ExpireDelegationTokenRequest(hmac=unknown, expiry_time_period_ms=-1)))
        yield asking(DescribeDelegationTokenRequest(owners=[])).error_code
        refused = create(asking, "Group")
        yield refused.error_code, refused.principal_name, refused.token_requester_principal_name, refused.token_id
        yield refused.issue_timestamp_ms, refused.expiry_timestamp_ms, refused.max_timestamp_ms, bytes(refused.hmac)
    for max_ms in (-1, 0, 5_000, 2**62):
        token = create(peer.alice, "User", max_ms=max_ms, owner_principal_type="User", owner_principal_name="owner")
        yield token.error_code, token.principal_name, token.token_requester_principal_name, len(token.token_id)
        yield token.expiry_timestamp_ms - token.issue_timestamp_ms, token.max_timestamp_ms - token.issue_timestamp_ms
        settled(lambda id=token.token_id: id in {each.token_id for each in described(peer)})  # type: ignore[misc]
        # alice asked for it, and is neither its owner nor a renewer.
        yield told(peer.alice(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1)))
        yield told(peer.alice(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1)))
    own = create(peer.alice, max_ms=3_600_000)
    settled(lambda: own.token_id in {each.token_id for each in described(peer)})
    (found,) = [each for each in described(peer) if each.token_id == own.token_id]
    yield found.expiry_timestamp - own.issue_timestamp_ms, found.max_timestamp - own.issue_timestamp_ms, found.renewers
    later = peer.alice(RenewDelegationTokenRequest(hmac=own.hmac, renew_period_ms=2**62))
    yield later.error_code, later.expiry_timestamp_ms - own.max_timestamp_ms
    sooner = peer.alice(ExpireDelegationTokenRequest(hmac=own.hmac, expiry_time_period_ms=2**62))
    yield sooner.error_code, sooner.expiry_timestamp_ms - own.max_timestamp_ms
    yield peer.alice(ExpireDelegationTokenRequest(hmac=own.hmac, expiry_time_period_ms=-1)).error_code


def described(peer: Peer) -> list[Any]:
    return list(peer.alice(DescribeDelegationTokenRequest(owners=None)).tokens)
