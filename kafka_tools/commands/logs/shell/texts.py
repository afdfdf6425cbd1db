"""The texts of the nodes: exactly those of the named classes of Kafka. Secrets are masked."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from kafka_tools.cluster_image.image import Provenance
from kafka_tools.cluster_image.topics import LEADER_RECOVERY_STATES
from kafka_tools.protocol.enums import AclOperation, AclPermission, AclResourceType, PatternType
from kafka_tools.protocol.stored.cluster_metadata import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UserScramCredentialRecord,
)
from kafka_tools.shown_text import MASK
from kafka_tools.values import ZERO_UUID, uuid_text

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""``SecurityProtocol``, by id."""
_OPEN_RANGE = 0x7FFF


def broker_text(record: RegisterBrokerRecord) -> str:
    """``BrokerRegistration``."""
    rack = "Optional.empty" if record.rack is None else f"Optional[{record.rack}]"
    cordoned = record.cordoned_log_dirs
    return (
        f"BrokerRegistration(id={record.broker_id}, epoch={record.broker_epoch}, "
        f"incarnationId={uuid_text(record.incarnation_id)}, listeners=[{_endpoints(record.end_points)}], "
        f"supportedFeatures={{{_features(record.features)}}}, rack={rack}, fenced={_boolean(record.fenced)}, "
        f"inControlledShutdown={_boolean(record.in_controlled_shutdown)}, "
        f"isMigratingZkBroker={_boolean(record.is_migrating_zk_broker)}, "
        f"directories={_uuids(_sorted(record.log_dirs))}, "
        f"cordonedDirectories={'null' if cordoned is None else _uuids(cordoned)})"
    )


def controller_text(record: RegisterControllerRecord) -> str:
    """``ControllerRegistration``."""
    return (
        f"ControllerRegistration(id={record.controller_id}, incarnationId={uuid_text(record.incarnation_id)}, "
        f"zkMigrationReady={_boolean(record.zk_migration_ready)}, listeners=[{_endpoints(record.end_points)}], "
        f"supportedFeatures={{{_features(record.features)}}})"
    )


def partition_text(record: PartitionRecord) -> str:
    """``PartitionRegistration``."""
    known = any(directory.int for directory in record.directories)
    directories = record.directories if known else [ZERO_UUID] * len(record.replicas)  # MIGRATING
    return (
        f"PartitionRegistration(replicas={record.replicas}, directories={_uuids(directories)}, isr={record.isr}, "
        f"removingReplicas={record.removing_replicas}, addingReplicas={record.adding_replicas}, "
        f"elr={record.eligible_leader_replicas or []}, lastKnownElr={record.last_known_elr or []}, "
        f"leader={record.leader}, leaderRecoveryState={LEADER_RECOVERY_STATES[record.leader_recovery_state]}, "
        f"leaderEpoch={record.leader_epoch}, partitionEpoch={record.partition_epoch})"
    )


def provenance_text(provenance: Provenance) -> str:
    """``MetadataProvenanceNode``."""
    return f"offset {provenance.offset}, epoch {provenance.epoch}, time {zoned_time(provenance.time_ms)}"


def zoned_time(moment_ms: int) -> str:
    """``ISO_ZONED_DATE_TIME`` in UTC: ``2026-01-31T12:00:00.5Z[UTC]``, without zeros at the end of the fraction.

    Counts days by itself: Java's years go beyond 9999 and below 1.
    """
    days, of_day_ms = divmod(moment_ms, 86_400_000)
    # Days since 1 March of the year 0, in cycles of 400 years: the leap day is the last of a year then.
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = (shifted_month + 2) % 12 + 1
    year = year_of_era + era * 400 + (month <= 2)
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    seconds, fraction = divmod(of_day_ms, 1000)
    shown = f".{fraction:03d}".rstrip("0") if fraction else ""
    return (
        f"{sign}{abs(year):04d}-{month:02d}-{day_of_year - (153 * shifted_month + 2) // 5 + 1:02d}"
        f"T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{shown}Z[UTC]"
    )


def acl_text(record: AccessControlEntryRecord) -> str:
    """``StandardAcl``."""
    return (
        f"StandardAcl[resourceType={AclResourceType.word(record.resource_type)}, resourceName={record.resource_name}, "
        f"patternType={PatternType.word(record.pattern_type)}, principal={record.principal}, host={record.host}, "
        f"operation={AclOperation.word(record.operation)}, permissionType={AclPermission.word(record.permission_type)}]"
    )


def credential_text(record: UserScramCredentialRecord) -> str:
    """``ScramCredentialDataNode``."""
    return f"ScramCredentialData(salt={MASK}, storedKey={MASK}, serverKey={MASK}, iterations={record.iterations})"


def token_text(record: DelegationTokenRecord) -> str:
    """``DelegationTokenData``."""
    return (
        f"DelegationTokenDatatokenId={record.token_id}(owner={record.owner}(tokenRequester={record.requester}"
        f"(renewers={' '.join(record.renewers)}, issueTimestamp={record.issue_timestamp}, "
        f"maxTimestamp={record.max_timestamp}), expiryTimestamp={record.expiration_timestamp}"
    )


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
