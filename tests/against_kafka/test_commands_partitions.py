"""kafka-get-offsets, kafka-log-dirs and kafka-leader-election beside Kafka's tools: equal to the byte."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.against_kafka.harness import RealKafka, eventually
from tests.against_kafka.side_by_side import assert_equal, done, fresh, ours, produce, same, theirs, write


@pytest.fixture(params=["kafka_new", "kafka_39"])
def kafka(request: pytest.FixtureRequest) -> RealKafka:
    found: RealKafka = request.getfixturevalue(request.param)
    return found


def test_offsets_are_the_same(kafka: RealKafka) -> None:
    stem = fresh("ends")
    first, second = f"{stem}.a", f"{stem}.b"
    for name, partitions in ((first, 12), (second, 2)):
        done(ours(kafka, "topics", "--create", "--topic", name, "--partitions", partitions, "--replication-factor", 1))
    produce(kafka, first, 40)
    text = same(kafka, "get-offsets", "--topic", first)
    assert text.count("\n") == 12
    assert text.index(f"{first}:10:") < text.index(f"{first}:2:")
    for arguments in (
        (),
        ("--exclude-internal-topics",),
        ("--topic", f"{stem}.*"),
        ("--topic", f"{first},{second}", "--partitions", "0,1,11"),
        ("--topic-partitions", f"{first}:1,{second}:0-1"),
        ("--topic-partitions", f"{first}:9-,{first}:-2,{stem}.b"),
        ("--topic-partitions", f"{stem}.a:"),
        ("--topic-partitions", ":0"),
    ):
        same(kafka, "get-offsets", *arguments)
    for time in ("earliest", "latest", "max-timestamp", "earliest-local", "latest-tiered", -1, -2, -3, -4, -5, 0):
        same(kafka, "get-offsets", "--topic", f"{stem}.*", "--time", time)
    same(kafka, "get-offsets", "--topic", first, "--time", "4102444800000")
    if kafka.release.startswith("4."):
        same(kafka, "get-offsets", "--topic", f"{stem}.*", "--time", "earliest-pending-upload")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--topic", "no-such-topic"),
        ("--topic-partitions", "a", "--topic", "b"),
        ("--time", "yesterday"),
        ("--partitions", "1,x"),
    ],
)
def test_mistakes_are_told_in_kafkas_words(kafka_new: RealKafka, arguments: tuple[str, ...]) -> None:
    our, their = ours(kafka_new, "get-offsets", *arguments), theirs(kafka_new, "get-offsets", *arguments)
    assert (our.returncode in (1, 2), their.returncode) == (True, 1)
    assert our.stdout == their.stdout == ""
    said = their.stderr.splitlines()[0].removeprefix("Error occurred: ")
    assert our.stderr.splitlines()[0] == f"kafka-tools: {said}"


@pytest.mark.parametrize("name", ["kafka_22", "kafka_11"])
def test_old_brokers_are_asked_as_well(name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    topic = fresh("old-ends")
    done(ours(kafka, "topics", "--create", "--topic", topic, "--partitions", 3, "--replication-factor", 1))
    assert done(ours(kafka, "get-offsets", "--topic", topic)) == "".join(f"{topic}:{each}:0\n" for each in range(3))
    lacking = ours(kafka, "get-offsets", "--topic", topic, "--time", "max-timestamp")
    assert (lacking.returncode, lacking.stdout) == (1, "")
    assert "Kafka 3.0 and later" in lacking.stderr
    assert len(lacking.stderr.splitlines()) == 2


@pytest.mark.parametrize("name", ["kafka_new", "kafka_39", "kafka_22", "kafka_new_three"])
def test_log_directories_are_the_same_to_the_byte(name: str, request: pytest.FixtureRequest) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    topic = fresh("sized")
    replicas = 3 if name == "kafka_new_three" else 1
    create = ("--create", "--topic", topic, "--partitions", 20, "--replication-factor", replicas)
    done(ours(kafka, "topics", *create))
    produce(kafka, topic, 40)
    text = same(kafka, "log-dirs", "--describe", "--topic-list", topic)
    assert text.count('"isFuture":false') == 20 * replicas
    same(kafka, "log-dirs", "--describe", "--topic-list", f"{topic},no-such-topic", "--broker-list", kafka.node_ids[0])
    unknown = ("--describe", "--broker-list", "77,5,64")
    our, their = ours(kafka, "log-dirs", *unknown), theirs(kafka, "log-dirs", *unknown)
    assert (our.returncode, our.stdout) == (their.returncode, their.stdout) == (1, "")
    assert our.stderr == f"kafka-tools: {their.stderr}"


def test_log_directories_of_an_old_broker_are_told(kafka_11: RealKafka) -> None:
    topic = fresh("old-sized")
    done(ours(kafka_11, "topics", "--create", "--topic", topic, "--partitions", 2, "--replication-factor", 1))
    (line,) = done(ours(kafka_11, "log-dirs", "--describe", "--topic-list", topic)).splitlines()[2:]
    assert f'"partition":"{topic}-0"' in line


def placed(kafka: RealKafka, name: str) -> None:
    """A topic of three partitions whose first two are no longer led by their preferred replica, broker 2."""
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.net.config import ClientConfig
    from kafka_tools.values import TopicPartition

    one, two, three = kafka.node_ids
    before = ",".join([f"{one}:{two}:{three}"] * 3)
    done(ours(kafka, "topics", "--create", "--topic", name, "--replica-assignment", before))
    with AdminClient(ClientConfig.load(kafka.bootstrap_servers), timeout_s=60) as admin:
        wanted = {TopicPartition(name, number): [two, one, three] for number in range(2)}
        admin.alter_partition_reassignments(wanted).raise_any()

        def moved() -> None:
            assert not admin.list_partition_reassignments()
            partitions = admin.describe_topics([name])[name].get().partitions
            assert [each.replicas[0] for each in partitions] == [two, two, one]
            assert all(len(each.isr) == 3 for each in partitions)

        eventually(moved, timeout_s=60)


def test_elections_are_told_the_same(kafka_new_three: RealKafka, tmp_path: Path) -> None:
    names = [fresh("elected"), fresh("elected")]
    texts = []
    for name, run in zip(names, (ours, theirs), strict=True):
        placed(kafka_new_three, name)
        keys = [{"topic": name, "partition": number} for number in (1, 2, 0, 77)]
        path = write(tmp_path, json.dumps({"partitions": keys}))
        held = run(kafka_new_three, "leader-election", "--election-type", "preferred", "--path-to-json-file", path)
        assert held.returncode == 1
        assert "1 replica(s) could not be elected" in held.stderr
        one = run(kafka_new_three, "leader-election", "--election-type", "UNCLEAN", "--topic", name, "--partition", 1)
        assert one.returncode == 0
        texts.append((held.stdout + one.stdout).replace(name, "t"))
        state = ours(kafka_new_three, "topics", "--describe", "--topic", name, "-o", "json")
        leaders = [each["leader"] for each in json.loads(done(state))["data"][0]["partitions"]]
        assert leaders == [kafka_new_three.node_ids[at] for at in (1, 1, 0)]
    # The lists are in the order of hash tables, which depends on the name.
    assert_equal(*("\n".join(sorted(re.split(r", |\n| (?=t-)", text))) for text in texts))
    assert "Successfully completed leader election (PREFERRED) for partitions t-" in texts[0]
    assert "Valid replica already elected for partitions t-2" in texts[0]


def test_lists_of_an_election_are_in_kafkas_order(kafka_new: RealKafka, tmp_path: Path) -> None:
    topic = fresh("elected")
    done(ours(kafka_new, "topics", "--create", "--topic", topic, "--partitions", 20))
    path = write(tmp_path, json.dumps({"partitions": [{"topic": topic, "partition": each} for each in range(25)]}))
    for arguments in (
        ("--election-type", "PREFERRED", "--path-to-json-file", path),
        ("--election-type", "UNCLEAN", "--path-to-json-file", path),
        ("--election-type", "PREFERRED", "--all-topic-partitions"),
        ("--election-type", "PREFERRED", "--topic", topic, "--partition", 3),
    ):
        our, their = (run(kafka_new, "leader-election", *arguments) for run in (ours, theirs))
        assert our.returncode == their.returncode
        assert_equal(our.stdout, their.stdout)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        '{"version": 1}',
        json.dumps({"partitions": [{"topic": topic, "partition": 0} for topic in "abab"]}),
    ],
)
def test_a_wrong_document_of_an_election_is_refused_in_kafkas_words(
    kafka_new: RealKafka, tmp_path: Path, text: str
) -> None:
    arguments = ("--election-type", "PREFERRED", "--path-to-json-file", write(tmp_path, text))
    our, their = (run(kafka_new, "leader-election", *arguments) for run in (ours, theirs))
    assert (our.returncode, our.stdout) == (their.returncode, their.stdout) == (1, "")
    said = re.sub(r"^(?:[\w.]+Exception: )+", "", their.stderr.splitlines()[0])
    assert our.stderr.splitlines()[0] == f"kafka-tools: {said}"


def test_a_broker_before_elections_names_its_own_script(kafka_11: RealKafka) -> None:
    refused = ours(kafka_11, "leader-election", "--election-type", "PREFERRED", "--all-topic-partitions")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert len(refused.stderr.splitlines()) == 2
    assert "kafka-preferred-replica-election.sh --zookeeper" in refused.stderr


def test_a_broker_of_2_2_elects_preferred_leaders_alone(kafka_22: RealKafka) -> None:
    topic = fresh("old-elected")
    done(ours(kafka_22, "topics", "--create", "--topic", topic, "--partitions", 1, "--replication-factor", 1))
    one = ("--topic", topic, "--partition", 0)
    preferred = ours(kafka_22, "leader-election", "--election-type", "PREFERRED", *one)
    assert preferred.returncode == 0
    assert f"{topic}-0" in preferred.stdout
    refused = ours(kafka_22, "leader-election", "--election-type", "UNCLEAN", *one)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "Kafka 2.4 and later hold unclean elections" in refused.stderr


@pytest.mark.parametrize("name", ["kafka_new", "kafka_11"])
def test_records_before_an_offset_are_deleted_and_refusals_are_foreseen(
    name: str, request: pytest.FixtureRequest
) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    one = ("--partitions", 1, "--replication-factor", 1)
    kept, trimmed = fresh("compacted"), fresh("trimmed")
    done(ours(kafka, "topics", "--create", "--topic", kept, *one, "--config", "cleanup.policy=compact"))
    done(ours(kafka, "topics", "--create", "--topic", trimmed, *one))
    if name == "kafka_new":
        produce(kafka, trimmed, 10)
    end = 10 if name == "kafka_new" else 0
    both = ("--topic", kept, "--topic", f"{trimmed}:0", "--before", "end")
    asked = ours(kafka, "delete-records", *both)
    assert asked.returncode == 1
    assert f"partition: {trimmed}-0\tlow_watermark: {end}\n" in asked.stdout
    said = asked.stderr.splitlines()
    assert said[0].startswith(f"warning: topic '{kept}' has cleanup.policy=compact: brokers will refuse")
    assert f"{trimmed}: {end} records of 1 partition to delete, about " in asked.stderr
    assert f"{kept}-0: POLICY_VIOLATION" in said[-1]
