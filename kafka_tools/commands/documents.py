"""Versioned JSON documents that commands read: parse, version, contents, with the place of every mistake.

A document is checked in Kafka's order (parse, version, then its fields), with Kafka's messages for the three mistakes
that Kafka names. For other mistakes the message contains the file and the path inside it. The JSON Schema under
``schemas/`` defines valid documents. ``check`` implements only the keywords that those files use, because jsonschema
takes 77 ms to import. A test runs both over the same documents and requires the same result.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn

from kafka_tools.errors import ContradictoryInput, InputError
from kafka_tools.output.kafka.java_words import hash_order, partition_hash
from kafka_tools.values import TopicPartition

Schema = dict[str, Any]

_MAX_LISTED = 10
_MAX_COUNTED = 10_000
"""Maximum number of mistakes that are listed, and of further ones that are counted."""
_NOT_JSON = "The input string is not a valid JSON"


def read_delete_records(text: str, place: str) -> dict[TopicPartition, int]:
    """Partition -> first offset to keep, in the order of the file; InputError if the document is not valid.

    ``place`` names the file in messages. A duplicate partition is an error.
    """
    document = versioned(text, place, supported=1)
    if "partitions" not in document:
        raise InputError("Missing partitions field", hint=f'{place}: the document needs a list "partitions"')
    check_all(document, schema("delete-records.v1"), place)
    offsets: dict[TopicPartition, int] = {}
    duplicates = []
    for entry in document["partitions"]:
        partition = TopicPartition(entry["topic"], entry["partition"])
        if partition in offsets:
            duplicates.append(str(partition))
        offsets.setdefault(partition, entry["offset"])
    if duplicates:
        listed = ",".join(dict.fromkeys(duplicates))
        raise ContradictoryInput(
            f"Offset json file contains duplicate topic partitions: {listed}",
            hint=f"{place}: give one offset per partition; nothing was deleted",
        )
    return offsets


def read_elections(text: str, place: str) -> list[TopicPartition]:
    """The partitions of an election, in the order of the file; InputError if the document is not valid.

    Checks in LeaderElectionCommand's order: text that is not JSON, a missing list, its entries, duplicate partitions.
    """
    document = parse(text, place, "Replica election data is empty")
    if isinstance(document, dict) and "partitions" not in document:
        raise InputError(
            'Replica election data is missing "partitions" field',
            hint=f'{place}: the document needs a list "partitions"',
        )
    check_all(document, schema("leader-election.v1"), place)
    partitions = [TopicPartition(entry["topic"], entry["partition"]) for entry in document["partitions"]]
    duplicates = [each for each, times in Counter(partitions).items() if times > 1]
    if duplicates:
        listed = ", ".join(map(str, hash_order(duplicates, partition_hash)))
        raise ContradictoryInput(
            f"Replica election data contains duplicate partitions: [{listed}]",
            hint=f"{place}: name each partition once; no leader was elected",
        )
    return partitions


def parse(text: str, place: str, message: str = _NOT_JSON) -> Any:
    """The value of a JSON text; ``message`` is the command's error for text that is not JSON.

    A duplicate key in one object is an error: one of the two would be lost.

    A number with a fraction or an exponent is never an integer here (``1.0`` is not 1), as in Kafka.
    """

    def whole(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
            raise InputError(f"{place}: the key '{twice}' appears twice in one object")
        return result

    try:
        value = json.loads(
            text,
            object_pairs_hook=whole,
            parse_float=Decimal,
            parse_constant=_not_json,
        )
    except json.JSONDecodeError as error:
        where = f"{place}, line {error.lineno} column {error.colno}: {error.msg}"
        raise InputError(message, hint=where) from error
    except (RecursionError, ValueError, ArithmeticError) as error:
        raise InputError(message, hint=f"{place}: {_reason(error)}") from error
    half = _half_of_a_character(value) if _HALF.search(text) else None
    if half is not None:
        raise InputError(f"{place}: invalid string: unpaired surrogate {half}")
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, ArithmeticError):
        return "the exponent of a number is out of range"
    text = str(error)
    # Python's own text addresses programmers.
    return "a number has too many digits" if "set_int_max_str_digits" in text else text


_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def _half_of_a_character(value: Any) -> str | None:
    """The escape of a lone surrogate in a text of ``value``, which no request can contain; None if there is none."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        return f"\\u{ord(error.object[error.start]):04x}"
    return None


def schema(name: str) -> Schema:
    """The JSON Schema ``name``, from the package or from the checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = os.path.join(package, "_schemas")
    if not os.path.isdir(folder):
        folder = os.path.join(os.path.dirname(package), "schemas")
    with open(os.path.join(folder, f"{name}.schema.json"), encoding="utf-8") as file:
        loaded: Schema = json.load(file)
    return loaded


def check_all(document: Any, schema: Schema, place: str) -> None:
    """Raise InputError if ``document`` violates ``schema``. The first mistake is the message, others are its hint."""
    if rule(schema)(document):
        return
    mistakes = check(document, schema)
    told = list(itertools.islice(mistakes, _MAX_LISTED))
    more = sum(1 for _ in itertools.islice(mistakes, _MAX_COUNTED + 1))  # a document may be wrong in millions of places
    if told:
        further = f"more than {_MAX_COUNTED}" if more > _MAX_COUNTED else f"{more}"
        shown = [*told[1:], *([f"and {further} more"] if more else [])]
        raise InputError(f"{place}: {told[0]}", hint="\n".join(shown) or None)


def check(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """The mistakes in ``value``, each as ``path: reason``, by the keywords that our schemas use."""
    name = path or "document"
    wanted = schema.get("type")
    if wanted is not None and not _is(value, wanted):
        yield f"invalid {name}: expected {_article(wanted)}, not {_kind(value)}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"invalid {name} {value}: expected {schema['const']}"
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        yield f"{name} is empty"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"invalid {name} {value}: expected at least {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        yield f"invalid {name} {value}: expected at most {schema['maximum']}"
    if isinstance(value, dict):
        for key in schema.get("required", ()):
            if key not in value:
                yield f"{_join(path, key)} is missing"
        for key, inner in schema.get("properties", {}).items():
            if key in value:
                yield from check(value[key], inner, _join(path, key))
    if isinstance(value, list) and "items" in schema:
        for at, each in enumerate(value):
            yield from check(each, schema["items"], f"{path}[{at}]")


_SILENT = {"$schema", "$id", "title", "description", "examples", "type"}
"""Keywords that a rule ignores. The caller of a rule checks ``type``."""


def rule(schema: Schema) -> Callable[[Any], bool]:
    """A function that says whether ``check`` finds no mistake in a value, for documents with many entries.

    It supports the few keywords of entries. For a schema with other keywords it calls ``check``.
    """
    wanted = schema.get("type")
    words = schema.keys() - _SILENT
    if wanted == "object" and words <= {"properties", "required"}:
        return _object_rule(schema.get("properties", {}), schema.get("required", ()))
    if wanted == "array" and words == {"items"}:
        each = rule(schema["items"])
        return lambda value: type(value) is list and all(map(each, value))
    if wanted == "string" and words <= {"minLength"}:
        shortest = schema.get("minLength", 0)
        return lambda value: type(value) is str and len(value) >= shortest
    if wanted == "integer" and words == {"minimum", "maximum"}:
        low, high = schema["minimum"], schema["maximum"]
        return lambda value: type(value) is int and low <= value <= high
    return lambda value: next(check(value, schema), None) is None


def _object_rule(properties: Mapping[str, Schema], required: Sequence[str]) -> Callable[[Any], bool]:
    members = [(key, rule(inner), key in required) for key, inner in properties.items()]
    others = [key for key in required if key not in properties]

    def holds(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for key, each, is_needed in members:
            if key in value:
                if not each(value[key]):
                    return False
            elif is_needed:
                return False
        return all(key in value for key in others)

    return holds


def versioned(text: str, place: str, supported: int) -> dict[str, Any]:
    """The object in a JSON text. Its version must be ``supported``, which is also the default."""
    document = parse(text, place)
    if not isinstance(document, dict):
        raise InputError(f"{place}: invalid document: expected an object, not {_kind(document)}")
    version = document.get("version", supported)
    if not _is(version, "integer"):
        raise InputError(f"{place}: invalid version: expected an integer, not {_kind(version)}")
    if version != supported:
        raise InputError(f"Not supported version field value {version}", hint=f"{place}: use version {supported}")
    return document


_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, Decimal),
    "boolean": bool,
}


def _is(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    return isinstance(value, _TYPES[wanted])


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, Decimal):
        return f"the number {value}"
    return next(_article(name) for name in ("boolean", *_TYPES) if _is(value, name))


def _article(wanted: str) -> str:
    return f"an {wanted}" if wanted[0] in "aio" else f"a {wanted}"


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"invalid {name}: expected a JSON number")
