"""Brokers, controllers and partitions as the image keeps them, and their text, which is Kafka's to the letter.

Sources: ``BrokerRegistration``, ``ControllerRegistration``, ``PartitionRegistration``, ``VersionRange``,
``Endpoint`` of Kafka.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from kafka_tools.errors import InputError
from kafka_tools.protocol.stored.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from kafka_tools.values import ZERO_UUID, uuid_text

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""``SecurityProtocol``, by id."""
_RECOVERY = ("RECOVERED", "RECOVERING")
"""``LeaderRecoveryState``, by value."""
_NO_CHANGE = -1
_LEADER_STAYS = -2
_OPEN_RANGE = 0x7FFF


class BrokerState:
    """A registered broker. ``fenced`` and the rest change while it is registered; ``record`` is how it came."""

    __slots__ = ("cordoned", "directories", "fenced", "in_controlled_shutdown", "record")

    def __init__(self, record: RegisterBrokerRecord) -> None:
        """Raises InputError for what Kafka would not register."""
        if any(not endpoint.name for endpoint in record.end_points):
            raise InputError("Broker listeners must be named.")
        self.record = record
        self.fenced: bool = record.fenced
        self.in_controlled_shutdown: bool = record.in_controlled_shutdown
        self.directories = _sorted(record.log_dirs)
        self.cordoned: list[uuid.UUID] | None = record.cordoned_log_dirs

    def change(self, record: BrokerRegistrationChangeRecord) -> None:
        """Raises InputError for a change that Kafka does not know."""
        for name, value in (("fenced", record.fenced), ("inControlledShutdown", record.in_controlled_shutdown)):
            if value not in ((-1, 0, 1) if name == "fenced" else (0, 1)):
                raise InputError(f"unknown value for {name} field: {value}")
        self.fenced = {1: True, -1: False}.get(record.fenced, self.fenced)
        self.in_controlled_shutdown = self.in_controlled_shutdown or record.in_controlled_shutdown == 1
        if record.log_dirs:
            self.directories = _sorted(record.log_dirs)
        if record.cordoned_log_dirs is not None:
            self.cordoned = record.cordoned_log_dirs

    def __str__(self) -> str:
        record = self.record
        rack = "Optional.empty" if record.rack is None else f"Optional[{record.rack}]"
        return (
            f"BrokerRegistration(id={record.broker_id}, epoch={record.broker_epoch}, "
            f"incarnationId={uuid_text(record.incarnation_id)}, listeners=[{_endpoints(record.end_points)}], "
            f"supportedFeatures={{{_features(record.features)}}}, rack={rack}, fenced={_boolean(self.fenced)}, "
            f"inControlledShutdown={_boolean(self.in_controlled_shutdown)}, "
            f"isMigratingZkBroker={_boolean(record.is_migrating_zk_broker)}, directories={_uuids(self.directories)}, "
            f"cordonedDirectories={'null' if self.cordoned is None else _uuids(self.cordoned)})"
        )


def controller_text(record: RegisterControllerRecord) -> str:
    """The text of a registered controller."""
    return (
        f"ControllerRegistration(id={record.controller_id}, incarnationId={uuid_text(record.incarnation_id)}, "
        f"zkMigrationReady={_boolean(record.zk_migration_ready)}, listeners=[{_endpoints(record.end_points)}], "
        f"supportedFeatures={{{_features(record.features)}}})"
    )


class PartitionState:
    """A partition: where its replicas are and who leads it. Broker ids; ``directories`` beside ``replicas``."""

    __slots__ = (
        "adding", "directories", "elr", "isr", "last_known_elr", "leader", "leader_epoch", "partition_epoch",
        "recovery", "removing", "replicas",
    )  # fmt: skip

    def __init__(self, record: PartitionRecord) -> None:
        """Raises InputError for a record that contradicts itself."""
        self.replicas: list[int] = record.replicas
        self.directories = _directories(record.directories, len(record.replicas))
        self.isr: list[int] = record.isr
        self.removing: list[int] = record.removing_replicas
        self.adding: list[int] = record.adding_replicas
        self.elr: list[int] = record.eligible_leader_replicas or []
        self.last_known_elr: list[int] = record.last_known_elr or []
        self.leader: int = record.leader
        self.recovery = _known_recovery(record.leader_recovery_state)
        self.leader_epoch: int = record.leader_epoch
        self.partition_epoch: int = record.partition_epoch

    def change(self, record: PartitionChangeRecord) -> None:
        """Raises InputError, with nothing changed, for a record that contradicts itself."""
        recovery = record.leader_recovery_state
        recovery = self.recovery if recovery == _NO_CHANGE else _known_recovery(recovery)
        replicas = self.replicas if record.replicas is None else record.replicas
        directories = self.directories if record.directories is None else record.directories
        self.directories = _directories(directories, len(replicas))
        self.replicas, self.recovery = replicas, recovery
        self.isr = self.isr if record.isr is None else record.isr
        self.removing = self.removing if record.removing_replicas is None else record.removing_replicas
        self.adding = self.adding if record.adding_replicas is None else record.adding_replicas
        self.elr = self.elr if record.eligible_leader_replicas is None else record.eligible_leader_replicas
        self.last_known_elr = self.last_known_elr if record.last_known_elr is None else record.last_known_elr
        if record.leader != _LEADER_STAYS:
            self.leader = record.leader
            self.leader_epoch += 1
        self.partition_epoch += 1

    def clear_elr(self) -> None:
        """Forget the eligible leader replicas (KIP-966), which is a change of the partition where there are any."""
        if self.elr or self.last_known_elr:
            self.elr, self.last_known_elr = [], []
            self.partition_epoch += 1

    def __str__(self) -> str:
        return (
            f"PartitionRegistration(replicas={self.replicas}, directories={_uuids(self.directories)}, isr={self.isr}, "
            f"removingReplicas={self.removing}, addingReplicas={self.adding}, elr={self.elr}, "
            f"lastKnownElr={self.last_known_elr}, leader={self.leader}, "
            f"leaderRecoveryState={_RECOVERY[self.recovery]}, leaderEpoch={self.leader_epoch}, "
            f"partitionEpoch={self.partition_epoch})"
        )


def _known_recovery(value: int) -> int:
    if not 0 <= value < len(_RECOVERY):
        raise InputError(f"Value {value} is not a valid leader recovery state")
    return value


def _directories(given: Sequence[uuid.UUID], replicas: int) -> list[uuid.UUID]:
    """Of each replica; all zero (MIGRATING) where none is known."""
    if not any(directory.int for directory in given):
        return [ZERO_UUID] * replicas
    if len(given) != replicas:
        raise InputError("The lengths for replicas and directories do not match.")
    return list(given)


def _sorted(uuids: Iterable[uuid.UUID]) -> list[uuid.UUID]:
    """In the order of Java's ``Uuid.compareTo``: both halves are numbers with a sign."""
    return sorted(
        uuids, key=lambda each: tuple((half ^ 1 << 63) for half in (each.int >> 64, each.int & (1 << 64) - 1))
    )


def _uuids(uuids: Iterable[uuid.UUID]) -> str:
    return f"[{', '.join(map(uuid_text, uuids))}]"


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _endpoints(endpoints: Iterable[Any]) -> str:
    by_name = {endpoint.name: endpoint for endpoint in endpoints}
    return ", ".join(
        f"Endpoint(listenerName='{name}', securityProtocol={_protocol(endpoint.security_protocol)}, "
        f"host='{endpoint.host}', port={endpoint.port})"
        for name, endpoint in sorted(by_name.items())
    )


def _protocol(number: int) -> str:
    return _PROTOCOLS[number] if 0 <= number < len(_PROTOCOLS) else f"UNKNOWN({number})"


def _features(features: Iterable[Any]) -> str:
    by_name = {feature.name: (feature.min_supported_version, feature.max_supported_version) for feature in features}
    return ", ".join(f"{name}: {_range(*levels)}" for name, levels in sorted(by_name.items()))


def _range(low: int, high: int) -> str:
    if low == high:
        return str(low)
    return f"{low}+" if high == _OPEN_RANGE else f"{low}-{high}"
