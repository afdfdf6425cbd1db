"""Findings about files that were planned but not read: executors may find other files at a path than the driver."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from kafka_tools.spark.files import is_remote, size_and_identity
from kafka_tools.spark.findings.facts import PartitionFacts
from kafka_tools.spark.segments import Range
from kafka_tools.storage.findings import INFO, Finding


def of_all(tasks: Iterable[Iterable[Range]], every: Iterable[PartitionFacts]) -> Iterator[Finding]:
    """Ranges that executors found removed or replaced although they lie where the driver planned them.

    A path that names other files on executors must not look like a healthy cluster.
    """
    missed = {
        (facts.log_dir, facts.summary.topic, facts.summary.partition): facts.summary.finding_counts[INFO, "vanished"]
        for facts in every
    }
    planned: dict[str, list[int]] = {}
    places: set[tuple[str, str]] = set()
    for each in (part for task in tasks for part in task):
        places.add((each.log_dir, os.path.dirname(each.file)))
        count = planned.setdefault(each.log_dir, [0, 0])
        count[0] += 1
        key = each.log_dir, each.topic, each.partition
        if missed.get(key) and _is_gone(each):
            missed[key] -= 1
    for (log_dir, _, _), left in missed.items():
        if left > 0:
            planned[log_dir][1] += left
    for log_dir, (pieces, missing) in planned.items():
        if missing:
            text = (
                f"executors did not find {missing} of the {pieces} log ranges that the driver listed: the path "
                "points to other files on their hosts"
            )
            yield Finding(log_dir, "unseen", text)
    total = sum(each[0] for each in planned.values())
    removed = sum(facts.summary.finding_counts[INFO, "vanished"] for facts in every)
    if total and removed == total and not any(missed.values()) and not all(_was_deleted(*each) for each in places):
        yield Finding(None, "unseen", f"all {total} log ranges were removed before they were read")


def _was_deleted(log_dir: str, directory: str) -> bool:
    """Whether a partition's directory is gone, as when a broker deletes or moves it, and its log directory is not.

    A log directory in which nothing is left is no broker's: a disk was unmounted.
    """
    if is_remote(log_dir) or os.path.lexists(directory):
        return False
    try:
        with os.scandir(log_dir) as entries:
            return any(True for _ in entries)
    except OSError:
        return False


def _is_gone(range_: Range) -> bool:
    """Whether the file of a range was removed or replaced since it was planned, as this machine sees it."""
    try:
        return size_and_identity(range_.file)[1] != range_.identity
    except OSError:
        return True
