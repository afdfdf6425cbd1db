"""What the checks need to know of a cluster, collected by an admin client.

A part that cannot be collected is absent, and ``missing`` has its error: the principal lacks a right, the release does
not have the request, or a broker does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_tools.admin.client import ConfigResource
from kafka_tools.clock import Clock, Deadline
from kafka_tools.errors import AuthenticationFailed, KafkaToolsError, UnsupportedVersion
from kafka_tools.protocol import error_codes

if TYPE_CHECKING:
    from kafka_tools.admin.client import (
        AdminClient,
        ClusterDescription,
        DelegationToken,
        Features,
        GroupListing,
        LogDirDescription,
        QuorumDescription,
        Reassignment,
        TopicDescription,
        TransactionDescription,
    )
    from kafka_tools.admin.outcomes import Outcome, Outcomes
    from kafka_tools.net.versions import VersionRange
    from kafka_tools.values import Node, TopicPartition

K = TypeVar("K")
V = TypeVar("V")
BROKER_CONFIGS = (
    "default.replication.factor",
    "log.retention.ms",
    "message.max.bytes",
    "min.insync.replicas",
    "offsets.retention.minutes",
    "offsets.topic.replication.factor",
    "replica.fetch.max.bytes",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
    "unclean.leader.election.enable",
)
TOPIC_CONFIGS = ("cleanup.policy", "max.message.bytes", "min.insync.replicas", "retention.ms", "segment.ms")
_MOST_TOPICS = 5000
"""The configs of more topics are not read: the responses would take seconds."""
_OPEN_STATES = ("Ongoing", "PrepareCommit", "PrepareAbort")


@dataclass
class Facts:
    """The facts; None or empty where ``missing`` says why."""

    cluster: ClusterDescription
    now_ms: int
    """This machine's time when ``quorum`` was answered, in ms since the epoch."""
    versions: Mapping[Node, Outcome[dict[int, VersionRange]]] = field(default_factory=dict)
    fenced: frozenset[int] = frozenset()
    features: Features | None = None
    quorum: QuorumDescription | None = None
    topics: dict[str, TopicDescription] = field(default_factory=dict)
    reassignments: dict[TopicPartition, Reassignment] = field(default_factory=dict)
    log_dirs: dict[int, dict[str, Outcome[LogDirDescription]]] = field(default_factory=dict)
    groups: list[GroupListing] = field(default_factory=list)
    transactions: dict[str, TransactionDescription] = field(default_factory=dict)
    tokens: list[DelegationToken] = field(default_factory=list)
    broker_configs: dict[int, dict[str, str | None]] = field(default_factory=dict)
    topic_configs: dict[str, dict[str, str | None]] = field(default_factory=dict)
    missing: dict[str, KafkaToolsError] = field(default_factory=dict)
    """Name of a part -> why it is missing."""

    @property
    def partition_count(self) -> int:
        return sum(len(topic.partitions) for topic in self.topics.values())


_LEAST_S = 0.25
"""The least time for one part, when earlier parts have used up the time for all."""


def collect(admin: AdminClient, clock: Clock, limit_s: float) -> Facts:
    """Ask the cluster, within about ``limit_s``: half of it is the most for one part. Brokers that do not answer in
    time are not waited for.

    Raises KafkaToolsError if no broker answers at all, or refuses the login.
    """
    facts = Facts(admin.describe_cluster(), clock.now_ms())
    deadline = Deadline(clock, limit_s)

    def part(name: str, ask: Callable[[Deadline], V]) -> V | None:
        try:
            return ask(Deadline(clock, max(_LEAST_S, min(limit_s / 2, deadline.left_s()))))
        except AuthenticationFailed:
            raise
        except KafkaToolsError as error:
            facts.missing[name] = error
            return None

    facts.versions = part("versions", lambda deadline: admin.api_versions(deadline=deadline)) or {}
    fenced = part(
        "fenced brokers", lambda deadline: admin.describe_cluster(include_fenced_brokers=True, deadline=deadline).fenced
    )
    facts.fenced = fenced or frozenset()
    facts.features = part("features", lambda deadline: admin.describe_features(deadline=deadline))
    facts.quorum = part("quorum", lambda deadline: admin.describe_quorum(deadline=deadline))
    facts.now_ms = clock.now_ms()
    names = part("topics", lambda deadline: [topic.name for topic in admin.list_topics(deadline=deadline)]) or []
    described = _each(facts, "topics", part, lambda deadline: admin.describe_topics(names, deadline=deadline))
    facts.topics = {topic.name: topic for topic in described.values()}
    facts.reassignments = (
        part("reassignments", lambda deadline: admin.list_partition_reassignments(deadline=deadline)) or {}
    )
    facts.log_dirs = _each(facts, "log directories", part, lambda deadline: admin.describe_log_dirs(deadline=deadline))
    groups = part("groups", lambda deadline: admin.list_groups(deadline=deadline))
    facts.groups = list(groups or ())
    facts.transactions = _transactions(admin, part)
    facts.tokens = part("delegation tokens", lambda deadline: admin.describe_delegation_tokens(deadline=deadline)) or []
    brokers = {ConfigResource("broker", str(node.id)): BROKER_CONFIGS for node in facts.cluster.nodes}
    found = _each(facts, "broker configs", part, lambda deadline: admin.describe_configs(brokers, deadline=deadline))
    facts.broker_configs = {
        int(resource.name): {entry.name: entry.value for entry in entries} for resource, entries in found.items()
    }
    if 0 < len(facts.topics) <= _MOST_TOPICS:
        topics = {ConfigResource("topic", name): TOPIC_CONFIGS for name in facts.topics}
        found = _each(facts, "topic configs", part, lambda deadline: admin.describe_configs(topics, deadline=deadline))
        facts.topic_configs = {
            resource.name: {entry.name: entry.value for entry in entries} for resource, entries in found.items()
        }
    return facts


def _each(facts: Facts, name: str, part: Callable[..., Any], ask: Callable[[Deadline], Outcomes[K, V]]) -> dict[K, V]:
    """The keys of a call that succeeded; the first error of another one is ``missing``."""
    outcomes = part(name, ask)
    if outcomes is None:
        return {}
    for error in outcomes.failures().values():
        facts.missing.setdefault(name, error)
    found: dict[K, V] = outcomes.succeeded()
    return found


def _transactions(admin: AdminClient, part: Callable[..., Any]) -> dict[str, TransactionDescription]:
    listed = part("transactions", lambda deadline: admin.list_transactions(_OPEN_STATES, deadline=deadline))
    if listed is None:
        return {}
    ids = [each.transactional_id for found in listed.succeeded().values() for each in found]
    if not ids:
        return {}
    described = part("transactions", lambda deadline: admin.describe_transactions(ids, deadline=deadline))
    return {} if described is None else dict(described.succeeded())


_NO_TOKENS = (error_codes.DELEGATION_TOKEN_AUTH_DISABLED, error_codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def is_expected(error: KafkaToolsError) -> bool:
    """Whether a part is missing because the release does not have it, or the cluster or login has no tokens."""
    return isinstance(error, UnsupportedVersion) or getattr(getattr(error, "code", None), "code", None) in _NO_TOKENS
