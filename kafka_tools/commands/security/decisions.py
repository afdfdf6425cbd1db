"""Which ACL entry decides whether a principal may do something: the rules of Kafka's StandardAuthorizer.

1. A super user may do everything.
2. An applying DENY entry of the operation, or of All, denies.
3. An applying ALLOW entry allows: of the operation, of All, or of an operation that implies it. READ, WRITE, DELETE and
   ALTER imply DESCRIBE, and ALTER_CONFIGS implies DESCRIBE_CONFIGS. DENY entries imply nothing.
4. If no entry of anybody applies to the resource, ``allow.everyone.if.no.acl.found`` decides. Otherwise it is denied.

An entry applies to a resource with its name, with a prefix of it, or with ``*``. It applies to a client with its
principal or ``User:*``, from its host, from ``*``, or from a network (CIDR, Kafka 4.4) that contains the host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.protocol.enums import PatternType
from kafka_tools.values import host_address

if TYPE_CHECKING:
    from kafka_tools.admin.client import AclBinding

EVERYONE = "User:*"
ANY_HOST = "*"
_IMPLYING = {"DESCRIBE": ("READ", "WRITE", "DELETE", "ALTER"), "DESCRIBE_CONFIGS": ("ALTER_CONFIGS",)}
PREFIXED, LITERAL = PatternType.word(PatternType.PREFIXED), PatternType.word(PatternType.LITERAL)


class Authorizer(NamedTuple):
    """What brokers say about their authorizer. None means that they do not say it.

    ``is_on``: whether there is one. ``without_entries``: ``allow.everyone.if.no.acl.found``.
    """

    is_on: bool | None = None
    super_users: frozenset[str] | None = None
    without_entries: bool | None = None


class Decision(NamedTuple):
    """``is_allowed`` and the reason. ``entry`` decides, None if no entry does. ``overruled``: what a DENY wins over."""

    is_allowed: bool
    reason: str
    entry: AclBinding | None = None
    overruled: AclBinding | None = None


def applies(entry: AclBinding, resource_type: str, name: str) -> bool:
    """Whether the pattern of an entry applies to a resource."""
    if entry.resource_type != resource_type:
        return False
    if entry.pattern_type == PREFIXED:
        return name.startswith(entry.resource_name)
    return entry.pattern_type == LITERAL and entry.resource_name in (name, "*")


def is_from(pattern: str, host: str | None) -> bool:
    """Whether an entry's host covers a client's host; None: a host that no entry names."""
    if pattern == ANY_HOST:
        return True
    if host is None:
        return False
    if "/" not in pattern:
        return host_address(pattern) == host_address(host)
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(pattern, strict=False)
    except ValueError:
        return False


def decide(
    entries: Iterable[AclBinding],
    authorizer: Authorizer,
    principal: str,
    host: str | None,
    operation: str,
    resource: tuple[str, str],
) -> Decision:
    """Decide about an operation on ``resource`` (its type and name). ``entries``: all that apply to it, or more."""
    if authorizer.is_on is False:
        return Decision(True, "the brokers have no authorizer")
    if principal in (authorizer.super_users or ()):
        return Decision(True, "super user")
    applying = sorted(entry for entry in entries if applies(entry, *resource))
    own = [entry for entry in applying if entry.principal in (principal, EVERYONE) and is_from(entry.host, host)]
    allows = [
        entry
        for entry in own
        if entry.permission == "ALLOW" and entry.operation in (operation, "ALL", *_IMPLYING.get(operation, ()))
    ]
    allows.sort(key=lambda entry: (entry.operation not in (operation, "ALL"), entry.principal == EVERYONE))
    denies = [entry for entry in own if entry.permission == "DENY" and entry.operation in (operation, "ALL")]
    if denies:
        return Decision(False, _words(denies[0]), denies[0], allows[0] if allows else None)
    if allows:
        implied = "" if allows[0].operation in (operation, "ALL") else f", which implies {operation}"
        return Decision(True, _words(allows[0]) + implied + _elsewhere(applying, principal, host, operation), allows[0])
    if applying:
        return Decision(False, _nothing(applying, principal, host))
    if authorizer.without_entries:
        return Decision(True, "no entry applies to the resource, and allow.everyone.if.no.acl.found is true")
    unless = " (unless allow.everyone.if.no.acl.found is true, which the brokers do not show)"
    return Decision(False, f"no entry applies to the resource{unless if authorizer.without_entries is None else ''}")


def _elsewhere(applying: Sequence[AclBinding], principal: str, host: str | None, operation: str) -> str:
    """The hosts for which DENY entries override what is allowed from an unnamed host."""
    hosts = {
        entry.host
        for entry in applying
        if host is None
        and entry.permission == "DENY"
        and entry.principal in (principal, EVERYONE)
        and entry.operation in (operation, "ALL")
    }
    return f" (denied from {', '.join(sorted(hosts))})" if hosts else ""


def _nothing(applying: Sequence[AclBinding], principal: str, host: str | None) -> str:
    """The reason of a denial without a DENY entry: the closest entries."""
    own = [entry for entry in applying if entry.principal in (principal, EVERYONE)]
    elsewhere = sorted({entry.host for entry in own if not is_from(entry.host, host)})
    if elsewhere:
        return f"entries of the principal apply only from {', '.join(elsewhere)}"
    if own:
        return f"entries allow only {', '.join(sorted({entry.operation for entry in own}))}"
    return "entries apply to the resource, but none of them to the principal"


def _words(entry: AclBinding) -> str:
    pattern = "prefix " if entry.pattern_type == PREFIXED else ""
    where = "any host" if entry.host == ANY_HOST else entry.host
    return (
        f"{entry.permission} {entry.operation} on {entry.resource_type.lower()} {pattern}{entry.resource_name} "
        f"for {entry.principal} from {where}"
    )


def candidates(entries: Iterable[AclBinding], authorizer: Authorizer) -> list[tuple[str, str | None]]:
    """The principals and hosts to decide about in order to say who may do something.

    Every principal from any host (None), and from each address that an entry names. Networks stand for themselves only
    through their addresses, so an entry of a network adds its first address.
    """
    found: dict[tuple[str, str | None], None] = {}
    named = list(entries)
    for principal in sorted({entry.principal for entry in named} | (authorizer.super_users or frozenset())):
        hosts = sorted({entry.host for entry in named if entry.principal in (principal, EVERYONE)} - {ANY_HOST})
        found |= dict.fromkeys([(principal, None), *((principal, _address(host)) for host in hosts)])
    return list(found)


def _address(pattern: str) -> str:
    return pattern.partition("/")[0]
