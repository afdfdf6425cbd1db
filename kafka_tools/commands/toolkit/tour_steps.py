"""The steps of the tour: its commands, in order, and the checks of their output.

A step is a command line as an operator types it and a check of its real output. Checks look at what matters (the
partitions that were asked for, every record back, no lag), so that a step that prints the wrong thing ends the tour.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kafka_tools.commands.toolkit.step_checks import (
    CommandResult,
    Step,
    has,
    lists,
    require,
    table,
)
from kafka_tools.protocol.enums import CONSUMER_OFFSETS

RECORDS = 1200
PARTITIONS = 3
DELETED_BEFORE = 100
USER = "alice"
# The user exists for seconds, on a broker that listens on the loopback interface only.
PASSWORD_OF_A_BROKER_THAT_IS_THROWN_AWAY = "wonderland"


class TourPlace(NamedTuple):
    """The place of the tour: its folder, the broker's data directory, address and cluster id.

    ``login_server``: the address for SCRAM logins.
    """

    folder: Path
    data_dir: Path
    bootstrap_server: str
    cluster_id: str
    login_server: str

    def step(self, title: str, command: str, check: Callable[[CommandResult], None], input_file: str = "") -> Step:
        """A step. In ``command``, ``{at}`` is replaced by the connection, and the name of a field by its value.

        ``input_file``: the file of the folder that is the standard input.
        """
        words = command.replace("{at}", "--bootstrap-server {bootstrap_server}").split()
        typed = [word.format(**self._asdict()) for word in words]
        return Step(title, typed, check, self.folder / input_file if input_file else None)


def format_step(server_properties: Path, cluster_id: str) -> Step:
    """The step before there is a broker: its log directory is formatted."""
    words = ["--config", str(server_properties), "--cluster-id", cluster_id, "--standalone"]
    return Step(
        "Format a log directory for a broker that is its own controller",
        ["kafka-storage", "format", *words],
        has("Formatting dynamic metadata voter directory "),
    )


def steps(place: TourPlace) -> list[Step]:
    """The steps on the broker, with every family of commands among them.

    Writes the files that the commands read (records, password, offsets) into the folder.
    """
    records = _write_files(place.folder)
    return [*_topics(place), *_configs(place), *_records(place, records), *_groups(place), *_logs(place)]


def audit_step(place: TourPlace) -> Step:
    """The last step, which needs Spark."""
    # The audit reads so little data without Spark, unless you ask for it.
    audit = "kafka-tools audit {data_dir} --master local[*]"
    return place.step("Audit the broker's data directory with Spark", audit, _audited)


def _topics(place: TourPlace) -> list[Step]:
    create = "kafka-topics {at} --create --topic"
    return [
        place.step("List the brokers", "kafka-cluster cluster-id {at}", has(f"Cluster ID: {place.cluster_id}")),
        place.step(
            "Create topics",
            f"{create} orders --partitions {PARTITIONS} --replication-factor 1",
            has("Created topic orders."),
        ),
        place.step(
            "Create a compacted topic",
            f"{create} customers --config cleanup.policy=compact",
            has("Created topic customers."),
        ),
        place.step("List the topics", "kafka-topics {at} --list", lists("customers", "orders")),
        place.step(
            "Describe a topic",
            "kafka-topics {at} --describe --topic orders",
            has("Topic: orders", f"PartitionCount: {PARTITIONS}", *(f"Partition: {n}" for n in range(PARTITIONS))),
        ),
    ]


def _configs(place: TourPlace) -> list[Step]:
    topic = "--entity-type topics --entity-name orders"
    user = f"--entity-type users --entity-name {USER}"
    updated = has(f"Completed updating config for user {USER}.")
    return [
        place.step(
            "Alter a topic's configs",
            f"kafka-configs {{at}} --alter {topic} --add-config retention.ms=86400000,segment.bytes=1048576",
            has("Completed updating config for topic orders."),
        ),
        place.step(
            "Describe the configs",
            f"kafka-configs {{at}} --describe {topic}",
            has("retention.ms=86400000", "segment.bytes=1048576"),
        ),
        place.step(
            "Give a user quotas",
            f"kafka-configs {{at}} --alter {user} --add-config producer_byte_rate=1048576,consumer_byte_rate=2097152",
            updated,
        ),
        place.step(
            "Add a SCRAM credential, its password in a file",
            f"kafka-configs {{at}} --alter {user} --add-config-file {{folder}}/scram.properties",
            updated,
        ),
        place.step(
            "Describe the user: quotas, and only the iterations of the password",
            f"kafka-configs {{at}} --describe {user}",
            _describes_the_user,
        ),
        place.step(
            "Let the user read a topic",
            f"kafka-acls {{at}} --add --topic orders --allow-principal User:{USER} --operation Read",
            has("name=orders", f"principal=User:{USER}, host=*, operation=READ, permissionType=ALLOW"),
        ),
    ]


def _records(place: TourPlace, records: list[str]) -> list[Step]:
    keyed = "--reader-property parse.key=true --reader-property key.separator=:"
    shown = "--formatter-property print.key=true --formatter-property key.separator=:"
    group = f"--group billing --from-beginning --max-messages {RECORDS} --timeout-ms 30000"
    return [
        place.step(
            f"Produce {RECORDS} records",
            f"kafka-console-producer {{at}} --topic orders --compression-codec zstd {keyed}",
            has(),
            input_file="orders.txt",
        ),
        place.step(
            "Consume the records in a group",
            f"kafka-console-consumer {{at}} --topic orders {group} {shown}",
            lists(*records),
        ),
    ]


def _groups(place: TourPlace) -> list[Step]:
    describe = "kafka-consumer-groups {at} --describe --group billing"
    return [
        place.step("List the groups", "kafka-consumer-groups {at} --list", lists("billing")),
        place.step(
            "List groups of every type, with their protocols",
            "kafka-groups {at} --list",
            has("billing", "PROTOCOL", "consumer"),
        ),
        place.step("Show that the group has read everything", describe, _lag(0)),
        place.step(
            "Reset the group to the start",
            "kafka-consumer-groups {at} --reset-offsets --group billing --topic orders --to-earliest --execute",
            _was_reset,
        ),
        place.step("Show that the group lags by all records", describe, _lag(RECORDS)),
        place.step(
            "Find hanging transactions, which would block readers",
            "kafka-transactions {at} find-hanging --topic orders",
            _nothing_hangs,
        ),
    ]


def _logs(place: TourPlace) -> list[Step]:
    segments = ",".join(f"{{data_dir}}/orders-{number}/{0:020d}.log" for number in range(PARTITIONS))
    return [
        place.step(
            "Propose a reassignment of the partitions",
            "kafka-reassign-partitions {at} --generate --topics-to-move-json-file {folder}/topics.json --broker-list 1",
            has("Proposed partition reassignment configuration", '"topic":"orders","partition":2,"replicas":[1]'),
        ),
        place.step("Show the end offsets of the partitions", "kafka-get-offsets {at} --topic orders", _ends),
        place.step(
            "Show the size of the partitions on disk",
            "kafka-log-dirs {at} --describe --topic-list orders",
            has(f'"logDir":"{place.data_dir}"', *(f'"partition":"orders-{number}"' for number in range(PARTITIONS))),
        ),
        place.step(
            "Delete records before an offset, from a JSON file",
            "kafka-delete-records {at} --offset-json-file {folder}/offsets.json",
            has(f"partition: orders-0\tlow_watermark: {DELETED_BEFORE}"),
        ),
        place.step(
            "Elect the preferred leaders",
            "kafka-leader-election {at} --election-type PREFERRED --topic orders --partition 0",
            has("Valid replica already elected for partitions orders-0"),
        ),
        place.step(
            "Dump the segments on disk, with their records",
            f"kafka-dump-log --files {segments} --print-data-log",
            _dumped,
        ),
        place.step(
            "Browse the cluster metadata on disk",
            "kafka-metadata-shell --snapshot {data_dir} ls image/topics/byName",
            has("customers\n", "orders\n"),
        ),
    ]


def _write_files(folder: Path) -> list[str]:
    records = [f"customer-{number % 40}:order {number}, {number * 37 % 500} EUR" for number in range(RECORDS)]
    (folder / "orders.txt").write_text("\n".join(records) + "\n", encoding="utf-8")
    (folder / "scram.properties").write_text(
        f"SCRAM-SHA-256=iterations=8192,password={PASSWORD_OF_A_BROKER_THAT_IS_THROWN_AWAY}\n", encoding="utf-8"
    )
    (folder / "topics.json").write_text('{"topics": [{"topic": "orders"}], "version": 1}\n', encoding="utf-8")
    offsets = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": DELETED_BEFORE}]}
    (folder / "offsets.json").write_text(json.dumps(offsets), encoding="utf-8")
    return records


# Checks


def _describes_the_user(answer: CommandResult) -> None:
    has("producer_byte_rate=1048576", "consumer_byte_rate=2097152", "SCRAM-SHA-256=iterations=8192")(answer)
    said = answer.output + answer.errors
    require(PASSWORD_OF_A_BROKER_THAT_IS_THROWN_AWAY not in said, "the password should not be in the output")


def _lag(total: int) -> Callable[[CommandResult], None]:
    """The group's lag over all partitions of the topic is ``total``."""

    def check(answer: CommandResult) -> None:
        rows = table(answer.output, "GROUP")
        lags = [row["LAG"] for row in rows if row.get("TOPIC") == "orders"]
        require(len(lags) == PARTITIONS, f"{PARTITIONS} partitions of orders should be listed, not {len(lags)}")
        require(all(lag.isdecimal() for lag in lags), f"the lag should be a number everywhere: {', '.join(lags)}")
        require(sum(map(int, lags)) == total, f"the lag should be {total} in all, not {sum(map(int, lags))}")

    return check


def _was_reset(answer: CommandResult) -> None:
    rows = table(answer.output, "GROUP")
    offsets = [row.get("NEW-OFFSET") for row in rows if row.get("TOPIC") == "orders"]
    require(offsets == ["0"] * PARTITIONS, f"the new offset should be 0 in {PARTITIONS} partitions: {offsets}")


def _nothing_hangs(answer: CommandResult) -> None:
    lines = answer.output.splitlines()
    require(len(lines) == 1, f"expected only the heading, not {len(lines)} lines")
    require(lines[0].startswith("Topic\tPartition\tProducerId"), "the columns should be those of find-hanging")


def _ends(answer: CommandResult) -> None:
    offsets = [int(line.rpartition(":")[2]) for line in answer.output.splitlines()]
    require(len(offsets) == PARTITIONS, f"{PARTITIONS} partitions should be listed, not {len(offsets)}")
    require(sum(offsets) == RECORDS, f"the ends should add up to {RECORDS}, not to {sum(offsets)}")


def _dumped(answer: CommandResult) -> None:
    payloads = re.findall(r"^\| offset: .* payload: order \d+, ", answer.output, re.MULTILINE)
    require(len(payloads) == RECORDS, f"{RECORDS} records should be in the segments, not {len(payloads)}")
    require("isvalid: false" not in answer.output, "every batch should be valid")
    require("compresscodec: zstd" in answer.output, "the batches should be compressed with zstd")


def _audited(answer: CommandResult) -> None:
    # The sums of the topics stand above the partitions.
    rows = [row for row in table(answer.output, "TOPIC") if "PARTITION" in row]
    orders = [row for row in rows if row["TOPIC"] == "orders"]
    require(len(orders) == PARTITIONS, f"{PARTITIONS} partitions of orders should be listed, not {len(orders)}")
    counted = sum(int(row["RECORDS"]) for row in orders)
    require(counted == RECORDS, f"{RECORDS} records of orders should be counted, not {counted}")
    require({row["CODECS"] for row in orders} == {"zstd"}, "the codec of orders should be zstd")
    require(any(row["TOPIC"] == CONSUMER_OFFSETS for row in rows), "__consumer_offsets should be listed")
    corrupt = sum(int(row["CORRUPT"]) for row in rows)
    require(corrupt == 0, f"no batch should be corrupt, {corrupt} are")
