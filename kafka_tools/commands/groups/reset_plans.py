"""Plans of ``kafka-consumer-groups --reset-offsets``: times, durations and CSV files of offsets, as text.

CSV: ``topic,partition,offset`` for one group, ``group,topic,partition,offset`` for several; without a header, with
quotes only if a name needs them (org.apache.kafka.tools.consumer.group.CsvUtils).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka_tools.errors import InputError, UsageError
from kafka_tools.texts.moments import LONGEST_TEXT, in_range, moment_ms, span_ms
from kafka_tools.values import TopicPartition, number_below

_LOOKED_THROUGH = 24
"""Longer names are always quoted."""
Plan = dict[str, dict[TopicPartition, int]]
"""Group -> partition -> offset."""

_ISO_DURATION = re.compile(
    r"([+-]?)P(?:([+-]?\d+)D)?(?:T(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+(?:[.,]\d{1,9})?)S)?)?",
    re.IGNORECASE | re.ASCII,
)


def parse_moment_ms(text: str, now_ms: int) -> int:
    """Milliseconds since the epoch of ``YYYY-MM-DDThh:mm:ss.sss`` or another time, in UTC without a zone."""
    with _about("--to-datetime"):
        return moment_ms(text, now_ms)


def parse_duration_ms(text: str) -> int:
    """Milliseconds of ``PnDTnHnMnS`` (java.time.Duration), or of ``90m``, ``6h``, ``2 days``."""
    if len(text) > LONGEST_TEXT:
        raise UsageError(f"invalid --by-duration: {len(text)} characters are too long for a duration")
    if "P" not in text.upper():
        with _about("--by-duration"):
            span = span_ms(text.strip())
            if span is not None:
                return in_range(text, span)
    match = _ISO_DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()[1:]) or text.strip().upper().endswith("T"):
        raise UsageError(f"invalid --by-duration '{text}': expected PnDTnHnMnS, for example PT6H or P1DT30M (or 6h)")
    days, hours, minutes = (int(part or 0) for part in match.groups()[1:4])
    seconds_ms = round(float((match.group(5) or "0").replace(",", ".")) * 1000)
    total_ms = days * 86_400_000 + hours * 3_600_000 + minutes * 60_000 + seconds_ms
    with _about("--by-duration"):
        return in_range(text, -total_ms if match.group(1) == "-" else total_ms)


def read_plan(text: str, place: str, groups: Sequence[str]) -> Plan:
    """The plan of a CSV file. Rows without a group belong to the one group that was named.

    Raises InputError, with the line, for an invalid row, a duplicate partition, or a missing group.
    """
    import csv
    import io

    plan: Plan = {}
    reader = csv.reader(io.StringIO(text, newline=""))  # a quoted name may contain line ends
    try:
        for row in reader:
            if not any(field.strip() for field in row):
                continue
            where = f"{place}, line {reader.line_num}"
            if len(row) == 3 and len(groups) == 1:
                row = [groups[0], *row]
            if len(row) != 4:
                form = "topic,partition,offset" if len(groups) == 1 else "group,topic,partition,offset"
                raise InputError(f"{where}: expected {form}")
            group, topic = row[0], row[1].strip()
            key = TopicPartition(topic, _number(row[2], where, "a partition", 2**31))
            offsets = plan.setdefault(group, {})
            if key in offsets:
                raise InputError(f"{where}: partition {key} of group '{group}' is given twice")
            offsets[key] = _number(row[3], where, "an offset", 2**63)
    except csv.Error as error:
        raise InputError(f"{place}, line {reader.line_num}: {error}") from error
    return plan


def plan_csv(plan: Mapping[str, Mapping[TopicPartition, int]], with_group: bool) -> str:
    """The CSV of a plan, in the form of ``read_plan`` and Kafka's tool."""
    lines = []
    for group, offsets in plan.items():
        head = f"{_quoted(group)}," if with_group else ""
        lines += [f"{head}{_quoted(key.topic)},{key.partition},{offset}\n" for key, offset in offsets.items()]
    return "".join(lines)


def _quoted(name: str) -> str:
    """A name in CSV. Jackson quotes long names without a check, and names that may need quotes (CsvEncoder)."""
    if len(name) <= _LOOKED_THROUGH and not any(character <= "," or character == "\\" for character in name):
        return name
    return '"' + name.replace('"', '""') + '"'


def parse_topics(texts: Iterable[str]) -> dict[str, list[int] | None]:
    """``orders`` or ``orders:0,1`` -> partitions of each topic, None for all partitions."""
    topics: dict[str, list[int] | None] = {}
    for text in texts:
        topic, colon, partitions = text.partition(":")
        if not topic or (colon and ":" in partitions):
            raise UsageError(f"Invalid topic arg '{text}', expected topic name and partitions")
        if not colon:
            topics[topic] = None
            continue
        numbers = topics.setdefault(topic, [])
        for part in partitions.split(","):
            number = number_below(2**31, part)
            if number is None:
                raise UsageError(f"Invalid partition '{part}' specified in topic arg '{text}'")
            if numbers is not None:
                numbers.append(number)
    return topics


@contextlib.contextmanager
def _about(option: str) -> Iterator[None]:
    """Convert an InputError about the value of an option to UsageError."""
    try:
        yield
    except InputError as error:
        raise UsageError(f"{option}: {error}") from error


def _number(text: str, where: str, what: str, limit: int) -> int:
    digits = text.strip()
    number = number_below(limit, digits)
    if number is None:
        raise InputError(f"{where}: '{digits[:30]}' is not {what}")
    return number
