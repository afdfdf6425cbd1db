"""Options of the data sources: reads and validates them, and refuses unknown ones.

Spark hands over any option with any value and checks nothing, so that a typo would silently read too much.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_tools.errors import InputError
from kafka_tools.spark.columns.tables import Column, select
from kafka_tools.spark.files import normalised
from kafka_tools.spark.selection import Selection, parse_partitions, parse_time

MIB = 1024 * 1024
DEFAULT_RANGE_BYTES = 64 * MIB
SMALLEST_RANGE_BYTES = 1024

_EVERYWHERE = {
    "path": "the log directory to read, as for load(path)",
    "paths": "several log directories as a JSON array, as Spark writes it for load([path, ...])",
    "topics": "glob patterns of the topics to read, separated by commas [default: all topics]",
    "partitions": "numbers of the partitions to read, for example 0,4-7 [default: all]",
    "columns": "the columns to read, separated by commas [default: all]",
}
_LOGS = {
    "minOffset": "the first offset to read",
    "maxOffset": "the last offset to read",
    "since": "the earliest time to read: milliseconds since 1970, or a time such as 2026-01-31T12:00:00Z",
    "until": "the end of the time range, exclusive, in the same form",
    "rangeBytes": f"bytes of log that one task reads, at least one batch [default: {DEFAULT_RANGE_BYTES}]",
    "checkCrc": "whether to check the CRC of each batch: true or false [default: true]",
    "startingOffsets": "where a new stream begins: earliest or latest [default: earliest]",
    "maxBytesPerTrigger": "approximate bytes of log that one micro-batch of a stream reads [default: no limit]",
}
BATCH_OPTIONS = (
    _EVERYWHERE
    | _LOGS
    | {
        "countLegacy": "whether to decompress batches of magic 0 and 1 for record_count and base_offset, which their "
        "headers lack: true or false [default: false]",
    }
)
RECORD_OPTIONS = (
    _EVERYWHERE | _LOGS | {"content": "whether to read key, value and headers: true or false [default: false]"}
)
FILE_OPTIONS = _EVERYWHERE
EARLIEST, LATEST = "earliest", "latest"


class ReadOptions(NamedTuple):
    """The options of one read; sizes in bytes, ``max_bytes_per_trigger`` None for no limit."""

    paths: tuple[str, ...]
    selection: Selection
    columns: tuple[Column, ...]
    range_bytes: int
    check_crc: bool
    count_legacy: bool
    starting_offsets: str = EARLIEST
    max_bytes_per_trigger: int | None = None


def parse_options(
    given: Mapping[str, str],
    columns: Sequence[Column],
    allowed: Mapping[str, str] = BATCH_OPTIONS,
    content: Sequence[Column] = (),
) -> ReadOptions:
    """The options as values; InputError, naming option and value, for invalid ones.

    ``given`` is what Spark hands over: names in any case, values as text. ``columns`` are those of the table,
    ``content`` further ones that it has when they are asked for, ``allowed`` the names of the table's options.
    """
    names = {name.lower(): name for name in allowed}
    values: dict[str, str] = {}
    for name, value in given.items():
        if name.lower() not in names:
            raise InputError(f"unknown option '{name}': expected one of {', '.join(allowed)}")
        values[names[name.lower()]] = value
    everything = (*columns, *content)
    default = everything if _flag("content", values.get("content", "false")) else tuple(columns)
    starting = values.get("startingOffsets", EARLIEST).lower()
    if starting not in (EARLIEST, LATEST):
        raise InputError(f"invalid option 'startingOffsets' '{starting}': expected {EARLIEST} or {LATEST}")
    return ReadOptions(
        paths=_paths(values),
        selection=_selection(values),
        columns=select(everything, _listed(values["columns"])) if "columns" in values else default,
        range_bytes=_size("rangeBytes", values.get("rangeBytes", str(DEFAULT_RANGE_BYTES))),
        check_crc=_flag("checkCrc", values.get("checkCrc", "true")),
        count_legacy=_flag("countLegacy", values.get("countLegacy", "false")),
        starting_offsets=starting,
        max_bytes_per_trigger=(
            _size("maxBytesPerTrigger", values["maxBytesPerTrigger"]) if "maxBytesPerTrigger" in values else None
        ),
    )


def _selection(values: Mapping[str, str]) -> Selection:
    partitions = parse_partitions(values["partitions"]) if "partitions" in values else None
    parsers = {"minOffset": _offset, "maxOffset": _offset, "since": parse_time, "until": parse_time}
    bounds = [parse(name, values[name]) if name in values else None for name, parse in parsers.items()]
    return Selection(_listed(values.get("topics", "")), None, partitions, *bounds)


def _paths(values: Mapping[str, str]) -> tuple[str, ...]:
    paths = [values["path"]] if "path" in values else []
    if "paths" in values:
        try:
            listed = json.loads(values["paths"])
        except ValueError as error:
            raise InputError(f"invalid option 'paths': expected a JSON array: {error}") from error
        if not isinstance(listed, list) or not all(isinstance(path, str) for path in listed):
            raise InputError("invalid option 'paths': expected a JSON array of strings")
        paths += listed
    if not paths:
        raise InputError("no log directory: use load(directory)")
    return tuple(dict.fromkeys(map(normalised, paths)))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _size(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < SMALLEST_RANGE_BYTES:
        raise InputError(
            f"invalid option '{name}' '{text}': expected a number of bytes, at least {SMALLEST_RANGE_BYTES}"
        )
    return int(text)


def _offset(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise InputError(f"invalid option '{name}' '{text}': expected an offset of at least 0")
    return int(text)


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InputError(f"invalid option '{name}' '{text}': expected true or false")
    return text.lower() == "true"
