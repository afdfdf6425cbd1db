"""``kafka-consumer-groups --skip orders:5@3310 --save FILE``: a group skips one record that it cannot process.

The record must be the first one at or after the committed offset. So the same command run twice skips one record, and a
wrong offset skips none. Kafka has no conditional commit, but a group that can be changed has no members who commit.
"""

from __future__ import annotations

import base64
import json
import os
from typing import TYPE_CHECKING

from kafka_tools.admin.calls.offsets import CommittedOffset
from kafka_tools.commands import running
from kafka_tools.commands.first_records import first_records
from kafka_tools.commands.groups.holders import naming_holders
from kafka_tools.errors import InputError, UsageError
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.cells import Row
    from kafka_tools.records.record import Record

KIND = "skipped-records"


def parse_place(text: str) -> tuple[TopicPartition, int]:
    """The partition and offset of ``orders:5@3310``. Raises UsageError for other texts."""
    name, _, offset = text.rpartition("@")
    topic, _, partition = name.rpartition(":")
    numbers = [each for each in (partition, offset) if each.isascii() and each.isdigit() and len(each) < 19]
    if not topic or len(numbers) < 2 or int(partition) >= 2**31:
        raise UsageError(f"invalid --skip '{text}': expected TOPIC:PARTITION@OFFSET, such as orders:5@3310")
    return TopicPartition(topic, int(partition)), int(offset)


def skip(
    admin: AdminClient, group: str, place: str, file: str | None, output_format: str | None, *, dry_run: bool
) -> int:
    """Check, save and skip the record. Raises InputError if it is not the next record of the group."""
    key, offset = parse_place(place)
    with running.about(key), running.doing(f"cannot skip {key}@{offset}"):
        committed = admin.list_group_offsets(group, [key])[key].get()
        if committed is None:
            raise InputError(f"group '{group}' has no committed offset for this partition")
        record = first_records(admin, {key: committed.offset})[key].get()
        if record is None:
            raise InputError(f"group '{group}' has read everything: its committed offset is {committed.offset}")
        if record.offset != offset:
            raise InputError(
                f"the next record of group '{group}' is at offset {record.offset} "
                f"(committed offset {committed.offset})",
                hint="nothing was changed; give the offset of the next record",
            )
        if file is not None and not dry_run:
            _save(file, key, record)
        if not dry_run:
            with naming_holders(admin.describe_groups, group):
                new = CommittedOffset(offset + 1, committed.metadata)
                admin.alter_group_offsets(group, {key: new})[key].get()
    row: Row = {
        "group": group,
        "topic": key.topic,
        "partition": key.partition,
        "offset": offset,
        "timestamp_ms": record.timestamp,
        "key_bytes": None if record.key is None else len(record.key),
        "value_bytes": None if record.value is None else len(record.value),
        "header_count": len(record.headers),
        "new_offset": offset + 1,
        "saved_in": None if dry_run else file,
        "result": "planned" if dry_run else "skipped",
    }
    if output_format is None:
        told = running.shown(row)
        saved = f"; record saved in {told['saved_in']}" if told["saved_in"] else ""
        verb = "would skip" if dry_run else "skipped"
        running.emit(
            f"{told['group']}: {verb} {told['topic']}-{key.partition}@{offset}, next offset {offset + 1}{saved}\n"
        )
    return running.show_rows(KIND, [row], output_format)


def _save(path: str, key: TopicPartition, record: Record) -> None:
    """Append the record as a line of JSON, and wait until it is on the disk."""
    line = {
        "topic": key.topic,
        "partition": key.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp,
        **_as_text("key", record.key),
        **_as_text("value", record.value),
        "headers": [{"name": name, **_as_text("value", value)} for name, value in record.headers],
    }
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _as_text(name: str, value: bytes | None) -> dict[str, str | None]:
    """``value`` as UTF-8 text, or as ``<name>_base64`` if it is not UTF-8."""
    if value is None:
        return {name: None}
    try:
        return {name: value.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(value).decode("ascii")}
