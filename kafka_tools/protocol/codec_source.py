"""The parts that the Python source of encoders and decoders (``encoder_source``, ``decoder_source``) is made of.

Only text is made here; ``codec`` compiles it. Each line carries the path of the field it reads or
writes, so that a fault in a line can be reported by field. Runs of fixed-size fields become a single
struct.pack or unpack. Every length read is compared with the bytes left before it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.schema import Struct

FIXED = {
    "boolean": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}


class Malformed(Exception):
    """A generated function refuses bytes, or a value to write. Becomes DecodeError or EncodeError."""


class TooMany(Malformed):
    """The message has more elements than the decoder may create."""


class FieldRun(tuple[tuple[str, int], ...]):
    """The (field, size) pairs that one unpack reads. Finds the field that did not fit."""

    __slots__ = ()

    def field_at(self, left: int) -> tuple[str, int]:
        """(field, bytes before it) of the first field that does not fit into ``left`` bytes."""
        before = 0
        for name, size in self:
            if before + size > left:
                return name, before
            before += size
        return self[-1][0], before


class Source:
    """Lines with field paths, the constants they use, and the nested structs they call."""

    def __init__(self, text_errors: str = "strict", *, counted: bool = False, bounded: bool = False) -> None:
        self.lines: list[tuple[str, str | FieldRun]] = []
        self.text_errors = text_errors
        self.counted = counted
        self.bounded = bounded
        self.scope: dict[str, Any] = {}
        self.nested: dict[str, type[Struct]] = {}

    def add(self, indent: int, text: str, path: str | FieldRun = "") -> None:
        self.lines.append(("    " * indent + text, path))

    def constant(self, prefix: str, value: Any) -> str:
        """A name in the generated scope for ``value``; equal values of one prefix share it."""
        for name, known in self.scope.items():
            if name.startswith(prefix + "_") and known == value and type(known) is type(value):
                return name
        name = f"{prefix}_{len(self.scope)}"
        self.scope[name] = value
        return name

    def call(self, verb: str, cls: type[Struct]) -> str:
        name = f"{verb}_{cls.__qualname__.replace('.', '_')}"
        self.nested[name] = cls
        return name


def minimum_size(field: Field, version: int, flexible: bool) -> int:
    """The minimum size of a value of this field in bytes, which limits the counts of arrays."""
    if field.kind in FIXED:
        return FIXED[field.kind][1]
    if field.kind == "struct":
        return 1 if version in field.nullable else struct_minimum_size(field.item, version, flexible)
    if field.is_compact(flexible):
        return 1
    return 2 if field.kind == "string" else 4


def struct_minimum_size(cls: type[Struct], version: int, flexible: bool) -> int:
    """The minimum size of the struct in this version, in bytes."""
    fields = sum(minimum_size(f, version, flexible) for f in cls.FIELDS if is_inline(f, version))
    return fields + (1 if flexible else 0)


def is_inline(field: Field, version: int) -> bool:
    """Whether the field is in the body, not among the tagged fields, in this version."""
    return version in field.versions and version not in field.tagged


def runs(cls: type[Struct], version: int) -> Iterator[tuple[bool, list[Field]]]:
    """The fields in the body, in order, as runs of fields with a fixed size (True) and without one (False)."""
    fields = (field for field in cls.FIELDS if is_inline(field, version))
    for is_fixed, run in groupby(fields, key=lambda field: field.kind in FIXED):
        yield is_fixed, list(run)
