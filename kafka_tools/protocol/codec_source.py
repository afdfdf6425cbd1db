"""The Python source of one struct's encoder and decoder in one version.

Only text is made here; ``codec`` compiles it. Each line carries the path of the field it reads or
writes, so that a fault in a line can be reported by field. Runs of fixed-size fields become a single
struct.pack or unpack. Every length read is compared with the bytes left before it is used.
"""

from __future__ import annotations

import struct
import uuid
from typing import Any

from kafka_tools.protocol.schema import Field, Struct

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
    """Bytes, or a value to be written, that a generated function refuses; becomes Decode- or EncodeError."""


class TooMany(Malformed):
    """More elements than whoever decodes wants to hold at once."""


class FieldRun(tuple[tuple[str, int], ...]):
    """The (field, size) pairs that one unpack reads; tells which of them did not fit."""

    __slots__ = ()

    def field_at(self, left: int) -> tuple[str, int]:
        """(field, bytes before it) of the first field that ``left`` bytes do not hold."""
        before = 0
        for name, size in self:
            if before + size > left:
                return name, before
            before += size
        return self[-1][0], before


class Source:
    """Lines with field paths, the constants they use, and the nested structs they call."""

    def __init__(self, text_errors: str = "strict", *, counted: bool = False) -> None:
        self.lines: list[tuple[str, str | FieldRun]] = []
        self.text_errors = text_errors
        self.counted = counted
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
    """The fewest bytes a value of this field can take; bounds the counts of arrays."""
    if field.kind in FIXED:
        return FIXED[field.kind][1]
    if field.kind == "struct":
        return 1 if version in field.nullable else struct_minimum_size(field.item, version, flexible)
    if field.is_compact(flexible):
        return 1
    return 2 if field.kind == "string" else 4


def struct_minimum_size(cls: type[Struct], version: int, flexible: bool) -> int:
    """The fewest bytes the struct can take in this version."""
    fields = sum(minimum_size(f, version, flexible) for f in cls.FIELDS if is_inline(f, version))
    return fields + (1 if flexible else 0)


def is_inline(field: Field, version: int) -> bool:
    """Whether the field stands in the body (not among the tagged fields) in this version."""
    return version in field.versions and version not in field.tagged


# -- encoding ---------------------------------------------------------------------------------------


def encoder_source(cls: type[Struct], version: int, flexible: bool) -> Source:
    """``encode(m, out)``: append the struct to the bytearray ``out``."""
    source = Source()
    source.add(0, "def encode(m, out):")
    for field in cls.FIELDS:
        if version not in field.versions and not field.ignorable:
            _refuse_absent(source, field, version)
    run: list[Field] = []
    for field in cls.FIELDS:
        if not is_inline(field, version):
            continue
        if field.kind in FIXED:
            run.append(field)
            continue
        _flush_pack(source, run)
        _encode_value(source, 1, field, f"m.{field.name}", field.name, version, flexible)
    _flush_pack(source, run)
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


def _flush_pack(source: Source, run: list[Field]) -> None:
    if not run:
        return
    pack = source.constant("pack", struct.Struct(">" + "".join(FIXED[f.kind][0] for f in run)).pack)
    values = ", ".join(f"m.{f.name}.bytes" if f.kind == "uuid" else f"m.{f.name}" for f in run)
    source.add(1, f"out += {pack}({values})", run[0].name if len(run) == 1 else "/".join(f.name for f in run))
    run.clear()


def _encode_length(source: Source, indent: int, compact: bool, wide: bool, path: str) -> None:
    """Write ``n``, the length of what follows."""
    if compact:
        source.add(indent, "if n < 127: out.append(n + 1)", path)
        source.add(indent, "else: write_unsigned_varint(out, n + 1)", path)
    elif wide:
        source.add(indent, f"out += {source.constant('pack', struct.Struct('>i').pack)}(n)", path)
    else:
        source.add(indent, "if n > 32767: raise Malformed('is longer than 32767 bytes')", path)
        source.add(indent, f"out += {source.constant('pack', struct.Struct('>h').pack)}(n)", path)


def _encode_value(
    source: Source, indent: int, field: Field, value: str, path: str, version: int, flexible: bool
) -> None:
    """One value of variable size, or a fixed-size one that stands alone (tagged fields)."""
    compact = field.is_compact(flexible)
    if field.kind in FIXED:
        pack = source.constant("pack", struct.Struct(">" + FIXED[field.kind][0]).pack)
        source.add(indent, f"out += {pack}({value}{'.bytes' if field.kind == 'uuid' else ''})", path)
        return
    nullable = version in field.nullable
    source.add(indent, f"v = {value}", path)
    source.add(indent, "if v is None:", path)
    if not nullable:
        source.add(indent + 1, "raise Malformed('must not be null in this version')", path)
    elif field.kind == "struct":
        # Before a tagged struct stands an unsigned varint, before any other an int8 that is -1 for null.
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
    """Tagged fields that differ from their default, and unknown ones, by ascending tag."""
    fields = [f for f in cls.FIELDS if version in f.versions and version in f.tagged]
    if not fields:
        source.add(1, "if not m.unknown_tags:")
        source.add(2, "out.append(0)")
        source.add(2, "return")
    source.add(1, "tags = dict(m.unknown_tags or ())")
    source.add(1, "whole = out")
    for field in fields:
        default = source.constant("default", field.make_default())
        source.add(1, f"if m.{field.name} != {default}:", field.name)
        source.add(2, "out = bytearray()", field.name)
        _encode_value(source, 2, field, f"m.{field.name}", field.name, version, True)
        source.add(2, f"tags[{field.tag}] = out", field.name)
    source.add(1, "out = whole")
    source.add(1, "write_unsigned_varint(out, len(tags))")
    source.add(1, "for tag in sorted(tags):")
    source.add(2, "write_unsigned_varint(out, tag); write_unsigned_varint(out, len(tags[tag])); out += tags[tag]")


# -- decoding ---------------------------------------------------------------------------------------


def decoder_source(
    cls: type[Struct], version: int, flexible: bool, text_errors: str = "strict", *, counted: bool = False
) -> Source:
    """``decode(buf, pos, end)``: the struct at ``pos``, and the position after it.

    ``counted``: every array, and every run of unknown tags, tells ``spend`` its length before it is made.
    """
    source = Source(text_errors, counted=counted)
    source.scope.update(new=cls.__new__, Cls=cls)
    source.add(0, "def decode(buf, pos, end):")
    source.add(1, "m = new(Cls)")
    source.add(1, "m.unknown_tags = None")
    for field in cls.FIELDS:
        if not is_inline(field, version):
            source.add(1, f"m.{field.name} = {_default_expression(source, field)}")
    run: list[Field] = []
    for field in cls.FIELDS:
        if not is_inline(field, version):
            continue
        if field.kind in FIXED:
            run.append(field)
            continue
        _flush_unpack(source, run)
        _decode_value(source, 1, field, f"m.{field.name}", field.name, version, flexible)
    _flush_unpack(source, run)
    if flexible:
        _decode_tags(source, cls, version)
    source.add(1, "return m, pos")
    return source


def _default_expression(source: Source, field: Field) -> str:
    default = field.make_default()
    if isinstance(default, list):
        return "[]"
    if isinstance(default, Struct):
        return f"{source.constant('make', field.make_default)}()"
    return source.constant("default", default)


def _flush_unpack(source: Source, run: list[Field]) -> None:
    if not run:
        return
    layout = struct.Struct(">" + "".join(FIXED[f.kind][0] for f in run))
    unpack = source.constant("unpack", layout.unpack_from)
    targets = ", ".join(f"m.{f.name}" for f in run) + ("," if len(run) == 1 else "")
    source.add(1, f"{targets} = {unpack}(buf, pos)", FieldRun((f.name, FIXED[f.kind][1]) for f in run))
    source.add(1, f"pos += {layout.size}")
    for field in run:
        if field.kind == "uuid":
            source.scope["UUID"] = uuid.UUID
            source.add(1, f"m.{field.name} = UUID(bytes=m.{field.name})", field.name)
    run.clear()


def _decode_length(source: Source, indent: int, compact: bool, wide: bool, path: str) -> None:
    """Read ``n``, the length of what follows; -1 is null."""
    if compact:
        source.add(indent, "n = buf[pos]", path)
        source.add(indent, "if n < 128: pos += 1", path)
        source.add(indent, "else: n, pos = read_unsigned_varint(buf, pos)", path)
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
        unpack = source.constant("unpack", struct.Struct(">" + FIXED[field.kind][0]).unpack_from)
        source.add(indent, f"{target}, = {unpack}(buf, pos)", path)
        source.add(indent, f"pos += {FIXED[field.kind][1]}", path)
        if field.kind == "uuid":
            source.scope["UUID"] = uuid.UUID
            source.add(indent, f"{target} = UUID(bytes={target})", path)
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
            indent + 1, "raise Malformed('claims %d items, more than the %d bytes left hold' % (n, end - pos))", path
        )
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
        source.add(indent, f"{target} = list(unpack_from('>%d{code}' % n, buf, pos))", path)
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
    """The tagged fields at a flexible struct's end: count, then (tag, size, bytes) by ascending tag."""
    source.add(1, "n = buf[pos]", "tags")
    source.add(1, "if n < 128: pos += 1", "tags")
    source.add(1, "else: n, pos = read_unsigned_varint(buf, pos)", "tags")
    source.add(1, "if n:", "tags")
    source.add(
        2,
        "if n > (end - pos) // 2: raise Malformed('claims %d fields, but %d bytes are left' % (n, end - pos))",
        "tags",
    )
    if source.counted:
        source.add(2, "spend(n)", "tags")
    source.add(2, "previous = -1", "tags")
    source.add(2, "for tag_index in range(n):", "tags")
    source.add(3, "tag, pos = read_unsigned_varint(buf, pos)", "tags")
    source.add(3, "if tag <= previous: raise Malformed('tag %d stands after tag %d' % (tag, previous))", "tags")
    source.add(3, "previous = tag", "tags")
    source.add(3, "size, pos = read_unsigned_varint(buf, pos)", "tags")
    source.add(
        3,
        "if size > end - pos: raise Malformed('tag %d claims %d bytes, but %d are left' % (tag, size, end - pos))",
        "tags",
    )
    source.add(3, "tag_end = pos + size", "tags")
    word = "if"
    for field in cls.FIELDS:
        if version in field.versions and version in field.tagged:
            source.add(3, f"{word} tag == {field.tag}:", field.name)
            # Reading stops at the tag's own end, so a hostile length cannot reach what follows it.
            source.add(4, "outer, end = end, tag_end", field.name)
            _decode_value(source, 4, field, f"m.{field.name}", field.name, version, True)
            source.add(4, "end = outer", field.name)
            source.add(
                4,
                "if pos != tag_end: raise Malformed('takes %d bytes of its %d' % (pos - tag_end + size, size))",
                field.name,
            )
            word = "elif"
    if word == "if":
        source.add(3, "if m.unknown_tags is None: m.unknown_tags = {}", "tags")
        source.add(3, "m.unknown_tags[tag] = bytes(buf[pos:tag_end])", "tags")
    else:
        source.add(3, "else:", "tags")
        source.add(4, "if m.unknown_tags is None: m.unknown_tags = {}", "tags")
        source.add(4, "m.unknown_tags[tag] = bytes(buf[pos:tag_end])", "tags")
    source.add(3, "pos = tag_end", "tags")
