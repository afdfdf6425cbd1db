"""The steps that only ``tour --all`` runs: all commands that the other steps do not use."""

from __future__ import annotations

from kafka_tools import KAFKA_MINOR
from kafka_tools.commands.toolkit.step_checks import CommandResult, Step, has, lists, require
from kafka_tools.commands.toolkit.tour_steps import PASSWORD_OF_A_BROKER_THAT_IS_THROWN_AWAY as PASSWORD
from kafka_tools.commands.toolkit.tour_steps import USER, TourPlace


def further_steps(place: TourPlace) -> list[Step]:
    """The steps, which follow those of the tour. Writes the file with which the user logs in into the folder."""
    return [*_cluster(place), *_security(place), *_groups(place), *_loads(place), *_directories(place)]


def _cluster(place: TourPlace) -> list[Step]:
    return [
        place.step(
            "Look for what is wrong with the cluster", "kafka-tools doctor {at}", has(": all is well (1 broker, ")
        ),
        place.step("Write a record", "kafka-tools produce {at} orders -k customer-9 -v {{}}", has("orders-", "@")),
        place.step(
            "Show the newest commit of a group",
            "kafka-tools messages {at} __consumer_offsets --last 1 --where key.type=1 -o name",
            has("__consumer_offsets:"),
        ),
        place.step(
            "Send one request as JSON, and see what the broker answers",
            "kafka-tools request {at} DescribeCluster",
            has(f'"clusterId": "{place.cluster_id}"'),
        ),
        place.step("List the clients of the cluster", "kafka-tools clients {at} -o json", has('"data": [')),
        place.step(
            "Show what a purge would delete",
            "kafka-tools purge {at} --prefix orders --dry-run -o name",
            has("orders"),
        ),
        place.step(
            "Explain an error code", "kafka-tools explain 19", has("Error 19: NOT_ENOUGH_REPLICAS", "Usual cause:")
        ),
        place.step(
            "Show the API versions of the broker",
            "kafka-broker-api-versions {at}",
            has(f"{place.bootstrap_server} (id: 1 rack: null isFenced: false) -> (", "Produce(0): "),
        ),
        place.step(
            "Show the feature levels of the cluster",
            "kafka-features {at} describe",
            has("Feature: metadata.version", f"FinalizedVersionLevel: {KAFKA_MINOR}-IV"),
        ),
        place.step(
            "Show the metadata quorum",
            "kafka-metadata-quorum {at} describe --status",
            has(f"ClusterId:              {place.cluster_id}", "LeaderId:               1"),
        ),
        place.step(
            "Subscribe to client metrics, every five minutes",
            "kafka-client-metrics {at} --alter --name slow --metrics * --interval 5m",
            has("Altered client metrics config for slow."),
        ),
    ]


def _security(place: TourPlace) -> list[Step]:
    (place.folder / "login.properties").write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config="
        f'org.apache.kafka.common.security.scram.ScramLoginModule required username="{USER}" password="{PASSWORD}";\n',
        encoding="utf-8",
    )
    tokens = "kafka-delegation-tokens --bootstrap-server {login_server} --command-config {folder}/login.properties"
    return [
        place.step(
            "Show the SCRAM mechanisms of the user",
            f"kafka-scram {{at}} --describe --username {USER}",
            has(USER, "SCRAM-SHA-256"),
        ),
        place.step(
            "Log in as the user and create a delegation token",
            f"{tokens} --create --max-life-time-period -1",
            has("Created delegation token with tokenId : ", f"User:{USER}"),
        ),
        place.step("Show the token", f"{tokens} --describe", has("Total number of tokens : 1")),
    ]


def _groups(place: TourPlace) -> list[Step]:
    return [
        place.step("List the share groups", "kafka-share-groups {at} --list", lists()),
        place.step("List the streams groups", "kafka-streams-groups {at} --list", lists()),
        place.step(
            "Show the reset of a Streams application without executing it",
            "kafka-streams-application-reset {at} --application-id billing --input-topics orders --dry-run",
            has("Reset-offsets for input topics [orders]", "Topic: orders Partition: 2 Offset: 0"),
        ),
    ]


def _loads(place: TourPlace) -> list[Step]:
    topics = '{"load": {"numPartitions": 1, "replicationFactor": 1}}'
    (place.folder / "load.json").write_text(
        f'{{"class": "ProduceBench", "bootstrapServers": "{place.bootstrap_server}", "durationMs": 10000, '
        f'"targetMessagesPerSec": 100, "maxMessages": 100, "activeTopics": {topics}}}\n',
        encoding="utf-8",
    )
    return [
        place.step(
            "Measure how fast records can be sent",
            "kafka-producer-perf-test {at} --topic speed --num-records 1000 --record-size 100 --throughput -1",
            has("1000 records sent, ", " 99.9th."),
        ),
        place.step(
            "Measure how fast they can be read",
            "kafka-consumer-perf-test {at} --topic speed --num-records 1000",
            has("start.time, end.time, data.consumed.in.MB"),
        ),
        place.step(
            "Measure the time from sending a record to reading it",
            "kafka-e2e-latency {at} --topic speed --num-records 10 --producer-acks all --record-size 100",
            has("Avg latency: ", "Percentiles: 50th = "),
        ),
        place.step(
            "Send records and print an event for each",
            "kafka-verifiable-producer {at} --topic speed --max-messages 3",
            has('"name":"tool_data","sent":3,"acked":3'),
        ),
        place.step(
            "Read them and print the events of the group",
            "kafka-verifiable-consumer {at} --topic speed --group-id verified --max-messages 3 --reset-policy earliest",
            has('"name":"shutdown_complete"'),
        ),
        place.step(
            "Compare the replicas of all partitions",
            "kafka-replica-verification {at} --once",
            has("verification process is started", "max lag is 0 for partition "),
        ),
        place.step("Run a task of Trogdor", "kafka-tools load run {folder}/load.json", has("ProduceBench")),
    ]


def _directories(place: TourPlace) -> list[Step]:
    return [
        place.step(
            "Show the cluster of the formatted directory",
            "kafka-storage info --config {folder}/server.properties",
            has(f"  {place.data_dir}\n", f"cluster.id={place.cluster_id}"),
        ),
        place.step("Check the directory for damage", "kafka-dump-log --check {data_dir}", _finds_nothing),
        place.step(
            "Print the completion script for bash",
            "kafka-tools completion bash",
            has("complete -F", " kafka-topics"),
        ),
        place.step(
            "Install the commands under the names of Kafka's scripts",
            "kafka-tools install-scripts --sh {folder}/bin",
            has(str(place.folder / "bin")),
        ),
    ]


def _finds_nothing(answer: CommandResult) -> None:
    require(answer.output == "", "there should be no damage")
