"""The Python source of a decoder, for one struct in one version."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from kafka_tools.protocol.codec_source import FIXED, FieldRun, Malformed, Source, is_inline, minimum_size, runs
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.primitives import (
    MOST_ITEMS,
    MOST_STRING_BYTES,
    MOST_TAGGED_FIELDS,
    Buffer,
    read_unsigned_varint,
)
from kafka_tools.protocol.schema import Struct


@lru_cache(maxsize=256)
def _uuid_of(raw: bytes) -> uuid.UUID:
    """Cached: creating one takes longer than the rest of a record, and all partitions of a topic have the same."""
    return uuid.UUID(bytes=raw)


FEW = 8
"""Shorter arrays of numbers, such as the replicas of a partition, are read with prepared formats."""


@cache
def _few(code: str) -> tuple[Callable[..., tuple[Any, ...]], ...]:
    """Number of values -> function that unpacks them."""
    return tuple(struct.Struct(f">{count}{code}").unpack_from for count in range(FEW))


def decoder_source(
    cls: type[Struct], version: int, flexible: bool, text_errors: str = "strict", *, counted: bool = False
) -> Source:
    """``decode(buf, pos, end)``: the struct at ``pos``, and the position after it.

    ``counted``: the decoder passes the length of every array, and of every run of unknown tags, to ``spend`` before it
    creates them.
    """
    source = Source(text_errors, counted=counted)
    source.scope.update(new=cls.__new__, Cls=cls)
    source.add(0, "def decode(buf, pos, end):")
    source.add(1, "m = new(Cls)")
    source.add(1, "m.unknown_tags = None")
    for field in cls.FIELDS:
        if not is_inline(field, version):
            source.add(1, f"m.{field.name} = {_default_expression(source, field)}")
    for is_fixed, fields in runs(cls, version):
        if is_fixed:
            path = FieldRun((field.name, FIXED[field.kind][1]) for field in fields)
            _unpack(source, 1, {f"m.{field.name}": field for field in fields}, path)
            continue
        for field in fields:
            _decode_value(source, 1, field, f"m.{field.name}", field.name, version, flexible)
    if flexible:
        _decode_tags(source, cls, version)
    source.add(1, "return m, pos")
    return source


def _default_expression(source: Source, field: Field) -> str:
    default = field.make_default()
    if isinstance(default, list):
        return "[]"
    if isinstance(default, Struct):
        return f"{source.constant('make', type(default))}()"
    return source.constant("default", default)


def _unpack(source: Source, indent: int, targets: Mapping[str, Field], path: str | FieldRun) -> None:
    """Read values of a fixed size."""
    layout = struct.Struct(">" + "".join(FIXED[field.kind][0] for field in targets.values()))
    unpack = source.constant("unpack", layout.unpack_from)
    source.add(indent, f"{', '.join(targets)}{',' * (len(targets) == 1)} = {unpack}(buf, pos)", path)
    source.add(indent, f"pos += {layout.size}")
    for target, field in targets.items():
        if field.kind == "uuid":
            source.scope["uuid_of"] = _uuid_of
            source.add(indent, f"{target} = uuid_of({target})", field.name)


def _decode_length(source: Source, indent: int, compact: bool, wide: bool, path: str) -> None:
    """Read ``n``, the length of the next value; -1 is null.

    Strings from the network have the same maximum length in all versions, as in Kafka: many of them are copied to
    places with int16 lengths. Longer stored strings from before this check are still read.
    """
    if compact:
        source.add(indent, "n = buf[pos]", path)
        source.add(indent, "if n < 128: pos += 1", path)
        if wide or not source.counted:
            source.add(indent, "else: n, pos = read_unsigned_varint(buf, pos)", path)
        else:
            source.add(indent, "else:", path)
            source.add(indent + 1, "n, pos = read_unsigned_varint(buf, pos)", path)
            beyond = f"raise Malformed('claims %d bytes, more than {MOST_STRING_BYTES}' % (n - 1))"
            source.add(indent + 1, f"if n - 1 > {MOST_STRING_BYTES}: {beyond}", path)
        source.add(indent, "n -= 1", path)
    else:
        unpack = source.constant("unpack", struct.Struct(">i" if wide else ">h").unpack_from)
        source.add(indent, f"n, = {unpack}(buf, pos)", path)
        source.add(indent, f"pos += {4 if wide else 2}", path)


def _decode_value(
    source: Source, indent: int, field: Field, target: str, path: str, version: int, flexible: bool
) -> None:
    compact = field.is_compact(flexible)
    nullable = version in field.nullable
    if field.kind in FIXED:
        _unpack(source, indent, {target: field}, path)
        return
    if field.kind == "struct":
        _decode_struct(source, indent, field, target, path, nullable, version in field.tagged)
        return
    _decode_length(source, indent, compact, field.kind != "string", path)
    source.add(indent, "if n < 0:", path)
    if nullable:
        source.add(indent + 1, "if n != -1: raise Malformed('has the length %d' % n)", path)
        source.add(indent + 1, f"{target} = None", path)
    else:
        source.add(indent + 1, "raise Malformed('is null or has a negative length, which this version forbids')", path)
    if field.kind == "array":
        least = max(1, minimum_size(field.item, version, flexible))
        source.add(indent, f"elif n > (end - pos) // {least}:", path)
        source.add(
            indent + 1,
            "raise Malformed('claims %d items, more than fit in the remaining %d bytes' % (n, end - pos))",
            path,
        )
        source.add(indent, f"elif n > {MOST_ITEMS}:", path)
        source.add(indent + 1, f"raise Malformed('claims %d items, more than the maximum of {MOST_ITEMS}' % n)", path)
        source.add(indent, "else:", path)
        if source.counted:
            source.add(indent + 1, "spend(n)", path)
        _decode_items(source, indent + 1, field.item, target, path, version, flexible)
        return
    source.add(indent, "elif n > end - pos:", path)
    source.add(indent + 1, "raise Malformed('claims %d bytes, but %d are left' % (n, end - pos))", path)
    source.add(indent, "else:", path)
    errors = "" if source.text_errors == "strict" else f", {source.text_errors!r}"
    text = {"string": f"str(buf[pos:pos + n], 'utf-8'{errors})", "bytes": "bytes(buf[pos:pos + n])"}
    source.add(indent + 1, f"{target} = {text.get(field.kind, 'memoryview(buf)[pos:pos + n]')}", path)
    source.add(indent + 1, "pos += n", path)


def _decode_struct(
    source: Source, indent: int, field: Field, target: str, path: str, nullable: bool, tagged: bool
) -> None:
    call = source.call("decode", field.item)
    if nullable:
        if tagged:
            source.add(indent, "n, pos = read_unsigned_varint(buf, pos)", path)
            source.add(indent, "if n == 0:", path)
        else:
            source.add(indent, "n = buf[pos]", path)
            source.add(indent, "pos += 1", path)
            source.add(indent, "if n > 127:", path)
        source.add(indent + 1, f"{target} = None", path)
        source.add(indent, "else:", path)
        indent += 1
    source.add(indent, f"{target}, pos = {call}(buf, pos, end)", path)


def _decode_items(
    source: Source, indent: int, item: Field, target: str, path: str, version: int, flexible: bool
) -> None:
    if item.kind in FIXED and item.kind != "uuid":
        code, size = FIXED[item.kind]
        source.scope["unpack_from"] = struct.unpack_from
        few = source.constant("few", _few(code))
        several = f"list(unpack_from('>%d{code}' % n, buf, pos))"
        source.add(indent, f"{target} = [*{few}[n](buf, pos)] if n < {FEW} else {several}", path)
        source.add(indent, f"pos += {size} * n", path)
        return
    inner = path + "[{i}]"
    source.add(indent, f"items = {target} = []", path)
    source.add(indent, "for i in range(n):", path)
    if item.kind == "struct":
        source.add(indent + 1, f"item, pos = {source.call('decode', item.item)}(buf, pos, end)", inner)
    else:
        _decode_value(source, indent + 1, item, "item", inner, version, flexible)
    source.add(indent + 1, "items.append(item)", inner)


def _decode_tags(source: Source, cls: type[Struct], version: int) -> None:
    """The tagged fields at a flexible struct's end, which are rare."""
    source.scope["read_tags"] = _read_tags
    source.add(1, "if buf[pos]:", "tags")
    source.add(2, f"tags, pos = read_tags(buf, pos, end{', spend' if source.counted else ''})", "tags")
    known = [field for field in cls.FIELDS if version in field.versions and version in field.tagged]
    if not known:
        source.add(2, "m.unknown_tags = {tag: bytes(buf[start:stop]) for tag, start, stop in tags} or None", "tags")
    else:
        _decode_known_tags(source, known, version)
    source.add(1, "else: pos += 1", "tags")


def _decode_known_tags(source: Source, known: Sequence[Field], version: int) -> None:
    source.add(2, "behind, outer = pos, end", "tags")
    source.add(2, "for tag, pos, end in tags:", "tags")
    word = "if"
    for field in known:
        # Reading stops at the end of the tag, so a malicious length cannot reach the bytes after it.
        source.add(3, f"{word} tag == {field.tag}:", field.name)
        source.add(4, "start = pos", field.name)
        _decode_value(source, 4, field, f"m.{field.name}", field.name, version, True)
        source.add(
            4,
            "if pos != end: raise Malformed('uses %d of its %d bytes' % (pos - start, end - start))",
            field.name,
        )
        word = "elif"
    source.add(3, "else:", "tags")
    source.add(4, "if m.unknown_tags is None: m.unknown_tags = {}", "tags")
    source.add(4, "m.unknown_tags[tag] = bytes(buf[pos:end])", "tags")
    source.add(2, "pos, end = behind, outer", "tags")


def _read_tags(
    buf: Buffer, pos: int, end: int, spend: Callable[[int], None] | None = None
) -> tuple[list[tuple[int, int, int]], int]:
    """(number, start, end) of each tagged field at ``pos``: count, then (tag, size, bytes) by ascending tag.

    Also returns the position after them. Raises Malformed.
    """
    count, pos = read_unsigned_varint(buf, pos)
    if count > (end - pos) // 2:
        raise Malformed(f"claims {count} fields, but {end - pos} bytes are left")
    if count > MOST_TAGGED_FIELDS:
        raise Malformed(f"claims {count} fields, more than the maximum of {MOST_TAGGED_FIELDS}")
    if spend is not None:
        spend(count)
    found: list[tuple[int, int, int]] = []
    previous = -1
    for _ in range(count):
        tag, pos = read_unsigned_varint(buf, pos)
        if tag <= previous:
            raise Malformed(f"tag {tag} follows tag {previous}")
        size, pos = read_unsigned_varint(buf, pos)
        if size > end - pos:
            raise Malformed(f"tag {tag} claims {size} bytes, but {end - pos} are left")
        found.append((tag, pos, pos + size))
        previous = tag
        pos += size
    return found, pos
