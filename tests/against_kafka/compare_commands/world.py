"""The clusters of the comparison, what is on them from the start, and the files that lines name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import BEFORE, NEWEST
from tests.against_kafka.side_by_side import done, produce, theirs

RACKS = (
    ("broker.rack", "rack-{node}"),
    ("log.dirs", "{folder}/data-{node},{folder}/more-{node}"),
    ("auto.leader.rebalance.enable", "false"),  # what both tools describe changes by their own doing alone
)
CLUSTERS: Mapping[str, Setup] = {
    f"{NEWEST}, one broker": Setup(NEWEST),
    f"{BEFORE}, one broker": Setup(BEFORE),
    "3.9.2, one broker": Setup("3.9.2"),
    f"{NEWEST}, three brokers with racks": Setup(NEWEST, nodes=3, properties=RACKS),
    "3.9.2, three brokers with racks": Setup("3.9.2", nodes=3, properties=RACKS),
}
TOPIC, MOVED, GROUP = "cmp-topic", "cmp-moved", "cmp-group"
RECORDS = 60


def prepare(kafka: RealKafka) -> None:
    """A topic with records, one to move, and a group without members that has offsets; by Kafka's tools."""
    for topic in (TOPIC, MOVED):
        done(theirs(kafka, "topics", "--create", "--topic", topic, "--replica-assignment", _placed(kafka)))
        produce(kafka, topic, RECORDS)
    reset = ("--reset-offsets", "--group", GROUP, "--topic", TOPIC, "--to-offset", 3, "--execute")
    done(theirs(kafka, "consumer-groups", *reset))


def _placed(kafka: RealKafka) -> str:
    """Three partitions: brokers that choose would place them in another way for each tool."""
    return "1:2,2:3,3:1" if len(kafka.node_ids) > 1 else "1,1,1"


def values(kafka: RealKafka, folder: Path) -> dict[str, str]:
    """What ``{name}`` stands for in lines: documents are written to the folder."""
    several = len(kafka.node_ids) > 1
    documents = _documents([2, 3] if several else [1], [1, 2] if several else [1])
    placed = _placed(kafka)
    found = {"rf": "3" if several else "1", "all": ",".join(map(str, kafka.node_ids)), "placed": placed}
    found["last"] = found["all"].split(",")[-1]
    found["placed_4"] = f"{placed},{placed.split(',')[1]}"
    for name, document in documents.items():
        path = folder / f"{name}.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        found[name] = str(path)
    for name, text in _TEXTS.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        found[path.stem] = str(path)
    return found


_TEXTS = {
    "quick.properties": "default.api.timeout.ms=4000\nrequest.timeout.ms=3000\n",
    "csv.csv": f"{TOPIC},0,2\n{TOPIC},1,4\n",
    "csv_of_groups.csv": f"{GROUP},{TOPIC},0,2\ncmp-other,{TOPIC},1,4\n",
    "csv_beyond.csv": f"{TOPIC},0,99999\n",
    "csv_no_number.csv": f"{TOPIC},zero,2\n",
    "csv_short.csv": f"{TOPIC},0\n",
    "csv_empty.csv": "",
}


def _documents(there: list[int], back: list[int]) -> dict[str, object]:
    def partitions(*entries: object, **more: object) -> dict[str, object]:
        return {"version": 1, **more, "partitions": list(entries)}

    def records(offset: object, topic: object = TOPIC, partition: object = 0) -> dict[str, object]:
        return {"topic": topic, "partition": partition, "offset": offset}

    def moved(replicas: object, topic: object = MOVED, partition: object = 0, **more: object) -> dict[str, object]:
        return {"topic": topic, "partition": partition, "replicas": replicas, **more}

    elected = {"topic": TOPIC, "partition": 0}
    return {
        "not_json": "{",
        "empty_text": "",
        "empty": {},
        "a_list": [],
        "version_2": {"version": 2},
        "version_text": {"version": "1", "partitions": []},
        "version_null": {"version": None, "partitions": []},
        "no_partitions": {"version": 1},
        "none": partitions(),
        "null_partitions": {"partitions": None},
        # delete-records
        "records": partitions(records(1), records(0, partition=2)),
        "records_end": partitions(records(-1, partition=1)),
        "records_beyond": partitions(records(99_999), records(1)),
        "records_twice": partitions(records(1), records(2)),
        "records_nowhere": partitions(records(1, topic="cmp-no-such"), records(1)),
        "records_partition_99": partitions(records(0, partition=99), records(1)),
        "records_no_offset": partitions({"topic": TOPIC, "partition": 0}),
        "records_text_offset": partitions(records("1")),
        "records_negative": partitions(records(-7)),
        # leader-election
        "elected": {"partitions": [elected]},
        "elected_twice": {"partitions": [elected, elected]},
        "elected_nowhere": {"partitions": [{"topic": "cmp-no-such", "partition": 0}]},
        "elected_partition_99": {"partitions": [{"topic": TOPIC, "partition": 99}]},
        # reassign-partitions
        "there": partitions(moved(there)),
        "back": partitions(moved(back)),
        "more_replicas": partitions(moved([*back, there[0] + 1] if len(back) > 1 else [])),
        "moved_twice": partitions(moved(there), moved(back)),
        "moved_to_one_twice": partitions(moved([1, 1])),
        "moved_to_none": partitions(moved([])),
        "moved_to_unknown": partitions(moved([77])),
        "moved_nowhere": partitions(moved([1], topic="cmp-no-such")),
        "moved_partition_99": partitions(moved([1], partition=99)),
        "moved_no_replicas": partitions({"topic": MOVED, "partition": 0}),
        "moved_text_replicas": partitions(moved("1")),
        "moved_more_dirs": partitions(moved(there, log_dirs=["any"] * 5)),
        "moved_dirs": partitions(moved(back, log_dirs=["any"] * len(back))),
        "moved_no_such_dir": partitions(moved(back, log_dirs=["/no/such/dir", *["any"] * (len(back) - 1)])),
        "moved_relative_dir": partitions(moved(back, log_dirs=["data", *["any"] * (len(back) - 1)])),
        "topics": {"version": 1, "topics": [{"topic": MOVED}]},
        "topics_twice": {"version": 1, "topics": [{"topic": MOVED}, {"topic": MOVED}]},
        "topics_nowhere": {"version": 1, "topics": [{"topic": "cmp-no-such"}]},
        "topics_none": {"version": 1},
    }
