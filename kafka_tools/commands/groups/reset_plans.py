"""Plans of ``kafka-consumer-groups --reset-offsets``: times, durations and CSV files of offsets, as text.

CSV: ``topic,partition,offset`` for one group, ``group,topic,partition,offset`` for several; no header, quotes where a
name needs them (org.apache.kafka.tools.consumer.group.CsvUtils).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from kafka_tools.errors import InputError, UsageError
from kafka_tools.values import TopicPartition

Plan = dict[str, dict[TopicPartition, int]]
"""Group -> partition -> offset."""

_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?", re.IGNORECASE
)
_ISO_DURATION = re.compile(
    r"([+-]?)P(?:([+-]?\d+)D)?(?:T(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+(?:[.,]\d{1,9})?)S)?)?", re.IGNORECASE
)
_SPAN = re.compile(r"(\d+)\s*(ms|s|m|h|d)", re.IGNORECASE)
_SPAN_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


_LONGEST_MS = 2**62
"""Most milliseconds before or after a moment: the difference of two still fits Kafka's INT64."""


def _in_range(option: str, text: str, milliseconds: int) -> int:
    if abs(milliseconds) > _LONGEST_MS:
        raise UsageError(f"{option}: '{text}' is outside the times that Kafka can hold")
    return milliseconds


def _not_too_long(option: str, text: str) -> None:
    # Longer than any value in range can be; thousands of digits would not even convert.
    if len(text) > 100:
        raise UsageError(f"{option}: a value of {len(text)} characters is not a time")


def parse_moment_ms(text: str) -> int:
    """Milliseconds since the epoch of ``YYYY-MM-DDThh:mm:ss.sss``, UTC where no zone is given (as in Kafka).

    A fraction has three digits: Kafka reads ``.5`` as 5 ms and ISO 8601 as 500, so anything shorter is refused. Bare
    digits are an epoch time in milliseconds.
    """
    _not_too_long("--to-datetime", text)
    if text.isascii() and text.isdigit():
        return _in_range("--to-datetime", text, int(text))
    match = _MOMENT.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--to-datetime: '{text}' is not of the form YYYY-MM-DDThh:mm:ss.sss, with or without a zone")
    fraction, zone = match.group(7), match.group(8)
    if fraction is not None and len(fraction) != 3:
        raise UsageError(f"--to-datetime: write the fraction of '{text}' with three digits (milliseconds)")
    from datetime import UTC, datetime, timedelta

    try:
        year, month, day, hour, minute = (int(match.group(at)) for at in range(1, 6))
        moment = datetime(year, month, day, hour, minute, int(match.group(6) or 0), tzinfo=UTC)
    except ValueError as error:
        raise UsageError(f"--to-datetime: '{text}' is not a date and time: {error}") from error
    elapsed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return elapsed // timedelta(milliseconds=1) + int(fraction or 0) - _zone_ms(zone)


def parse_duration_ms(text: str) -> int:
    """Milliseconds of ``PnDTnHnMnS`` (java.time.Duration), or of ``90m``, ``6h``, ``2d``."""
    _not_too_long("--by-duration", text)
    span = _SPAN.fullmatch(text.strip())
    if span is not None:
        return _in_range("--by-duration", text, int(span.group(1)) * _SPAN_MS[span.group(2).lower()])
    match = _ISO_DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()[1:]) or text.strip().upper().endswith("T"):
        raise UsageError(f"--by-duration: '{text}' is not of the form PnDTnHnMnS, for example PT6H or P1DT30M (or 6h)")
    days, hours, minutes = (int(part or 0) for part in match.groups()[1:4])
    seconds_ms = round(float((match.group(5) or "0").replace(",", ".")) * 1000)
    total_ms = days * 86_400_000 + hours * 3_600_000 + minutes * 60_000 + seconds_ms
    return _in_range("--by-duration", text, -total_ms if match.group(1) == "-" else total_ms)


def read_plan(text: str, place: str, groups: Sequence[str]) -> Plan:
    """The plan of a CSV file; rows without a group belong to the one group that was named.

    InputError, with the line, for a row of another form, a partition given twice, or a missing group.
    """
    import csv

    plan: Plan = {}
    reader = csv.reader(text.splitlines(), skipinitialspace=True)
    try:
        for row in reader:
            if not any(field.strip() for field in row):
                continue
            where = f"{place}, line {reader.line_num}"
            if len(row) == 3 and len(groups) == 1:
                row = [groups[0], *row]
            if len(row) != 4:
                form = "topic,partition,offset" if len(groups) == 1 else "group,topic,partition,offset"
                raise InputError(f"{where}: {form} is expected")
            group, topic = row[0].strip(), row[1].strip()
            key = TopicPartition(topic, _number(row[2], where, "a partition", 2**31))
            offsets = plan.setdefault(group, {})
            if key in offsets:
                raise InputError(f"{where}: partition {key} of group '{group}' is given twice")
            offsets[key] = _number(row[3], where, "an offset", 2**63)
    except csv.Error as error:
        raise InputError(f"{place}, line {reader.line_num}: {error}") from error
    return plan


def plan_csv(plan: Mapping[str, Mapping[TopicPartition, int]], with_group: bool) -> str:
    """The CSV of a plan, as ``read_plan`` takes it."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for group, offsets in plan.items():
        for partition, offset in offsets.items():
            writer.writerow([*([group] if with_group else []), partition.topic, partition.partition, offset])
    return out.getvalue()


def parse_topics(texts: Iterable[str]) -> dict[str, list[int] | None]:
    """``orders`` or ``orders:0,1`` -> partitions of each topic, None for all of them."""
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
            if not (part.isascii() and part.isdigit()) or int(part) >= 2**31:
                raise UsageError(f"Invalid partition '{part}' specified in topic arg '{text}'")
            if numbers is not None:
                numbers.append(int(part))
    return topics


def _zone_ms(zone: str | None) -> int:
    if zone is None or zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    offset_ms = (int(digits[:2]) * 60 + int(digits[2:])) * 60_000
    return -offset_ms if zone[0] == "-" else offset_ms


def _number(text: str, where: str, what: str, limit: int) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or int(digits[:20]) >= limit:
        raise InputError(f"{where}: '{digits[:30]}' is not {what}")
    return int(digits)
