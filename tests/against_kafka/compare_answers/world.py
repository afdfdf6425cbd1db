"""What both brokers hold before the questions begin, and the questions that show what they hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from kafka_tools.protocol import registry
from kafka_tools.protocol.schema import Request, Struct
from kafka_tools.records.build import build_batch
from tests.against_kafka.compare_answers.brokers import ADMIN, ROOT, Peer, Silence

S = TypeVar("S", bound=Struct)
LONG_AGO_MS = int(time.time() * 1000) - 36_000_000
"""The same time in both brokers' records, ten hours ago: nothing retains or refuses it."""

TOPICS: dict[str, dict[str, str]] = {
    "t1": {},
    "compact": {"cleanup.policy": "compact"},
    "appendtime": {"message.timestamp.type": "LogAppendTime"},
    "strict": {"retention.ms": "86400000", "max.message.bytes": "2000", "message.timestamp.after.max.ms": "1000"},
    "trimmed": {},
    "one.x": {"compression.type": "gzip", "min.insync.replicas": "2"},
    "deleting": {"cleanup.policy": "compact,delete"},
    "keptforever": {"cleanup.policy": ""},
}
PARTITIONS = 3


class Ask(NamedTuple):
    """One request to both brokers."""

    request: Request
    version: int
    user: str = ROOT


def build(cls: type[S], version: int, data: dict[str, Any]) -> S:
    """A message of plain lists and dicts, without the fields that ``version`` does not have."""
    values: dict[str, Any] = {}
    for field in cls.FIELDS:
        if field.name not in data or version not in field.versions:
            continue
        value = data[field.name]
        if field.kind == "struct" and isinstance(value, dict):
            value = build(field.item, version, value)
        elif field.kind == "array" and field.item.kind == "struct" and value is not None:
            value = [build(field.item.item, version, item) for item in value]
        values[field.name] = value
    unknown = data.keys() - {field.name for field in cls.FIELDS}
    assert not unknown, f"{cls.__name__} has no {unknown}"
    return cls(**values)


def ask(stem: str, version: int, user: str = ROOT, /, **data: Any) -> Ask:
    return Ask(build(registry.api(stem).request, version, data), version, user)


def settle(peer: Peer, question: Ask, holds: Callable[[Any], Any]) -> Any:
    """Ask until the answer is as it should be: a KRaft broker learns of changes a moment later."""
    end = time.monotonic() + 60
    while True:
        answer = peer.ask(*question)
        if not isinstance(answer, Silence) and holds(answer):
            return answer
        assert time.monotonic() < end, (peer.name, question, answer)
        time.sleep(0.02)


GROUPS = ("g1", "g2", "live")
"""The groups that both have from the beginning; the last has a member."""

# Records


def batch(count: int, *, codec: str = "none", key: bytes | None = b"k", at_ms: int = LONG_AGO_MS, **rest: Any) -> bytes:
    """``count`` records, one millisecond apart."""
    return build_batch([(at_ms + at, key, b"value %d" % at, []) for at in range(count)], codec=codec, **rest)


def produce(topic: str, number: int, data: bytes) -> Ask:
    partition = {"index": number, "records": data}
    return ask("produce", 9, acks=-1, timeout_ms=10_000, topic_data=[{"name": topic, "partition_data": [partition]}])


# Questions about the state


def offsets_of(topics: Sequence[str]) -> list[Ask]:
    questions = []
    for timestamp in (-1, -2, -3):
        wanted = [{"partition_index": number, "timestamp": timestamp} for number in range(PARTITIONS)]
        named = [{"name": name, "partitions": wanted} for name in topics]
        questions.append(ask("list_offsets", 7, replica_id=-1, topics=named))
    return questions


def records_of(topic: str, number: int, position: int = 0) -> Ask:
    partition = {"partition": number, "fetch_offset": position, "partition_max_bytes": 1 << 24}
    topics = [{"topic": topic, "partitions": [partition]}]
    return ask("fetch", 11, max_wait_ms=0, min_bytes=0, max_bytes=1 << 24, session_epoch=-1, topics=topics)


def all_topics() -> list[Ask]:
    return [ask("metadata", 9, topics=None)]


def configs_of(kind: int, name: str) -> Ask:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
    return ask("describe_configs", 4, resources=[resource], include_synonyms=True)


def all_acls() -> Ask:
    return ask(
        "describe_acls", 3, resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1,
        principal_filter=None, host_filter=None, operation=1, permission_type=1,
    )  # fmt: skip


def all_quotas() -> Ask:
    return ask("describe_client_quotas", 1, components=[], strict=False)


def all_users() -> Ask:
    return ask("describe_user_scram_credentials", 0, users=None)


def all_tokens() -> Ask:
    return ask("describe_delegation_token", 3, ADMIN, owners=None)


def commits_of(group: str) -> list[Ask]:
    return [
        ask("offset_fetch", 9, groups=[{"group_id": group, "topics": None}], require_stable=False),
        ask("describe_groups", 5, groups=[group], include_authorized_operations=False),
    ]


# Making it


def create(name: str, partitions: int = PARTITIONS, configs: dict[str, str] | None = None) -> Ask:
    named = [{"name": key, "value": value} for key, value in (configs or {}).items()]
    topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": named}
    return ask("create_topics", 7, topics=[topic], timeout_ms=30_000)


def delete(*names: str) -> Ask:
    states = [{"name": name} for name in names]
    return ask("delete_topics", 6, topics=states, timeout_ms=30_000)


def topic_is_ready(peer: Peer, name: str) -> None:
    question = ask("metadata", 12, topics=[{"name": name}], allow_auto_topic_creation=False)

    def ready(answer: Any) -> bool:
        (topic,) = answer.topics
        return topic.error_code == 0 and all(each.leader_id >= 0 for each in topic.partitions)

    (topic,) = settle(peer, question, ready).topics
    peer.known[f"topic {name}"] = topic.topic_id
    # The metadata is there before the partitions are.
    wanted = [{"partition_index": each.partition_index, "timestamp": -1} for each in topic.partitions]
    latest = ask("list_offsets", 7, replica_id=-1, topics=[{"name": name, "partitions": wanted}])
    settle(peer, latest, lambda answer: not any(each.error_code for each in answer.topics[0].partitions))


def topic_is_gone(peer: Peer, name: str) -> None:
    question = ask("metadata", 12, topics=[{"name": name}], allow_auto_topic_creation=False)
    settle(peer, question, lambda answer: answer.topics[0].error_code != 0)


def prepare(peer: Peer) -> None:
    """Topics with records, groups with commits and a member, ACLs, quotas, users, tokens and configs."""
    for name, configs in [*TOPICS.items(), ("gone", {})]:
        settle(peer, create(name, PARTITIONS, configs), lambda answer: answer.topics[0].error_code in (0, 36))
        topic_is_ready(peer, name)
    peer.ask(*delete("gone"))
    topic_is_gone(peer, "gone")
    _records(peer)
    _groups(peer)
    _security(peer)
    _configs(peer)


def _records(peer: Peer) -> None:
    answer = settle(peer, ask("init_producer_id", 4, transactional_id=None), lambda answer: answer.error_code == 0)
    peer.known["producer 1"] = answer.producer_id
    numbered = {"producer_id": answer.producer_id, "producer_epoch": 0}
    for topic, number, data in (
        ("t1", 0, batch(3)),
        ("t1", 0, batch(2, codec="gzip")),
        ("t1", 1, batch(4, codec="lz4")),
        ("t1", 1, batch(2, codec="snappy")),
        ("t1", 2, batch(3, base_sequence=0, **numbered)),
        ("t1", 2, batch(2, base_sequence=3, **numbered)),
        ("appendtime", 0, batch(3)),
        ("compact", 0, batch(5)),
        ("deleting", 0, batch(1)),
        *(("trimmed", 0, batch(2)) for _ in range(5)),
    ):
        settle(peer, produce(topic, number, data), lambda answer: _produced(answer))
    partition = {"partition_index": 0, "offset": 3}
    peer.ask(*ask("delete_records", 2, topics=[{"name": "trimmed", "partitions": [partition]}], timeout_ms=30_000))


def _produced(answer: Any) -> bool:
    return not answer.responses[0].partition_responses[0].error_code


def _groups(peer: Peer) -> None:
    question = ask("find_coordinator", 4, key_type=1, coordinator_keys=["nosuch", "other"])
    settle(peer, question, lambda answer: not any(each.error_code for each in answer.coordinators))
    for name in ("nosuch", "other", "x" * 300):  # the coordinator has read its log
        question = ask("describe_transactions", 0, transactional_ids=[name])
        settle(peer, question, lambda answer: answer.transaction_states[0].error_code == 105)
    for group in GROUPS:
        question = ask("find_coordinator", 4, key_type=0, coordinator_keys=[group])
        settle(peer, question, lambda answer: answer.coordinators[0].error_code == 0)
    for group in ("g1", "g2"):
        settle(peer, commit(group), lambda answer: not answer.topics[0].partitions[0].error_code)
    join: dict[str, Any] = {
        "group_id": "live", "session_timeout_ms": 3_000_000, "rebalance_timeout_ms": 1000,
        "group_instance_id": "static", "protocol_type": "consumer", "member_id": "",
        "protocols": [{"name": "range", "metadata": b"m"}],
    }  # fmt: skip
    joined: Any = settle(peer, ask("join_group", 9, **join), lambda answer: answer.error_code == 0)
    peer.known["member live"] = joined.member_id
    assignment = {"member_id": joined.member_id, "assignment": b"a"}
    peer.ask(*ask(
        "sync_group", 5, group_id="live", generation_id=joined.generation_id, member_id=joined.member_id,
        group_instance_id="static", protocol_type="consumer", protocol_name="range", assignments=[assignment],
    ))  # fmt: skip


def commit(group: str) -> Ask:
    partitions = [{"partition_index": at, "committed_offset": at + 2, "committed_metadata": "m"} for at in (0, 1)]
    return ask(
        "offset_commit", 9, group_id=group, generation_id_or_member_epoch=-1,
        topics=[{"name": "t1", "partitions": partitions}],
    )  # fmt: skip


def _security(peer: Peer) -> None:
    acl = {"resource_pattern_type": 3, "principal": "User:alice", "host": "*", "permission_type": 3}
    creations = [
        acl | {"resource_type": 2, "resource_name": "t1", "operation": 3},
        acl | {"resource_type": 2, "resource_name": "compact", "operation": 8},
        acl | {"resource_type": 2, "resource_name": "al", "operation": 2, "resource_pattern_type": 4},
        acl | {"resource_type": 3, "resource_name": "g1", "operation": 3},
        acl | {"resource_type": 2, "resource_name": "trimmed", "operation": 6, "permission_type": 2},
        acl | {"resource_type": 4, "resource_name": "kafka-cluster", "operation": 8},
    ]
    peer.ask(*ask("create_acls", 3, creations=creations))
    settle(peer, all_acls(), lambda answer: sum(len(row.acls) for row in answer.resources) == len(creations))
    entries = [
        {"entity": [{"entity_type": "user", "entity_name": "carol"}],
         "ops": [{"key": "producer_byte_rate", "value": 1e9}]},
        {"entity": [{"entity_type": "client-id", "entity_name": None}],
         "ops": [{"key": "consumer_byte_rate", "value": 1e9}]},
        {"entity": [{"entity_type": "user", "entity_name": "carol"}, {"entity_type": "client-id", "entity_name": "c"}],
         "ops": [{"key": "request_percentage", "value": 75.5}]},
        {"entity": [{"entity_type": "ip", "entity_name": "10.0.0.1"}],
         "ops": [{"key": "connection_creation_rate", "value": 10.0}]},
    ]  # fmt: skip
    peer.ask(*ask("alter_client_quotas", 1, entries=entries))
    settle(peer, all_quotas(), lambda answer: len(answer.entries) == len(entries))
    bob = {"name": "bob", "mechanism": 1, "iterations": 8192, "salt": b"salt", "salted_password": b"x" * 32}
    peer.ask(*ask("alter_user_scram_credentials", 0, upsertions=[bob]))
    settle(peer, all_users(), lambda answer: len(answer.results) == 1)
    renewers = [{"principal_type": "User", "principal_name": "alice"}]
    token: Any = settle(
        peer, ask("create_delegation_token", 3, ADMIN, renewers=renewers, max_lifetime_ms=-1),
        lambda answer: answer.error_code == 0,
    )  # fmt: skip
    peer.known |= {"token 1": token.token_id, "hmac 1": bytes(token.hmac)}
    settle(peer, all_tokens(), lambda answer: len(answer.tokens) == 1)


def _configs(peer: Peer) -> None:
    for kind, name, key, value in (
        (32, "g1", "consumer.session.timeout.ms", "50000"),
        (16, "cm1", "interval.ms", "1000"),
        (4, "", "log.retention.ms", "600000000"),
        (4, "1", "log.cleaner.backoff.ms", "14000"),
    ):
        change = {"name": key, "config_operation": 0, "value": value}
        resource = {"resource_type": kind, "resource_name": name, "configs": [change]}
        peer.ask(*ask("incremental_alter_configs", 1, resources=[resource], validate_only=False))
        settle(peer, configs_of(kind, name), lambda answer, wanted=(key, value): wanted in _values(answer))  # type: ignore[misc]


def _values(answer: Any) -> list[tuple[str, str | None]]:
    return [(config.name, config.value) for config in answer.results[0].configs]
