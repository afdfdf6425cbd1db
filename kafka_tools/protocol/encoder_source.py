"""The Python source of an encoder, for one struct in one version."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from kafka_tools.protocol.codec_source import FIXED, Source, runs
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.primitives import MOST_STRING_BYTES, write_unsigned_varint
from kafka_tools.protocol.schema import Struct


def encoder_source(cls: type[Struct], version: int, flexible: bool, *, bounded: bool = False) -> Source:
    """``encode(m, out)``: append the struct to the bytearray ``out``.

    ``bounded``: strings have the same maximum length in all versions, because readers of requests and responses require
    it.
    """
    source = Source(bounded=bounded)
    source.add(0, "def encode(m, out):")
    for field in cls.FIELDS:
        if version not in field.versions and not field.ignorable:
            _refuse_absent(source, field, version)
    for is_fixed, fields in runs(cls, version):
        if is_fixed:
            _pack(source, 1, {f"m.{field.name}": field for field in fields}, "/".join(field.name for field in fields))
            continue
        for field in fields:
            _encode_value(source, 1, field, f"m.{field.name}", field.name, version, flexible)
    if flexible:
        _encode_tags(source, cls, version)
    else:
        source.add(1, "if m.unknown_tags:", "unknown_tags")
        source.add(2, f"raise Malformed('are set, but version {version} has no tagged fields')", "unknown_tags")
    source.add(1, "return")
    return source


def _refuse_absent(source: Source, field: Field, version: int) -> None:
    default = source.constant("default", field.make_default())
    source.add(1, f"if m.{field.name} != {default}:", field.name)
    message = f"is set, but version {version} has no such field"
    source.add(2, f"raise Malformed({message!r})", field.name)


def _pack(source: Source, indent: int, values: Mapping[str, Field], path: str) -> None:
    """Write values of a fixed size."""
    pack = source.constant("pack", struct.Struct(">" + "".join(FIXED[f.kind][0] for f in values.values())).pack)
    written = ", ".join(f"{value}.bytes" if field.kind == "uuid" else value for value, field in values.items())
    source.add(indent, f"out += {pack}({written})", path)


def _encode_length(source: Source, indent: int, compact: bool, wide: bool, path: str) -> None:
    """Write ``n``, the length of the next value."""
    beyond = f"if n > {MOST_STRING_BYTES}: raise Malformed('is longer than {MOST_STRING_BYTES} bytes')"
    if compact:
        source.add(indent, "if n < 127: out.append(n + 1)", path)
        if source.bounded and not wide:
            source.add(indent, f"el{beyond}", path)
        source.add(indent, "else: write_unsigned_varint(out, n + 1)", path)
    elif wide:
        source.add(indent, f"out += {source.constant('pack', struct.Struct('>i').pack)}(n)", path)
    else:
        source.add(indent, beyond, path)
        source.add(indent, f"out += {source.constant('pack', struct.Struct('>h').pack)}(n)", path)


def _encode_value(
    source: Source, indent: int, field: Field, value: str, path: str, version: int, flexible: bool
) -> None:
    """Write one value of variable size, or a single value of fixed size (tagged fields)."""
    compact = field.is_compact(flexible)
    if field.kind in FIXED:
        _pack(source, indent, {value: field}, path)
        return
    nullable = version in field.nullable
    source.add(indent, f"v = {value}", path)
    source.add(indent, "if v is None:", path)
    if not nullable:
        source.add(indent + 1, "raise Malformed('must not be null in this version')", path)
    elif field.kind == "struct":
        # An unsigned varint precedes a tagged struct. An int8, which is -1 for null, precedes any other.
        source.add(indent + 1, f"out.append({0 if version in field.tagged else 255})", path)
    elif compact:
        source.add(indent + 1, "out.append(0)", path)
    else:
        source.add(
            indent + 1, f"out += {(-1).to_bytes(2 if field.kind == 'string' else 4, 'big', signed=True)!r}", path
        )
    source.add(indent, "else:", path)
    indent += 1
    if field.kind == "struct":
        if nullable:
            source.add(indent, "out.append(1)", path)
        source.add(indent, f"{source.call('encode', field.item)}(v, out)", path)
    elif field.kind == "string":
        source.add(indent, "v = v.encode(); n = len(v)", path)
        _encode_length(source, indent, compact, False, path)
        source.add(indent, "out += v", path)
    elif field.kind in ("bytes", "records"):
        source.add(indent, "n = len(v)", path)
        _encode_length(source, indent, compact, True, path)
        source.add(indent, "out += v", path)
    else:
        source.add(indent, "n = len(v)", path)
        _encode_length(source, indent, compact, True, path)
        _encode_items(source, indent, field.item, path, version, flexible)


def _encode_items(source: Source, indent: int, item: Field, path: str, version: int, flexible: bool) -> None:
    if item.kind in FIXED and item.kind != "uuid":
        source.scope["pack"] = struct.pack
        source.add(indent, f"out += pack('>%d{FIXED[item.kind][0]}' % n, *v)", path)
        return
    inner = path + "[{i}]"
    source.add(indent, "i = 0", path)
    source.add(indent, "for item in v:", path)
    if item.kind == "struct":
        source.add(indent + 1, f"{source.call('encode', item.item)}(item, out)", inner)
    else:
        _encode_value(source, indent + 1, item, "item", inner, version, flexible)
    source.add(indent + 1, "i += 1", path)


def _encode_tags(source: Source, cls: type[Struct], version: int) -> None:
    """Write tagged fields that differ from their default, and unknown ones, by ascending tag."""
    fields = [f for f in cls.FIELDS if version in f.versions and version in f.tagged]
    source.scope["write_tags"] = _write_tags
    if not fields:
        source.add(1, "if m.unknown_tags: write_tags(m.unknown_tags, out)")
        source.add(1, "else: out.append(0)")
        return
    source.add(1, "tags = dict(m.unknown_tags) if m.unknown_tags else {}")
    source.add(1, "whole = out")
    for field in fields:
        source.add(1, f"if {_differs(source, field)}:", field.name)
        source.add(2, "out = bytearray()", field.name)
        _encode_value(source, 2, field, f"m.{field.name}", field.name, version, True)
        source.add(2, f"tags[{field.tag}] = out", field.name)
    source.add(1, "if tags: write_tags(tags, whole)")
    source.add(1, "else: whole.append(0)")


def _differs(source: Source, field: Field) -> str:
    """The condition that the value differs from the default. Compares structs by field: nearly all are default."""
    default = field.make_default()
    if not isinstance(default, Struct):
        return f"m.{field.name} != {source.constant('default', default)}"
    source.add(1, f"v = m.{field.name}", field.name)
    others = [f"v.{each.name} != {source.constant('default', each.make_default())}" for each in default.FIELDS]
    return " or ".join(["v is None", *others, "v.unknown_tags"])


def _write_tags(tags: Mapping[int, bytes], out: bytearray) -> None:
    """The tagged fields at a flexible struct's end: count, then (tag, size, bytes) by ascending tag."""
    write_unsigned_varint(out, len(tags))
    for tag in sorted(tags):
        write_unsigned_varint(out, tag)
        write_unsigned_varint(out, len(tags[tag]))
        out += tags[tag]
