"""Client quotas: the limits of entities (KIP-13, KIP-546, KIP-599, KIP-612).

Stored as Kafka's ``ClientQuotaRecord``s. The checks and texts are those of ``ClientQuotaControlManager`` and
``ClientQuotasImage`` of Kafka. ``effective`` and ``limit_of_ip`` return the limit for a client. Other modules measure
and throttle.
"""

from __future__ import annotations

import math
import socket
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.broker_embedded.refusals import bad_request, error_for
from kafka_tools.config_definitions.quota_entities import CLIENT_ID, IP, USER, QuotaEntity, in_order, levels
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import QuotaMatch
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import ClientQuotaRecord

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.journal import Journal
    from kafka_tools.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest

    ComponentData = DescribeClientQuotasRequest.ComponentData

_WHOLE_LIMIT = {"LONG": 1 << 63, "INT": (1 << 31) - 1}
_CLIENT_KEYS = {
    "producer_byte_rate": "LONG",
    "consumer_byte_rate": "LONG",
    "request_percentage": "DOUBLE",
    "controller_mutation_rate": "DOUBLE",
}
_IP_RATE = "connection_creation_rate"
_IP_KEYS = {_IP_RATE: "INT"}


class Budget(NamedTuple):
    """``owner``: the user and the client id whose use counts together; "" means all. None: no limit."""

    owner: tuple[str, str]
    limit: float | None


class Quotas:
    """All limits by entity. ``describe`` and ``changes`` raise BrokerError for arguments that Kafka refuses."""

    def __init__(self, journal: Journal) -> None:
        self._limits: dict[QuotaEntity, dict[str, float]] = {}
        """Limits by entity, the last changed one last. The limits of an entity are replaced, never modified."""
        self.any = False
        """Whether any limit is set. Otherwise nothing is measured."""
        self._kinds: dict[str, Counter[tuple[str, ...]]] = {}
        """Key of a limit -> entity types -> the number of entities with such a limit."""
        self._ip_limits: dict[str | None, dict[QuotaEntity, float]] = {}
        """Address -> its limits, of which the last one applies: an address can have several spellings."""
        journal.on_record(ClientQuotaRecord, self._apply)
        journal.on_image(self._image)

    def describe(
        self, components: Iterable[ComponentData], strict: bool
    ) -> list[tuple[QuotaEntity, Mapping[str, float]]]:
        """The entities that match every component; with ``strict`` only entities without other types."""
        exact: dict[str, str | None] = {}
        any_of: set[str] = set()
        for component in components:
            _check_component(component, exact.keys() | any_of)
            if component.match_type == QuotaMatch.SPECIFIED:
                any_of.add(component.entity_type)
            else:
                exact[component.entity_type] = component.match
        types = exact.keys() | any_of
        if IP in types and types != {IP}:
            raise bad_request(
                "Invalid entity filter component combination. IP filter component should not be used with "
                "user or clientId filter component."
            )
        found = []
        for entity, limits in self._limits.items():
            names = dict(entity)
            if strict and names.keys() != types:
                continue
            if types <= names.keys() and all(names[kind] == name for kind, name in exact.items()):
                found.append((entity, limits))
        return sorted(found, key=lambda item: sorted((kind, name or "") for kind, name in item[0]))

    def changes(
        self, entity: Sequence[tuple[str, str | None]], limits: Sequence[tuple[str, float | None]]
    ) -> list[ClientQuotaRecord]:
        """The records that set the limits of an entity, by key; None removes one."""
        if len(dict(limits)) != len(limits):
            raise bad_request(f"Ignoring duplicate entity {entity_text(entity)}")
        keys = _check_entity(entity)
        current = self._limits.get(in_order(entity), {})
        records = []
        for key, value in limits:
            if value is not None:
                _check_limit(keys, key, value)
            if value == current.get(key):
                continue
            records.append(_record(entity, key, value))
        return records

    def limits(self, key: str) -> bool:
        """Whether any entity has a limit of this key."""
        return bool(self._kinds.get(key))

    def effective(self, key: str, user: str, client_id: str) -> tuple[QuotaEntity, float] | None:
        """The limit for a connection, and its entity: the most specific of Kafka's eight levels."""
        for entity in levels(user, client_id):
            limit = self._limits.get(entity, {}).get(key) if entity is not None else None
            if entity is not None and limit is not None:
                return entity, limit
        return None

    def budget(self, key: str, user: str, client_id: str) -> Budget | None:
        """The owner with which a connection's use is counted, and its limit; None if no entity has a limit of this key.

        Connections share a limit if they have the same names for its entity types. Clients without a limit are counted
        too, as in Kafka, so that a new limit includes the use of the last seconds.
        """
        kinds = self._kinds.get(key)
        if not kinds:
            return None
        found = self.effective(key, user, client_id)
        if found is not None:
            types: Container[str] = {kind for kind, _ in found[0]}
        else:
            types = next(iter(kinds)) if len(kinds) == 1 else (CLIENT_ID,)
        owner = user if USER in types else "", client_id if CLIENT_ID in types else ""
        return Budget(owner, None if found is None else found[1])

    def limit_of_ip(self, ip: str) -> float | None:
        """Connections per second that an address may open: its own limit, else the default limit, else None."""
        found = self._ip_limits.get(same_address(ip)) or self._ip_limits.get(None)
        return next(reversed(found.values())) if found else None

    def _apply(self, record: ClientQuotaRecord) -> None:
        entity = in_order((part.entity_type, part.entity_name) for part in record.entity)
        limits = dict(self._limits.pop(entity, {}))
        kinds = self._kinds.setdefault(record.key, Counter())
        types = tuple(kind for kind, _ in entity)
        if record.remove:
            kinds[types] -= limits.pop(record.key, None) is not None
        else:
            kinds[types] += record.key not in limits
            limits[record.key] = record.value
        if not kinds[types]:
            del kinds[types]
        if limits:
            self._limits[entity] = limits
        self.any = bool(self._limits)
        if types == (IP,) and record.key == _IP_RATE:
            address = None if entity[0][1] is None else same_address(entity[0][1])
            found = self._ip_limits.setdefault(address, {})
            found.pop(entity, None)
            if not record.remove:
                found[entity] = record.value
            if not found:
                del self._ip_limits[address]

    def _image(self) -> Iterator[Stored]:
        entities = list(self._limits.items())
        return (_record(entity, key, value) for entity, limits in entities for key, value in limits.items())


def _record(entity: Iterable[tuple[str, str | None]], key: str, value: float | None) -> ClientQuotaRecord:
    """The record that sets a limit, or removes it if ``value`` is None."""
    record = ClientQuotaRecord(key=key, value=value or 0.0, remove=value is None)
    record.entity = [ClientQuotaRecord.EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
    return record


def same_address(text: str) -> str:
    """One spelling for an address: normalizes IPv6, IPv4 in IPv6, and ``localhost``."""
    if text == "localhost":
        return "127.0.0.1"
    try:
        address = ip_address(text)
    except ValueError:
        return text
    return str(getattr(address, "ipv4_mapped", None) or address)


def entity_text(entity: Sequence[tuple[str, str | None]]) -> str:
    """As Kafka prints it, in its order: ``ClientQuotaEntity(entries={client-id=null, user=alice})``."""
    order = {CLIENT_ID: 0, USER: 1, IP: 2}
    parts = sorted(entity, key=lambda part: order.get(part[0], 0))
    inner = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in parts)
    return f"ClientQuotaEntity(entries={{{inner}}})"


def _check_component(component: ComponentData, seen: set[str]) -> None:
    entity_type, match_type, match = component.entity_type, component.match_type, component.match
    if not entity_type:
        raise bad_request("Invalid empty entity type.")
    if entity_type in seen:
        raise bad_request(f"Entity type {entity_type} cannot appear more than once in the filter.")
    if entity_type not in (USER, CLIENT_ID, IP):
        raise error_for(error_codes.UNSUPPORTED_VERSION, f"Unsupported entity type {entity_type}")
    if match_type == QuotaMatch.EXACT and match is None:
        raise bad_request("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if match_type == QuotaMatch.DEFAULT and match is not None:
        raise bad_request("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")
    if match_type == QuotaMatch.SPECIFIED and match is not None:
        raise bad_request("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")
    if match_type not in QuotaMatch.words:
        raise bad_request(f"Unknown match type {match_type}")


def _check_entity(entity: Sequence[tuple[str, str | None]]) -> Mapping[str, str]:
    """The keys that an entity may have, with their types. Raises BrokerError for an invalid entity."""
    if not entity:
        raise bad_request("Invalid empty client quota entity")
    seen: dict[str, str | None] = {}
    for kind, name in entity:
        if kind not in (USER, CLIENT_ID, IP):
            raise bad_request(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise bad_request(f"Empty {kind} not supported")
        seen[kind] = name
    if IP not in seen:
        return _CLIENT_KEYS
    if len(seen) > 1:
        raise bad_request(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
        )  # Kafka's text lacks the blank too
    address = seen[IP]
    if address is not None and not _is_address(address):
        raise bad_request(f"{address} is not a valid IP or resolvable host.")
    return _IP_KEYS


def _is_address(text: str) -> bool:
    """Whether the text is an address that needs no DNS: a host name in a request must not block the broker."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, text)
        except (OSError, ValueError):
            continue
        return True
    return text == "localhost"


def _check_limit(keys: Mapping[str, str], key: str, value: float) -> None:
    kind = keys.get(key)
    if kind is None:
        raise bad_request(f"Invalid configuration key {key}")
    if value <= 0:
        raise bad_request(f"Quota {key} must be greater than 0")
    if value != value or (kind == "DOUBLE" and value == math.inf):
        raise bad_request(f"{key} must be a finite number")  # Kafka stores it, and then cannot compute what is allowed
    if kind == "DOUBLE":
        return
    if value > _WHOLE_LIMIT[kind]:
        raise bad_request(f"Proposed value for {key} is too large for {'an' if kind == 'INT' else 'a'} {kind}.")
    if value % 1.0 > 1e-6:
        raise bad_request(f"{key} cannot be a fractional value.")
