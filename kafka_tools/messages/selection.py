"""The text that selects records: ``TOPIC[:P][@FROM[..TO]]``."""

from __future__ import annotations

from typing import NamedTuple

from kafka_tools.errors import InputError
from kafka_tools.texts.moments import FORMS, moment_ms
from kafka_tools.values import number_below

FORM = "TOPIC[:PARTITION,...][@FROM[..TO]]"
_ENDS = {"earliest", "start", "latest", "end", ""}


class Bound(NamedTuple):
    """An end of a range: an offset, or a time in ms since the epoch. Both None: the end of the log."""

    offset: int | None = None
    moment_ms: int | None = None


class TopicRange(NamedTuple):
    """A topic, its partitions (empty: all), and the range from ``start`` to before ``end``."""

    topic: str
    partitions: tuple[int, ...] = ()
    start: Bound = Bound()
    end: Bound = Bound()


def parse_selection(text: str, now_ms: int) -> TopicRange:
    """The selection of a text. Digits are an offset, other bounds are times. Raises InputError for other texts."""
    place, has_range, bounds = text.partition("@")
    topic, has_partitions, numbers = place.partition(":")
    if not topic or (has_range and not bounds):
        raise InputError(f"invalid selection '{text}': expected {FORM}")
    partitions = tuple(number_below(2**31, each.strip()) for each in numbers.split(",")) if has_partitions else ()
    if None in partitions:
        raise InputError(f"invalid partition in '{text}': expected a number, or numbers with commas between them")
    start, _, end = bounds.partition("..")
    chosen = TopicRange(
        topic,
        tuple(dict.fromkeys(each for each in partitions if each is not None)),
        _bound(start, now_ms, "latest"),
        _bound(end, now_ms, "earliest"),
    )
    for low, high in zip(chosen.start, chosen.end, strict=True):
        if low is not None and high is not None and low > high:
            raise InputError(f"invalid range in '{text}': it ends before it starts")
    return chosen


def _bound(text: str, now_ms: int, impossible: str) -> Bound:
    typed = text.strip()
    if typed.lower() in _ENDS:
        if typed.lower() in ("latest", "end") and impossible == "latest":
            raise InputError("invalid start 'latest': no record follows it", hint="use --follow, or --last N")
        if typed.lower() in ("earliest", "start") and impossible == "earliest":
            raise InputError("invalid end 'earliest': no record is before it")
        return Bound()
    offset = number_below(2**63, typed)
    if offset is not None:
        return Bound(offset=offset)
    try:
        return Bound(moment_ms=moment_ms(typed.removeprefix("-"), now_ms))
    except InputError as error:
        raise InputError(f"invalid bound '{typed}': expected an offset, or {FORMS}") from error
