"""The output of Kafka's MetadataQuorumCommand and FeatureCommand."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.text import tabbed_table

_NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"
_TITLES = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")


def status(rows: Sequence[Row]) -> str:
    """``describe --status``, which is one row."""
    (summary,) = rows
    lag_ms = -1 if summary["max_follower_lag_ms"] is None else summary["max_follower_lag_ms"]
    lines = [
        ("ClusterId", summary["cluster_id"]),
        ("LeaderId", summary["leader_id"]),
        ("LeaderEpoch", summary["leader_epoch"]),
        ("HighWatermark", summary["high_watermark"]),
        ("MaxFollowerLag", summary["max_follower_lag"]),
        ("MaxFollowerLagTimeMs", lag_ms),
        ("CurrentVoters", _members(summary["voters"])),
        ("CurrentObservers", _members(summary["observers"])),
    ]
    return "".join(f"{name + ':':<24}{value}\n" for name, value in lines)


def _members(members: Sequence[Row]) -> str:
    return f"[{', '.join(_member(each) for each in members)}]"


def _member(member: Row) -> str:
    parts = [f'"id": {member["id"]}']
    if member["directory_id"] is not None:
        parts.append(f'"directoryId": "{member["directory_id"]}"')
    if member["endpoints"]:
        listed = ", ".join(f'"{endpoint}"' for endpoint in member["endpoints"])
        parts.append(f'"endpoints": [{listed}]')
    return f"{{{', '.join(parts)}}}"


def replication(rows: Sequence[Row], now_ms: int | None) -> str:
    """``describe --replication``. With ``now_ms``, elapsed times replace timestamps."""
    table = []
    for row in rows:
        times = [_time(row[name], now_ms) for name in ("last_fetch_ms", "last_caught_up_ms")]
        first = [row["node_id"], row["directory_id"] or _NO_DIRECTORY, row["log_end_offset"], row["lag"]]
        table.append([*map(str, first), *times, row["status"]])
    return tabbed_table(_TITLES, table)


def _time(time_ms: int | None, now_ms: int | None) -> str:
    if time_ms is None:
        return "-1"
    return str(time_ms) if now_ms is None else f"{max(0, now_ms - time_ms)} ms ago"


def feature_lines(rows: Sequence[Row]) -> str:
    """``kafka-features describe``."""
    text = ""
    for row in rows:
        epoch = "-" if row["epoch"] is None else row["epoch"]
        cells = [
            f"Feature: {row['feature']:<40}",
            f"SupportedMinVersion: {row['supported_min']:<15}",
            f"SupportedMaxVersion: {row['supported_max']:<15}",
            f"FinalizedVersionLevel: {row['finalized']:<15}",
            f"Epoch: {epoch}",
        ]
        text += "  ".join(cells) + "\n"
    return text
