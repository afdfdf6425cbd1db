"""``kafka-log-dirs --by``: who uses the disks, how fast they grow, and when they are full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.commands import running
from kafka_tools.commands.looking_again import redraw
from kafka_tools.output.rows import Rows
from kafka_tools.shown_text import counted
from kafka_tools.texts.quantities import bytes_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import ItemError

    Ask = Callable[[], tuple[list[Row], list[ItemError]]]

KIND = "disk-usage"
_NAMES = {
    "topic": ("topic",),
    "partition": ("topic", "partition"),
    "directory": ("broker", "log_dir"),
    "broker": ("broker",),
}
_SEVERAL = {"topic": "topics", "partition": "partitions", "directory": "directories", "broker": "brokers"}


class DiskLook(NamedTuple):
    """The log directories at a time (``at_s``: on the monotonic scale), and what failed."""

    at_s: float
    directories: list[Row]
    errors: list[ItemError]


def show_usage(admin: AdminClient, ask: Ask, given: Mapping[str, Any], form: str | None) -> int:
    """Print the usage in the form of ``-o``, as a table by default. ``ask``: rows of directories, and errors."""
    clock = admin.deadline().clock
    form = form or "table"

    def look() -> DiskLook:
        directories, errors = ask()
        return DiskLook(clock.monotonic_s(), directories, errors)

    before, found = None, look()
    if given["watch"] is not None:
        _follow(found, look, given, form, clock.sleep)
    if given["rates"] is not None:
        clock.sleep(given["rates"] / 1000)
        before, found = found, look()
    rows = usage(found, before, given["by"])
    document = _document(found, rows, before, given)
    status = running.finish(document, form, "cannot read")
    top = document.rows
    size = sum(row["size_bytes"] for row in top)
    whole = sum(row["size_bytes"] for row in rows)
    share = "" if not whole else f", {100 * size / whole:.0f} %"
    running.tell(
        f"{len(top)} of {counted(len(rows), given['by'], _SEVERAL[given['by']])}: {bytes_text(size)} of "
        f"{bytes_text(whole)}{share}",
        form,
    )
    return status


def _follow(found: DiskLook, look: Callable[[], DiskLook], given: Mapping[str, Any], form: str, sleep: Any) -> None:
    """Print look after look until Ctrl-C."""
    before = None
    while True:
        document = _document(found, usage(found, before, given["by"]), before, given)
        redraw(document, form, is_first=before is None, failed="cannot read")
        sleep(given["watch"] / 1000)
        before, found = found, look()


def _document(found: DiskLook, rows: Sequence[Row], before: DiskLook | None, given: Mapping[str, Any]) -> Rows:
    by = given["by"]
    measured = ["growth_bytes_per_s"] if before is not None else []
    if by == "directory":
        volume = ["used_percent", "usable_bytes"]
        measured += ["full_in_ms"] if measured else []
    else:
        volume = []
    columns = [*_NAMES[by], "replicas", "size_bytes", "share_percent", *volume, *measured]
    return Rows(KIND, rows[: given["top"]], found.errors, columns)


def usage(found: DiskLook, before: DiskLook | None, by: str) -> list[Row]:
    """A row for each topic, partition, directory or broker, the largest first. The sizes are those of all replicas."""
    sizes, replicas = _sizes(found, by)
    earlier = None if before is None else _sizes(before, by)[0]
    whole = sum(sizes.values())
    volumes = {(row["broker"], row["log_dir"]): row for row in found.directories} if by == "directory" else {}
    rows = []
    for key in sorted(sizes, key=lambda each: (-sizes[each], each)):
        total, usable = (volumes[key][name] if key in volumes else None for name in ("total_bytes", "usable_bytes"))
        growth = None
        if earlier is not None and before is not None and found.at_s > before.at_s:
            growth = round((sizes[key] - earlier.get(key, 0)) / (found.at_s - before.at_s))
        names = dict(zip(_NAMES[by], key, strict=True))
        rows.append(
            {
                **{name: names.get(name) for name in ("topic", "partition", "broker", "log_dir")},
                "replicas": replicas[key],
                "size_bytes": sizes[key],
                "share_percent": round(100 * sizes[key] / whole, 1) if whole else 0.0,
                "total_bytes": total,
                "usable_bytes": usable,
                "used_percent": round(100 * (total - usable) / total, 1) if total and usable is not None else None,
                "growth_bytes_per_s": growth,
                "full_in_ms": round(1000 * usable / growth) if growth and growth > 0 and usable is not None else None,
            }
        )
    return rows


def _sizes(found: DiskLook, by: str) -> tuple[dict[tuple[Any, ...], int], dict[tuple[Any, ...], int]]:
    sizes: dict[tuple[Any, ...], int] = {}
    replicas: dict[tuple[Any, ...], int] = {}
    for row in found.directories:
        if by in ("directory", "broker") and row["error"] is None:
            key = tuple(row[name] for name in _NAMES[by])
            sizes.setdefault(key, 0)
            replicas.setdefault(key, 0)
        for each in row["partitions"]:
            key = tuple((row | each)[name] for name in _NAMES[by])
            sizes[key] = sizes.get(key, 0) + each["size_bytes"]
            replicas[key] = replicas.get(key, 0) + 1
    return sizes, replicas
