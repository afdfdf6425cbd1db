"""Kafka's own tools at work on the bundled broker, line by line, as an operator types them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_tools.broker_embedded import EmbeddedBroker
from tests.against_kafka.jars import NEWEST

Tool = Callable[..., "subprocess.CompletedProcess[str]"]
TOOLS = "org.apache.kafka.tools."
SPEAK_AS_THEY_END = (
    "VerifiableProducer", "VerifiableConsumer", "TransactionalMessageCopier", "kafka.tools.ConsoleConsumer",
)  # fmt: skip
"""They print the rest from a hook of the JVM's end, and so get one of their own."""
NOTHING_MORE = "org.apache.kafka.common.errors.TimeoutException"
"""What the console consumer says when nothing comes for --timeout-ms; a tool that fails for it does not end with 0."""
GROUPS = f"{TOOLS}consumer.group.ConsumerGroupCommand"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    config = {"offsets.topic.num.partitions": 2, "transaction.state.log.num.partitions": 2}
    config |= {"group.initial.rebalance.delay.ms": 0, "super.users": "User:ANONYMOUS"}
    config |= {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    with EmbeddedBroker(data_dir=tmp_path_factory.mktemp("tools") / "data", config=config) as running:
        yield running


class Operator:
    """Types lines. ``SERVER`` stands for the broker's address in them."""

    def __init__(self, run: Tool, release: str, broker: EmbeddedBroker) -> None:
        self._run, self._release, self._address = run, release, broker.bootstrap_servers

    def __call__(self, main: str, line: str, *expected: str) -> str:
        """Run a tool; it must end with 0 and print what each of the expressions says."""
        words = [self._address if word == "SERVER" else word for word in line.split()]
        done = self._run(self._release, main, *words, fresh=main.removeprefix(TOOLS) in SPEAK_AS_THEY_END)
        said = f"{main} {line}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == 0, said
        for each in expected:
            assert re.search(each, done.stdout, re.MULTILINE), f"{each!r} is not in {said}"
        assert "Exception" not in done.stderr.replace(NOTHING_MORE, ""), said
        return done.stdout


@pytest.fixture
def today(broker: EmbeddedBroker, java_tool: Tool) -> Operator:
    return Operator(java_tool, NEWEST, broker)


def test_producers_and_consumers_that_check_themselves(today: Operator) -> None:
    today(f"{TOOLS}TopicCommand", "--bootstrap-server SERVER --create --topic checked --partitions 2", "Created topic")
    today(
        f"{TOOLS}VerifiableProducer", "--bootstrap-server SERVER --topic checked --max-messages 60 --throughput 500",
        r'"sent":60,"acked":60',
    )  # fmt: skip
    today(
        f"{TOOLS}VerifiableConsumer",
        "--bootstrap-server SERVER --topic checked --group-id checking --max-messages 60 --group-protocol classic",
        r'"name":"partitions_assigned"', r'"name":"offsets_committed".*"success":true', r'"name":"shutdown_complete"',
    )  # fmt: skip
    today(GROUPS, "--bootstrap-server SERVER --describe --group checking", r"^checking +checked +\d +(\d+) +\1 +0 ")
    today(
        f"{TOOLS}ConsumerPerformance", "--bootstrap-server SERVER --topic checked --num-records 60 --timeout 30000",
        r", 60, \d",
    )  # fmt: skip
    today(
        f"{TOOLS}EndToEndLatency", "--bootstrap-server SERVER --topic latency --num-records 20 --producer-acks all "
        "--record-size 10", "Percentiles: 50th",
    )  # fmt: skip
    today(
        f"{TOOLS}ClientCompatibilityTest", "--bootstrap-server SERVER --topic compatible --num-cluster-nodes 1 "
        "--offsets-for-times-supported true --cluster-id-supported true --expect-record-too-large-exception false "
        "--create-topics-supported true --describe-acls-supported true --describe-configs-supported true "
        "--idempotent-producer-supported true", "SUCCESS",
    )  # fmt: skip


def test_records_are_copied_in_transactions_and_the_transactions_are_shown(today: Operator) -> None:
    where = "--bootstrap-server SERVER"
    for topic in ("written", "copied", "copies"):
        today(f"{TOOLS}TopicCommand", f"{where} --create --topic {topic} --partitions 1", "Created topic")
    today(
        f"{TOOLS}ProducerPerformance", f"{where} --topic written --num-records 200 --record-size 10 --throughput 2000 "
        "--transactional-id writing --transaction-duration-ms 20", "200 records sent",
    )  # fmt: skip
    # Without transactions: the copier takes every offset for a record that it has to copy.
    today(f"{TOOLS}VerifiableProducer", f"{where} --topic copied --max-messages 200", r'"acked":200')
    today(
        f"{TOOLS}TransactionalMessageCopier", "--broker-list SERVER --input-topic copied --input-partition 0 "
        "--output-topic copies --consumer-group copying --transactional-id copying --transaction-size 20 "
        "--max-messages 200 --enable-random-aborts --group-mode --use-group-metadata", r'"remaining":0',
    )  # fmt: skip
    copies = today(
        f"{TOOLS}consumer.ConsoleConsumer", f"{where} --topic copies --from-beginning --max-messages 200 "
        "--timeout-ms 60000 --isolation-level read_committed",
    )  # fmt: skip
    originals = today(
        f"{TOOLS}consumer.ConsoleConsumer", f"{where} --topic copied --from-beginning --max-messages 200 "
        "--timeout-ms 60000 --isolation-level read_committed",
    )  # fmt: skip
    assert copies == originals
    transactions = f"{TOOLS}TransactionsCommand"
    today(transactions, f"{where} list", r"^writing\s+1\s+\d+\s+CompleteCommit", r"^copying\s+1\s+\d+\s+Complete")
    today(transactions, f"{where} describe --transactional-id copying", r"^1\s+copying\s+\d+\s+\d+\s+Complete")
    today(transactions, f"{where} describe-producers --topic copies --partition 0", r"^\d+\s+\d+\s+0\s+.*None")
    assert len(today(transactions, f"{where} find-hanging --broker-id 1").splitlines()) == 1
    today(transactions, f"{where} forceTerminateTransaction --transactionalId writing")
    today(GROUPS, f"{where} --describe --group copying", r"^copying +copied +0 +(\d+) +\1 +0 ")


def test_a_group_of_the_consumer_protocol_checks_itself(today: Operator) -> None:
    where = "--bootstrap-server SERVER"
    today(f"{TOOLS}TopicCommand", f"{where} --create --topic modern --partitions 2", "Created topic")
    today(f"{TOOLS}VerifiableProducer", f"{where} --topic modern --max-messages 60 --throughput 500", r'"acked":60')
    today(
        f"{TOOLS}VerifiableConsumer",
        f"{where} --topic modern --group-id modern --max-messages 60 --group-protocol consumer",
        r'"name":"partitions_assigned"', r'"name":"offsets_committed".*"success":true', r'"name":"shutdown_complete"',
    )  # fmt: skip
    today(f"{TOOLS}GroupsCommand", f"{where} --list", r"^modern +Consumer +consumer")
    today(GROUPS, f"{where} --describe --group modern", r"^modern +modern +\d +(\d+) +\1 +0 ")
    today(GROUPS, f"{where} --describe --group modern --state", r"^modern .* Empty +0")
    alter = f"{where} --alter --entity-type groups --entity-name modern --add-config consumer.session.timeout.ms=46000"
    today("kafka.admin.ConfigCommand", alter, "Completed updating config for group modern")
    told = f"{where} --describe --entity-type groups --entity-name modern"
    today("kafka.admin.ConfigCommand", told, "consumer.session.timeout.ms=46000")


def test_a_transaction_that_hangs_is_seen_by_whom_it_concerns_and_ended(
    today: Operator, broker: EmbeddedBroker
) -> None:
    where = "--bootstrap-server SERVER"
    today(f"{TOOLS}TopicCommand", f"{where} --create --topic hanging --partitions 1", "Created topic")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "hanging"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("hanging", b"open")
    assert producer.flush(60) == 0
    transactions, consumer = f"{TOOLS}TransactionsCommand", f"{TOOLS}consumer.ConsoleConsumer"
    read = f"{where} --topic hanging --from-beginning --timeout-ms 5000 --isolation-level"
    assert today(consumer, f"{read} read_uncommitted --max-messages 1") == "open\n"
    assert today(consumer, f"{read} read_committed") == ""
    today(transactions, f"{where} describe-producers --topic hanging --partition 0", r"^\d+\s+0\s+-1\s+0\s+\d+\s+0\s*$")
    today(transactions, f"{where} list", r"^hanging\s+\d\s+\d+\s+Ongoing")
    today(transactions, f"{where} abort --topic hanging --partition 0 --start-offset 0")
    assert len(today(transactions, f"{where} describe-producers --topic hanging --partition 0").splitlines()) == 2
    today(transactions, f"{where} describe-producers --topic hanging --partition 0", r"None\s*$")
    assert today(consumer, f"{read} read_committed") == ""
    today(f"{TOOLS}GetOffsetShell", f"{where} --topic hanging", "^hanging:0:2$")


def test_access_quotas_users_and_what_else_is_kept(today: Operator) -> None:
    where = "--bootstrap-server SERVER"
    acls, configs = f"{TOOLS}AclCommand", "kafka.admin.ConfigCommand"
    entry = "--allow-principal User:bob --operation Read --topic guarded"
    today(acls, f"{where} --add {entry}", "principal=User:bob, host=\\*, operation=READ, permissionType=ALLOW")
    today(acls, f"{where} --add --producer --allow-principal User:eve --topic guarded --transactional-id t")
    today(acls, f"{where} --list --topic guarded", "User:bob", "User:eve.*operation=WRITE")
    today(acls, f"{where} --remove --force {entry}")
    assert "User:bob" not in today(acls, f"{where} --list", "resourceType=TRANSACTIONAL_ID, name=t")
    for entity, change, shown in (
        ("--entity-type users --entity-name bob", "SCRAM-SHA-256=[iterations=4096,password=secret]",
         "SCRAM-SHA-256=iterations=4096"),
        ("--entity-type users --entity-name bob --entity-type clients --entity-name c", "producer_byte_rate=1000",
         "producer_byte_rate=1000.0"),
        ("--entity-type clients --entity-default", "request_percentage=200", "request_percentage=200.0"),
        ("--entity-type ips --entity-name 10.0.0.1", "connection_creation_rate=7", "connection_creation_rate=7.0"),
        ("--entity-type brokers --entity-default", "log.cleaner.threads=2", "log.cleaner.threads=2 .*DYNAMIC_DEFAULT"),
        ("--entity-type brokers --entity-name 1", "message.max.bytes=2000000", "message.max.bytes=2000000 .*DYNAMIC"),
        ("--entity-type broker-loggers --entity-name 1", "kafka_tools.broker_embedded.partitions.upkeep=DEBUG",
         "kafka_tools.broker_embedded.partitions.upkeep=DEBUG"),
        ("--entity-type client-metrics --entity-name m", "interval.ms=5000,metrics=org.apache", "interval.ms=5000"),
        ("--entity-type topics --entity-name guarded", "cleanup.policy=[compact,delete]",
         "cleanup.policy=compact,delete"),
    ):  # fmt: skip
        if "topics" in entity:
            today(f"{TOOLS}TopicCommand", f"{where} --create --topic guarded", "Created topic")
        today(configs, f"{where} --alter {entity} --add-config {change}", "Completed updating")
        told = today(configs, f"{where} --describe {entity}", shown)
        assert "secret" not in told
        name = change.split("=")[0]
        today(configs, f"{where} --alter {entity} --delete-config {name}", "Completed updating")
        assert shown.split(" ")[0] not in today(configs, f"{where} --describe {entity}")
    today(f"{TOOLS}ClientMetricsCommand", f"{where} --alter --name n --interval 5000 --metrics a", "Altered|^$")
    today(f"{TOOLS}ClientMetricsCommand", f"{where} --describe --name n", "interval.ms=5000")
    today(f"{TOOLS}ClientMetricsCommand", f"{where} --delete --name n")


def test_records_are_deleted_and_features_changed(java_tool: Tool, tmp_path: Path) -> None:
    """On a broker of its own: others go on with the features that they began with."""
    where = "--bootstrap-server SERVER"
    with EmbeddedBroker(data_dir=tmp_path / "data") as broker:
        today = Operator(java_tool, NEWEST, broker)
        today(f"{TOOLS}TopicCommand", f"{where} --create --topic shortened --partitions 1", "Created topic")
        today(f"{TOOLS}VerifiableProducer", f"{where} --topic shortened --max-messages 20", r'"acked":20')
        records = tmp_path / "records.json"
        records.write_text('{"partitions": [{"topic": "shortened", "partition": 0, "offset": 7}], "version": 1}')
        today(f"{TOOLS}DeleteRecordsCommand", f"{where} --offset-json-file {records}", r"low_watermark: 7")
        today(f"{TOOLS}GetOffsetShell", f"{where} --topic shortened --time earliest", "^shortened:0:7$")
        feature = f"{TOOLS}FeatureCommand"
        today(feature, f"{where} downgrade --feature transaction.version=1", "transaction.version was downgraded to 1")
        today(feature, f"{where} describe", r"transaction.version.*FinalizedVersionLevel: 1")
        today(feature, f"{where} upgrade --feature transaction.version=2 --dry-run", "can be upgraded to 2")
        today(feature, f"{where} upgrade --feature transaction.version=2", "transaction.version was upgraded to 2")
        today(feature, f"{where} version-mapping --release-version 4.3", "metadata.version=")
        assigned = tmp_path / "assigned.json"
        assigned.write_text('{"version": 1, "partitions": [{"topic": "shortened", "partition": 0, "replicas": [1]}]}')
        moving = f"{TOOLS}reassign.ReassignPartitionsCommand"
        today(moving, f"{where} --reassignment-json-file {assigned} --execute", "Successfully started")
        today(moving, f"{where} --reassignment-json-file {assigned} --verify", "shortened-0 is completed")
        today(moving, f"{where} --list", "No partition reassignments found.")


def test_groups_offsets_topics_and_configs(today: Operator) -> None:
    where = "--bootstrap-server SERVER"
    today(f"{TOOLS}TopicCommand", f"{where} --create --topic tended --partitions 2", "Created topic tended")
    today(f"{TOOLS}VerifiableProducer", f"{where} --topic tended --max-messages 20", r'"acked":20')
    today(GROUPS, f"{where} --reset-offsets --group tending --topic tended --to-earliest --execute", r"tended +0 +0")
    today(f"{TOOLS}GroupsCommand", f"{where} --list", r"^tending +Classic")
    today(GROUPS, f"{where} --delete-offsets --group tending --topic tended", "Successful")
    today(GROUPS, f"{where} --delete --group tending", "successful")
    today(f"{TOOLS}GetOffsetShell", f"{where} --topic tended", r"^tended:0:\d+$", r"^tended:1:\d+$")
    today(f"{TOOLS}TopicCommand", f"{where} --alter --topic tended --partitions 3")
    today(f"{TOOLS}TopicCommand", f"{where} --describe --topic tended", "PartitionCount: 3")
    alter = f"{where} --alter --entity-type topics --entity-name tended --add-config retention.ms=1000000"
    today("kafka.admin.ConfigCommand", alter, "Completed updating config for topic tended")
    today("kafka.admin.ConfigCommand", f"{where} --describe --topic tended", "retention.ms=1000000")
    today(f"{TOOLS}LogDirsCommand", f"{where} --describe --topic-list tended", r'"partition":"tended-2"')
    today(f"{TOOLS}FeatureCommand", f"{where} describe", r"transaction.version.*FinalizedVersionLevel: 2")
    today(f"{TOOLS}ClusterTool", f"list-endpoints {where}", r"^1 +127.0.0.1 ")
    today(f"{TOOLS}MetadataQuorumCommand", f"{where} describe --status", r"^LeaderId: +1$")
    today(f"{TOOLS}BrokerApiVersionsCommand", where, r"EndTxn\(26\)", r"InitProducerId\(22\)")
    today(f"{TOOLS}LeaderElectionCommand", f"{where} --election-type preferred --all-topic-partitions")
    today(f"{TOOLS}TopicCommand", f"{where} --delete --topic tended")


def test_the_tools_of_2_2_that_ask_brokers(broker: EmbeddedBroker, java_tool: Tool, tmp_path: Path) -> None:
    old = Operator(java_tool, "2.2.2", broker)
    where = "--bootstrap-server SERVER"
    old("kafka.admin.TopicCommand", f"{where} --create --topic old --partitions 2 --replication-factor 1")
    old("kafka.admin.TopicCommand", f"{where} --list", "^old$")
    old("kafka.admin.TopicCommand", f"{where} --alter --topic old --partitions 3")
    old("kafka.admin.TopicCommand", f"{where} --describe --topic old", "PartitionCount:3")
    old(f"{TOOLS}VerifiableProducer", "--broker-list SERVER --topic old --max-messages 20", r'"acked":20')
    old(
        f"{TOOLS}ProducerPerformance", "--topic old --num-records 100 --record-size 10 --throughput 1000 "
        f"--producer-props bootstrap.servers={broker.bootstrap_servers} --transactional-id old "
        "--transaction-duration-ms 20", "100 records sent",
    )  # fmt: skip
    old(
        f"{TOOLS}VerifiableConsumer", "--broker-list SERVER --topic old --group-id old-group --max-messages 20",
        r'"name":"offsets_committed".*"success":true',
    )  # fmt: skip
    old(
        "kafka.tools.ConsoleConsumer", f"{where} --topic old --from-beginning --isolation-level read_committed "
        "--max-messages 120 --timeout-ms 60000", r"\A(.*\n){120}\Z",
    )  # fmt: skip
    old("kafka.admin.ConsumerGroupCommand", f"{where} --list", "^old-group$")
    old("kafka.admin.ConsumerGroupCommand", f"{where} --describe --group old-group", r"^old +\d +\d+ ")
    reset = f"{where} --reset-offsets --group old-group --topic old --to-earliest --execute"
    old("kafka.admin.ConsumerGroupCommand", reset, r"^old +0 +0")
    records = tmp_path / "records.json"
    records.write_text('{"partitions": [{"topic": "old", "partition": 0, "offset": 1}], "version": 1}')
    old(
        "kafka.admin.DeleteRecordsCommand", f"{where} --offset-json-file {records}", r"partition: old-0\s+low_watermark"
    )
    acl = "--allow-principal User:old --operation Read --topic old"
    old("kafka.admin.AclCommand", f"{where} --add {acl}", "User:old has Allow permission for operations: Read")
    old("kafka.admin.AclCommand", f"{where} --list --topic old", "principal=User:old, host=\\*, operation=READ")
    old("kafka.admin.AclCommand", f"{where} --remove --force {acl}")
    cleaners = f"{where} --entity-type brokers --entity-default"
    old("kafka.admin.ConfigCommand", f"{cleaners} --alter --add-config log.cleaner.threads=2", "Completed updating")
    old("kafka.admin.ConfigCommand", f"{cleaners} --describe", "log.cleaner.threads=2")
    old("kafka.admin.ConfigCommand", f"{cleaners} --alter --delete-config log.cleaner.threads", "Completed updating")
    old("kafka.admin.LogDirsCommand", f"{where} --describe --topic-list old", r'"partition":"old-2"')
    old("kafka.admin.BrokerApiVersionsCommand", where, r"EndTxn\(26\)")
    old("kafka.tools.GetOffsetShell", "--broker-list SERVER --topic old", r"^old:0:\d+$")
    old("kafka.admin.ConfigCommand", f"{where} --describe --entity-type brokers --entity-name 1")
    old("kafka.admin.ConsumerGroupCommand", f"{where} --delete --group old-group", "successful")
    old("kafka.admin.TopicCommand", f"{where} --delete --topic old")
