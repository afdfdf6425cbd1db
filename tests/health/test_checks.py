"""Each check finds its cause and nothing else in facts of a sound cluster of three, with one thing broken."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from kafka_tools.admin.client import (
    ClusterDescription,
    DelegationToken,
    Features,
    GroupListing,
    LogDirDescription,
    PartitionDescription,
    Principal,
    QuorumDescription,
    QuorumReplica,
    Reassignment,
    TopicDescription,
    TransactionDescription,
)
from kafka_tools.admin.outcomes import Outcome
from kafka_tools.commands.registry import load
from kafka_tools.commands.toolkit.doctor import _PARTS, _checked
from kafka_tools.errors import BrokerError, ConnectFailed
from kafka_tools.health.facts import Facts
from kafka_tools.health.finding import Diagnosis
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.protocol import error_codes
from kafka_tools.values import Node, TopicPartition

NOW_MS = 1_800_000_000_000
GIB = 1 << 30
NODES = tuple(Node(number, f"b{number}", 9092) for number in (1, 2, 3))


ALL = (1, 2, 3)


def partition(
    number: int, leader: int | None = 1, replicas: Iterable[int] = ALL, isr: Iterable[int] = ALL
) -> PartitionDescription:
    return PartitionDescription(number, leader, 5, tuple(replicas), tuple(isr), (), None, None)


def topic(name: str, *partitions: PartitionDescription) -> TopicDescription:
    return TopicDescription(name, uuid.uuid5(uuid.NAMESPACE_DNS, name), name.startswith("__"), partitions)


def voter(number: int, end: int = 5000, late_ms: int = 0) -> QuorumReplica:
    return QuorumReplica(number, None, end, NOW_MS - late_ms, NOW_MS - late_ms)


def log_dir(used: float = 0.5) -> Outcome[LogDirDescription]:
    return Outcome(LogDirDescription({}, 100 * GIB, round((1 - used) * 100 * GIB), False))


CONFIGS: dict[str, str | None] = {
    "min.insync.replicas": "1", "message.max.bytes": "1048588", "replica.fetch.max.bytes": "1048576",
    "unclean.leader.election.enable": "false", "default.replication.factor": "3",
}  # fmt: skip


PAY = TransactionDescription(1, "Ongoing", 9, 0, 60_000, NOW_MS - 1000, ())
TWO_COPIES = partition(0, 1, (1, 2), (1, 2))


def sound() -> Facts:
    return Facts(
        cluster=ClusterDescription("c", NODES[0], NODES),
        now_ms=NOW_MS,
        versions={node: Outcome({0: (0, 12), 1: (0, 17)}) for node in NODES},
        features=Features({"metadata.version": (1, 29)}, {"metadata.version": (1, 29)}, 4),
        quorum=QuorumDescription(11, 3, 5000, (voter(11), voter(12), voter(13)), (voter(1), voter(2), voter(3)), {}),
        topics={
            "orders": topic("orders", partition(0), partition(1, 2, (2, 3, 1)), partition(2, 3, (3, 1, 2))),
            "__consumer_offsets": topic("__consumer_offsets", partition(0)),
        },
        log_dirs={node.id: {"/d1": log_dir(), "/d2": log_dir(0.6)} for node in NODES},
        groups=[
            GroupListing("billing", "consumer", "Stable", "classic"),
            GroupListing("old", "consumer", "Empty", "classic"),
        ],
        transactions={"pay": PAY},
        tokens=[DelegationToken("t", b"h", Principal("User", "a"), None, 0, NOW_MS + 10**9, NOW_MS + 10**10, ())],
        broker_configs={node.id: dict(CONFIGS) for node in NODES},
        topic_configs={name: {"min.insync.replicas": "2"} for name in ("orders", "__consumer_offsets")},
    )


def findings(facts: Facts) -> list[Diagnosis]:
    return [finding for name in _PARTS for finding in _checked(name, facts)]


def test_a_sound_cluster_has_no_findings() -> None:
    assert findings(sound()) == []


def with_orders(facts: Facts, *partitions: PartitionDescription) -> Facts:
    return replace(facts, topics=facts.topics | {"orders": topic("orders", *partitions)})


def broken_broker(facts: Facts) -> Facts:
    return replace(facts, versions=dict(facts.versions) | {NODES[2]: Outcome(None, ConnectFailed("refused"))})


def configs(facts: Facts, broker: int, **changed: str) -> Facts:
    names: dict[str, str | None] = {name.replace("_", "."): value for name, value in changed.items()}
    return replace(facts, broker_configs=facts.broker_configs | {broker: CONFIGS | names})


def every_broker(facts: Facts, **changed: str) -> Facts:
    for node in NODES:
        facts = configs(facts, node.id, **changed)
    return facts


def group(state: str) -> Callable[[Facts], Facts]:
    return lambda facts: replace(facts, groups=[*facts.groups, GroupListing("new", "consumer", state, "consumer")])


def quorum(facts: Facts, **changed: Any) -> Facts:
    assert facts.quorum is not None
    return replace(facts, quorum=facts.quorum._replace(**changed))


def dirs(facts: Facts, **paths: Outcome[LogDirDescription]) -> Facts:
    found = {path.replace("_", "/"): outcome for path, outcome in paths.items()}
    return replace(facts, log_dirs=facts.log_dirs | {2: found})


BREAKS: list[tuple[str, str, str, str, Callable[[Facts], Facts]]] = [
    ("partitions", "error", "1 of 3 partitions without a leader", "orders-1",
     lambda facts: with_orders(facts, partition(0), partition(1, None, (2, 3, 1), (2,)))),
    ("partitions", "error", "1 of 2 partitions under min.insync.replicas",
     "orders-0; replicas missing from the ISR: 1 of broker 2, 1 of broker 3",
     lambda facts: with_orders(facts, partition(0, isr=(1,)))),
    ("partitions", "warning", "1 of 2 partitions at min.insync.replicas", "1 of broker 3",
     lambda facts: with_orders(facts, partition(0, isr=(1, 2)))),
    ("partitions", "warning", "1 of 2 partitions under-replicated", "orders-0",
     lambda facts: replace(with_orders(facts, partition(0, isr=(1, 2))), topic_configs={})),
    ("partitions", "info", "1 of 2 partitions with one replica", "orders-0",
     lambda facts: replace(with_orders(facts, partition(0, replicas=(1,), isr=(1,))), topic_configs={})),
    ("partitions", "info", "1 of 2 partitions not led by the preferred replica", "broker 2 leads 1",
     lambda facts: with_orders(facts, partition(0, leader=2))),
    ("partitions", "info", "1 reassignment in progress", "orders-0",
     lambda facts: replace(facts, reassignments={TopicPartition("orders", 0): Reassignment((1, 2), (2,), ())})),
    ("brokers", "error", "broker 3 does not answer at b3:9092", "refused", broken_broker),
    ("brokers", "error", "1 broker registered, but not live", "brokers 4",
     lambda facts: replace(facts, fenced=frozenset({4}))),
    ("brokers", "error", "the cluster has no active controller", "",
     lambda facts: replace(facts, cluster=facts.cluster._replace(controller=None))),
    ("brokers", "info", "brokers have different releases: 1 of 3 brokers behind", "older: 2",
     lambda facts: replace(facts, versions=dict(facts.versions) | {NODES[1]: Outcome({0: (0, 12), 1: (0, 16)})})),
    ("quorum", "error", "the metadata quorum has no leader", "", lambda facts: quorum(facts, leader_id=-1)),
    ("quorum", "error", "1 of 3 voters behind the metadata log", "13 (2000 records behind, last caught up 30 s ago)",
     lambda facts: quorum(facts, voters=(voter(11), voter(12), voter(13, 3000, 30_000)))),
    ("quorum", "warning", "1 of 3 observers behind the metadata log", "2 (10 records behind, last caught up 20 s ago)",
     lambda facts: quorum(facts, observers=(voter(1), voter(2, 4990, 20_000), voter(3)))),
    ("clock", "warning", "the clock of this machine is 5.0 s ahead of controller 11's", "",
     lambda facts: replace(facts, now_ms=NOW_MS + 5000)),
    ("clock", "warning", "the clock of this machine is 3.5 s behind controller 11's", "",
     lambda facts: replace(facts, now_ms=NOW_MS - 3500)),
    ("features", "info", "metadata.version is 27, and a broker supports 29", "",
     lambda facts: replace(facts, features=Features({"metadata.version": (1, 29)}, {"metadata.version": (1, 27)}, 4))),
    ("log directories", "error", "the disk of /d1 of broker 2 is 97% full", "3.0 GiB of 100.0 GiB are free",
     lambda facts: dirs(facts, _d1=log_dir(0.97))),
    ("log directories", "warning", "the disk of /d1 of broker 2 is 90% full", "10.0 GiB",
     lambda facts: dirs(facts, _d1=log_dir(0.9))),
    ("log directories", "warning", "the disks of broker 2 are unevenly full", "/d1 80%, /d2 10%",
     lambda facts: dirs(facts, _d1=log_dir(0.8), _d2=log_dir(0.1))),
    ("log directories", "error", "log directory /d2 of broker 2 is offline", "KAFKA_STORAGE_ERROR",
     lambda facts: dirs(facts, _d1=log_dir(), _d2=Outcome(None, broker_error(error_codes.KAFKA_STORAGE_ERROR, None)))),
    ("groups", "warning", "1 of 3 groups rebalancing", "new (PreparingRebalance)", group("PreparingRebalance")),
    ("groups", "warning", "1 of 3 groups rebalancing", "new (Reconciling)", group("Reconciling")),
    ("groups", "warning", "1 of 3 groups not ready", "new", group("NotReady")),
    ("transactions", "error", "1 of 1 open transaction past their timeout", "pay (10 min, Ongoing)",
     lambda facts: replace(facts, transactions={"pay": PAY._replace(start_time_ms=NOW_MS - 600_000)})),
    ("tokens", "warning", "1 of 1 delegation token near the end of validity", "t of User:a: 1.0 h left",
     lambda facts: replace(facts, tokens=[facts.tokens[0]._replace(expires_ms=NOW_MS + 3_600_000)])),
    ("configs", "error", "1 of 2 topics with min.insync.replicas above the number of replicas", "orders (4 of 3)",
     lambda facts: replace(facts, topic_configs={"orders": {"min.insync.replicas": "4"}})),
    ("configs", "warning", "1 of 2 topics with min.insync.replicas equal to the number of replicas", "orders (3 of 3)",
     lambda facts: replace(facts, topic_configs={"orders": {"min.insync.replicas": "3"}})),
    ("configs", "warning", "min.insync.replicas differs between brokers", "broker 1 1, broker 2 2, broker 3 1",
     lambda facts: configs(facts, 2, min_insync_replicas="2")),
    ("configs", "info", "message.max.bytes (2000000) is above replica.fetch.max.bytes (1048576)", "broker 1",
     lambda facts: every_broker(facts, message_max_bytes="2000000")),
    ("configs", "warning", "unclean.leader.election.enable is true", "broker 1",
     lambda facts: every_broker(facts, unclean_leader_election_enable="true")),
    ("configs", "warning", "__consumer_offsets has 2 replicas on a cluster of 3 brokers", "",
     lambda facts: replace(facts, topics={"__consumer_offsets": topic("__consumer_offsets", TWO_COPIES)},
                           topic_configs={})),
]  # fmt: skip


def is_command(line: str) -> bool:
    """Whether a line names one of our commands and options that it has."""
    program, *words = line.split()
    command = load(words[0] if program == "kafka-tools" else program.removeprefix("kafka-"))
    commands = [command, *getattr(command, "commands", {}).values()]
    options = {option for each in commands for parameter in each.params for option in parameter.opts}
    return {word for word in words if word.startswith("-")} <= options | {"--help"}


@pytest.mark.parametrize(("check", "severity", "what", "evidence", "break_it"), BREAKS)
def test_one_broken_thing_is_one_finding(
    check: str, severity: str, what: str, evidence: str, break_it: Callable[[Facts], Facts]
) -> None:
    (finding,) = findings(break_it(sound()))
    assert (finding.check, finding.severity) == (check, severity)
    assert finding.what.startswith(what), finding.what
    assert evidence in finding.evidence
    assert check == "clock" or is_command(finding.next)


def test_a_directory_that_the_principal_may_not_see_is_no_finding() -> None:
    refused = broker_error(error_codes.CLUSTER_AUTHORIZATION_FAILED, None)
    assert isinstance(refused, BrokerError)
    assert findings(dirs(sound(), _d1=Outcome(None, refused))) == []


def test_a_broker_that_is_down_is_named_as_the_cause() -> None:
    facts = with_orders(sound(), partition(0, isr=(1, 2)))
    facts = replace(facts, cluster=facts.cluster._replace(nodes=NODES[:2]))
    assert [finding.cause for finding in findings(facts)] == ["broker 3 down"]
