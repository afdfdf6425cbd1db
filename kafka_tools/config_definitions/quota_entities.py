"""The entities of client quotas: users, clients, both together, IP addresses; and their precedence.

The admin client, the commands and the bundled broker use it. The eight levels of precedence are those of
``ClientQuotaManager.DefaultQuotaCallback`` (KIP-55, KIP-257).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka_tools.errors import InputError

USER, CLIENT_ID, IP = "user", "client-id", "ip"
"""The types of an entity in the protocol's spelling (``ClientQuotaEntity``)."""
_ORDER = {USER: 0, CLIENT_ID: 1, IP: 2}

QuotaEntity = tuple[tuple[str, str | None], ...]
"""(type, name) pairs, such as ``(("user", "alice"), ("client-id", None))``, in the order user, client-id, ip. The name
None is the default entity of that type."""

SOURCES = (
    "Client of user",
    "Default client of user",
    "User",
    "Client of default user",
    "Default client of default user",
    "Default user",
    "Client",
    "Default client",
)
"""The levels of the quota of a user and client, the one with the highest precedence first."""


def quota_entity(parts: Mapping[str, str | None] | Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """The entity of type -> name, in a fixed order. Raises InputError for impossible entities."""
    pairs = in_order(dict(parts).items())
    types = {kind for kind, _ in pairs}
    unknown = types - set(_ORDER)
    if not pairs or unknown or (IP in types and len(types) > 1):
        raise InputError(f"invalid quota entity '{entity_text(pairs)}': expected user, client-id, both, or ip")
    return pairs


def in_order(pairs: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """The entity of these pairs, without validation: a newer broker may have more types."""
    return tuple(sorted(pairs, key=lambda pair: _ORDER.get(pair[0], len(_ORDER))))


def entity_text(entity: QuotaEntity) -> str:
    """``user alice, client-id (default)``."""
    return ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in entity)


def sort_key(entity: QuotaEntity) -> list[tuple[int, bool, str]]:
    """Sorts entities by type, the default one before the named ones."""
    return [(_ORDER.get(kind, len(_ORDER)), name is not None, name or "") for kind, name in entity]


def levels(user: str | None, client_id: str | None) -> tuple[QuotaEntity | None, ...]:
    """The entities of the eight levels, in the order of SOURCES. None selects the default user or client. The entity is
    None at a level that does not apply to a default user or client."""
    named_user, named_client = user is not None, client_id is not None
    return (
        ((USER, user), (CLIENT_ID, client_id)) if named_user and named_client else None,
        ((USER, user), (CLIENT_ID, None)) if named_user else None,
        ((USER, user),) if named_user else None,
        ((USER, None), (CLIENT_ID, client_id)) if named_client else None,
        ((USER, None), (CLIENT_ID, None)),
        ((USER, None),),
        ((CLIENT_ID, client_id),) if named_client else None,
        ((CLIENT_ID, None),),
    )
