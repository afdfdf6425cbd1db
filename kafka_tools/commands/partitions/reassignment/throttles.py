"""Throttles of reassignments: which replicas and brokers they are set on, and how they are removed.

The rates are configs of brokers, the throttled replicas are configs of topics (KIP-73, KIP-113). Each setting is
recorded (``ledger.py``), so that the end of a reassignment removes it and leaves the settings of others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.config_changes import ConfigChange
from kafka_tools.admin.calls.configs import ConfigResource
from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment.current import Assignment, is_unknown_topic
from kafka_tools.commands.partitions.reassignment.ledger import LOG_DIRS_RATE, Ledger
from kafka_tools.errors import ConnectFailed
from kafka_tools.output.kafka.java_words import hash_order
from kafka_tools.texts.java_hashing import string_hash
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.calls.reassignments import Reassignment
    from kafka_tools.admin.client import AdminClient

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
BROKER_THROTTLES = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
TOPIC_THROTTLES = (LEADER_REPLICAS, FOLLOWER_REPLICAS)

Settings = dict[ConfigResource, dict[str, str]]
"""Broker or topic -> config -> value."""


class Throttle(NamedTuple):
    """Limits in bytes per second: between brokers, and between the log directories of a broker; negative: no limit."""

    inter_broker: int = -1
    log_dirs: int = -1


NO_THROTTLE = Throttle()


class PartitionMove(NamedTuple):
    """The brokers from which a partition is copied, and those to which."""

    sources: frozenset[int]
    destinations: frozenset[int]


def moves_of(
    running_now: Mapping[TopicPartition, Reassignment], wanted: Assignment, current: Assignment
) -> dict[TopicPartition, PartitionMove]:
    """The moves that are under way and those that ``wanted`` begins or changes."""
    moves = {}
    for partition, reassignment in running_now.items():
        adding = frozenset(reassignment.adding)
        moves[partition] = PartitionMove(frozenset(reassignment.replicas) - adding, adding)
    for partition, replicas in wanted.items():
        sources = moves[partition].sources if partition in moves else frozenset(current[partition])
        moves[partition] = PartitionMove(sources, frozenset(replicas) - sources)
    return moves


def inter_broker_settings(moves: Mapping[TopicPartition, PartitionMove], rate: int) -> tuple[Settings, Settings]:
    """The configs (of topics, of brokers) that limit these moves to ``rate`` bytes per second at each broker."""
    leaders: dict[str, set[str]] = {}
    followers: dict[str, set[str]] = {}
    brokers: set[int] = set()
    for partition, move in moves.items():
        number = partition.partition
        leaders.setdefault(partition.topic, set()).update(f"{number}:{id}" for id in move.sources)
        followers.setdefault(partition.topic, set()).update(f"{number}:{id}" for id in move.destinations)
        brokers |= move.sources | move.destinations
    topics = {
        ConfigResource("topic", topic): {
            LEADER_REPLICAS: ",".join(sorted(leaders[topic])),
            FOLLOWER_REPLICAS: ",".join(sorted(followers[topic])),
        }
        for topic in leaders
    }
    return topics, {_broker(id): {LEADER_RATE: str(rate), FOLLOWER_RATE: str(rate)} for id in sorted(brokers)}


def limit_moves(admin: AdminClient, moves: Mapping[TopicPartition, PartitionMove], rate: int, ledger: Ledger) -> str:
    """Limit moves between brokers to ``rate`` bytes per second; returns the line that says so."""
    topics, brokers = inter_broker_settings(moves, rate)
    brokers = _only_alive(admin, brokers)
    ledger.add(topics | brokers)
    _set(admin, topics)
    _set(admin, brokers)
    return f"The inter-broker throttle limit was set to {rate} B/s\n"


def limit_log_dirs(admin: AdminClient, broker_ids: Iterable[int], rate: int, ledger: Ledger) -> str:
    """Limit moves between log directories of brokers to ``rate`` bytes per second; returns the line that says so."""
    settings = {_broker(id): {LOG_DIRS_RATE: str(rate)} for id in sorted(set(broker_ids))}
    settings = _only_alive(admin, settings)
    ledger.add(settings)
    _set(admin, settings)
    return f"The replica-alter-dir throttle limit was set to {rate} B/s\n"


def clear(
    admin: AdminClient, broker_ids: Collection[int], topics: Collection[str], ledger: Ledger, *, say: bool
) -> None:
    """Remove the throttles of all live brokers, of ``broker_ids`` and of ``topics``, as Kafka's tool does.

    A recorded config gets its former value back. If anything is recorded, configs that are not, and those with another
    value by now, were set by somebody else: they are left, and named on stderr. ``say``: print Kafka's lines.
    """
    alive = {node.id for node in admin.nodes()}
    brokers = sorted({*alive, *broker_ids})
    if admin.config.is_controllers:  # they take the changes of all brokers, of which they tell nothing
        alive |= {*broker_ids, *ledger.broker_ids()}
    if say:
        plural = "" if len(brokers) == 1 else "s"
        running.emit(f"Clearing broker-level throttles on broker{plural} {','.join(map(str, brokers))}\n")
    wanted = {_broker(id): BROKER_THROTTLES for id in {*brokers, *ledger.broker_ids()}}
    dead = [int(key.name) for key in wanted if int(key.name) not in alive]
    dead += _restore(admin, {key: names for key, names in wanted.items() if int(key.name) in alive}, ledger)
    named = hash_order(topics, string_hash)
    if say:
        plural = "" if len(named) == 1 else "s"
        running.emit(f"Clearing topic-level throttles on topic{plural} {','.join(running.shown(named))}\n")
    _restore(admin, {ConfigResource("topic", name): TOPIC_THROTTLES for name in {*named, *ledger.topics()}}, ledger)
    _note_left(dead, "--verify")
    ledger.save()


def restore_recorded(admin: AdminClient, ledger: Ledger) -> None:
    """Remove the recorded throttles, and nothing else."""
    alive = {str(node.id) for node in admin.nodes()}
    recorded = ledger.recorded()
    wanted = {key: each for key, each in recorded.items() if key.type == "topic" or key.name in alive}
    dead = [int(key.name) for key in recorded.keys() - wanted.keys()]
    _note_left([*dead, *_restore(admin, wanted, ledger)], "--list")
    ledger.save()


def _restore(admin: AdminClient, wanted: Mapping[ConfigResource, Iterable[str]], ledger: Ledger) -> list[int]:
    """Undo what is set of these configs. Returns the brokers that cannot be reached, which the cluster may take for
    alive for some seconds more: their throttles, and the records of them, are left."""
    away: set[ConfigResource] = set()
    # A broker takes far longer to take a change, even of nothing, than to tell. Controllers do not tell of brokers.
    untold = {key for key in wanted if key.type == "broker"} if admin.config.is_controllers else set()
    values = ledger.read_values({key: names for key, names in wanted.items() if key not in untold}, away)
    values |= {(key, name): None for key in untold for name in wanted[key] if ledger.may_undo(key, name)}
    undone = {key: [ledger.undoing(key, name, values) for name in names] for key, names in wanted.items()}
    changes = {key: [each for each in found if each is not None] for key, found in undone.items() if any(found)}
    for key, outcome in admin.alter_configs_incremental(changes).items():
        if key.type == "broker" and isinstance(outcome.error, ConnectFailed):
            away.add(key)
        elif outcome.error is not None and not (key.type == "topic" and is_unknown_topic(outcome.error)):
            raise outcome.error
    for key in wanted.keys() - away:  # also where nothing is to be undone: it was set by others since, or never
        ledger.forget(key)
    return [int(key.name) for key in away]


def _note_left(broker_ids: Iterable[int], again: str) -> None:
    named = ", ".join(map(str, sorted(set(broker_ids))))
    if named:
        running.note(f"warning: broker {named} is away: its throttles are left, run {again} again when it is back")


def _broker(broker_id: int) -> ConfigResource:
    return ConfigResource("broker", str(broker_id))


def _only_alive(admin: AdminClient, settings: Settings) -> Settings:
    """The settings of live brokers. Others are named on stderr: they will take part without a throttle."""
    alive = {str(node.id) for node in admin.nodes()}
    dead = [key.name for key in settings if key.name not in alive]
    if dead:
        running.note(f"warning: broker {', '.join(dead)} is away: no throttle was set on it")
    return {key: each for key, each in settings.items() if key.name in alive}


def _set(admin: AdminClient, settings: Settings) -> None:
    changes = {
        key: [ConfigChange(name, "set", value) for name, value in each.items()] for key, each in settings.items()
    }
    admin.alter_configs_incremental(changes).raise_any()
