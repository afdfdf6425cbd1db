"""What each API asks the authorizer, and what it answers to who may not: one table over all that the broker serves.

The operations and resources are those of Kafka's ``KafkaApis`` and ``ControllerApis``. A row is a request and its
needs: one of several permissions, and the code that answers their lack, or None where things are left out silently.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.handlers._table import load_handlers
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol import registry
from kafka_tools.protocol.enums import AclOperation, AclResourceType
from kafka_tools.protocol.messages.add_partitions_to_txn import Topic as AddedTopic
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.records.build import build_batch
from tests.broker_embedded.disk_broker import DiskBroker

TOPIC, GROUP = codes.TOPIC_AUTHORIZATION_FAILED, codes.GROUP_AUTHORIZATION_FAILED
CLUSTER, TXN = codes.CLUSTER_AUTHORIZATION_FAILED, codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
TOKEN = codes.DELEGATION_TOKEN_AUTHORIZATION_FAILED
REFUSALS = {TOPIC, GROUP, CLUSTER, TXN, TOKEN}

OPEN = {"api_versions", "sasl_handshake", "sasl_authenticate", "renew_delegation_token", "expire_delegation_token",
        "get_telemetry_subscriptions", "push_telemetry"}  # fmt: skip
"""APIs that ask nobody: what they need is told by the login, or by the token."""


class Need(NamedTuple):
    """Permissions of which one is enough, as "OPERATION TYPE name", and the answer to who has none."""

    one_of: tuple[str, ...]
    code: int | None


class Row(NamedTuple):
    stem: str
    fields: Callable[[Any, DiskBroker], dict[str, Any]]
    """(request class, broker) -> its fields."""
    needs: tuple[Need, ...]
    version: int | None = None
    shown: str = ""
    """A resource whose operations are listed in the answer, so that every one is asked."""
    since: str = ""
    """The row holds where this API is served too."""


def need(*one_of: str, code: int | None) -> Need:
    return Need(tuple(text if " " in text else f"{text} CLUSTER kafka-cluster" for text in one_of), code)


def row(
    stem: str, *needs: Need, version: int | None = None, shown: str = "", since: str = "",
    fields: Callable[[Any, DiskBroker], dict[str, Any]] | None = None, **values: Any,
) -> Row:  # fmt: skip
    return Row(stem, fields or (lambda *_: dict(values)), needs, version, shown, since)


def topic_id(broker: DiskBroker) -> uuid.UUID:
    return broker.core.cluster.topics["t"].id


def resource(kind: int, name: str) -> Callable[[Any, DiskBroker], dict[str, Any]]:
    """A request of one config resource."""

    def fields(request: Any, _: DiskBroker) -> dict[str, Any]:
        nested = getattr(request, "AlterConfigsResource", None) or request.Resource
        return {"resources": [nested(resource_type=kind, resource_name=name)]}

    return fields


def unknown_operation(request: Any, _: DiskBroker) -> dict[str, Any]:
    """A change of a broker's config by an operation that Kafka does not have, which the controller refuses."""
    Resource = request.AlterConfigsResource
    config = Resource.AlterableConfig(name="log.cleaner.threads", config_operation=9, value="2")
    return {"resources": [Resource(resource_type=4, resource_name="1", configs=[config])]}


def of_group(**more: Any) -> dict[str, Any]:
    return {"group_id": "g", **more}


def commit_fields(request: Any, _: DiskBroker) -> dict[str, Any]:
    partitions = [request.RequestTopic.RequestPartition()]
    return of_group(topics=[request.RequestTopic(name="t", partitions=partitions)])


def commit_in_transaction(request: Any, broker: DiskBroker) -> dict[str, Any]:
    return {**commit_fields(request, broker), "transactional_id": "x", "producer_id": 1}


def with_a_transaction(_: Any, broker: DiskBroker) -> dict[str, Any]:
    """There is something to list."""
    if isinstance(broker, DiskBroker):  # on a real one nothing is listed, nor refused
        allow, broker.core.authorizer = broker.core.authorizer, None
        broker.call(FindCoordinatorRequest(key="x", key_type=1), 1)
        broker.call(InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1000), 4)
        broker.core.authorizer = allow
    return {}


def produce_fields(request: Any, _: DiskBroker) -> dict[str, Any]:
    data = request.TopicProduceData
    batch = build_batch([(0, None, b"v", ())])
    return {"acks": -1, "timeout_ms": 1000, "topic_data": [
        data(name="t", partition_data=[data.PartitionProduceData(index=0, records=batch)])]}  # fmt: skip


def fetch_fields(request: Any, broker: DiskBroker) -> dict[str, Any]:
    partition = request.Topic.Partition(partition=0, partition_max_bytes=1000)
    return {"max_bytes": 1000, "topics": [request.Topic(topic="t", partitions=[partition])]}


def token_of_bob(request: Any, broker: DiskBroker) -> dict[str, Any]:
    broker.core.tokens.create("User:bob", "User:bob", [], -1)
    return {"owners": None}


_ON_T = need("DESCRIBE TOPIC t", code=TOPIC)
_READ_G = need("READ GROUP g", code=GROUP)
_ALTER, _DESCRIBE = need("ALTER", code=CLUSTER), need("DESCRIBE", code=CLUSTER)
_CHANGE, _SHOW = need("ALTER_CONFIGS", code=CLUSTER), need("DESCRIBE_CONFIGS", code=CLUSTER)
_WRITE_X = need("WRITE TRANSACTIONAL_ID x", code=TXN)
_SOMEWHERE = "hardcode"
"""The name that Kafka asks for when any topic will do."""
_ENTRY = {"resource_type": 2, "resource_name": "t", "resource_pattern_type": 3, "principal": "User:a", "host": "*",
          "operation": 3, "permission_type": 3}  # fmt: skip
_FILTER = {"resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "principal_filter": None,
           "host_filter": None, "operation": 1, "permission_type": 1}  # fmt: skip

ROWS = [
    # Records
    row("produce", need("WRITE TOPIC t", code=TOPIC), fields=produce_fields, version=9),
    row("fetch", need("READ TOPIC t", code=TOPIC), fields=fetch_fields, version=11),
    row("list_offsets", _ON_T, version=7, fields=lambda request, _: {
        "topics": [request.Topic(name="t", partitions=[request.Topic.Partition(timestamp=-1)])]}),
    row("offset_for_leader_epoch", need("CLUSTER_ACTION", "DESCRIBE TOPIC t", code=TOPIC), fields=lambda request, _: {
        "topics": [request.OffsetForLeaderTopic(topic="t", partitions=[
            request.OffsetForLeaderTopic.OffsetForLeaderPartition()])]}),
    row("delete_records", need("DELETE TOPIC t", code=TOPIC), fields=lambda request, _: {
        "topics": [request.Topic(name="t", partitions=[request.Topic.Partition()])], "timeout_ms": 1000}),
    row("describe_producers", need("READ TOPIC t", code=TOPIC), fields=lambda request, _: {
        "topics": [request.TopicRequest(name="t", partition_indexes=[0])]}),
    row("init_producer_id", need("IDEMPOTENT_WRITE", f"WRITE TOPIC {_SOMEWHERE}", code=CLUSTER), transactional_id=None),
    # Topics
    row("metadata", _ON_T, version=12, fields=lambda request, _: {"topics": [request.RequestTopic(name="t")]}),
    row("metadata", need("DESCRIBE TOPIC t", code=None), version=1, topics=None),
    row("metadata", need("DESCRIBE TOPIC new", code=TOPIC), need("CREATE", "CREATE TOPIC new", code=TOPIC), version=12,
        fields=lambda request, _: {"topics": [request.RequestTopic(name="new")],
                                   "allow_auto_topic_creation": True}),
    row("describe_topic_partitions", _ON_T, shown="TOPIC t", fields=lambda request, _: {
        "topics": [request.TopicRequest(name="t")]}),
    row("create_topics", need("CREATE", "CREATE TOPIC new", code=TOPIC), need("DESCRIBE_CONFIGS TOPIC new", code=TOPIC),
        version=7, fields=lambda request, _: {"timeout_ms": 1000, "topics": [
            request.CreatableTopic(name="new", num_partitions=1, replication_factor=1)]}),
    row("create_topics", need("CREATE", "CREATE TOPIC new", code=TOPIC), version=4, fields=lambda request, _: {
        "timeout_ms": 1000, "topics": [request.CreatableTopic(name="new", num_partitions=1, replication_factor=1)]}),
    row("delete_topics", need("DELETE", "DESCRIBE TOPIC t", code=TOPIC), need("DELETE", "DELETE TOPIC t", code=TOPIC),
        version=6, fields=lambda request, _: {"topics": [request.DeleteTopicState(name="t")], "timeout_ms": 1000}),
    row("delete_topics", need("DELETE", "DELETE TOPIC t", code=TOPIC), version=6, fields=lambda request, broker: {
        "topics": [request.DeleteTopicState(name=None, topic_id=topic_id(broker))], "timeout_ms": 1000}),
    row("create_partitions", need("ALTER TOPIC t", code=TOPIC), fields=lambda request, _: {
        "topics": [request.Topic(name="t", count=2, assignments=None)], "timeout_ms": 1000}),
    # Groups
    row("find_coordinator", need("DESCRIBE GROUP g", code=GROUP), coordinator_keys=["g"]),
    row("join_group", _READ_G, group_id="g", session_timeout_ms=10_000),
    row("sync_group", _READ_G, group_id="g", protocol_type="consumer", protocol_name="range"),
    row("heartbeat", _READ_G, group_id="g"),
    row("leave_group", _READ_G, fields=lambda request, _: of_group(members=[request.MemberIdentity(member_id="m")])),
    row("describe_groups", need("DESCRIBE GROUP g", code=GROUP), groups=["g"]),
    row("list_groups", need("DESCRIBE", "DESCRIBE GROUP g", code=None)),
    row("delete_groups", need("DELETE GROUP g", code=GROUP), groups_names=["g"]),
    row("offset_commit", _READ_G, need("READ TOPIC t", code=TOPIC), fields=commit_fields, version=9),
    row("offset_fetch", need("DESCRIBE GROUP g", code=GROUP), need("DESCRIBE TOPIC t", code=TOPIC), version=8,
        fields=lambda request, _: {"groups": [request.RequestGroup(group_id="g", topics=[
            request.RequestGroup.RequestTopics(name="t", partition_indexes=[0])])]}),
    row("offset_delete", need("DELETE GROUP g", code=GROUP), need("READ TOPIC t", code=TOPIC), fields=commit_fields),
    row("consumer_group_heartbeat", _READ_G, need("DESCRIBE TOPIC t", code=TOPIC), group_id="g", version=0,
        subscribed_topic_names=["t"]),
    row("consumer_group_describe", need("DESCRIBE GROUP g", code=GROUP), group_ids=["g"]),
    # Transactions
    row("find_coordinator", need("DESCRIBE TRANSACTIONAL_ID x", code=TXN), since="end_txn", coordinator_keys=["x"],
        key_type=1),
    row("init_producer_id", _WRITE_X, since="end_txn", transactional_id="x", transaction_timeout_ms=1000, version=4),
    row("add_offsets_to_txn", _WRITE_X, _READ_G, transactional_id="x", producer_id=1, group_id="g"),
    row("add_partitions_to_txn", _WRITE_X, need("WRITE TOPIC t", code=TOPIC), version=3, fields=lambda request, _: {
        "v3_and_below_transactional_id": "x", "v3_and_below_producer_id": 1,
        "v3_and_below_topics": [AddedTopic(name="t", partitions=[0])]}),
    row("write_txn_markers", need("ALTER", "CLUSTER_ACTION", code=CLUSTER), fields=lambda request, _: {
        "markers": [request.WritableTxnMarker(producer_id=1, topics=[
            request.WritableTxnMarker.WritableTxnMarkerTopic(name="t", partition_indexes=[0])])]}),
    row("end_txn", _WRITE_X, transactional_id="x", producer_id=1),
    row("txn_offset_commit", _WRITE_X, _READ_G, need("READ TOPIC t", code=TOPIC), version=3,
        fields=commit_in_transaction),
    row("describe_transactions", need("DESCRIBE TRANSACTIONAL_ID x", code=TXN), transactional_ids=["x"]),
    row("list_transactions", need("DESCRIBE TRANSACTIONAL_ID x", code=None), fields=with_a_transaction),
    # Configs and quotas
    row("describe_configs", need("DESCRIBE_CONFIGS TOPIC t", code=TOPIC), fields=resource(2, "t")),
    row("describe_configs", _SHOW, fields=resource(4, "1")),
    row("describe_configs", _SHOW, fields=resource(8, "1")),
    row("describe_configs", _SHOW, fields=resource(16, "m")),
    row("describe_configs", need("DESCRIBE_CONFIGS GROUP g", code=GROUP), fields=resource(32, "g")),
    row("alter_configs", need("ALTER_CONFIGS TOPIC t", code=TOPIC), fields=resource(2, "t")),
    row("alter_configs", _CHANGE, fields=resource(4, "1")),
    row("incremental_alter_configs", need("ALTER_CONFIGS TOPIC t", code=TOPIC), fields=resource(2, "t")),
    row("incremental_alter_configs", _CHANGE, fields=resource(4, "1")),
    row("incremental_alter_configs", _CHANGE, fields=unknown_operation),
    row("incremental_alter_configs", _CHANGE, fields=resource(8, "1")),
    row("incremental_alter_configs", _CHANGE, fields=resource(16, "m")),
    row("incremental_alter_configs", need("ALTER_CONFIGS GROUP g", code=GROUP), fields=resource(32, "g")),
    row("list_config_resources", _SHOW),
    row("describe_client_quotas", _SHOW),
    row("alter_client_quotas", _CHANGE, fields=lambda request, _: {"entries": [request.EntryData(
        entity=[request.EntryData.EntityData(entity_type="user", entity_name="u")])]}),
    # The cluster
    row("describe_cluster"),
    row("describe_log_dirs", _DESCRIBE, topics=None),
    row("alter_replica_log_dirs", _ALTER, fields=lambda request, _: {"dirs": [request.AlterReplicaLogDir(
        path="/", topics=[request.AlterReplicaLogDir.AlterReplicaLogDirTopic(name="t", partitions=[0])])]}),
    row("alter_partition_reassignments", _ALTER, timeout_ms=1000),
    row("list_partition_reassignments", _DESCRIBE, topics=None),
    row("elect_leaders", _ALTER, topic_partitions=None),
    row("update_features", _ALTER),
    row("describe_quorum", _DESCRIBE),
    row("unregister_broker", _ALTER, broker_id=99),
    # Security
    row("describe_acls", _DESCRIBE, **_FILTER),
    row("create_acls", _ALTER, fields=lambda request, _: {"creations": [request.AclCreation(**_ENTRY)]}),
    row("delete_acls", _ALTER, fields=lambda request, _: {"filters": [request.Filter(**_FILTER)]}),
    row("describe_user_scram_credentials", _DESCRIBE),
    row("alter_user_scram_credentials", _ALTER, fields=lambda request, _: {
        "deletions": [request.ScramCredentialDeletion(name="u", mechanism=1)]}),
    row("describe_cluster", need("DESCRIBE", code=None), shown="CLUSTER kafka-cluster",
        include_cluster_authorized_operations=True),
    row("create_delegation_token", max_lifetime_ms=-1),
    row("create_delegation_token", need("CREATE_TOKENS USER User:bob", code=TOKEN), owner_principal_type="User",
        owner_principal_name="bob", max_lifetime_ms=-1),
    row("describe_delegation_token", need("DESCRIBE DELEGATION_TOKEN *", "DESCRIBE_TOKENS USER User:bob", code=None),
        fields=token_of_bob),
]  # fmt: skip

HANDLERS = {handler.api.stem: handler for handler in load_handlers().values()}
SERVED = [entry for entry in ROWS if {entry.stem, entry.since or entry.stem} <= set(HANDLERS)]


class Asked:
    """A broker whose authorizer is told what to deny, and remembers what it was asked."""

    def __init__(self, path: Path) -> None:
        properties = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "delegation.token.secret.key": "secret",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1",
        }
        self.broker = DiskBroker(path, properties)
        self.broker.core.authorizer = None
        self.broker.create("t")
        store = self.broker.core.groups.store
        whole(store.ensured())
        store.create("g")
        self.asked: set[str] = set()
        self.denied: Callable[[str], bool] = lambda question: False

        def authorizer(principal: str, host: str, operation: int, kind: int, name: str) -> bool:
            shown = "*" if kind == AclResourceType.DELEGATION_TOKEN else name
            question = f"{AclOperation.word(operation)} {AclResourceType.word(kind)} {shown}"
            self.asked.add(question)
            return not self.denied(question)

        self.broker.core.authorizer = authorizer

    def refusals(self, entry: Row) -> set[int]:
        """Every answer of "not allowed" to the row's request."""
        api = registry.api(entry.stem)
        version = HANDLERS[entry.stem].max_version if entry.version is None else entry.version
        connection = Connection("c-2", "SASL_PLAINTEXT", "10.0.0.1")
        connection.principal, connection.protocol = "User:alice", "SASL_PLAINTEXT"
        request = api.request(**entry.fields(api.request, self.broker))
        pending = self.broker.send(request, version, connection)
        for _ in range(100):  # what waits for a group is answered in time
            if pending.response is not None:
                break
            self.broker.advance(60)
        return error_codes_in(pending.response) & REFUSALS


def error_codes_in(message: Any) -> set[int]:
    found: set[int] = set()
    for field in message.FIELDS:
        value = getattr(message, field.name)
        if field.name.endswith("error_code"):
            found.add(value)
        for item in value if isinstance(value, list) else ():
            if hasattr(item, "FIELDS"):
                found |= error_codes_in(item)
    return found


def name_of(entry: Row) -> str:
    return f"{entry.stem} {'; '.join(' or '.join(each.one_of) for each in entry.needs)}".strip()


def test_the_table_has_every_api() -> None:
    assert set(HANDLERS) - {entry.stem for entry in ROWS} == OPEN & set(HANDLERS)


def test_what_a_handler_declares_every_caller_needs() -> None:
    """``AUTHORIZE`` is asked before the handler: the rows below see it refused, and asked."""
    declared = {stem: handler.authorize for stem, handler in HANDLERS.items() if handler.authorize}
    assert len(declared) > 10
    for entry in SERVED:
        for operation in declared.get(entry.stem, ()):
            alone = Need((f"{AclOperation.word(operation)} CLUSTER kafka-cluster",), codes.CLUSTER_AUTHORIZATION_FAILED)
            assert alone in entry.needs, entry.stem


@pytest.mark.parametrize("entry", SERVED, ids=name_of)
def test_who_may_is_served_and_nothing_else_is_asked(tmp_path: Path, entry: Row) -> None:
    asked = Asked(tmp_path)
    assert asked.refusals(entry) == set()
    wanted = {question for each in entry.needs for question in each.one_of}
    others = {question for question in asked.asked - wanted if not question.endswith("TOPIC __consumer_offsets")}
    assert {question for question in others if not (entry.shown and question.endswith(entry.shown))} == set()
    assert all(asked.asked & set(each.one_of) for each in entry.needs)
    assert all(question.split()[0] in AclOperation.numbers for question in wanted)


@pytest.mark.parametrize(
    ("entry", "lacking"),
    [(entry, each) for entry in SERVED for each in entry.needs],
    ids=lambda part: name_of(part) if isinstance(part, Row) else "without " + " and ".join(part.one_of),
)
def test_who_may_not_is_told_so(tmp_path: Path, entry: Row, lacking: Need) -> None:
    asked = Asked(tmp_path / "none")
    asked.denied = lambda question: question in lacking.one_of
    assert asked.refusals(entry) == ({lacking.code} if lacking.code else set())
    assert asked.asked & set(lacking.one_of)
    for enough in lacking.one_of if len(lacking.one_of) > 1 else ():
        asked = Asked(tmp_path / enough.replace(" ", "-").replace("*", ""))
        asked.denied = lambda question, enough=enough: question in lacking.one_of and question != enough  # type: ignore[misc]
        assert asked.refusals(entry) == set(), f"{enough} is enough"
