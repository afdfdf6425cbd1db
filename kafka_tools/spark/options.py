"""Options of the data sources: read, checked, unknown ones refused.

Spark hands over any option with any value and checks nothing, so that a typo would silently read too much.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_tools.errors import InputError
from kafka_tools.spark.files import normalised
from kafka_tools.spark.rows import Column, select

MIB = 1024 * 1024
DEFAULT_RANGE_BYTES = 64 * MIB
SMALLEST_RANGE_BYTES = 1024

OPTIONS = {
    "path": "the log directory to read, as for load(path)",
    "paths": "several log directories as a JSON array, as Spark writes it for load([path, ...])",
    "topics": "glob patterns of topics to read, separated by commas; all topics without it",
    "columns": "the columns to read, separated by commas; all without it",
    "rangeBytes": f"how many bytes of log one task reads, at least one batch; {DEFAULT_RANGE_BYTES} without it",
    "checkCrc": "true or false: whether each batch's CRC is checked; true without it",
    "countLegacy": "true or false: whether compressed batches of magic 0 and 1 are opened, for their record_count and "
    "base_offset, which their headers lack; false without it",
}


class ReadOptions(NamedTuple):
    """The options of one read: ``topics`` are glob patterns, empty for all; sizes in bytes."""

    paths: tuple[str, ...]
    topics: tuple[str, ...]
    columns: tuple[Column, ...]
    range_bytes: int
    check_crc: bool
    count_legacy: bool


def parse_options(given: Mapping[str, str], columns: Sequence[Column]) -> ReadOptions:
    """The options as values; InputError, naming option and value, for whatever is wrong.

    ``given`` is what Spark hands over: names in any case, values as text. ``columns`` are those of the table.
    """
    names = {name.lower(): name for name in OPTIONS}
    values: dict[str, str] = {}
    for name, value in given.items():
        if name.lower() not in names:
            raise InputError(f"option '{name}' does not exist: the options are {', '.join(OPTIONS)}")
        values[names[name.lower()]] = value
    return ReadOptions(
        paths=_paths(values),
        topics=_listed(values.get("topics", "")),
        columns=select(columns, _listed(values["columns"])) if "columns" in values else tuple(columns),
        range_bytes=_size("rangeBytes", values.get("rangeBytes", str(DEFAULT_RANGE_BYTES))),
        check_crc=_flag("checkCrc", values.get("checkCrc", "true")),
        count_legacy=_flag("countLegacy", values.get("countLegacy", "false")),
    )


def _paths(values: Mapping[str, str]) -> tuple[str, ...]:
    paths = [values["path"]] if "path" in values else []
    if "paths" in values:
        try:
            listed = json.loads(values["paths"])
        except ValueError as error:
            raise InputError(f"option 'paths' is no JSON array: {error}") from error
        if not isinstance(listed, list) or not all(isinstance(path, str) for path in listed):
            raise InputError("option 'paths' is no JSON array of strings")
        paths += listed
    if not paths:
        raise InputError("no log directory is given: use load(directory)")
    return tuple(dict.fromkeys(map(normalised, paths)))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _size(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < SMALLEST_RANGE_BYTES:
        raise InputError(f"option '{name}' is '{text}': a number of bytes is expected, at least {SMALLEST_RANGE_BYTES}")
    return int(text)


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InputError(f"option '{name}' is '{text}': true or false is expected")
    return text.lower() == "true"
