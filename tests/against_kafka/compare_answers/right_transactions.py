"""Right requests about transactions, of ids and producers that nobody has begun: transaction_walks.py begins them."""

from __future__ import annotations

from typing import Any

from tests.against_kafka.compare_answers.cases import Pools, recipe


def _producer(pools: Pools) -> dict[str, Any]:
    return {"producer_id": pools.one(9_999_998, 9_999_998, -1), "producer_epoch": pools.one(0, 0, 3, -1)}


def _id(pools: Pools) -> str:
    return str(pools.one("nosuch", "nosuch", "other", "", "x" * 300))


def _topics(pools: Pools) -> list[dict[str, Any]]:
    return pools.few(lambda: {"name": pools.topic(), "partitions": pools.few(pools.partition)})


@recipe
def add_partitions_to_txn(pools: Pools, version: int) -> dict[str, Any]:
    if version >= 4:
        ids = dict.fromkeys(pools.few(lambda: _id(pools)))
        return {
            "transactions": [
                {"transactional_id": each, "verify_only": pools.flag(), "topics": _topics(pools), **_producer(pools)}
                for each in ids
            ]
        }
    producer = {f"v3_and_below_{name}": value for name, value in _producer(pools).items()}
    return {
        "v3_and_below_transactional_id": _id(pools), "v3_and_below_topics": _topics(pools), **producer,
    }  # fmt: skip


@recipe
def add_offsets_to_txn(pools: Pools, version: int) -> dict[str, Any]:
    return {"transactional_id": _id(pools), "group_id": pools.group(), **_producer(pools)}


@recipe
def end_txn(pools: Pools, version: int) -> dict[str, Any]:
    return {"transactional_id": _id(pools), "committed": pools.flag(), **_producer(pools)}


@recipe
def txn_offset_commit(pools: Pools, version: int) -> dict[str, Any]:
    def partition() -> dict[str, Any]:
        return {"partition_index": pools.partition(), "committed_offset": 5, "committed_metadata": pools.one("", None)}

    made = {
        "transactional_id": _id(pools), "group_id": pools.group(), **_producer(pools),
        "topics": pools.few(lambda: {"name": pools.topic(), "partitions": pools.few(partition)}, 0, 2),
    }  # fmt: skip
    return made | ({"generation_id_or_member_epoch": pools.one(-1, -1, 1), "member_id": ""} if version >= 3 else {})


@recipe
def write_txn_markers(pools: Pools, version: int) -> dict[str, Any]:
    """Markers in partitions that are not there: those that are would keep what is written."""
    topics = pools.few(lambda: {"name": pools.one("missing", "gone"), "partition_indexes": pools.few(pools.partition)})
    marker = {"transaction_result": pools.flag(), "topics": topics, "coordinator_epoch": 0, **_producer(pools)}
    return {"markers": pools.one([], [marker], [marker])}


@recipe
def describe_transactions(pools: Pools, version: int) -> dict[str, Any]:
    return {"transactional_ids": pools.few(lambda: _id(pools), 0, 3)}


@recipe
def list_transactions(pools: Pools, version: int) -> dict[str, Any]:
    states = [], [], ["Ongoing"], ["Empty", "nosuch"], ["ongoing"], ["Dead"]
    made = {"state_filters": pools.one(*states), "producer_id_filters": pools.one([], [9_999_998], [-1])}
    if version >= 1:
        made["duration_filter"] = pools.one(-1, 0, 5000, -7)
    if version >= 2:
        made["transactional_id_pattern"] = pools.one(
            None, "", ".*", "t.*", "(?i)T.*|x", r"\pL+-?\d*", "nosuch", "(", "a**"
        )
    return made
