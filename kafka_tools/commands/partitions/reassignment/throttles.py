"""Sets and removes throttles of reassignments on replicas and brokers.

The rates are configs of brokers, the throttled replicas are configs of topics (KIP-73, KIP-113). Each setting is
recorded (``ledger.py``), so that the end of a reassignment removes it and keeps the settings of others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.config_changes import ConfigChange
from kafka_tools.admin.calls.configs import ConfigResource
from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment.current import Assignment, is_away, is_unknown_topic, share_s
from kafka_tools.commands.partitions.reassignment.ledger import LOG_DIRS_RATE, Ledger, SetValues
from kafka_tools.errors import KafkaToolsError, NetworkError
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
    """The source and target brokers of a partition's move."""

    sources: frozenset[int]
    destinations: frozenset[int]


def moves_of(
    running_now: Mapping[TopicPartition, Reassignment], wanted: Assignment, current: Assignment
) -> dict[TopicPartition, PartitionMove]:
    """The moves in progress, and the moves that ``wanted`` starts or changes."""
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
    """Limit moves between brokers to ``rate`` bytes per second. Returns Kafka's line about it."""
    topics, brokers = inter_broker_settings(moves, rate)
    _limit(admin, topics, brokers, ledger)
    return f"The inter-broker throttle limit was set to {rate} B/s\n"


def limit_log_dirs(admin: AdminClient, broker_ids: Iterable[int], rate: int, ledger: Ledger) -> str:
    """Limit moves between log directories of brokers to ``rate`` bytes per second. Returns Kafka's line about it."""
    _limit(admin, {}, {_broker(id): {LOG_DIRS_RATE: str(rate)} for id in sorted(set(broker_ids))}, ledger)
    return f"The replica-alter-dir throttle limit was set to {rate} B/s\n"


def _limit(admin: AdminClient, topics: Settings, brokers: Settings, ledger: Ledger) -> None:
    """Set throttles. Brokers that are down get none, and are named on stderr. A topic that was deleted meanwhile needs
    none. Raises any other error, after all other throttles are set."""
    alive = {str(node.id) for node in admin.nodes()}
    settings = topics | {key: each for key, each in brokers.items() if key.name in alive}
    away = {key for key in brokers if key not in settings} | ledger.add(settings)
    changes = {
        key: [ConfigChange(name, "set", value) for name, value in each.items()]
        for key, each in settings.items()
        if key not in away
    }
    failed = admin.alter_configs_incremental(changes, timeout_s=share_s(admin)).failures()
    away |= {key for key, error in failed.items() if key.type == "broker" and is_away(error)}
    if away:
        running.note(f"warning: {_named(away)} is down: no throttle was set on it")
    for key, error in failed.items():
        if key not in away and not (key.type == "topic" and is_unknown_topic(error)):
            raise error


def clear(
    admin: AdminClient, broker_ids: Collection[int], topics: Collection[str], ledger: Ledger, *, say: bool
) -> dict[ConfigResource, KafkaToolsError]:
    """Remove the throttles of all live brokers, of ``broker_ids`` and of ``topics``, as Kafka's tool does.

    A recorded config gets its former value back. If the ledger is not empty, other configs, and configs whose value has
    changed, belong to other users: they stay, and are named on stderr. ``say``: print Kafka's lines for the brokers and
    topics that responded. Returns the brokers and topics whose throttles may be left, with the reason.
    """
    known = {str(node.id) for node in admin.nodes()}
    named = {_broker(id) for id in broker_ids}
    if admin.config.is_controllers:  # they take the changes of all brokers, of which they tell nothing
        known |= {*map(str, broker_ids), *map(str, ledger.broker_ids())}
    brokers = {_broker(int(id)) for id in known} | named | {_broker(id) for id in ledger.broker_ids()}
    reached = {key for key in brokers if key.name in known}
    named_topics = {ConfigResource("topic", name) for name in {*topics, *ledger.topics()}}
    left = {key: _not_there(key) for key in brokers - reached}
    left |= _restore(
        admin, dict.fromkeys(reached, BROKER_THROTTLES) | dict.fromkeys(named_topics, TOPIC_THROTTLES), ledger
    )
    if say:
        cleared = sorted(int(key.name) for key in reached - left.keys())
        plural = "" if len(cleared) == 1 else "s"
        running.emit(f"Clearing broker-level throttles on broker{plural} {','.join(map(str, cleared))}\n")
    told = hash_order([name for name in topics if ConfigResource("topic", name) not in left], string_hash)
    if say and (told or not topics):
        plural = "" if len(told) == 1 else "s"
        running.emit(f"Clearing topic-level throttles on topic{plural} {','.join(running.shown(told))}\n")
    ledger.save()
    if not ledger.is_empty:  # this user has not throttled the others
        left = {key: error for key, error in left.items() if key in ledger.recorded()}
    _note_left(left, ledger)
    return left


def restore_recorded(admin: AdminClient, ledger: Ledger) -> None:
    """Remove only the recorded throttles. Raises the error of a cluster that does not respond at all."""
    alive = {str(node.id) for node in admin.nodes()}
    recorded = ledger.recorded()
    left = {key: _not_there(key) for key in recorded if key.type == "broker" and key.name not in alive}
    left |= _restore(admin, {key: names for key, names in recorded.items() if key not in left}, ledger)
    ledger.save()
    for key, error in left.items():
        if key.type == "topic" and isinstance(error, NetworkError):
            raise error  # any broker can change topics: the cluster does not respond
    _note_left(left, ledger)


def _restore(
    admin: AdminClient, wanted: Mapping[ConfigResource, Iterable[str]], ledger: Ledger
) -> dict[ConfigResource, KafkaToolsError]:
    """Undo what is set of these configs; returns those that could not be reached or changed, whose throttles, and
    the records of them, are left. One of them keeps no other from being undone.

    The cluster may take a broker that is away for alive for some seconds, and one that hangs for longer: it gets a
    part of the time to tell what is set. What tells it gets the rest for the change, which may wait for a controller.
    """
    left: dict[ConfigResource, KafkaToolsError] = {}
    # A broker takes far longer to take a change, even of nothing, than to tell. Controllers do not tell of brokers.
    untold = {key for key in wanted if key.type == "broker"} if admin.config.is_controllers else set()
    values: SetValues = {}
    for kind in ("broker", "topic"):  # any broker tells of topics: one that tells of itself in time
        told = {key: names for key, names in wanted.items() if key.type == kind and key not in untold}
        values |= ledger.read_values(told, left, timeout_s=share_s(admin))
    values |= {(key, name): None for key in untold for name in wanted[key] if ledger.may_undo(key, name)}
    undone = {key: [ledger.undoing(key, name, values) for name in names] for key, names in wanted.items()}
    changes = {key: [each for each in found if each is not None] for key, found in undone.items() if any(found)}
    outcomes = admin.alter_configs_incremental(changes) if changes else {}
    for key, outcome in outcomes.items():
        if outcome.error is not None and not (key.type == "topic" and is_unknown_topic(outcome.error)):
            left[key] = outcome.error
    for key in wanted.keys() - left.keys():  # also where nothing is to be undone: it was set by others since, or never
        ledger.forget(key)
    return left


def _not_there(key: ConfigResource) -> KafkaToolsError:
    return NetworkError(f"broker {key.name} does not exist or does not respond")


def _note_left(left: Mapping[ConfigResource, KafkaToolsError], ledger: Ledger) -> None:
    """Note the resources whose throttles stay, and the command that removes them."""
    again = "--verify" if ledger.is_empty else "--list"
    away = {key for key, error in left.items() if key.type == "broker" and is_away(error)}
    if away:
        running.note(f"warning: {_named(away)} is down: its throttles stay; run {again} again when it is back")
    for key in sorted(left.keys() - away):
        running.note(f"warning: the throttles of {key} stay, run {again} again to remove them: {left[key]}")


def _named(brokers: Iterable[ConfigResource]) -> str:
    return f"broker {', '.join(map(str, sorted(int(key.name) for key in brokers)))}"


def _broker(broker_id: int) -> ConfigResource:
    return ConfigResource("broker", str(broker_id))
