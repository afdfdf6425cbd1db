"""Messages as JSON values, in the form of Kafka's own ``*JsonConverter`` classes.

Names are camelCase; bytes are base64, uuids Kafka's text form; tagged fields appear when they differ
from their default. Secrets, and values of configs that are secret, are masked unless ``reveal`` is asked for, so
traces and dumps are safe by default.
"""

from __future__ import annotations

import base64
from typing import Any

from kafka_tools.errors import EncodeError
from kafka_tools.protocol.codec import check_version
from kafka_tools.protocol.enums import TransactionState
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.schema import Message, Stored, Struct
from kafka_tools.protocol.secrets import is_secret
from kafka_tools.shown_text import MASK
from kafka_tools.values import uuid_text


def to_json(message: Message, version: int, *, reveal: bool = False, records: bool = True) -> dict[str, Any]:
    """The message as a JSON object in ``version``.

    ``records=False`` gives the size of record batches (``...SizeInBytes``) instead of their bytes.
    Raises EncodeError for a field that is set but does not exist in this version (unless ignorable).
    """
    check_version(type(message), version)
    return _struct_to_json(message, version, reveal, records)


def stored_to_json(value: Stored, version: int) -> dict[str, Any]:
    """The value of a record in an internal topic, as Kafka's tools show it: a transaction's state is a name.

    Kafka's tools do so since 4.4 (``TransactionLogMessageFormatter``), and show an unknown state as its number.
    """
    document = to_json(value, version)
    number = document.get("transactionStatus")
    if number is not None:
        known = 0 <= number < len(TransactionState.all)
        document["transactionStatus"] = TransactionState.all[number] if known else str(number)
    return document


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
