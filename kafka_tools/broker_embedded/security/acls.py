"""Access control lists of the cluster, and authorization by them.

Entries are Kafka's ``AccessControlEntryRecord``s. The rules are those of ``StandardAuthorizerData``, the checks of new
entries those of ``AclControlManager`` (KIP-140, KIP-290). The module does not depend on connections: a request for
authorization consists of principal, host, operation, resource type and name.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.broker_embedded.refusals import bad_request, error_for
from kafka_tools.broker_embedded.security import networks
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError, ConfigError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CLUSTER_NAME, AclOperation, AclPermission, AclResourceType, PatternType
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from kafka_tools.texts.blanks import trim
from kafka_tools.values import host_address

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.journal import Journal

log = logging.getLogger(__name__)

OPERATIONS = frozenset(AclOperation.known().values()) - {AclOperation.ANY, AclOperation.ALL}
RESOURCE_TYPES = frozenset(AclResourceType.known().values()) - {AclResourceType.ANY}
UNKNOWN, ANY, MATCH = PatternType.UNKNOWN, PatternType.ANY, PatternType.MATCH
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
"""Pattern types. UNKNOWN and ANY have the same numbers in all other fields of a filter."""
DENY, ALLOW = AclPermission.DENY, AclPermission.ALLOW
ALL = AclOperation.ALL
"""The operation that includes all others."""
AUTHORIZERS = (
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "kafka.security.authorizer.AclAuthorizer",
    "kafka.security.auth.SimpleAclAuthorizer",
)

_IMPLYING = {
    AclOperation.DESCRIBE: frozenset(
        (AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER)
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset((AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)),
}
"""Operation -> operations that include it when they are allowed, but not when they are denied (``AclEntry``)."""

_Host = str | networks.Subnet


class AclEntry(NamedTuple):
    """One entry in the wire's numbers."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class Filter(NamedTuple):
    """A filter of entries: None, and ANY (1), match everything."""

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission_type: int

    @classmethod
    def of(cls, fields: Any) -> Filter:
        """The filter in a DescribeAcls request or a DeleteAcls filter. BrokerError for a value that is UNKNOWN (0).

        Kafka then closes the connection. With an unknown number, DescribeAcls finds no entry, and DeleteAcls refuses
        the filter (``require_known``).
        """
        found = cls(
            fields.resource_type_filter,
            fields.resource_name_filter,
            fields.pattern_type_filter,
            fields.principal_filter,
            fields.host_filter,
            fields.operation,
            fields.permission_type,
        )
        if UNKNOWN in (found.resource_type, found.pattern_type, found.operation, found.permission_type):
            raise bad_request("The filter contains UNKNOWN elements.")
        return found

    def require_known(self) -> Filter:
        """The filter itself; BrokerError if it contains a number that Kafka does not know."""
        if not (1 <= self.resource_type <= max(RESOURCE_TYPES) and ANY <= self.pattern_type <= PREFIXED):
            raise bad_request("Unknown patternFilter.")
        if not (1 <= self.operation <= max(OPERATIONS) and 1 <= self.permission_type <= ALLOW):
            raise bad_request("Unknown entryFilter.")
        return self

    def matches(self, entry: AclEntry) -> bool:
        """Whether the filter matches the entry. MATCH matches every pattern that applies to the name."""
        if self.pattern_type == MATCH:
            if self.resource_name is not None and not _applies(entry, self.resource_name):
                return False
        elif (self.pattern_type not in (ANY, entry.pattern_type)) or (
            self.resource_name is not None and self.resource_name != entry.resource_name
        ):
            return False
        return (
            self.resource_type in (ANY, entry.resource_type)
            and self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (ANY, entry.operation)
            and self.permission_type in (ANY, entry.permission_type)
        )


class Acls:
    """All entries of the cluster, and authorization by them."""

    def __init__(self, journal: Journal, properties: Mapping[str, str]) -> None:
        """``properties``: server.properties.

        ConfigError for an authorizer.class.name that is not Kafka's own, and for an invalid super user.
        """
        self._journal = journal
        self._entries: dict[uuid.UUID, AclEntry] = {}
        self._literal: dict[tuple[int, str], dict[AclEntry, _Host]] = {}
        self._prefixed: dict[int, dict[AclEntry, _Host]] = {}
        """Entries with their normalized hosts."""
        self.enabled = _is_enabled(properties)
        self._super_users = _super_users(properties) if self.enabled else frozenset()
        self._without_entries = properties.get("allow.everyone.if.no.acl.found", "").strip().lower() == "true"
        journal.on_record(AccessControlEntryRecord, self._apply)
        journal.on_record(RemoveAccessControlEntryRecord, self._apply_remove)
        journal.on_image(self._image)

    def authorize(self, principal: str, host: str, operation: int, resource_type: int, name: str) -> bool:
        """Whether the cluster's entries allow the operation: a DENY entry overrides ALLOW entries.

        allow.everyone.if.no.acl.found applies if no entry applies to the resource. ``host``: as from ``host_address``.
        """
        allowed = principal in self._super_users or self._judge(principal, host, operation, resource_type, name)
        if not allowed and log.isEnabledFor(logging.DEBUG):
            # The text of Kafka's authorizer, which operators search for.
            text = "Principal = %s is Denied operation = %s from host = %s on resource = %s:LITERAL:%s"
            log.debug(text, principal, AclOperation.word(operation), host, AclResourceType.word(resource_type), name)
        return allowed

    def _judge(self, principal: str, host: str, asked: int, kind: int, name: str) -> bool:
        suffices = _IMPLYING.get(asked, frozenset((asked,)))
        allowed = found_any = False
        for entry, entry_host in self._applying(kind, name):
            found_any = True
            if entry.principal not in (principal, "User:*") or not _is_of(entry_host, host):
                continue
            if entry.permission_type == DENY:
                if entry.operation in (ALL, asked):
                    return False
            elif entry.operation == ALL or entry.operation in suffices:
                allowed = True
        return allowed or (not found_any and self._without_entries)

    def authorize_somewhere(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Whether an entry allows the operation on any resource of this type, existing or not (KIP-679).

        Like ``Authorizer.authorizeByResourceType``: an ALLOW entry counts unless a DENY entry covers all its resources.
        """
        operations = (ALL, operation)
        concerning = [
            entry
            for entry in self._entries.values()
            if entry.resource_type == resource_type
            and entry.principal in (principal, "User:*")
            and entry.operation in operations
            and _is_of(self._shelf(entry).get(entry, ""), host)
        ]
        denied = {entry[1:3] for entry in concerning if entry.permission_type == DENY}
        if ("*", LITERAL) in denied:
            return False
        allowed = {entry[1:3] for entry in concerning if entry.permission_type == ALLOW} - denied
        return any(not any((name[:end], PREFIXED) in denied for end in range(1, len(name) + 1)) for name, _ in allowed)

    def find(self, wanted: Filter) -> list[AclEntry]:
        """The entries that match a filter, sorted."""
        return sorted(entry for entry in self._entries.values() if wanted.matches(entry))

    def create(self, entries: Iterable[AclEntry], takes_networks: bool = True) -> list[BrokerError | None]:
        """Add entries, all in one change; returns None or an error for each. An existing entry is not an error.

        ``takes_networks``: whether the cluster's metadata.version allows networks as hosts.
        """
        results: list[BrokerError | None] = []
        new: dict[AclEntry, AccessControlEntryRecord] = {}
        known = set(self._entries.values())
        for entry in entries:
            problem = _problem(entry)
            error = bad_request(problem) if problem else None
            if error is None and "/" in entry.host and not takes_networks:
                text = "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher."
                error = error_for(error_codes.UNSUPPORTED_VERSION, text)
            results.append(error)
            if error is None and entry not in known and entry not in new:
                new[entry] = _record(uuid.uuid4(), entry)
        if new:
            self._journal.commit(list(new.values()))
        return results

    def delete(self, filters: Iterable[Filter | BrokerError]) -> Work[list[list[AclEntry] | BrokerError]]:
        """Delete the entries that match the filters, in one change; returns the entries or an error per filter."""
        results: list[list[AclEntry] | BrokerError] = []
        gone: set[AclEntry] = set()
        for wanted in filters:
            yield  # each is compared with every entry
            found: list[AclEntry] | BrokerError = wanted if isinstance(wanted, BrokerError) else self.find(wanted)
            results.append(found)
            if isinstance(found, list):
                gone.update(found)
        records = [RemoveAccessControlEntryRecord(id=id) for id, entry in self._entries.items() if entry in gone]
        if records:
            self._journal.commit(records)
        return results

    def _applying(self, kind: int, name: str) -> Iterable[tuple[AclEntry, _Host]]:
        yield from self._literal.get((kind, name), {}).items()
        if name != "*":
            yield from self._literal.get((kind, "*"), {}).items()
        for entry, host in self._prefixed.get(kind, {}).items():
            if name.startswith(entry.resource_name):
                yield entry, host

    def _apply(self, record: AccessControlEntryRecord) -> None:
        entry = AclEntry(*(getattr(record, field) for field in AclEntry._fields))
        self._entries[record.id] = entry
        self._shelf(entry)[entry] = _host(entry.host)

    def _apply_remove(self, record: RemoveAccessControlEntryRecord) -> None:
        entry = self._entries.pop(record.id, None)
        if entry is not None:
            self._shelf(entry).pop(entry, None)

    def _image(self) -> Iterator[Stored]:
        entries = list(self._entries.items())
        return (_record(id, entry) for id, entry in entries)

    def _shelf(self, entry: AclEntry) -> dict[AclEntry, _Host]:
        if entry.pattern_type == PREFIXED:
            return self._prefixed.setdefault(entry.resource_type, {})
        return self._literal.setdefault((entry.resource_type, entry.resource_name), {})


def _record(id: uuid.UUID, entry: AclEntry) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(id=id, **entry._asdict())


def _applies(entry: AclEntry, name: str) -> bool:
    if entry.pattern_type == PREFIXED:
        return name.startswith(entry.resource_name)
    return entry.resource_name in (name, "*")


def _problem(entry: AclEntry) -> str | None:
    """The reason why an entry is invalid; None if it is valid."""
    if not entry.resource_name:
        return "Invalid empty resource name"
    if entry.resource_type == AclResourceType.CLUSTER and entry.resource_name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if entry.resource_type not in RESOURCE_TYPES:
        return f"Invalid resourceType {_no_value(entry.resource_type)}"
    if entry.pattern_type not in (LITERAL, PREFIXED):
        return f"Invalid patternType {'MATCH' if entry.pattern_type == MATCH else _no_value(entry.pattern_type)}"
    if entry.operation != ALL and entry.operation not in OPERATIONS:
        return f"Invalid operation {_no_value(entry.operation)}"
    if entry.permission_type not in (DENY, ALLOW):
        return f"Invalid permissionType {_no_value(entry.permission_type)}"
    if ":" not in entry.principal:
        return (
            f"Could not parse principal from `{entry.principal}` (no colon is present separating the principal type "
            "from the principal name)"
        )
    if not entry.host:
        return "Host pattern cannot be null or empty"
    if "/" in entry.host:
        try:
            networks.parsed(entry.host)
        except ValueError as error:
            return f"Invalid CIDR notation '{entry.host}': {error}"
    return None


def _host(text: str) -> _Host:
    """The normalized host of an entry, since an IPv6 address has many spellings; a network as numbers."""
    if "/" in text:
        try:
            return networks.parsed(text)
        except ValueError:
            return text  # matches no client
    return host_address(text)


def _is_of(entry_host: _Host, host: str) -> bool:
    """Whether an entry's host matches a client's host."""
    if isinstance(entry_host, str):
        return entry_host in (host, "*")
    return entry_host.covers(networks.address_of(host))


def _no_value(number: int) -> str:
    """Kafka's name for a number that is not valid in an entry."""
    return "ANY" if number == ANY else "UNKNOWN"


def _super_users(properties: Mapping[str, str]) -> frozenset[str]:
    users = frozenset(filter(None, map(trim, properties.get("super.users", "").split(";"))))
    for user in sorted(users):
        if ":" not in user:
            raise ConfigError(
                f"super.users: expected a string in format principalType:principalName but got {user}",
                hint=f"write User:{user}; separate principals by semicolons",
            )
    return users


def _is_enabled(properties: Mapping[str, str]) -> bool:
    name = properties.get("authorizer.class.name", "").strip()
    if name and name not in AUTHORIZERS:
        raise ConfigError(
            f"authorizer.class.name: cannot run Java code here: {name}",
            hint=f"use {AUTHORIZERS[0]}, or remove the setting",
        )
    return bool(name)
