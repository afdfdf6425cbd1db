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
    all_of,
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
    """The surroundings of the tour: its folder, the broker's data directory, address and cluster id.

    ``login_server``: where clients log in with SCRAM.
    """

    folder: Path
    data_dir: Path
    bootstrap_server: str
    cluster_id: str
    login_server: str


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
    return [
        *_topics(place),
        *_configs(place),
        *_records(place, records),
        *_groups(place),
        *_transactions(place),
        *_reassignment(place),
        *_log(place),
    ]


def audit_step(place: TourPlace) -> Step:
    """The last step, which needs Spark."""
    # So little is read without Spark unless it is asked for.
    audit = ["kafka-tools", "audit", str(place.data_dir), "--master", "local[*]"]
    return Step("Audit the broker's data directory with Spark", audit, _audited)


def _topics(place: TourPlace) -> list[Step]:
    topics = ["kafka-topics", "--bootstrap-server", place.bootstrap_server]
    return [
        Step(
            "List the brokers",
            ["kafka-cluster", "cluster-id", "--bootstrap-server", place.bootstrap_server],
            has(f"Cluster ID: {place.cluster_id}"),
        ),
        Step(
            "Create topics",
            [*topics, "--create", "--topic", "orders", "--partitions", str(PARTITIONS), "--replication-factor", "1"],
            has("Created topic orders."),
        ),
        Step(
            "Create a compacted topic",
            [*topics, "--create", "--topic", "customers", "--config", "cleanup.policy=compact"],
            has("Created topic customers."),
        ),
        Step("List the topics", [*topics, "--list"], lists("customers", "orders")),
        Step(
            "Describe a topic",
            [*topics, "--describe", "--topic", "orders"],
            has("Topic: orders", f"PartitionCount: {PARTITIONS}", *(f"Partition: {n}" for n in range(PARTITIONS))),
        ),
    ]


def _configs(place: TourPlace) -> list[Step]:
    configs = ["kafka-configs", "--bootstrap-server", place.bootstrap_server]
    topic = ["--entity-type", "topics", "--entity-name", "orders"]
    user = ["--entity-type", "users", "--entity-name", USER]
    password_file = str(place.folder / "scram.properties")
    return [
        Step(
            "Alter a topic's configs",
            [*configs, "--alter", *topic, "--add-config", "retention.ms=86400000,segment.bytes=1048576"],
            has("Completed updating config for topic orders."),
        ),
        Step(
            "Describe the configs",
            [*configs, "--describe", *topic],
            has("retention.ms=86400000", "segment.bytes=1048576"),
        ),
        Step(
            "Give a user quotas",
            [*configs, "--alter", *user, "--add-config", "producer_byte_rate=1048576,consumer_byte_rate=2097152"],
            has(f"Completed updating config for user {USER}."),
        ),
        Step(
            "Add a SCRAM credential, its password in a file",
            [*configs, "--alter", *user, "--add-config-file", password_file],
            has(f"Completed updating config for user {USER}."),
        ),
        Step(
            "Describe the user: quotas, and only the iterations of the password",
            [*configs, "--describe", *user],
            all_of(
                has("producer_byte_rate=1048576", "consumer_byte_rate=2097152", "SCRAM-SHA-256=iterations=8192"),
                _hides_the_password,
            ),
        ),
        Step(
            "Let the user read a topic",
            [
                *["kafka-acls", "--bootstrap-server", place.bootstrap_server, "--add", "--topic", "orders"],
                *["--allow-principal", f"User:{USER}", "--operation", "Read"],
            ],
            has("name=orders", f"principal=User:{USER}, host=*, operation=READ, permissionType=ALLOW"),
        ),
    ]


def _records(place: TourPlace, records: list[str]) -> list[Step]:
    bootstrap = ["--bootstrap-server", place.bootstrap_server, "--topic", "orders"]
    keyed = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    shown = ["--formatter-property", "print.key=true", "--formatter-property", "key.separator=:"]
    group = ["--group", "billing", "--from-beginning", "--max-messages", str(RECORDS), "--timeout-ms", "30000"]
    return [
        Step(
            f"Produce {RECORDS} records",
            ["kafka-console-producer", *bootstrap, "--compression-codec", "zstd", *keyed],
            has(),
            input_file=place.folder / "orders.txt",
        ),
        Step(
            "Consume the records in a group",
            ["kafka-console-consumer", *bootstrap, *group, *shown],
            lists(*records),
        ),
    ]


def _groups(place: TourPlace) -> list[Step]:
    groups = ["kafka-consumer-groups", "--bootstrap-server", place.bootstrap_server]
    describe = [*groups, "--describe", "--group", "billing"]
    reset = [*groups, "--reset-offsets", "--group", "billing", "--topic", "orders", "--to-earliest", "--execute"]
    return [
        Step("List the groups", [*groups, "--list"], lists("billing")),
        Step(
            "List groups of every type, with their protocols",
            ["kafka-groups", "--bootstrap-server", place.bootstrap_server, "--list"],
            has("billing", "PROTOCOL", "consumer"),
        ),
        Step("Show that the group has read everything", describe, _lag(0)),
        Step("Reset the group to the start", reset, _was_reset),
        Step("Show that the group lags by all records", describe, _lag(RECORDS)),
    ]


def _transactions(place: TourPlace) -> list[Step]:
    hanging = ["kafka-transactions", "--bootstrap-server", place.bootstrap_server, "find-hanging", "--topic", "orders"]
    return [Step("Find hanging transactions, which would block readers", hanging, _nothing_hangs)]


def _reassignment(place: TourPlace) -> list[Step]:
    generate = ["--generate", "--topics-to-move-json-file", str(place.folder / "topics.json"), "--broker-list", "1"]
    command = ["kafka-reassign-partitions", "--bootstrap-server", place.bootstrap_server]
    return [
        Step(
            "Propose a reassignment of the partitions",
            [*command, *generate],
            has("Proposed partition reassignment configuration", '"topic":"orders","partition":2,"replicas":[1]'),
        )
    ]


def _log(place: TourPlace) -> list[Step]:
    return [
        Step(
            "Show the end offsets of the partitions",
            ["kafka-get-offsets", "--bootstrap-server", place.bootstrap_server, "--topic", "orders"],
            _ends,
        ),
        Step(
            "Show the size of the partitions on disk",
            ["kafka-log-dirs", "--bootstrap-server", place.bootstrap_server, "--describe", "--topic-list", "orders"],
            has(f'"logDir":"{place.data_dir}"', *(f'"partition":"orders-{number}"' for number in range(PARTITIONS))),
        ),
        Step(
            "Delete records before an offset, from a JSON file",
            [
                "kafka-delete-records",
                "--bootstrap-server",
                place.bootstrap_server,
                "--offset-json-file",
                str(place.folder / "offsets.json"),
            ],
            has(f"partition: orders-0\tlow_watermark: {DELETED_BEFORE}"),
        ),
        Step(
            "Elect the preferred leaders",
            [
                "kafka-leader-election",
                "--bootstrap-server",
                place.bootstrap_server,
                "--election-type",
                "PREFERRED",
                "--topic",
                "orders",
                "--partition",
                "0",
            ],
            has("Valid replica already elected for partitions orders-0"),
        ),
        Step(
            "Dump the segments on disk, with their records",
            ["kafka-dump-log", "--files", _segments(place.data_dir), "--print-data-log"],
            _dumped,
        ),
        Step(
            "Browse the cluster metadata on disk",
            ["kafka-metadata-shell", "--snapshot", str(place.data_dir), "ls", "image/topics/byName"],
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


def _segments(data_dir: Path) -> str:
    """The topic's segments as ``--files`` takes them; small topics have one per partition, from offset 0."""
    return ",".join(str(data_dir / f"orders-{number}" / f"{0:020d}.log") for number in range(PARTITIONS))


# Checks


def _hides_the_password(answer: CommandResult) -> None:
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
    require(len(lines) == 1, f"only the heading should be there, not {len(lines)} lines")
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
