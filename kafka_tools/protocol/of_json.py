"""From JSON to a message: the reverse of ``as_json``, strict in names, types and ranges."""

from __future__ import annotations

import base64
import binascii
from typing import Any, TypeVar

from kafka_tools.errors import InputError
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.schema import Message, Struct
from kafka_tools.values import parse_uuid

M = TypeVar("M", bound=Message)
S = TypeVar("S", bound=Struct)

_RANGES = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}


def from_json(cls: type[M], document: Any, version: int) -> M:
    """The message of a JSON object in ``version``. Members that are left out have their defaults.

    Raises InputError with the path of a member that does not exist in this version, or has a value of another type.
    """
    return _struct(cls, document, version, "")


def template(cls: type[Struct], version: int) -> dict[str, Any]:
    """All members in ``version`` with their defaults; each array of structs has one element."""
    made = cls()
    return {
        field.json_name: [template(field.item.item, version)] if field.holds_structs else _default(field, made, version)
        for field in cls.FIELDS
        if version in field.versions
    }


def _default(field: Field, made: Struct, version: int) -> Any:
    value = getattr(made, field.name)
    if isinstance(value, Struct):
        return template(type(value), version)
    if field.kind == "uuid":
        return "AAAAAAAAAAAAAAAAAAAAAA"
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value


def _struct(cls: type[S], document: Any, version: int, path: str) -> S:
    if not isinstance(document, dict):
        raise InputError(f"invalid {path or 'request'}: expected an object")
    fields = {field.json_name: field for field in cls.FIELDS if version in field.versions}
    for name in document:
        if name not in fields:
            from kafka_tools.texts.near_names import near_names

            others = near_names(str(name), fields) or list(fields) or ["no members"]
            raise InputError(f"unknown {_at(path, name)} in version {version}: expected {', '.join(others)}")
    values = {
        field.name: _value(field, document[name], version, _at(path, name))
        for name, field in fields.items()
        if name in document
    }
    return cls(**values)


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _value(field: Field, value: Any, version: int, path: str) -> Any:
    kind = field.kind
    if value is None:
        if version not in field.nullable:
            raise InputError(f"invalid {path}: it cannot be null in version {version}")
        return None
    if kind == "array":
        if not isinstance(value, list):
            raise InputError(f"invalid {path}: expected an array")
        return [_value(field.item, each, version, f"{path}[{at}]") for at, each in enumerate(value)]
    if kind == "struct":
        return _struct(field.item, value, version, path)
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind in _RANGES and isinstance(value, int) and not isinstance(value, bool):
        low, high = _RANGES[kind]
        if not low <= value <= high:
            raise InputError(f"invalid {path}: {value} is not between {low} and {high}")
        return value
    if kind == "float64" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        if kind == "string":
            return value
        if kind == "uuid":
            return parse_uuid(value)
        if kind in ("bytes", "records"):
            try:
                return base64.b64decode(value, validate=True)
            except binascii.Error as error:
                raise InputError(f"invalid {path}: expected base64") from error
    expected = {"uuid": "an id such as AAAAAAAAAAAAAAAAAAAAAA", "bytes": "base64", "records": "base64"}.get(kind, kind)
    raise InputError(f"invalid {path}: expected {expected}")
