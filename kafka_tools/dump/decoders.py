"""The decoders of kafka-dump-log for keys and values in users' topics.

A decoder takes (offset, key, value) and returns the texts after ``key:`` and ``payload:``, None to print nothing.
Source: the message parsers of Kafka's ``DumpLogSegments``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from struct import Struct as Layout
from typing import Any

from kafka_tools.errors import LogError, UsageError
from kafka_tools.records.text import java_text

Decoder = Callable[[int, bytes | None, bytes | None], tuple[str | None, str | None]]
FieldDecoder = Callable[[bytes], object]

INT16 = Layout(">h")


# Plain keys and values


def _long(data: bytes) -> int:
    if len(data) < 8:
        raise ValueError(f"a long needs 8 bytes, not {len(data)}")
    return int.from_bytes(data[:8], "big", signed=True)


def _integer(data: bytes) -> int:
    if len(data) < 4:
        raise ValueError(f"an integer needs 4 bytes, not {len(data)}")
    return int.from_bytes(data[:4], "big", signed=True)


FIELD_DECODERS: dict[str, FieldDecoder] = {
    f"{package}{name}": decode
    for name, decode in (
        ("StringDecoder", java_text),
        ("LongDecoder", _long),
        ("IntegerDecoder", _integer),
        ("DefaultDecoder", bytes.hex),  # Kafka prints the address of its byte array
    )
    for package in ("org.apache.kafka.tools.api.", "kafka.serializer.")
}
"""Kafka's decoders by the class names since 3.9 and before."""


def field_decoder(name: str) -> FieldDecoder:
    """A decoder of keys or values by Kafka's class name, or a Python one as ``module:attribute``.

    The attribute is called with the bytes. If it is a class, it is created first, without arguments. Raises UsageError.
    """
    known = FIELD_DECODERS.get(name)
    if known is not None:
        return known
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise UsageError(
            f"unknown decoder '{name}'",
            hint=f"give one of {', '.join(sorted(FIELD_DECODERS))}, or a Python one as module:attribute",
        )
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
        made = found() if isinstance(found, type) else found
    except Exception as error:  # a foreign module may raise anything when it is imported
        raise UsageError(f"cannot load the decoder '{name}': {type(error).__name__}: {error}") from error
    if not callable(made):
        raise UsageError(f"cannot call the decoder '{name}' with bytes")
    decode: FieldDecoder = made
    return decode


def plain_text(offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
    """The decoder for keys and values that are text."""
    return None if key is None else java_text(key), None if value is None else java_text(value)


def is_plain_text(decoder: Decoder) -> bool:
    """Whether a decoder shows the bytes of keys and values as text."""
    return decoder is plain_text


def plain(key_decoder: FieldDecoder, value_decoder: FieldDecoder) -> Decoder:
    """The decoder that applies one decoder to keys and another one to values."""
    if key_decoder is java_text and value_decoder is java_text:
        return plain_text

    def decode(offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        return (
            None if key is None else _field(key_decoder, key, offset, "key"),
            None if value is None else _field(value_decoder, value, offset, "value"),
        )

    return decode


def _field(decode: FieldDecoder, data: bytes, offset: int, what: str) -> str:
    try:
        shown = decode(data)
        return java_text(bytes(shown)) if isinstance(shown, bytes | bytearray | memoryview) else str(shown)
    except Exception as error:
        raise LogError(f"cannot decode the {what} at offset {offset}: {error}") from error
