"""Records as text: the formatters of ``kafka-console-consumer --formatter`` and ``--formatter-property``.

A formatter is a function from a record to bytes (empty: nothing to print). Properties, defaults and layout follow
``DefaultMessageFormatter`` of Kafka; the JSON of the internal topics is ``internal_text``'s. Two departures:
``print.epoch`` prints the epoch (Kafka's tool drops it before it formats), and null is printed as ``null.literal``
without asking the deserializer.
"""

from __future__ import annotations

import struct
import sys
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka_tools.errors import InputError, UsageError
from kafka_tools.protocol.enums import TIMESTAMP_TYPES, TimestampType
from kafka_tools.texts.java_numbers import java_double

if TYPE_CHECKING:
    from kafka_tools.clients.fetched_data import ConsumedRecord
    from kafka_tools.clients.sharing.held_records import SharedRecord

Formatter = Callable[["ConsumedRecord | SharedRecord"], bytes]
Deserializer = Callable[[bytes], bytes]

DEFAULT = "org.apache.kafka.tools.consumer.DefaultMessageFormatter"
_COLUMNS = ("timestamp", "partition", "offset", "delivery", "epoch", "headers", "key", "value")
_TEXT_PROPERTIES = ("key.separator", "line.separator", "headers.separator", "null.literal")
_DESERIALIZERS_OF = ("key.deserializer", "value.deserializer", "headers.deserializer", "header.deserializer")
_ENCODINGS = {f"{each}.{role}deserializer.encoding" for each in _DESERIALIZERS_OF for role in ("", "key.", "value.")}
"""Properties of Kafka's deserializers that start with the deserializer's name."""
_TIMESTAMP_TYPES = {
    number: b"%s:" % TIMESTAMP_TYPES[number].encode()
    for number in (TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)
}


def make_formatter(name: str, properties: Mapping[str, str]) -> Formatter:
    """The formatter of a class name, with or without package. Raises UsageError for unknown names and properties."""
    if has_properties(name):
        return default_formatter(properties)
    if _simple(name) == "NoOpMessageFormatter":
        return lambda _: b""
    from kafka_tools.commands.console import internal_text

    formatter = internal_text.formatter(_simple(name))
    if formatter is None:
        raise UsageError(
            f"unknown --formatter '{name}'",
            hint="use DefaultMessageFormatter, NoOpMessageFormatter, " + ", ".join(internal_text.NAMES),
        )
    return formatter


def has_properties(name: str) -> bool:
    """Whether the formatter of a class name has properties."""
    return _simple(name) == "DefaultMessageFormatter"


def default_formatter(properties: Mapping[str, str]) -> Formatter:
    """Formats the columns of ``properties``, in Kafka's order, with separators."""
    refuse_unknown(properties)
    shown = [name for name in _COLUMNS if _is_true(properties, f"print.{name}", name == "value")]
    null = _bytes(properties, "null.literal", "null")
    line_end = _bytes(properties, "line.separator", "\n")
    separator = _bytes(properties, "key.separator", "\t")
    if shown == ["value"] and "value.deserializer" not in properties:
        return lambda record: (null if record.value is None else record.value) + line_end
    columns = [_column(name, properties, null) for name in shown]
    if not columns:
        return lambda _: b""
    return lambda record: separator.join([column(record) for column in columns]) + line_end


def _timestamp(record: ConsumedRecord | SharedRecord) -> bytes:
    kind = _TIMESTAMP_TYPES.get(record.timestamp_type)
    return b"NO_TIMESTAMP" if kind is None else kind + b"%d" % record.timestamp_ms


def _delivery(record: ConsumedRecord | SharedRecord) -> bytes:
    """How often a share group has delivered a record. Other groups do not count."""
    count = getattr(record, "delivery_count", None)
    return b"Delivery:NOT_PRESENT" if count is None else b"Delivery:%d" % count


_PLAIN_COLUMNS: dict[str, Formatter] = {
    "timestamp": _timestamp,
    "partition": lambda record: b"Partition:%d" % record.partition,
    "offset": lambda record: b"Offset:%d" % record.offset,
    "delivery": _delivery,
    "epoch": lambda record: b"Epoch:%d" % record.leader_epoch if record.leader_epoch >= 0 else b"Epoch:NOT_PRESENT",
}


def _column(name: str, properties: Mapping[str, str], null: bytes) -> Formatter:
    if name in _PLAIN_COLUMNS:
        return _PLAIN_COLUMNS[name]
    if name == "headers":
        return _headers(properties, null)
    read = _deserializer(properties, f"{name}.deserializer")
    if name == "key":
        return lambda record: null if record.key is None else read(record.key)
    return lambda record: null if record.value is None else read(record.value)


def _headers(properties: Mapping[str, str], null: bytes) -> Formatter:
    separator = _bytes(properties, "headers.separator", ",")
    # Kafka's help says header.deserializer, its code reads headers.deserializer.
    name = "headers.deserializer" if "headers.deserializer" in properties else "header.deserializer"
    read = _deserializer(properties, name)

    def column(record: ConsumedRecord | SharedRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return separator.join(
            [key.encode() + b":" + (null if value is None else read(value)) for key, value in record.headers]
        )

    return column


# Deserializers


def _deserializer(properties: Mapping[str, str], name: str) -> Deserializer:
    chosen = properties.get(name)
    if chosen is None:
        return lambda data: data
    found = _DESERIALIZERS.get(_simple(chosen))
    if found is None:
        raise UsageError(f"unknown {name} '{chosen}'", hint=f"use one of {', '.join(sorted(_DESERIALIZERS))}")
    encoding = _encoding(properties, name) if _simple(chosen) == "StringDeserializer" else None
    return found if encoding is None else _string(encoding)


def _encoding(properties: Mapping[str, str], name: str) -> str | None:
    """The encoding of a StringDeserializer (``StringDeserializer.configure``): that of its role, or that of both."""
    role = "key" if name.startswith("key") else "value"
    places = f"{name}.{role}.deserializer.encoding", f"{name}.deserializer.encoding"
    place = next((place for place in places if properties.get(place)), None)
    if place is None:
        return None
    encoding = properties[place]
    try:
        b" ".decode(encoding, "replace")
    except (LookupError, ValueError) as error:  # ValueError: codecs that are for names of hosts and the like
        raise UsageError(f"{place}: unknown encoding '{encoding}'") from error
    return encoding


def _string(encoding: str) -> Deserializer:
    """A text in another encoding. UTF-16 without a byte order mark is big-endian, as in Java."""
    plain = encoding.lower().replace("_", "-") in ("utf-16", "utf16")

    def read(data: bytes) -> bytes:
        marked = data[:2] in (b"\xfe\xff", b"\xff\xfe")
        return data.decode("utf-16-be" if plain and not marked else encoding, "replace").encode()

    return read


def _number(name: str, form: str) -> Deserializer:
    packed = struct.Struct(form)

    def read(data: bytes) -> bytes:
        if len(data) != packed.size:
            raise InputError(f"Size of data received by {name}Deserializer is not {packed.size}: it is {len(data)}")
        (value,) = packed.unpack(data)
        return (java_double(value, _shortest(value, packed)) if isinstance(value, float) else str(value)).encode()

    return read


def _shortest(value: float, packed: struct.Struct) -> str:
    """The fewest digits, at least two, that give the same value in this width. Like Java, it writes 4.9E-324."""
    for digits in range(2, 18):
        text = f"{value:.{digits}g}"
        try:
            if packed.pack(float(text)) == packed.pack(value):
                return text
        except OverflowError:  # so few digits are more than the largest number
            continue
    return repr(value)


def _uuid(data: bytes) -> bytes:
    """A uuid is stored as its text."""
    try:
        return str(uuid.UUID(data.decode("ascii"))).encode()
    except ValueError as error:
        raise InputError(f"Error parsing data into UUID: {data!r}") from error


def _boolean(data: bytes) -> bytes:
    if data in (b"\x00", b"\x01"):
        return b"true" if data == b"\x01" else b"false"
    raise InputError(f"Unexpected byte received by BooleanDeserializer: {data[:16].hex()}")


_DESERIALIZERS: dict[str, Deserializer] = {
    "ByteArrayDeserializer": lambda data: data,
    "StringDeserializer": lambda data: data.decode("utf-8", "replace").encode(),
    "ShortDeserializer": _number("Short", ">h"),
    "IntegerDeserializer": _number("Integer", ">i"),
    "LongDeserializer": _number("Long", ">q"),
    "FloatDeserializer": _number("Float", ">f"),
    "DoubleDeserializer": _number("Double", ">d"),
    "BooleanDeserializer": _boolean,
    "UUIDDeserializer": _uuid,
}


# Properties


def refuse_unknown(properties: Mapping[str, str]) -> None:
    """Raise UsageError for a name that is not a property of a formatter."""
    for name in properties:
        known = name in _TEXT_PROPERTIES or name in _DESERIALIZERS_OF or name in {f"print.{each}" for each in _COLUMNS}
        if not known and name not in _ENCODINGS:
            raise UsageError(
                f"unknown formatter property '{name}'",
                hint=f"use {', '.join(f'print.{each}' for each in _COLUMNS)}, "
                f"{', '.join((*_TEXT_PROPERTIES, *_DESERIALIZERS_OF[:3]))}, and for the encoding of texts "
                "value.deserializer.deserializer.encoding",
            )


def _is_true(properties: Mapping[str, str], name: str, default: bool) -> bool:
    return properties[name].strip().lower() == "true" if name in properties else default


def _bytes(properties: Mapping[str, str], name: str, default: str) -> bytes:
    return properties.get(name, default).encode("utf-8", "surrogateescape")


def _simple(name: str) -> str:
    """A class name without its package."""
    return name.rpartition(".")[2]


def as_shown(text: bytes) -> bytes:
    """Records for stdout. On a terminal, control characters are escaped."""
    if not sys.stdout.isatty():
        return text

    from kafka_tools.shown_text import printable

    shown = printable(text.decode("utf-8", "backslashreplace"))
    return shown.encode(sys.stdout.encoding or "utf-8", "backslashreplace")
