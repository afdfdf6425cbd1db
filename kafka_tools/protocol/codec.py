"""Encoders and decoders, compiled per (struct, version) on first use and kept.

The generated functions check only lengths. When Python itself raises an error (buffer too short, not UTF-8, value out
of range), the line of the generated source identifies the field, and its local variables contain position and array
index. So exact error messages cost nothing on the common path. Generated sources read like hand-written ones:
``source_of`` shows them.
"""

from __future__ import annotations

import struct as _struct
import threading
from collections.abc import Callable, Mapping
from functools import cache
from types import TracebackType
from typing import Any, NoReturn, TypeVar, cast

from kafka_tools.errors import DecodeError, EncodeError, TooManyElements, UnsupportedVersion, WireError
from kafka_tools.protocol.codec_source import FieldRun, Malformed, Source, TooMany
from kafka_tools.protocol.decoder_source import decoder_source
from kafka_tools.protocol.encoder_source import encoder_source
from kafka_tools.protocol.primitives import Buffer, read_unsigned_varint, write_unsigned_varint
from kafka_tools.protocol.schema import ApiMessage, Message, Stored, Struct

M = TypeVar("M", bound=Message)
S = TypeVar("S", bound=Struct)

_FILE_PREFIX = "<codec "
_LINES: dict[str, dict[int, str | FieldRun]] = {}
"""For each generated source: line number -> field path, with ``{i}`` for an array index."""

_FAULTS = (_struct.error, IndexError, ValueError, Malformed, AttributeError, TypeError, OverflowError)


def encode(message: Message, version: int) -> bytes:
    """The bytes of ``message`` in ``version``.

    Raises EncodeError for a value out of range, for None where null is not allowed, and for a non-default value of a
    field that this version lacks (unless declared ignorable). Raises UnsupportedVersion for a version that the message
    does not have.
    """
    out = bytearray()
    encode_into(message, version, out)
    return bytes(out)


def encode_into(message: Message, version: int, out: bytearray) -> None:
    """Append the bytes of ``message`` in ``version`` to ``out``; errors as ``encode``."""
    encode = message.ENCODERS.get(version) or _ready_encoder(type(message), version)
    try:
        encode(message, out)
    except _FAULTS as fault:
        _raise_located(fault, EncodeError, type(message), version)


def decode(cls: type[M], version: int, buffer: Buffer) -> M:
    """The message in ``buffer``. Raises DecodeError, also for bytes after the message."""
    message, end = decode_prefix(cls, version, buffer)
    refuse_left_over(cls, version, end, buffer)
    return message


def decode_prefix(
    cls: type[M], version: int, buffer: Buffer, position: int = 0, *, text_errors: str = "strict"
) -> tuple[M, int]:
    """(message, position after it) from ``position`` on. Raises DecodeError or UnsupportedVersion.

    ``text_errors``: the handler of ``codecs.register_error`` for strings that are not UTF-8.
    """
    decode = cls.DECODERS.get(version if text_errors == "strict" else (version, text_errors))
    if decode is None:
        decode = _ready_decoder(cls, version, text_errors)
    try:
        return decode(buffer, position, len(buffer))
    except _FAULTS as fault:
        _raise_located(fault, DecodeError, cls, version)


def _ready_encoder(cls: type[Message], version: int) -> Callable[[Any, bytearray], None]:
    """Compile the encoder of a whole message, and keep it by version. Raises UnsupportedVersion."""
    check_version(cls, version)
    found = cls.ENCODERS[version] = encoder(cls, version, version in cls.FLEXIBLE, issubclass(cls, ApiMessage))
    return found


def _ready_decoder(cls: type[Message], version: int, text_errors: str) -> Callable[[Buffer, int, int], tuple[Any, int]]:
    """Compile the decoder of a whole message, and keep it by version. Raises UnsupportedVersion."""
    check_version(cls, version)
    found = decoder(cls, version, version in cls.FLEXIBLE, text_errors, False)
    cls.DECODERS[version if text_errors == "strict" else (version, text_errors)] = found
    return found


_elements = threading.local()
"""The number of elements that the decoding on this thread may still create."""


def decode_counted(cls: type[M], version: int, buffer: Buffer, position: int = 0, *, most: int) -> tuple[M, int]:
    """As ``decode_prefix``, but creates at most ``most`` elements of arrays. For messages from untrusted senders.

    A byte of a message may need a hundred in memory. Raises TooManyElements before it creates them.
    """
    decode = cls.COUNTED_DECODERS.get(version)
    if decode is None:
        check_version(cls, version)
        decode = cls.COUNTED_DECODERS[version] = decoder(cls, version, version in cls.FLEXIBLE, "strict", True)
    _elements.left = most
    try:
        return decode(buffer, position, len(buffer))
    except TooMany as fault:
        _raise_located(fault, TooManyElements, cls, version)
    except _FAULTS as fault:
        _raise_located(fault, DecodeError, cls, version)


def _spend(elements: int) -> None:
    _elements.left -= elements
    if _elements.left < 0:
        raise TooMany(f"claims {elements} items, more than fit in the rest of the message")


def encode_versioned(message: Stored, version: int) -> bytes:
    """The stored form of the internal topics: an int16, then the message in ``version``.

    The int16 is the type (``ID``) before a key, and the version before anything else.
    """
    out = bytearray(_struct.pack(">h", version if message.ID is None else message.ID))
    encode_into(message, version, out)
    return bytes(out)


def decode_versioned(
    classes: Mapping[int, type[Stored]], buffer: Buffer, *, text_errors: str = "strict"
) -> tuple[int, Stored]:
    """(number, message) of the stored form. ``classes`` maps the int16 at the start to its struct.

    Raises DecodeError for invalid bytes, and UnsupportedVersion for a number that is not in ``classes``.
    """
    if len(buffer) < 2:
        raise DecodeError(f"expected a version number of 2 bytes, not {len(buffer)} bytes", position=0, field="version")
    (number,) = _struct.unpack_from(">h", buffer)
    cls = classes.get(number)
    if cls is None:
        raise UnsupportedVersion(f"unknown version or type {number}", version=number, position=0)
    version = number if cls.ID is None else 0
    message, end = decode_prefix(cls, version, buffer, 2, text_errors=text_errors)
    refuse_left_over(cls, version, end, buffer)
    return number, message


@cache
def encoder(cls: type[Struct], version: int, flexible: bool, bounded: bool) -> Callable[[Any, bytearray], None]:
    """The compiled ``encode(message, out)`` of a struct in one version."""
    source = encoder_source(cls, version, flexible, bounded=bounded)
    return _compile(cls, source, "encode", version, flexible)


@cache
def decoder(
    cls: type[Struct], version: int, flexible: bool, text_errors: str, counted: bool
) -> Callable[[Buffer, int, int], tuple[Any, int]]:
    """The compiled ``decode(buffer, position, end)`` of a struct in one version."""
    source = decoder_source(cls, version, flexible, text_errors, counted=counted)
    return _compile(cls, source, "decode", version, flexible)


def source_of(cls: type[Message], version: int) -> str:
    """The generated Python source of encoder and decoder, for readers."""
    flexible = version in cls.FLEXIBLE
    bounded = issubclass(cls, ApiMessage)
    parts = (encoder_source(cls, version, flexible, bounded=bounded), decoder_source(cls, version, flexible))
    return "\n\n".join("\n".join(line for line, _ in part.lines) for part in parts)


def _compile(cls: type[Struct], source: Source, verb: str, version: int, flexible: bool) -> Callable[..., Any]:
    kind = f"{verb}{' counted' if source.counted else ''}{' bounded' if source.bounded else ''}"
    filename = f"{_FILE_PREFIX}{kind} {cls.__module__}.{cls.__qualname__} v{version}{' flexible' if flexible else ''}>"
    scope: dict[str, Any] = {
        "Malformed": Malformed,
        "read_unsigned_varint": read_unsigned_varint,
        "spend": _spend,
        "write_unsigned_varint": write_unsigned_varint,
        **source.scope,
    }
    for name, nested in source.nested.items():
        if verb == "encode":
            scope[name] = encoder(nested, version, flexible, source.bounded)
        else:
            scope[name] = decoder(nested, version, flexible, source.text_errors, source.counted)
    code = compile("\n".join(line for line, _ in source.lines), filename, "exec")
    exec(code, scope)
    _LINES[filename] = {number: path for number, (_, path) in enumerate(source.lines, 1) if path}
    return cast("Callable[..., Any]", scope[verb])


def refuse_left_over(cls: type[Message], version: int, end: int, buffer: Buffer) -> None:
    """Raise DecodeError unless the message ends at the end of the buffer."""
    if end != len(buffer):
        raise DecodeError(
            f"{cls.__name__} v{version}: {len(buffer) - end} bytes left over at position {end}",
            api=cls.__name__,
            version=version,
            position=end,
            field="",
        )


def check_version(cls: type[Message], version: int) -> None:
    """Raise UnsupportedVersion for a version that the message does not have."""
    if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
        raise UnsupportedVersion(
            f"Version {version} is not valid. Valid versions for {cls.__name__} are "
            f"{cls.MIN_VERSION} to {cls.MAX_VERSION}",
            api=cls.__name__,
            version=version,
        )


def _find_misfit(local: Mapping[str, Any], place: str) -> tuple[str, str | None]:
    """(path, problem) of the field in ``place`` whose value has a wrong type. ``place`` may contain several fields."""
    from kafka_tools.protocol.types import misfit

    owner = local.get("m")
    fields = {field.name: field for field in owner.FIELDS} if isinstance(owner, Struct) else {}
    for name in place.split("/"):
        field = fields.get(name.removesuffix("[{i}]"))
        if field is None:
            continue
        if name.endswith("[{i}]") and "item" in local:
            complaint = misfit(field.item, local["item"])
        else:
            complaint = misfit(field, getattr(owner, field.name))
            if complaint is None and field.kind == "array":
                complaints = (misfit(field.item, item) for item in getattr(owner, field.name) or ())
                complaint = next(filter(None, complaints), None)
        if complaint is not None:
            return name, complaint
    return place.split("/")[0], None


def _raise_located(fault: Exception, kind: type[WireError], cls: type[Message], version: int) -> NoReturn:
    """Raise ``kind`` with the field path and position from the generated frames of the traceback."""
    path: list[str] = []
    misfit: str | None = None
    position: int | None = None
    end = 0
    traceback: TracebackType | None = fault.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        lines = _LINES.get(frame.f_code.co_filename)
        if lines is not None:
            local = frame.f_locals
            position = local.get("pos", position)
            end = local.get("end", end)
            place = lines.get(traceback.tb_lineno, "")
            if isinstance(place, FieldRun):
                name, before = place.field_at(end - (position or 0))
                path.append(name)
                position = (position or 0) + before
            else:
                name = place
                if kind is EncodeError:
                    name, misfit = _find_misfit(local, place)
                path.append(name.format(i=local.get("i", 0)))
        traceback = traceback.tb_next
    if not path:  # an exception from outside generated sources is a bug: raise it unchanged
        raise fault
    field = ".".join(part for part in path if part)
    if isinstance(fault, (IndexError, _struct.error)) and kind is not EncodeError:
        what = f"needs more than the {max(0, end - (position or 0))} bytes left"
    elif isinstance(fault, UnicodeDecodeError):
        what = f"is not UTF-8: {fault.reason}"
    else:
        what = misfit or str(fault)
    at = "" if position is None or kind is EncodeError else f" at position {position}"
    raise kind(
        f"{cls.__name__} v{version}: field {field or '(end)'}{at}: {what}",
        api=cls.__name__,
        version=version,
        position=position if kind is not EncodeError else None,
        field=field,
    ) from fault
