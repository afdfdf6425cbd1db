"""How a message is declared: fields, version ranges, and the class that turns them into slots.

A definition is a class whose body lists fields in wire order; one class serves every version.
It knows nothing of bytes: ``codec`` compiles encoders and decoders from what stands here. The rules
(versions, nullability, tags, defaults, ignorable) are those of Kafka's message definitions,
``clients/src/main/resources/common/message/README.md``, and KIP-482 for flexible versions.
"""

from __future__ import annotations

import uuid as _uuid
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Literal, TypeVar, cast, overload

from kafka_tools.protocol.fields import NO_VERSIONS, Field, Versions
from kafka_tools.protocol.secrets import shown_value

S = TypeVar("S", bound="Struct")
T = TypeVar("T")

# The body of a definition's class calls these functions. The declared return types are those of a message's attributes,
# as with dataclasses.field(). The value is a Field until the metaclass processes it.


def boolean(*, default: bool = False, **rest: Any) -> bool:
    """One byte, 0 or 1; any non-zero byte reads as true."""
    return cast(bool, Field("boolean", default=default, **rest))


def _integer(kind: str) -> Callable[..., int]:
    def declare(*, default: int = 0, **rest: Any) -> int:
        return cast(int, Field(kind, default=default, **rest))

    declare.__doc__ = f"A big-endian {kind}."
    return declare


int8 = _integer("int8")
int16 = _integer("int16")
uint16 = _integer("uint16")
int32 = _integer("int32")
uint32 = _integer("uint32")
int64 = _integer("int64")


def float64(*, default: float = 0.0, **rest: Any) -> float:
    """A big-endian IEEE 754 double."""
    return cast(float, Field("float64", default=default, **rest))


def uuid(**rest: Any) -> _uuid.UUID:
    """16 bytes; the default is the zero uuid."""
    return cast(_uuid.UUID, Field("uuid", default=_uuid.UUID(int=0), **rest))


@overload
def string(*, nullable: str, default: str | None = "", **rest: Any) -> str | None: ...
@overload
def string(*, default: str = "", **rest: Any) -> str: ...
def string(*, default: str | None = "", **rest: Any) -> str | None:
    """UTF-8 text. Its length in bytes is an int16, or compact in flexible versions."""
    return cast("str | None", Field("string", default=default, **rest))


@overload
def bytes_(*, nullable: str, default: bytes | None = b"", **rest: Any) -> bytes | None: ...
@overload
def bytes_(*, default: bytes = b"", **rest: Any) -> bytes: ...
def bytes_(*, default: bytes | None = b"", **rest: Any) -> bytes | None:
    """Opaque bytes. Their length is an int32, or compact in flexible versions."""
    return cast("bytes | None", Field("bytes", default=default, **rest))


def records(*, default: bytes | None = None, **rest: Any) -> bytes | bytearray | memoryview | None:
    """Record batches, as opaque bytes. Decoding returns a memoryview of the frame, without a copy."""
    return cast("bytes | None", Field("records", default=default, **rest))


@overload
def struct(item: type[S], *, nullable: str, default: None = None, **rest: Any) -> S | None: ...
@overload
def struct(item: type[S], *, nullable: str, default: object, **rest: Any) -> S | None: ...
@overload
def struct(item: type[S], **rest: Any) -> S: ...
def struct(item: type[S], *, default: object = (), **rest: Any) -> S | None:
    """A nested struct, inline. A byte precedes nullable ones: -1 for null and 1 for a value."""
    return cast("S | None", Field("struct", item=item, default=default, **rest))


@overload
def array(item: type[S], *, nullable: str, **rest: Any) -> list[S] | None: ...
@overload
def array(item: type[S], **rest: Any) -> list[S]: ...
@overload
def array(item: T, *, nullable: str, **rest: Any) -> list[T] | None: ...
@overload
def array(item: T, **rest: Any) -> list[T]: ...
def array(item: Any, *, default: Any = (), **rest: Any) -> Any:
    """A list of structs (``item`` is the class) or of plain values (``item`` is a field: ``array(int32())``)."""
    field = item if isinstance(item, Field) else Field("struct", item=item)
    return Field("array", item=field, default=None if default is None else [], **rest)


class StructType(type):
    """Turns the fields of a class body into ``FIELDS`` and ``__slots__``."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **keywords: Any) -> StructType:
        fields = [(key, value) for key, value in namespace.items() if isinstance(value, Field)]
        for key, field in fields:
            field.named(key)
            del namespace[key]
        namespace["FIELDS"] = tuple(field for _, field in fields)
        namespace.setdefault("__slots__", tuple(key for key, _ in fields))
        return super().__new__(mcs, name, bases, namespace, **keywords)


class Struct(metaclass=StructType):
    """A value with declared fields. All fields are keyword arguments and have defaults.

    ``unknown_tags`` contains tagged fields that are not in this definition (tag -> bytes), so that a message survives a
    round trip. None if there are none.
    """

    __slots__ = ("unknown_tags",)
    FIELDS: ClassVar[tuple[Field, ...]]
    unknown_tags: dict[int, bytes] | None

    def __init__(self, **values: Any) -> None:
        # This is the first instance: from now on the class has its own constructor.
        cls = type(self)
        cls.__init__ = _compile_init(cls)  # type: ignore[method-assign]
        cls.__init__(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        if (self.unknown_tags or None) != (other.unknown_tags or None):
            return False
        values = _values(type(self))
        return bool(values(self) == values(other))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{f.name}={shown_value(self, f)}" for f in self.FIELDS if getattr(self, f.name) != f.make_default()
        )
        return f"{type(self).__name__}({shown})"


@cache
def _values(cls: type[Struct]) -> Callable[[Struct], Any]:
    """The function that returns all values of a struct, because encoders often compare structs with their defaults."""
    return attrgetter(*(field.name for field in cls.FIELDS)) if cls.FIELDS else lambda _: None


def _compile_init(cls: type[Struct]) -> Callable[..., None]:
    """A keyword-only ``__init__`` for the class. Compiled on first use, because most structs are never created."""
    scope: dict[str, Any] = {"MISSING": object()}
    parameters, lines = [], ["    self.unknown_tags = unknown_tags"]
    for field in cls.FIELDS:
        default = field.make_default()
        if isinstance(default, (list, Struct)):
            scope[f"make_{field.name}"] = type(default)
            made = "[]" if isinstance(default, list) else f"make_{field.name}()"
            parameters.append(f"{field.name}=MISSING")
            lines.append(f"    self.{field.name} = {made} if {field.name} is MISSING else {field.name}")
        else:
            scope[f"default_{field.name}"] = default
            parameters.append(f"{field.name}=default_{field.name}")
            lines.append(f"    self.{field.name} = {field.name}")
    head = ", ".join(["self", "*", *parameters, "unknown_tags=None"])
    exec(f"def {cls.__name__}({head}):\n" + "\n".join(lines), scope)
    return cast("Callable[..., None]", scope[cls.__name__])


class Message(Struct):
    """A struct that is sent or stored by itself. It has versions, some of them flexible."""

    __slots__ = ()
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = -1
    FLEXIBLE: ClassVar[Versions] = NO_VERSIONS
    FLEXIBLE_FROM: ClassVar[int | None] = None
    LATEST_UNSTABLE: ClassVar[bool] = False
    ENCODERS: ClassVar[dict[int, Callable[..., Any]]]
    DECODERS: ClassVar[dict[int | tuple[int, str], Callable[..., Any]]]
    COUNTED_DECODERS: ClassVar[dict[int, Callable[..., Any]]]
    """The functions for the whole message that ``codec`` has compiled so far, by version."""

    def __init_subclass__(
        cls, *, versions: str = "none", flexible: str = "none", latest_unstable: bool = False, **rest: Any
    ) -> None:
        super().__init_subclass__(**rest)
        cls.MIN_VERSION, cls.MAX_VERSION = Versions.parse(versions)
        cls.FLEXIBLE = Versions.parse(flexible)
        cls.FLEXIBLE_FROM = cls.FLEXIBLE.low if cls.FLEXIBLE != NO_VERSIONS else None
        cls.LATEST_UNSTABLE = latest_unstable
        cls.ENCODERS, cls.DECODERS, cls.COUNTED_DECODERS = {}, {}, {}


class Stored(Message):
    """A struct in a log or file; ``ID`` is its type number if the format has one (KRaft's apiKey; the key version of
    the internal topics' records)."""

    __slots__ = ()
    ID: ClassVar[int | None] = None

    def __init_subclass__(cls, *, id: int | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.ID = id


class ApiMessage(Message):
    """A request or response; ``API_KEY`` is the key of its API."""

    __slots__ = ()
    API_KEY: ClassVar[int] = -1

    def __init_subclass__(cls, *, key: int = -1, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.API_KEY = key


Effect = Literal["reads", "changes", "destroys"]


class Request(ApiMessage):
    """A request of a client. Its definition says to which node; each call of the admin client has a lookup.

    ``rights``: kind of resource ("topic", "group", "cluster", "transactional id", "delegation token") -> the operation
    that the sender must be allowed on it, or a phrase if there is a choice. As in Kafka's documentation, "Operations
    and Resources on Protocols". Every kind with an ..._AUTHORIZATION_FAILED in the definition has one. ``dropped``:
    the versions that brokers no longer know since Kafka 4.0 (KIP-896). ``effect``: whether the request reads, changes
    what can be changed back, or destroys. Requests of group members and producers change, too.
    """

    __slots__ = ()
    RIGHTS: ClassVar[Mapping[str, str]] = {}
    DROPPED: ClassVar[Versions] = NO_VERSIONS
    EFFECT: ClassVar[Effect]

    def __init_subclass__(
        cls, *, effect: Effect, rights: Mapping[str, str] | None = None, dropped: str | None = None, **rest: Any
    ) -> None:
        super().__init_subclass__(**rest)
        cls.EFFECT = effect
        cls.RIGHTS = rights or {}
        cls.DROPPED = Versions.parse(dropped)


class Response(ApiMessage):
    """The response of a node.

    ``throttles``: the versions in which a throttled client waits by itself (KIP-219). In earlier versions the broker
    delays its response. The default is all versions whose response has a ``throttle_time_ms``, as in
    ``AbstractResponse.shouldClientThrottle``.
    """

    __slots__ = ()
    THROTTLES: ClassVar[Versions] = NO_VERSIONS

    def __init_subclass__(cls, *, throttles: str | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if throttles is not None:
            cls.THROTTLES = Versions.parse(throttles)
        else:
            times = (field.versions for field in cls.FIELDS if field.name == "throttle_time_ms")
            cls.THROTTLES = next(times, NO_VERSIONS)

    def client_must_wait_ms(self, version: int) -> int:
        """Milliseconds that the client must wait before the next request on the connection; 0 for none."""
        return max(0, int(getattr(self, "throttle_time_ms", 0))) if version in self.THROTTLES else 0


def nested_structs(cls: type[Struct]) -> Iterator[type[Struct]]:
    """The class and every struct class of its fields, each once."""
    seen: list[type[Struct]] = [cls]
    for struct_class in seen:
        yield struct_class
        for field in struct_class.FIELDS:
            item = field.item.item if field.kind == "array" else field.item
            if item is not None and item not in seen:
                seen.append(item)
