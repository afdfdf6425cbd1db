"""Which APIs the bundled broker serves in which versions, beside Kafka, and why where that is not the same.

``docs/broker-apis.md`` is made of this by ``python -m tests.regen apis``; both brokers are asked in
``tests/against_kafka/test_broker_apis.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kafka_tools import KAFKA_MINOR, KAFKA_RELEASE
from kafka_tools.broker_embedded.handlers._table import load_handlers
from kafka_tools.protocol import registry
from kafka_tools.protocol.releases import max_versions
from tests.protocol_page import anchor

ROOT = Path(__file__).resolve().parent.parent
RELEASE = KAFKA_MINOR

OLDER = "the bundled broker still serves clients before Kafka 2.1; Kafka 4 removed these versions (KIP-896)"
REASONS = (
    (r"alter_replica_log_dirs", "a partition stays in the log directory in which it was created"),
    (r"unregister_(broker|controller)", "the only node cannot be unregistered"),
    (r".*share.*", "share groups are not served"),
    (r"streams_group_.*", "streams groups are not served"),
    (r"(add|remove)_raft_voter", "this broker is the only voter of the metadata log"),
)
"""Why an API of Kafka's broker is not served, by its stem."""
NOT_FOR_CLIENTS = "used between brokers and controllers, or removed in Kafka 4"
RECEIVED = ("get_telemetry_subscriptions", "push_telemetry")
WITH_A_RECEIVER = (
    "Kafka serves it only with a plugin that receives client metrics; the bundled broker is its own receiver"
)

Range = tuple[int, int]


def theirs() -> Mapping[int, Range]:
    """API key -> the versions that Kafka's broker serves as it is delivered."""
    receiving = {registry.key_of(stem) for stem in RECEIVED}
    return {key: versions for key, versions in max_versions(RELEASE).items() if key not in receiving}


def ours() -> Mapping[int, Range]:
    """API key -> the versions that the bundled broker serves."""
    return {key: (handler.min_version, handler.max_version) for key, handler in load_handlers().items()}


def reason(stem: str, their: Range | None, our: Range | None) -> str | None:
    """Why the two are not the same; None if nobody has said."""
    if their is not None and our is not None and our[0] < their[0] and our[1] == their[1]:
        return OLDER
    if their is None and our is not None and stem in RECEIVED:
        return WITH_A_RECEIVER
    if their is not None and our is None:
        return next((why for pattern, why in REASONS if re.fullmatch(pattern, stem)), None)
    return None


def page() -> dict[Path, str]:
    """``docs/broker-apis.md``."""
    lines = [
        "# APIs of the bundled broker",
        "",
        f"Every API of Kafka {KAFKA_MINOR}: the versions that Kafka's broker serves on a listener for clients, the",
        "versions that the bundled broker serves, and the reason if they differ. With `--release`, the bundled broker",
        "serves only the versions of that release. The table leaves out versions that need",
        "`unstable.api.versions.enable` in Kafka. Each API links to its fields and errors.",
        "`python -m tests.regen apis` writes this page.",
        "",
        f"| key | API | Kafka {KAFKA_RELEASE} | bundled broker | why they differ |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in registry.rows():
        their, our = theirs().get(row.key), ours().get(row.key)
        why = "" if their or our else NOT_FOR_CLIENTS
        if their != our:
            why = f"{reason(row.stem, their, our)}"
        name = f"[{row.name}](protocol.md{anchor(row)})"
        lines.append(f"| {row.key} | {name} | {_shown(their)} | {_shown(our)} | {why} |")
    return {ROOT / "docs" / "broker-apis.md": "\n".join(lines) + "\n"}


def _shown(versions: Range | None) -> str:
    if versions is None:
        return ""
    low, high = versions
    return f"{low} to {high}" if low != high else str(low)
