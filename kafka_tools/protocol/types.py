"""The primitive types of the wire: their names and what each looks like on the wire.

For people and for messages; the codec itself needs none of it. Source: protocol guide, "Protocol
Primitive Types".
"""

from __future__ import annotations

from typing import Any

from kafka_tools.protocol.codec_source import FIXED
from kafka_tools.protocol.fields import Field

DESCRIPTIONS: dict[str, str] = {
    "BOOLEAN": "One byte: 0 is false; any other value reads as true and true is written as 1.",
    "INT8": "A whole number from -2^7 to 2^7-1, in one byte.",
    "INT16": "A whole number from -2^15 to 2^15-1, in two bytes, big-endian.",
    "UINT16": "A whole number from 0 to 2^16-1, in two bytes, big-endian.",
    "INT32": "A whole number from -2^31 to 2^31-1, in four bytes, big-endian.",
    "UINT32": "A whole number from 0 to 2^32-1, in four bytes, big-endian.",
    "INT64": "A whole number from -2^63 to 2^63-1, in eight bytes, big-endian.",
    "VARINT": "A whole number from -2^31 to 2^31-1: zig-zag, seven bits a byte, lowest first.",
    "VARLONG": "A whole number from -2^63 to 2^63-1: zig-zag, seven bits a byte, lowest first.",
    "FLOAT64": "A double of IEEE 754, in eight bytes, big-endian.",
    "UUID": "Sixteen bytes.",
    "STRING": "Text: its length in bytes as an INT16, then that many bytes of UTF-8.",
    "NULLABLE_STRING": "A STRING, or null, which is the length -1.",
    "COMPACT_STRING": "Text: its length in bytes plus 1 as an unsigned varint, then the bytes of UTF-8.",
    "COMPACT_NULLABLE_STRING": "A COMPACT_STRING, or null, which is the length 0.",
    "BYTES": "Bytes: their number as an INT32, then the bytes.",
    "NULLABLE_BYTES": "BYTES, or null, which is the length -1.",
    "COMPACT_BYTES": "Bytes: their number plus 1 as an unsigned varint, then the bytes.",
    "COMPACT_NULLABLE_BYTES": "COMPACT_BYTES, or null, which is the length 0.",
    "RECORDS": "Record batches, as they stand in a log; counted like NULLABLE_BYTES.",
    "COMPACT_RECORDS": "Record batches, as they stand in a log; counted like COMPACT_NULLABLE_BYTES.",
    "ARRAY": "A list of one type: its count as an INT32 (-1 is null), then the items.",
    "COMPACT_ARRAY": "A list of one type: its count plus 1 as an unsigned varint (0 is null), then the items.",
}
"""Type name -> description, in the guide's order."""


def type_text(field: Field, version: int, flexible: bool = False) -> str:
    """The type of a field in a version, as in the guide: ``INT32``, ``ARRAY(NULLABLE_STRING)``, ``STRUCT``."""
    compact = "COMPACT_" if field.is_compact(flexible) and field.kind in _COUNTED else ""
    if field.kind == "array":
        return f"{compact}ARRAY({type_text(field.item, version, flexible)})"
    nullable = "NULLABLE_" if version in field.nullable and field.kind in ("string", "bytes") else ""
    return f"{compact}{nullable}{field.kind.upper()}"


_COUNTED = ("string", "bytes", "records", "array")


def types_table() -> str:
    """All types with their descriptions, as a Markdown table."""
    rows = [f"| `{name}` | {text} |" for name, text in DESCRIPTIONS.items()]
    return "\n".join(["| Type | On the wire |", "| --- | --- |", *rows]) + "\n"


_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "float64": (float, int),
    "string": (str,),
    "bytes": (bytes, bytearray, memoryview),
    "records": (bytes, bytearray, memoryview),
    "array": (list, tuple),
}


def misfit(field: Field, value: Any) -> str | None:
    """The reason why ``value`` does not have the field's type ("expected an INT32, not 'x'"); None if it does.

    Does not check null, and does not repeat a secret value.
    """
    if value is None or _fits(field, value):
        return None
    name = field.item.__name__ if field.kind == "struct" else field.kind.upper()
    article = "an" if name[0] in "AIU" and name[:2] != "UU" else "a"
    return f"expected {article} {name}, not {'the secret value' if field.secret else repr(value)[:80]}"


def _fits(field: Field, value: Any) -> bool:
    if "int" in field.kind:
        bits = 8 * FIXED[field.kind][1]
        low = 0 if field.kind.startswith("u") else -(1 << bits - 1)
        return isinstance(value, int) and low <= value < low + (1 << bits)
    if field.kind == "struct":
        return isinstance(value, field.item)
    if field.kind == "uuid":
        return hasattr(value, "bytes") and hasattr(value, "int")
    return isinstance(value, _PYTHON_TYPES[field.kind])
