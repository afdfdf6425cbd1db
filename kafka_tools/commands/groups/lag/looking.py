"""One look at groups: a row for each partition with its lag in records and in time.

* Lag in time: the first record at or after the committed offset is read. Its timestamp is the creation time or the time
  of the append, as the topic says. Where that record was deleted, the time is unknown, with the reason.
* Lag behind an open transaction: records at or after the last stable offset (LSO), which consumers with
  ``read_committed`` cannot read yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.offsets import EARLIEST, LATEST
from kafka_tools.commands.first_records import first_records
from kafka_tools.commands.groups import rows as group_rows
from kafka_tools.errors import AuthorizationFailed, KafkaToolsError, NetworkError
from kafka_tools.net.broker_errors import has_code
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError
from kafka_tools.protocol import error_codes
from kafka_tools.records.record import Record
from kafka_tools.shown_text import counted
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient, GroupDescription

Position = tuple[TopicPartition, int]
"""A partition and a committed offset."""


class LagLook(NamedTuple):
    """The state of groups at a time: a row for each partition, and the items that failed.

    ``at_ms``: since the epoch; ``at_s``: on the monotonic scale of the clock.
    """

    at_ms: int
    at_s: float
    rows: list[Row]
    errors: list[ItemError]


class _Age(NamedTuple):
    """The oldest unread record, or why it is unknown. Both None: there is no unread record, only markers."""

    record: Record | None
    unknown: str | None = None


def look(
    admin: AdminClient, groups: Sequence[GroupDescription], wanted: Callable[[TopicPartition], bool] | None = None
) -> LagLook:
    """Look once. Only offsets of ``wanted`` partitions count."""
    made = group_rows.offsets(admin, groups, wanted)
    rows = [row for found, _ in made.values() for row in found]
    errors = [error for _, failed in made.values() for error in failed]
    clock = admin.deadline().clock
    at_ms, at_s = clock.now_ms(), clock.monotonic_s()
    ends = {_key(row): row["log_end_offset"] for row in rows if row["log_end_offset"] is not None}
    stable, failures = _last_stable_offsets(admin, [_key(row) for row in rows if row["lag"]])
    errors += failures
    ages = _ages(admin, ends, {(_key(row), row["current_offset"]) for row in rows if row["lag"]}, errors)
    return LagLook(at_ms, at_s, [_row(row, stable.get(_key(row)), ages, at_ms) for row in rows], errors)


def _key(row: Row) -> TopicPartition:
    return TopicPartition(row["topic"], row["partition"])


def _last_stable_offsets(
    admin: AdminClient, keys: Iterable[TopicPartition]
) -> tuple[dict[TopicPartition, int], list[ItemError]]:
    specs = dict.fromkeys(sorted(set(keys)), LATEST)
    outcomes = admin.list_offsets(specs, read_committed=True) if specs else None
    if outcomes is None:
        return {}, []
    errors = [ItemError.of(f"last stable offset of {key}", error) for key, error in outcomes.failures().items()]
    return {key: value.offset for key, value in outcomes.succeeded().items()}, errors


def _ages(
    admin: AdminClient, ends: Mapping[TopicPartition, int], positions: set[Position], errors: list[ItemError]
) -> dict[Position, _Age]:
    """The oldest unread records. If a broker does not respond, ``errors`` gets an item."""
    found: dict[Position, _Age] = {}
    for key, offset in positions:
        if offset > ends[key]:
            found[key, offset] = _Age(None, f"offset {offset} is after the end of the log ({ends[key]})")
    open_positions = positions - found.keys()
    out_of_range: list[Position] = []
    for each in _rounds(open_positions):
        for key, outcome in first_records(admin, each).items():
            position = (key, each[key])
            if has_code(outcome.error, error_codes.OFFSET_OUT_OF_RANGE):
                out_of_range.append(position)
            elif outcome.error is not None:
                if isinstance(outcome.error, NetworkError):
                    errors.append(ItemError.of(f"record {each[key]} of {key}", outcome.error))
                found[position] = _Age(None, _reason(key, outcome.error))
            elif outcome.value is not None and outcome.value.timestamp < 0:
                found[position] = _Age(outcome.value, f"record {outcome.value.offset} has no timestamp")
            else:
                found[position] = _Age(outcome.value)
    starts = admin.list_offsets(dict.fromkeys((key for key, _ in out_of_range), EARLIEST)) if out_of_range else {}
    for key, offset in out_of_range:
        told = starts[key].value
        start = "" if told is None else f": the log starts at {told.offset}"
        found[key, offset] = _Age(None, f"record {offset} was deleted{start}")
    return found


def _rounds(positions: Iterable[Position]) -> list[dict[TopicPartition, int]]:
    """The positions in requests that name each partition once."""
    rounds: list[dict[TopicPartition, int]] = []
    counts: dict[TopicPartition, int] = {}
    for key, offset in sorted(positions):
        number = counts[key] = counts.get(key, -1) + 1
        if number == len(rounds):
            rounds.append({})
        rounds[number][key] = offset
    return rounds


def _reason(key: TopicPartition, error: KafkaToolsError) -> str:
    if isinstance(error, AuthorizationFailed):
        return f"reading needs READ on topic {key.topic}"
    return f"cannot read the record: {error}"


def _row(row: Row, stable: int | None, ages: Mapping[Position, _Age], at_ms: int) -> Row:
    offset, end, lag = row["current_offset"], row["log_end_offset"], row["lag"]
    age = ages.get((_key(row), offset), _Age(None)) if lag else _Age(None)
    blocked = 0
    notes = []
    if lag is None:
        notes.append("no committed offset" if offset is None else "the partition does not exist")
    elif lag and stable is not None and stable < end:
        blocked = max(0, end - max(offset, stable))
    if blocked:
        held = counted(blocked, "record", "records")
        notes.append(f"an open transaction holds back {held} from read_committed (last stable offset {stable})")
    if age.unknown is not None:
        notes.append(f"age unknown: {age.unknown}")
    elif lag and age.record is None:
        notes.append("no record is unread, only transaction markers or compacted offsets")
    elif lag and age.record is not None and age.record.offset > offset:
        notes.append(f"the next record is at {age.record.offset}")
    known = None if age.unknown is not None or lag is None else age.record
    return {
        "group": row["group"],
        "topic": row["topic"],
        "partition": row["partition"],
        "consumer_id": row["consumer_id"],
        "host": row["host"],
        "client_id": row["client_id"],
        "partitions": 1,
        "with_lag": int(lag is None or lag != 0),
        "current_offset": offset,
        "log_end_offset": end,
        "last_stable_offset": end if lag == 0 else stable,
        "lag": lag,
        "blocked": blocked,
        "oldest_unread_ms": None if known is None else known.timestamp,
        "age_ms": None if lag is None or age.unknown is not None else 0 if known is None else at_ms - known.timestamp,
        "note": "; ".join(notes) or None,
    }
