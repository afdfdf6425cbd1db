"""Small values that every layer shares: topic-partitions, nodes, uuids, host:port.

It has no code for the protocol or files. Text forms are Kafka's (``org.apache.kafka.common.TopicPartition``,
``org.apache.kafka.common.Uuid``).
"""

from __future__ import annotations

import base64
import operator
import uuid as _uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from kafka_tools.errors import InputError
from kafka_tools.shown_text import one_line

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Several(Protocol[T_co]):
    """A list, tuple, set or another collection, but not a ``str``, which is a collection of ``str`` as well.

    Type checkers use ``__contains__`` to tell them apart: the method of ``str`` accepts only a ``str``.
    """

    def __contains__(self, item: object, /) -> bool: ...

    def __iter__(self) -> Iterator[T_co]: ...

    def __len__(self) -> int: ...


Many: TypeAlias = Several[T] | Iterator[T]
"""The type of a parameter that accepts any number of values."""


def several(name: str, given: Many[T], *kinds: str) -> list[T]:
    """The values of the parameter ``name``, each an instance of a class in ``kinds``.

    Raises InputError for a single value: iterating over the string "orders" would name the topics o, r, d, e and s.
    """
    _refuse_single(name, given, kinds)
    found = list(given)
    _refuse_other_kinds(name, found, kinds)
    return found if kinds != ("int",) else [as_int(each) for each in found]  # type: ignore[misc]


def check_keys(name: str, given: Mapping[Any, Any], *kinds: str, values: str = "") -> None:
    """Raise InputError unless ``given`` is a mapping whose keys have these types.

    ``values``: if set, each value must be None or a collection of this type.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"invalid {name}: expected a dict with keys of {' or '.join(kinds)}, not {_shown(given)}")
    _refuse_other_kinds(name, given, kinds)
    if values:
        for key, items in given.items():
            if items is not None:
                _refuse_single(f"{name}[{key}]", items, (values,))
                if isinstance(items, Collection):
                    _refuse_other_kinds(f"{name}[{key}]", items, (values,))


def _refuse_single(name: str, given: object, kinds: tuple[str, ...]) -> None:
    is_text = isinstance(given, str | bytes | bytearray)
    if is_text or hasattr(given, "_fields") or not isinstance(given, Iterable):
        hint = f"pass [{given!r}]" if isinstance(given, str) and "str" in kinds else None
        raise InputError(f"invalid {name}: expected a list of {' or '.join(kinds)}, not {_shown(given)}", hint=hint)


def _refuse_other_kinds(name: str, items: Iterable[Any], kinds: tuple[str, ...]) -> None:
    for found in {type(item): item for item in items if item is not None}.values():
        is_meant = any(base.__name__ in kinds for base in type(found).__mro__)
        if not is_meant and ("int" not in kinds or as_int(found) is None):
            raise InputError(f"invalid {name}: expected {' or '.join(kinds)} inside, not {_shown(found)}")


def _shown(given: object) -> str:
    """The text of a string. For any other value only its type, because the value may contain a secret."""
    return f"the string {given!r}" if isinstance(given, str) else f"a value of type {type(given).__name__}"


class TopicPartition(NamedTuple):
    """One partition of a topic; sorts by name, then number; prints as ``topic-partition``."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Node(NamedTuple):
    """A broker or controller as a client sees it. ``id`` is -1 for a bootstrap address."""

    id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def address(self) -> str:
        # The host comes from a broker. It must not start another line of a message.
        return one_line(format_address(self.host, self.port))

    def __str__(self) -> str:
        return self.address if self.id < 0 else f"{self.address} (id {self.id})"


BROKER_PORT = 9092
"""The default port of a broker."""

ZERO_UUID = _uuid.UUID(int=0)


def uuid_text(value: _uuid.UUID) -> str:
    """Kafka's 22-character URL-safe base64 form of a uuid, as in topic ids."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode("ascii")


def parse_uuid(text: str) -> _uuid.UUID:
    """Parse Kafka's text form of a uuid. Raises InputError for any other text."""
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    if len(raw) != 16 or len(text) != 22:
        raise InputError(f"invalid uuid '{text}': expected 22 characters of URL-safe base64")
    return _uuid.UUID(bytes=raw)


def can_be_sent(text: str) -> bool:
    """Whether a text is valid UTF-8. Python decodes invalid bytes of a command line or environment to surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def as_int(given: Any) -> int | None:
    """``given`` as an int if it is an integer of Python, numpy or pandas; None for anything else."""
    try:
        return operator.index(given)
    except TypeError:
        return None


def parse_integer(text: str) -> int:
    """Parse a whole number. Raises ValueError for any other text.

    ``int`` also accepts ``1_000`` and the digits of other scripts. Kafka refuses them, or they are typing mistakes.
    """
    digits = text.strip().removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"'{text}' is not a whole number")
    return int(text)


def number_below(limit: int, text: str) -> int | None:
    """Parse a number below ``limit`` with only the digits 0 to 9; None for any other text.

    ``int`` also accepts digits of other scripts, and fails for thousands of digits.
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    value = int(digits) if len(digits) <= len(str(limit)) else limit
    return value if value < limit else None


def format_address(host: str, port: int) -> str:
    """``host:port``, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_address(text: str) -> str:
    """An IP address in the form of Java's ``InetAddress.getHostAddress``. Kafka prints and compares hosts in this form.

    ``::1`` is ``0:0:0:0:0:0:0:1``, and IPv4 within IPv6 is IPv4. Any other text does not change.
    """
    if ":" not in text:
        return text
    import ipaddress

    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return text
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    groups = ":".join(f"{int.from_bytes(address.packed[at : at + 2]):x}" for at in range(0, 16, 2))
    return f"{groups}%{address.scope_id}" if address.scope_id else groups


def parse_address(text: str, default_port: int | None = None) -> tuple[str, int]:
    """(host, port) of ``host:port``, ``[v6]:port`` or ``PROTOCOL://host:port``. Raises InputError for other texts."""
    rest = text.strip()
    if "://" in rest:
        rest = rest.split("://", 1)[1]
    if "@" in rest:  # the part before may be a password
        raise InputError(
            f"invalid address '***@{rest.rpartition('@')[2]}': expected host:port; set a login in the client properties"
        )
    if rest.startswith("["):
        host, bracket, tail = rest[1:].partition("]")
        port_text = tail[1:] if tail.startswith(":") else ""
        if not bracket or (tail and not tail.startswith(":")):
            raise InputError(f"invalid address '{text}': expected host:port")
    else:
        host, _, port_text = rest.rpartition(":") if ":" in rest else (rest, "", "")
        if ":" in host:
            raise InputError(
                f"invalid address '{text}': expected an IPv6 address in brackets, as in [2001:db8::1]:9092"
            )
    if not port_text and default_port is not None and host and not host.isdigit():
        return host, default_port
    port = number_below(65536, port_text)
    if not host or port is None:
        raise InputError(f"invalid address '{text}': expected host:port with a port from 0 to 65535")
    return host, port


def parse_listener_address(text: str) -> tuple[str, int]:
    """(host, port) to listen on: as ``parse_address``, or ``:port`` with an empty host for all addresses."""
    if not text.startswith(":"):
        return parse_address(text)
    port = number_below(65536, text[1:])
    if port is None:
        raise InputError(f"invalid address '{text}': expected host:port or :port with a port from 0 to 65535")
    return "", port


def parse_addresses(text: str, default_port: int | None = None) -> list[tuple[str, int]]:
    """The addresses of a comma-separated bootstrap list, in order. Raises InputError if the list is empty."""
    addresses = [parse_address(part, default_port) for part in text.split(",") if part.strip()]
    if not addresses:
        raise InputError("empty list of servers: expected host:port[,host:port...]")
    return addresses


def moment_text(moment_ms: int) -> str:
    """Milliseconds since the epoch as ``2026-01-31T12:00:00.000Z``; the bare number outside the years 1 to 9999."""
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment_ms)
    except OverflowError:
        return str(moment_ms)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
