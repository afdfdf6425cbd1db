"""The differences that stay, each with its reason. A row that nothing matches any more should go."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MESSAGES = ("error_message", "batch_index_error_message")


class Row(NamedTuple):
    """``apis`` and ``path`` are regular expressions that must match as a whole; items stand in the path as [what]."""

    apis: str
    path: str
    theirs: Callable[[Any], bool]
    ours: Callable[[Any], bool]
    reason: str


def anything(value: object) -> bool:
    return True


def text(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.search(pattern, value, re.DOTALL) is not None


def is_one_of(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value in values


_PLACES = (
    "listeners|advertised.listeners|log.dirs?|process.roles|controller.listener.names|controller.quorum.voters|"
    "listener.security.protocol.map"
).replace(".", r"\.")

ROWS: tuple[Row, ...] = (
    Row(
        ".*", rf".*({'|'.join(MESSAGES)})", lambda value: value is None, lambda value: isinstance(value, str),
        "where Kafka gives no text, ours may say more",
    ),
    Row(
        ".*", "", is_one_of("closed", "no answer"), text("^an answer"),
        "a request that Kafka answers by closing the connection, or not at all, is answered",
    ),
    Row(
        ".*", r".*error_code", is_one_of(-1), anything,
        "an error that Kafka's code does not foresee (-1) is told as what is wrong",
    ),
    Row(
        ".*api_versions", r"api_keys(\.length|\[.*)", anything, anything,
        "ours serves fewer APIs, and more old versions: clients back to Kafka 1.1 (KIP-896 dropped theirs)",
    ),
    Row(
        ".*describe_configs", rf".*\[[^]]*\]\.configs\[({_PLACES})\].*", anything, anything,
        "where a broker listens and stores, and that ours has no controller listener",
    ),
    Row(
        ".*(alter_configs|create_topics)", r".*error_message", text("^Invalid value"), text("^Invalid value"),
        "of two wrong configs either may be named",
    ),
    Row(
        "elect_leaders", "error_code", is_one_of(0), is_one_of(42),
        "an unknown type of election is told also where all partitions are meant, which Kafka forgets",
    ),
    Row(
        "describe_quorum", r".*high_watermark", anything, anything,
        "the metadata logs have different records",
    ),
    Row(
        "produce", r".*(error_code|error_message|log_start_offset)", anything, is_one_of(21, -1),
        "of two faults of a partition either may be told: required acks, or its records",
    ),
    Row(
        "update_features", "error_message", text("^The update failed for all"), text("^The update failed for all"),
        "of two features that cannot be changed either may be named",
    ),
    Row(
        "describe_topic_partitions", r"next_cursor.*", anything, anything,
        "a cursor at the largest number runs over in Kafka",
    ),
    Row(
        "list_groups", r"groups(\.length|\[join-\d+\].*)", anything, anything,
        "members that joined in passing leave when their own time limits are over",
    ),
    Row(
        ".*describe_configs", r"results\[8,1\]\.configs\[.*", anything, anything,
        "levels and names of loggers are those of each process",
    ),
    Row(
        "list_groups", r"groups\[\]", text("^<there"), is_one_of("<missing>"),
        "a group of which no commit was kept is listed by Kafka until it restarts",
    ),
    Row(
        "join_group", "protocol_name", is_one_of(None), is_one_of(""),
        "a protocol whose name is empty is chosen under that name",
    ),
    Row(
        "produce", r".*(error_code|error_message)", is_one_of(2, 76, 87), is_one_of(29, 3, 100, 17),
        "records that cannot be read are told after it was asked who may write them, and where",
    ),
    Row(
        "describe_quorum", r"nodes\[.*", anything, anything,
        "the controller is reached at the listener of the broker, since ours has no other",
    ),
    Row(
        ".*", r".*error_message", text(r"Request\(processor=|DefaultRecord\(|java\.|org\.apache|@object"), anything,
        "names of Java classes and objects in Kafka's texts",
    ),
)  # fmt: skip


def reason_for(stem: str, path: str, theirs: Any, ours: Any) -> str | None:
    """Why this difference is accepted; None if it is not."""
    for row in ROWS:
        if (
            re.fullmatch(row.apis, stem)
            and re.fullmatch(row.path, path, re.DOTALL)
            and row.theirs(theirs)
            and row.ours(ours)
        ):
            return row.reason
    return None


def unforeseen(path: str, theirs: Mapping[str, Any]) -> str | None:
    """Whether the difference stands beside an error code of -1 of Kafka's: then all of that item is about it."""
    holder = path
    while holder:
        holder = holder.rpartition(".")[0]
        if theirs.get(f"{holder}.error_code" if holder else "error_code") == -1:
            return "an error that Kafka's code does not foresee (-1) is told as what is wrong"
    return None
