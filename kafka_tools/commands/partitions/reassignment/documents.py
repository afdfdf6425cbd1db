"""The JSON documents of ``kafka-reassign-partitions``: the new replicas of partitions, and topics to place anew.

Checks are in the order of Kafka's ReassignPartitionsCommand: JSON, version, then each entry.
A missing list is an empty list. The formats are ``schemas/reassignment.v1.schema.json`` and
``topics-to-move.v1.schema.json``. This module also checks that lists have equal lengths, which no schema can do.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.commands.documents import check_all, rule, schema, versioned
from kafka_tools.errors import ContradictoryInput, InputError
from kafka_tools.values import TopicPartition, number_below

ANY_LOG_DIR = "any"
"""Means that the broker selects the log directory."""

Replicas = tuple[int, ...]


class ReassignmentDocument(NamedTuple):
    """A reassignment file. ``partitions``: its entries in their order, including duplicates.

    ``log_dirs``: replica -> absolute path, for replicas with one. The last path of a replica wins.
    """

    partitions: list[tuple[TopicPartition, Replicas]]
    log_dirs: dict[ReplicaPlace, str]


def read_reassignment(text: str, place: str) -> ReassignmentDocument:
    """Parse a reassignment file. ``place`` names it in messages. Raises InputError if it is invalid."""
    document = versioned(text, place, supported=1)
    rules = schema("reassignment.v1")
    is_right = rule(rules["properties"]["partitions"]["items"])
    entries = document.get("partitions", [])
    partitions = []
    log_dirs = {}
    for entry in entries if isinstance(entries, list) else ():
        if not is_right(entry):
            check_all(document, rules, place)  # reports this mistake, with its place and all further ones
        partition = TopicPartition(entry["topic"], entry["partition"])
        replicas = tuple(entry["replicas"])
        partitions.append((partition, replicas))
        paths = entry.get("log_dirs")
        if paths is None:
            continue
        if len(paths) != len(replicas):
            raise ContradictoryInput(
                f"Size of replicas list {_java_list(replicas)} is different from size of log dirs list "
                f"{_java_list(paths)} for partition {partition}",
                hint=f"{place}: give a path or {ANY_LOG_DIR} for each replica",
            )
        for broker_id, path in zip(replicas, paths, strict=True):
            if path != ANY_LOG_DIR:
                log_dirs[ReplicaPlace(*partition, broker_id)] = path
    rest = {**document, "partitions": []} if isinstance(entries, list) else document  # each entry is right
    check_all(rest, rules, place)
    return ReassignmentDocument(partitions, log_dirs)


def check_executable(document: ReassignmentDocument, place: str) -> dict[TopicPartition, Replicas]:
    """Partition -> its new replicas. Raises InputError for an empty file and for duplicate partitions or replicas."""
    partitions = document.partitions
    if not partitions:
        raise ContradictoryInput("Partition reassignment list cannot be empty", hint=place)
    empty = [str(partition) for partition, replicas in partitions if not replicas]
    if empty:
        raise ContradictoryInput("Partition replica list cannot be empty", hint=f"{place}: {', '.join(empty)}")
    twice = _duplicates([partition for partition, _ in partitions])
    if twice:
        raise ContradictoryInput(
            f"Partition reassignment contains duplicate topic partitions: {','.join(map(str, twice))}", hint=place
        )
    repeated = {partition: _duplicates(replicas) for partition, replicas in partitions}
    listed = ". ".join(
        f"{partition} contains multiple entries for {','.join(map(str, found))}"
        for partition, found in repeated.items()
        if found
    )
    if listed:
        raise ContradictoryInput(f"Partition replica lists may not contain duplicate entries: {listed}", hint=place)
    return dict(partitions)


def read_topics_to_move(text: str, place: str) -> list[str]:
    """The topics of a topics-to-move file, in its order. Raises InputError if it is invalid or has duplicates."""
    document = versioned(text, place, supported=1)
    check_all(document, schema("topics-to-move.v1"), place)
    topics = [entry["topic"] for entry in document.get("topics", [])]
    twice = _duplicates(topics)
    if twice:
        raise ContradictoryInput(
            f"List of topics to reassign contains duplicate entries: {','.join(twice)}",
            hint=f"{place}: name each topic once",
        )
    return topics


def read_broker_list(text: str, option: str = "--broker-list") -> list[int]:
    """The broker ids of ``option``. Raises InputError if one is not a number or appears twice."""
    ids = []
    for word in map(str.strip, text.rstrip(",").split(",")):
        id = number_below(2**31, word.removeprefix("+"))
        if id is None:
            raise InputError(f"{option}: invalid broker id '{word}': expected numbers such as 0,1,2")
        ids.append(id)
    twice = _duplicates(ids)
    if twice:
        raise ContradictoryInput(f"Broker list contains duplicate entries: {_java_list(twice)}")
    return ids


def reassignment_text(
    partitions: Mapping[TopicPartition, Sequence[int]], log_dirs: Mapping[ReplicaPlace, str] | None = None
) -> str:
    """The document in Kafka's form, in one line and sorted by partition. A directory that is not given is ``any``."""
    entries = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "replicas": replicas,
            "log_dirs": log_dirs_in_order(partition, replicas, log_dirs),
        }
        for partition, replicas in sorted(partitions.items())
    ]
    return json.dumps({"version": 1, "partitions": entries}, separators=(",", ":"), ensure_ascii=False)


def log_dirs_in_order(
    partition: TopicPartition, replicas: Sequence[int], log_dirs: Mapping[ReplicaPlace, str] | None
) -> list[str]:
    """The log directory of each replica; ``any`` for one that is unknown, or not chosen."""
    if not log_dirs:
        return [ANY_LOG_DIR] * len(replicas)
    return [log_dirs.get(ReplicaPlace(*partition, id), ANY_LOG_DIR) for id in replicas]


def _duplicates(items: Sequence[Any]) -> list[Any]:
    return [item for item, count in Counter(items).items() if count > 1]


def _java_list(items: Sequence[object]) -> str:
    return f"[{', '.join(map(str, items))}]"
