"""From an API's key or stem to its messages, importing one definition module at most.

``rows`` comes from the derived index, so that listing and negotiating versions import nothing.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import NamedTuple

from kafka_tools.errors import UnsupportedVersion
from kafka_tools.protocol._index import ROWS
from kafka_tools.protocol.schema import Request, Response


class Row(NamedTuple):
    """The row of an API in the index; ``flexible_from`` is None if no version is flexible.

    ``oldest_since_4`` is the oldest version that brokers support since Kafka 4.0.
    """

    key: int
    stem: str
    name: str
    min_version: int
    max_version: int
    flexible_from: int | None
    latest_unstable: bool
    oldest_since_4: int


class Api(NamedTuple):
    """A request/response pair."""

    key: int
    stem: str
    name: str
    request: type[Request]
    response: type[Response]


@cache
def rows() -> tuple[Row, ...]:
    """Every API, by ascending key."""
    return tuple(Row(*values) for values in ROWS)


@cache
def _by_key() -> dict[int, Row]:
    return {row.key: row for row in rows()}


@cache
def _by_stem() -> dict[str, Row]:
    return {row.stem: row for row in rows()}


def find_row(key: int) -> Row | None:
    """The row of an API key, or None for a key that Kafka does not have."""
    return _by_key().get(key)


def row_by_key(key: int) -> Row:
    """The row of an API key; UnsupportedVersion for an unknown one."""
    row = _by_key().get(key)
    if row is None:
        raise UnsupportedVersion(f"no API has the key {key}; keys are 0 to {rows()[-1].key}")
    return row


def row_by_stem(stem: str) -> Row:
    """The row of a stem such as "delete_records"; UnsupportedVersion for an unknown one."""
    row = _by_stem().get(stem)
    if row is None:
        raise UnsupportedVersion(f"no API is called {stem}")
    return row


def key_of(stem: str) -> int:
    """The key of an API by its stem; UnsupportedVersion for an unknown one."""
    return row_by_stem(stem).key


def api(key_or_stem: int | str) -> Api:
    """The API's messages, imported on demand; UnsupportedVersion for an unknown key or stem."""
    row = row_by_key(key_or_stem) if isinstance(key_or_stem, int) else row_by_stem(key_or_stem)
    return _load(row)


@cache
def _load(row: Row) -> Api:
    module = import_module(f"kafka_tools.protocol.messages.{row.stem}")
    return Api(
        row.key, row.stem, row.name, getattr(module, f"{row.name}Request"), getattr(module, f"{row.name}Response")
    )
