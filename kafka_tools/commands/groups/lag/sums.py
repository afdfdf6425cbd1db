"""Sums of partitions by topic, group or member, their rates between two looks, and their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_tools.commands.groups.lag.looking import LagLook
from kafka_tools.output.cells import Row
from kafka_tools.shown_text import counted

_NAMES: dict[str, tuple[str, ...]] = {
    "all": (),
    "partition": ("group", "topic", "partition", "consumer_id", "host", "client_id"),
    "topic": ("group", "topic"),
    "group": ("group",),
    "member": ("group", "consumer_id", "host", "client_id"),
}
_OF_A_PARTITION = ("current_offset", "log_end_offset", "last_stable_offset")
_AMOUNTS = {
    "partition": ("lag", "blocked", "oldest_unread_ms", "age_ms"),
    **dict.fromkeys(("topic", "group", "member"), ("with_lag", "lag", "blocked", "oldest_unread_ms", "age_ms")),
}
_MOST_NAMED = 2
"""Maximum number of partitions whose notes the note of a sum contains."""


def columns(by: str, *, rates: bool) -> list[str]:
    """The columns of ``-o table`` for rows of ``--lag-by``."""
    names = [name for name in _NAMES[by] if name != "host"]
    places = ["current_offset", "log_end_offset"] if by == "partition" else ["partitions"]
    if by == "partition":
        names.remove("client_id")
    measured = ["read_per_s", "write_per_s", "catch_up_ms"] if rates else []
    return [*names, *places, *_AMOUNTS[by], *measured, "note"]


def summed(look: LagLook, before: LagLook | None, by: str) -> list[Row]:
    """The rows of ``--lag-by``. With the look ``before``, they contain rates in records per second."""
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for row in look.rows:
        parts.setdefault(tuple(row[name] for name in _NAMES[by]), []).append(row)
    earlier = {} if before is None else {_place(row): row for row in before.rows}
    elapsed_s = 0.0 if before is None else look.at_s - before.at_s
    return [_sum(each, by, look.at_ms) | _rates(each, earlier, elapsed_s) for each in parts.values()]


def _place(row: Row) -> tuple[Any, ...]:
    return row["group"], row["topic"], row["partition"]


def _sum(rows: Sequence[Row], by: str, at_ms: int) -> Row:
    first = rows[0]
    names = {name: first[name] if name in _NAMES[by] else None for name in _NAMES["partition"]}
    places = {name: first[name] if by == "partition" else None for name in _OF_A_PARTITION}
    lags = [row["lag"] for row in rows if row["lag"] is not None]
    behind = [row for row in rows if row["with_lag"]]
    unknown = [row for row in behind if row["age_ms"] is None]
    moments = [row["oldest_unread_ms"] for row in rows if row["oldest_unread_ms"] is not None]
    notes = [first["note"]] if by == "partition" else _notes(rows, unknown, at_ms, moments)
    return {
        **names,
        "partitions": len(rows),
        "with_lag": len(behind),
        **places,
        "lag": (lags[0] if by == "partition" else sum(max(0, lag) for lag in lags)) if lags else None,
        "blocked": sum(row["blocked"] for row in rows),
        "oldest_unread_ms": None if unknown or not moments else min(moments),
        "age_ms": None if unknown else max((row["age_ms"] for row in behind), default=0),
        "looked_at_ms": at_ms,
        "note": "; ".join(filter(None, notes)) or None,
    }


def _notes(rows: Sequence[Row], unknown: Sequence[Row], at_ms: int, moments: Sequence[int]) -> list[str]:
    notes = []
    if unknown:
        known = f" (at least {_span(at_ms - min(moments))})" if moments else ""
        named = ", ".join(
            f"{row['topic']}-{row['partition']}: {str(row['note']).removeprefix('age unknown: ')}"
            for row in unknown[:_MOST_NAMED]
        )
        notes.append(f"age unknown for {counted(len(unknown), 'partition', 'partitions')}{known}: {named}")
    held = sum(row["blocked"] for row in rows)
    if held:
        where = counted(sum(bool(row["blocked"]) for row in rows), "partition", "partitions")
        text = counted(held, "record", "records")
        notes.append(f"open transactions hold back {text} of {where} from read_committed")
    return notes


def _rates(rows: Sequence[Row], earlier: Mapping[tuple[Any, ...], Row], elapsed_s: float) -> Row:
    pairs = [(row, earlier[_place(row)]) for row in rows if _place(row) in earlier]
    both = [pair for pair in pairs if all(row["lag"] is not None for row in pair)]
    if not both or elapsed_s <= 0 or len(both) != len(rows):
        return {"read_per_s": None, "write_per_s": None, "catch_up_ms": None}
    read = sum(now["current_offset"] - then["current_offset"] for now, then in both) / elapsed_s
    written = sum(now["log_end_offset"] - then["log_end_offset"] for now, then in both) / elapsed_s
    lag = sum(max(0, now["lag"]) for now, _ in both)
    closing = read - written
    if lag == 0:
        catch_up_ms: int | None = 0
    else:
        catch_up_ms = round(lag / closing * 1000) if closing > 0 else None
    return {"read_per_s": round(read, 1), "write_per_s": round(written, 1), "catch_up_ms": catch_up_ms}


def ordered(rows: Sequence[Row], by: str | None) -> list[Row]:
    """The rows in the order of ``--sort``. An unknown lag or age comes before all others."""
    if by is None:
        return list(rows)
    if by == "name":
        return sorted(rows, key=lambda row: [str(row[name] or "") for name in ("group", "topic", "consumer_id")])
    column = {"lag": "lag", "age": "age_ms", "blocked": "blocked"}[by]
    return sorted(rows, key=lambda row: (row[column] is not None, -(row[column] or 0)))


def over(rows: Sequence[Row], min_lag: int | None, max_age_ms: int | None) -> list[Row]:
    """The rows beyond one of the limits. An unknown lag or age counts as beyond it."""
    return [
        row
        for row in rows
        if (min_lag is not None and (row["lag"] is None or row["lag"] >= min_lag))
        or (max_age_ms is not None and (row["age_ms"] is None or row["age_ms"] > max_age_ms))
    ]


def total(look: LagLook) -> Row:
    """The sums of all groups, for documents."""
    whole = _sum(look.rows, "all", look.at_ms) if look.rows else {}
    groups = {row["group"] for row in look.rows}
    return {
        "groups": len(groups),
        "partitions": len(look.rows),
        "with_lag": whole.get("with_lag", 0),
        "lag": whole.get("lag") or 0,
        "blocked": whole.get("blocked", 0),
        "age_ms": whole.get("age_ms", 0),
    }


def _span(milliseconds: int) -> str:
    from kafka_tools.texts.quantities import span_text

    return span_text(milliseconds / 1000)
