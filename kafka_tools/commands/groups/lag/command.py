"""``kafka-consumer-groups --describe`` with options about lag: look once, twice, or until there is no lag."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.commands import running
from kafka_tools.commands.groups import rows as group_rows
from kafka_tools.commands.groups.lag import sums
from kafka_tools.commands.groups.lag.looking import LagLook, look
from kafka_tools.commands.groups.reset_plans import parse_topics
from kafka_tools.commands.groups.topic_readers import narrowed, of_topics, readers
from kafka_tools.commands.looking_again import LOOK_AGAIN, redraw
from kafka_tools.output.progress import StatusLine
from kafka_tools.output.rows import Rows
from kafka_tools.shown_text import counted

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import ItemError

KIND = "group-lag"
Names = Callable[[], tuple[list[str], "list[ItemError]"]]


def run(admin: AdminClient, given: Mapping[str, Any], form: str | None, names: Names) -> int:
    """Print lag in the form of ``-o``, as a table by default. Returns the exit status.

    ``names``: the groups of the command line, and the brokers that could not list theirs.
    """
    form = form or "table"
    by = given["lag_by"]
    found = _look(admin, given, names)
    before: LagLook | None = None
    if given["watch"] is not None or given["until_zero"]:
        return _follow(admin, given, form, names, found)
    if given["rates"] is not None:
        admin.deadline().clock.sleep(given["rates"] / 1000)
        before, found = found, _look(admin, given, names)
    rows = _rows(found, before, given)
    has_limit = given["min_lag"] is not None or given["max_age"] is not None
    status = running.finish(_document(found, rows, by, before), form, "cannot read")
    running.tell(_words(found, rows, given, by), form)
    return running.FAILED if has_limit and rows else status


def _look(admin: AdminClient, given: Mapping[str, Any], names: Names) -> LagLook:
    if given["topic"]:
        wanted = of_topics(parse_topics(given["topic"]))
        groups, _, errors = readers(admin, given["group"], given["topic"], group_rows.states)
        found = look(admin, narrowed(groups, wanted), wanted)
    else:
        listed, unlisted = names()
        groups, errors = group_rows.describe(admin, listed)
        errors = unlisted + errors
        found = look(admin, groups)
    return found._replace(errors=[*errors, *found.errors])


def _rows(found: LagLook, before: LagLook | None, given: Mapping[str, Any]) -> list[Row]:
    rows = sums.summed(found, before, given["lag_by"])
    if given["only_with_lag"]:
        rows = [row for row in rows if row["with_lag"]]
    if given["min_lag"] is not None or given["max_age"] is not None:
        rows = sums.over(rows, given["min_lag"], given["max_age"])
    return sums.ordered(rows, given["sort"])


def _document(found: LagLook, rows: Sequence[Row], by: str, before: LagLook | None) -> Rows:
    return Rows(KIND, rows, found.errors, sums.columns(by, rates=before is not None), sums.total(found))


def _words(found: LagLook, rows: Sequence[Row], given: Mapping[str, Any], by: str) -> str:
    """The answer in words: the sum of everything, and how many rows are beyond a limit."""
    total = sums.total(found)
    records = counted(total["lag"], "record", "records")
    partitions = counted(total["partitions"], "partition", "partitions")
    groups = counted(total["groups"], "group", "groups")
    text = f"lag: {records} in {total['with_lag']} of {partitions} of {groups}"
    if given["min_lag"] is None and given["max_age"] is None:
        return text
    every = len(sums.summed(found, None, by))
    return f"{len(rows)} of {every} beyond the limit; {text}"


def _follow(admin: AdminClient, given: Mapping[str, Any], form: str, names: Names, found: LagLook) -> int:
    """Look again and again: until Ctrl-C, or with ``--until-zero`` until there is no lag."""
    from kafka_tools.commands.options.values import duration_ms
    from kafka_tools.commands.partitions.reassignment.following import patiently

    by = given["lag_by"]
    clock = admin.deadline().clock
    every_s = (given["watch"] or duration_ms(LOOK_AGAIN)) / 1000
    line = StatusLine(sys.stderr, clock)
    is_first, before = True, None
    while True:
        done = given["until_zero"] and not found.errors and not sums.total(found)["with_lag"]
        document = _document(found, _rows(found, before, given), by, before)
        if given["watch"] is not None:
            redraw(document, form, is_first=is_first, failed="cannot read")
        elif not done:
            line.show(_progress(found, before))
        if done:
            break
        is_first = False
        clock.sleep(every_s)
        before, found = found, patiently(clock, lambda: _look(admin, given, names), "run the command again")
    line.clear()
    if given["watch"] is None:
        running.finish(document, form)
    return 0


def _progress(found: LagLook, before: LagLook | None) -> str:
    (row,) = sums.summed(found, before, "all") or [{}]
    text = f"lag {row.get('lag') or 0}"
    if row.get("read_per_s") is not None:
        text += f", reading {row['read_per_s']}/s, writing {row['write_per_s']}/s"
    if row.get("catch_up_ms"):
        from kafka_tools.texts.quantities import span_text

        text += f", no lag in {span_text(row['catch_up_ms'] / 1000)}"
    return text
