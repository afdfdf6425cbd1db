"""kafka-log-dirs: Kafka's two lines and its document to the byte, brokers that are not there or do not answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.output.kafka import log_dirs_text
from kafka_tools.output.kafka.java_words import exception_name, hash_order, partition_hash, places
from kafka_tools.texts.java_hashing import string_hash
from kafka_tools.values import TopicPartition
from tests.commands import fault_table
from tests.commands.partitions.conftest import Run

WALKED = (
    "größe-17, orders-10, a.b-18, größe-13, orders-14, a.b-14, größe-9, orders-18, a.b-10, größe-5, a.b-6, größe-1, "
    "a.b-2, orders-1, orders-5, orders-7, größe-16, a.b-19, orders-11, größe-12, a.b-15, orders-15, größe-8, a.b-11, "
    "orders-19, größe-4, a.b-7, größe-0, a.b-3, orders-2, orders-6, größe-15, orders-8, größe-11, orders-12, a.b-16, "
    "größe-7, orders-16, a.b-12, größe-3, a.b-8, a.b-4, a.b-0, orders-3, orders-9, größe-18, a.b-17, orders-13, "
    "größe-14, a.b-13, orders-17, größe-10, a.b-9, größe-6, a.b-5, größe-2, a.b-1, orders-0, größe-19, orders-4"
)
"""How a HashSet of Java 17 walks 20 partitions of each of three topics."""


def test_hash_tables_are_walked_as_java_walks_them() -> None:
    keys = [TopicPartition(topic, number) for topic in ("orders", "a.b", "größe") for number in range(20)]
    assert ", ".join(map(str, hash_order(keys, partition_hash))) == WALKED
    paths = ["/data/kafka-1", "/data/kafka-2", "/var/lib/x"]
    assert hash_order(paths, string_hash, places(3)) == ["/var/lib/x", "/data/kafka-2", "/data/kafka-1"]
    walked = {1: [98], 2: [105, 98], 3: [112, 105, 98], 5: [112, 105, 98, 126, 119]}
    walked[7] = [112, 98, 133, 119, 105, 140, 126]
    for count, expected in walked.items():
        assert hash_order([98 + at * 7 for at in range(count)], lambda each: each, places(count)) == expected


def test_exceptions_have_the_names_of_kafkas_classes() -> None:
    names = {
        "KAFKA_STORAGE_ERROR": "KafkaStorageException",
        "UNKNOWN_SERVER_ERROR": "UnknownServerException",
        "UNKNOWN_TOPIC_OR_PARTITION": "UnknownTopicOrPartitionException",
        "PREFERRED_LEADER_NOT_AVAILABLE": "PreferredLeaderNotAvailableException",
        "INVALID_TOPIC_EXCEPTION": "InvalidTopicException",
        "REQUEST_TIMED_OUT": "TimeoutException",
    }
    for error, name in names.items():
        assert exception_name(error) == f"org.apache.kafka.common.errors.{name}"


def row(broker: int, path: str, *partitions: tuple[str, int], error: str | None = None) -> dict[str, Any]:
    told = [
        {"topic": topic, "partition": number, "size_bytes": 10 * number, "offset_lag": 0, "is_future": False}
        for topic, number in partitions
    ]
    return {"broker": broker, "log_dir": path, "error": error, "partitions": told}


def test_the_document_is_one_line_with_kafkas_members_in_kafkas_order() -> None:
    rows = [row(1, "/a", ("orders", 0), ("orders", 1)), row(2, "/b", error="KAFKA_STORAGE_ERROR")]
    assert log_dirs_text.document(rows) == (
        '{"brokers":[{"broker":1,"logDirs":[{"partitions":['
        '{"partition":"orders-0","size":0,"offsetLag":0,"isFuture":false},'
        '{"partition":"orders-1","size":10,"offsetLag":0,"isFuture":false}],"error":null,"logDir":"/a"}]},'
        '{"broker":2,"logDirs":[{"partitions":[],"error":"org.apache.kafka.common.errors.KafkaStorageException",'
        '"logDir":"/b"}]}],"version":1}\n'
    )


def test_directories_are_described(broker: EmbeddedBroker, run: Run) -> None:
    asked = run("log-dirs", "--describe")
    querying, received, line = asked.out.splitlines()
    assert (asked.status, asked.err) == (0, "")
    assert querying == "Querying brokers for log directories information"
    assert received == "Received log directory information from brokers 1"
    document = json.loads(line)
    ((directory,),) = [each["logDirs"] for each in document["brokers"]]
    assert directory["logDir"] == broker.data_dir
    sizes = {each["partition"]: each["size"] for each in directory["partitions"]}
    assert sizes["orders-10"] > sizes["orders-0"] > 300
    assert sizes["orders-1"] == sizes["other-0"] == 0


def test_topics_and_brokers_are_chosen(run: Run) -> None:
    asked = run("log-dirs", "--describe", "--topic-list", "other,no-such", "--broker-list", "1,,1")
    ((directory,),) = [each["logDirs"] for each in json.loads(asked.out.splitlines()[2])["brokers"]]
    assert [each["partition"] for each in directory["partitions"]] == ["other-0"]
    everything = run("log-dirs", "--describe", "--topic-list", "", "--broker-list", "")
    assert everything.out == run("log-dirs", "--describe").out


def test_rows_have_what_the_volume_holds(run: Run) -> None:
    (found,) = json.loads(run("log-dirs", "--describe", "--topic-list", "orders", "-o", "json").out)["data"]
    assert [each["partition"] for each in found["partitions"]] == list(range(12))
    assert found["total_bytes"] >= found["usable_bytes"] > 0
    assert (found["broker"], found["error"], found["cordoned"]) == (1, None, False)
    table = run("log-dirs", "--describe", "--topic-list", "other", "-o", "table").out.splitlines()
    assert table[0].split() == [
        "BROKER",
        "LOG-DIR",
        "TOPIC",
        "PARTITION",
        "SIZE-BYTES",
        "OFFSET-LAG",
        "IS-FUTURE",
        "ERROR",
    ]


def test_brokers_that_do_not_exist_are_named_in_kafkas_words(run: Run) -> None:
    asked = run("log-dirs", "--describe", "--broker-list", "1,7,5")
    assert asked == (
        1,
        "",
        "kafka-log-dirs: ERROR: The given brokers do not exist from --broker-list: 5,7. Current existent brokers: 1\n",
    )


@pytest.mark.parametrize(
    "arguments", [(), ("--describe", "--broker-list", "1,x"), ("--describe", "--broker-list", "\u0663")]
)
def test_a_wrong_command_line_exits_2(run: Run, arguments: tuple[str, ...]) -> None:
    asked = run("log-dirs", *arguments)
    assert (asked.status, asked.out) == (2, "")


def test_a_directory_that_cannot_be_read_is_told_and_exits_1(broker: EmbeddedBroker, run: Run) -> None:
    def offline(request: Any) -> Any:
        from kafka_tools.protocol import error_codes
        from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsResponse

        Result = DescribeLogDirsResponse.Result
        return DescribeLogDirsResponse(
            results=[Result(log_dir="/sound"), Result(log_dir="/gone", error_code=error_codes.KAFKA_STORAGE_ERROR)]
        )

    with broker.faults.answer("describe_log_dirs", offline):
        asked = run("log-dirs", "--describe")
    assert asked.status == 1
    found = {each["logDir"]: each["error"] for each in json.loads(asked.out.splitlines()[2])["brokers"][0]["logDirs"]}
    assert found == {"/sound": None, "/gone": "org.apache.kafka.common.errors.KafkaStorageException"}
    assert asked.err.startswith("kafka-log-dirs: log directory /gone of broker 1: KAFKA_STORAGE_ERROR: ")


def test_one_broker_of_three_that_is_down_leaves_the_others_and_exits_1() -> None:
    (down,) = [fault for fault in fault_table.FAULTS if fault.title.startswith("One broker of three is down")]
    printed = fault_table.run("kafka-log-dirs --describe", down)
    assert printed.status == 1
    assert [each["broker"] for each in json.loads(printed.out.splitlines()[2])["brokers"]] == [1, 2]
    assert printed.err.startswith("kafka-log-dirs: broker 3: cannot connect to kafka3:9092 (id 3)")
