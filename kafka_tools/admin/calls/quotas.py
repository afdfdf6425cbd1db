"""Client quotas of users, clients and IP addresses (KIP-546): describe, alter, and which of them applies.

Entities are those of ``config_definitions.quota_entities``: ``(("user", "alice"), ("client-id", None))``.
``effective`` resolves the eight levels of precedence as brokers do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.driver import ALL, AdminCall, Reply
from kafka_tools.admin.lookups import AnyNodeLookup, ControllerLookup
from kafka_tools.clock import Deadline
from kafka_tools.config_definitions.quota_entities import SOURCES, in_order, levels, sort_key
from kafka_tools.config_definitions.quota_entities import QuotaEntity as QuotaEntity
from kafka_tools.config_definitions.quota_entities import quota_entity as quota_entity
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol.enums import QuotaMatch
from kafka_tools.protocol.schema import Request

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
    from kafka_tools.protocol.messages.describe_client_quotas import DescribeClientQuotasResponse

EXACT, DEFAULT, ANY = QuotaMatch.EXACT, QuotaMatch.DEFAULT, QuotaMatch.SPECIFIED

IN_ZOOKEEPER = "before Kafka 2.6, quotas are stored in ZooKeeper: give --zookeeper HOST:PORT"

Quotas = dict[QuotaEntity, dict[str, float]]


class QuotaFilter(NamedTuple):
    """One component of a filter. ``match``: EXACT (``name``), DEFAULT (the default entity) or ANY of the type."""

    entity_type: str
    match: int = ANY
    name: str | None = None


class EffectiveQuota(NamedTuple):
    """The value that applies, and its level (an index into SOURCES)."""

    value: float
    source: int

    @property
    def source_text(self) -> str:
        return SOURCES[self.source]


class DescribeClientQuotas(AdminCall[str, Quotas, "DescribeClientQuotasResponse"]):
    """Every entity that the filter matches, with the quotas set on it."""

    name = "describe client quotas"
    lookup = AnyNodeLookup()

    components: Sequence[QuotaFilter]
    strict: bool

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest

        versions.require(DescribeClientQuotasRequest, 0, "describing client quotas", IN_ZOOKEEPER)
        components = [
            DescribeClientQuotasRequest.ComponentData(
                entity_type=part.entity_type, match_type=part.match, match=part.name if part.match == EXACT else None
            )
            for part in self.components
        ]
        return DescribeClientQuotasRequest(components=components, strict=self.strict)

    def interpret(self, reply: Reply[str, Quotas, DescribeClientQuotasResponse]) -> None:
        response = reply.response
        quotas: Quotas = {}
        for entry in response.entries or ():
            quotas[_entity_of(entry)] = {item.key: item.value for item in entry.values}
        ordered = dict(sorted(quotas.items(), key=lambda pair: sort_key(pair[0])))
        reply.take(ALL, response.error_code, response.error_message, ordered)


class AlterClientQuotas(AdminCall[QuotaEntity, None, "AlterClientQuotasResponse"]):
    """Entity -> quota -> new value; None or NaN removes it, quotas not named stay."""

    name = "alter client quotas"
    lookup = ControllerLookup()

    changes: Mapping[QuotaEntity, Mapping[str, float | None]]
    validate_only: bool

    def build(self, keys: list[QuotaEntity], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest

        versions.require(AlterClientQuotasRequest, 0, "altering client quotas", IN_ZOOKEEPER)
        Entry = AlterClientQuotasRequest.EntryData
        entries = [
            Entry(
                entity=[Entry.EntityData(entity_type=kind, entity_name=name) for kind, name in key],
                ops=[_operation(Entry, name, value) for name, value in self.changes[key].items()],
            )
            for key in keys
        ]
        return AlterClientQuotasRequest(entries=entries, validate_only=self.validate_only)

    def interpret(self, reply: Reply[QuotaEntity, None, AlterClientQuotasResponse]) -> None:
        for entry in reply.response.entries:
            reply.settle(_entity_of(entry), entry.error_code, entry.error_message, None)


def _entity_of(entry: DescribeClientQuotasResponse.EntryData | AlterClientQuotasResponse.EntryData) -> QuotaEntity:
    """The entity that a broker names. Its types are not validated, because a newer broker may have more."""
    return in_order((part.entity_type, part.entity_name) for part in entry.entity)


def _operation(
    entry: type[AlterClientQuotasRequest.EntryData], name: str, value: float | None
) -> AlterClientQuotasRequest.EntryData.OpData:
    if value is None or math.isnan(value):
        return entry.OpData(key=name, value=0.0, remove=True)
    return entry.OpData(key=name, value=value, remove=False)


def effective(quotas: Quotas, user: str | None, client_id: str | None) -> dict[str, EffectiveQuota]:
    """Quota name -> the value for a connection of this user and client id; None means the default entity.

    The first level that has a quota determines it; levels are not combined.
    """
    found: dict[str, EffectiveQuota] = {}
    for source, entity in enumerate(levels(user, client_id)):
        if entity is None:
            continue
        for name, value in quotas.get(entity, {}).items():
            found.setdefault(name, EffectiveQuota(value, source))
    return found
