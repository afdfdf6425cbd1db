"""The summary of a plan as lines for stderr, so that stdout contains only documents."""

from __future__ import annotations

import io
from collections.abc import Callable

from kafka_tools.commands.partitions.planning.summary import BrokerBalance, BrokerLoad, PlanSummary
from kafka_tools.texts.quantities import bytes_text


def summary_lines(summary: PlanSummary) -> list[str]:
    """The amount of moves, and a table of each broker before and after."""
    from kafka_tools.output.table import write_table

    said = [f"{summary.changed_partitions} of {summary.partitions} partition(s) change"]
    said.append(f"{summary.moved_replicas} replica(s) move, {bytes_text(summary.moved_bytes)}")
    if summary.removed_replicas:
        said.append(f"{summary.removed_replicas} replica(s) removed")
    said.append(f"{summary.moved_leaders} preferred leader(s) change")
    rows = [
        {
            "broker": each.id,
            "rack": each.rack,
            "replicas": _change(each, lambda load: str(load.replicas)),
            "leaders": _change(each, lambda load: str(load.leaders)),
            "bytes": _change(each, lambda load: bytes_text(load.bytes)),
            "disk": _usage(each),
            "state": None if each.is_alive else "away",
        }
        for each in summary.brokers
    ]
    shown = ["broker", "rack", "replicas", "leaders", "bytes"]
    for column in ("disk", "state"):
        if any(row[column] is not None for row in rows):
            shown.append(column)
    table = io.StringIO()
    write_table(shown, rows, table)
    return [f"plan: {'; '.join(said)}", *table.getvalue().splitlines(), *_spread(summary)]


def _change(balance: BrokerBalance, text: Callable[[BrokerLoad], str]) -> str:
    before, after = text(balance.before), text(balance.after)
    return before if before == after else f"{before} -> {after}"


def _usage(balance: BrokerBalance) -> str | None:
    capacity = balance.capacity_bytes
    return None if not capacity else _change(balance, lambda load: f"{100 * load.bytes / capacity:.0f}%")


def _spread(summary: PlanSummary) -> list[str]:
    """The difference between the live brokers with most and with least."""
    spread = summary.spread()
    if spread is None:
        return []
    before, after = spread
    told = [
        f"replicas {before.replicas} -> {after.replicas}",
        f"leaders {before.leaders} -> {after.leaders}",
        f"bytes {bytes_text(before.bytes)} -> {bytes_text(after.bytes)}",
    ]
    return [f"between the fullest and the emptiest broker: {', '.join(told)}"]
