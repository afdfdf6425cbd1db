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


def text(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.search(pattern, value, re.DOTALL) is not None


def is_one_of(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value in values


def number(value: object) -> bool:
    return isinstance(value, int) and value >= 0


_PLACES = (
    "listeners|log.dirs?|process.roles|controller.listener.names|controller.quorum.voters|"
    "listener.security.protocol.map"
).replace(".", r"\.")

_THERE = ("<there>", "<missing>")
_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")


def _logger(value: object) -> bool:
    """A level, a count or flag, or whether there is such a logger."""
    return number(value) or value in (*_THERE, *_LEVELS, None)


def _place(value: object) -> bool:
    """A port, a count, or whether there is such a listener."""
    return number(value) or value in _THERE or re.fullmatch("<port [a-z]+>", str(value)) is not None


def _cursor(value: object) -> bool:
    """A topic's name or None, a partition, or whether there is a cursor."""
    return isinstance(value, int) or value in _THERE or value is None or isinstance(value, str)


_STATES = ("Empty", "Dead", "PreparingRebalance", "CompletingRebalance", "Stable")
_JAVA = r"Request\(processor=|DefaultRecord\(|java\.|org\.apache|@object"

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
        ".*", r".*error_code", is_one_of(-1), lambda code: isinstance(code, int) and code not in (-1, 0),
        "an error that Kafka's code does not foresee (-1) is told as what is wrong",
    ),
    Row(
        ".*api_versions", r"api_keys\.length", is_one_of(77), lambda count: number(count) and count < 77,
        "ours serves fewer APIs",
    ),
    Row(".*api_versions", r"api_keys\[\d+\]", is_one_of("<there>"), is_one_of("<missing>"), "ours serves fewer APIs"),
    Row(
        ".*api_versions", r"api_keys\[7[12]\]", is_one_of("<missing>"), is_one_of("<there>"),
        "the bundled broker receives client metrics itself; Kafka needs a plugin for that",
    ),
    Row(
        ".*api_versions", r"api_keys\[\d+\]\.min_version", is_one_of(1, 2, 3, 4), is_one_of(0),
        "old versions are served to clients back to Kafka 1.1 (KIP-896 dropped theirs)",
    ),
    Row(
        ".*describe_configs", rf".*\.configs\[({_PLACES})\]\.config_source", is_one_of(4), is_one_of(5),
        "places that Kafka is told in its properties and ours is not",
    ),
    Row(
        ".*describe_configs", rf".*\.configs\[({_PLACES})\]\.synonyms\.length", is_one_of(1, 2), is_one_of(0, 1),
        "places that Kafka is told in its properties and ours is not",
    ),
    Row(
        ".*describe_configs", rf".*\.configs\[({_PLACES})\]\.synonyms\[[a-z.]+,4\]", text("^<there"),
        is_one_of("<missing>"), "places that Kafka is told in its properties and ours is not",
    ),
    Row(
        ".*describe_configs", rf".*\.configs\[({_PLACES})\](\.synonyms\[[a-z.]+,4\])?\.value",
        text("127.0.0.1|CONTROLLER|^<log dir>$|^broker,controller$"),
        lambda value: value in (None, "") or "PLAINTEXT:" in value,
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
        "describe_quorum", r".*high_watermark", number, number,
        "the metadata logs have different records",
    ),
    Row(
        "produce", r".*error_code", is_one_of(2, 3, 10, 29, 32, 35, 53, 76, 87, 100), is_one_of(21),
        "of two faults of a partition either may be told: required acks, or its records",
    ),
    Row(
        "produce", r".*log_start_offset", number, is_one_of(-1),
        "of two faults of a partition either may be told: required acks, or its records",
    ),
    Row(
        "update_features", "error_message", text("^The update failed for all"), text("^The update failed for all"),
        "of two features that cannot be changed either may be named",
    ),
    Row(
        "describe_topic_partitions", r"next_cursor.*", _cursor, _cursor,
        "a cursor at the largest number runs over in Kafka",
    ),
    Row(
        "describe_topic_partitions", r"topics(\.length|\[[^\]]*\])", is_one_of(1, "<missing>"),
        lambda value: number(value) or text("^<there")(value),
        "a cursor at the largest number runs over in Kafka",
    ),
    Row(
        "list_offsets", r"topics\[trimmed\]\.partitions\[\d+\]\.offset", is_one_of(0, 1, 2), number,
        "the record with the greatest timestamp may be a deleted one in Kafka",
    ),
    Row(
        ".*alter_configs", r".*error_message", text("^Unknown group config name"), text("^Unknown group config name"),
        "of two wrong configs either may be named",
    ),
    Row(
        "create_topics", r".*error_message", text("^Null value not supported for topic configs"),
        text("^Null value not supported for topic configs"), "a config that is given twice is named once",
    ),
    Row(
        "alter_client_quotas", r".*error_message", text("^Ignoring duplicate entity"),
        text("^Ignoring duplicate entity"), "the parts of an entity are in the order of a hash map",
    ),
    Row(
        "alter_client_quotas", r".*error_message", text("^Invalid configuration key"),
        text("must be greater than 0|cannot be a fractional|must be a finite|is too large"),
        "of two wrong quotas either may be named",
    ),
    Row(
        "consumer_group_heartbeat", "member_id", text(r"^[\w-]{22}$"), text(r"^[\w-]{22}$"),
        "a member without an id (v0) is given one by the coordinator",
    ),
    Row(
        ".*alter_configs", r".*error_message", is_one_of("/ by zero"), text("threads should be at least 1"),
        "log.cleaner.threads=0 makes Kafka divide by zero",
    ),
    Row(
        "write_txn_markers", r"markers(\.length|\[-?\d+#\d+\])", is_one_of(1, "<missing>"), is_one_of(2, "<there>"),
        "two markers of one producer in a request that is refused have one answer of Kafka's",
    ),
    Row(
        "list_groups", r"groups\.length", number, number,
        "members that joined in passing leave when their own time limits are over",
    ),
    Row(
        "list_groups", r"groups\[join-\d+\]", is_one_of("<there>", "<missing>"), is_one_of("<there>", "<missing>"),
        "members that joined in passing leave when their own time limits are over",
    ),
    Row(
        "list_groups", r"groups\[join-\d+\]\.group_state", is_one_of(*_STATES), is_one_of(*_STATES),
        "members that joined in passing leave when their own time limits are over",
    ),
    Row(
        ".*describe_configs", r"results\[8,1\]\.configs(\.length|\[[\w.$]+\](\..+)?)", _logger, _logger,
        "levels and names of loggers are those of each process",
    ),
    Row(
        ".*describe_configs", r".*\.documentation", text("."), is_one_of(None),
        "Kafka's descriptions of configs are its own prose",
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
        "describe_quorum", r"nodes\[1\]\.listeners(\.length|\[[A-Z_]+,127\.0\.0\.1\](\.port)?)", _place, _place,
        "the controller is reached at the listener of the broker, since ours has no other",
    ),
    Row(
        ".*", r".*error_message", text(_JAVA), lambda value: value is None or not text(_JAVA)(value),
        "names of Java classes and objects in Kafka's texts",
    ),
    Row(
        "delete_records then list_offsets", r"topics\[.*\]\.partitions\[.*\]\.(offset|timestamp|leader_epoch)",
        number, is_one_of(-1),
        "Kafka names the record with the newest timestamp although it was deleted, where nothing is left",
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
    """Whether the difference stands beside an error code of -1 of Kafka's: then all of that item is about it.

    Where every code is -1 Kafka refused the request as a whole, and lists what it was asked word for word. A partition
    of a fetch that has -1 leaves its share of max_bytes to the others.
    """
    reason = "an error that Kafka's code does not foresee (-1) is told as what is wrong"
    codes = {code for name, code in theirs.items() if name.endswith("error_code")}
    if path.endswith(".records") and -1 in codes:
        return reason
    holder = path
    while holder:
        holder = holder.rpartition(".")[0]
        if theirs.get(f"{holder}.error_code" if holder else "error_code") == -1:
            return reason
    return reason if codes == {-1} else None
