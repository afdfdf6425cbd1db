"""Messages as JSON values and back, in the form of Kafka's own ``*JsonConverter`` classes.

Names are camelCase; bytes are base64, uuids Kafka's text form; tagged fields appear when they differ
from their default. Secrets, and values of configs that are secret, are masked unless ``reveal`` is asked for, so
traces and dumps are safe by default.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Mapping
from typing import Any, TypeVar

from kafka_tools.errors import EncodeError, InputError
from kafka_tools.protocol.codec import check_version
from kafka_tools.protocol.enums import TransactionState
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.schema import Message, Stored, Struct
from kafka_tools.protocol.secrets import is_secret
from kafka_tools.shown_text import MASK
from kafka_tools.values import parse_uuid, uuid_text

M = TypeVar("M", bound=Message)


def to_json(message: Message, version: int, *, reveal: bool = False, records: bool = True) -> dict[str, Any]:
    """The message as a JSON object in ``version``.

    ``records=False`` gives the size of record batches (``...SizeInBytes``) instead of their bytes.
    Raises EncodeError for a field that is set but does not exist in this version (unless ignorable).
    """
    check_version(type(message), version)
    return _struct_to_json(message, version, reveal, records)


def stored_to_json(value: Stored, version: int) -> dict[str, Any]:
    """The value of a record in an internal topic, as Kafka's tools show it: with a transaction's state by its name.

    Kafka's tools did so first in 4.4 (``TransactionLogMessageFormatter``); a state that they do not know is its number.
    """
    document = to_json(value, version)
    number = document.get("transactionStatus")
    if number is not None:
        known = 0 <= number < len(TransactionState.all)
        document["transactionStatus"] = TransactionState.all[number] if known else str(number)
    return document


def from_json(cls: type[M], version: int, document: Mapping[str, Any]) -> M:
    """The message of a JSON object; InputError names the field that is missing, unknown or of the wrong type."""
    check_version(cls, version)
    message: M = _struct_from_json(cls, version, document, cls.__name__)
    return message


def _struct_to_json(value: Struct, version: int, reveal: bool, records: bool) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for field in value.FIELDS:
        item = getattr(value, field.name)
        if version not in field.versions:
            if not field.ignorable and item != field.make_default():
                raise EncodeError(
                    f"{type(value).__name__} v{version}: field {field.name} is set, but this version has no such field",
                    api=type(value).__name__,
                    version=version,
                    field=field.name,
                )
            continue
        if version in field.tagged and item == field.make_default():
            continue
        if field.kind == "records" and not records and item is not None:
            document[field.json_name + "SizeInBytes"] = len(item)
        elif item and not reveal and is_secret(value, field):
            document[field.json_name] = MASK
        else:
            document[field.json_name] = _value_to_json(field, item, version, reveal, records)
    return document


def _value_to_json(field: Field, value: Any, version: int, reveal: bool, records: bool) -> Any:
    if value is None:
        return None
    if field.kind == "array":
        return [_value_to_json(field.item, item, version, reveal, records) for item in value]
    if field.kind == "struct":
        return _struct_to_json(value, version, reveal, records)
    if field.kind in ("bytes", "records"):
        return base64.b64encode(value).decode("ascii")
    if field.kind == "uuid":
        return uuid_text(value)
    return value


def _struct_from_json(cls: type[Any], version: int, document: Any, path: str) -> Any:
    if not isinstance(document, Mapping):
        raise InputError(f"{path}: an object is expected, not {type(document).__name__}")
    values: dict[str, Any] = {}
    known = set()
    for field in cls.FIELDS:
        if version not in field.versions:
            continue
        known.add(field.json_name)
        if field.json_name in document:
            values[field.name] = _value_from_json(
                field, version, document[field.json_name], f"{path}.{field.json_name}", version in field.nullable
            )
        elif version not in field.tagged:
            raise InputError(f"{path}.{field.json_name} is missing")
    unknown = sorted(set(document) - known)
    if unknown:
        raise InputError(f"{path}: version {version} has no field {unknown[0]}")
    return cls(**values)


def _value_from_json(field: Field, version: int, value: Any, path: str, nullable: bool) -> Any:
    if value is None:
        if nullable or field.kind == "records":
            return None
        raise InputError(f"{path} must not be null in version {version}")
    if field.kind == "array":
        if not isinstance(value, list):
            raise InputError(f"{path}: a list is expected, not {type(value).__name__}")
        return [_value_from_json(field.item, version, v, f"{path}[{i}]", False) for i, v in enumerate(value)]
    if field.kind == "struct":
        return _struct_from_json(field.item, version, value, path)
    return _SCALARS.get(field.kind, _integer)(value, path)


def _integer(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{path}: a whole number is expected, not {value!r}")
    return value


def _boolean(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{path}: true or false is expected, not {value!r}")
    return value


def _float(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{path}: a number is expected, not {value!r}")
    return float(value)


def _string(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{path}: a string is expected, not {value!r}")
    return value


def _bytes(value: Any, path: str) -> bytes:
    try:
        return base64.b64decode(_string(value, path), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"{path}: base64 is expected") from error


def _uuid(value: Any, path: str) -> uuid.UUID:
    return parse_uuid(_string(value, path))


_SCALARS = {
    "boolean": _boolean,
    "float64": _float,
    "string": _string,
    "bytes": _bytes,
    "records": _bytes,
    "uuid": _uuid,
}
