"""What ``-o json`` prints about real clusters follows the published schemas, also where old brokers tell less."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kafka_tools import cli
from kafka_tools.clients.consumer import Consumer
from kafka_tools.commands import running
from kafka_tools.net.config import ClientConfig
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.side_by_side import done, fresh, ours
from tests.live_members import LASTING, poll_until_assigned
from tests.output.contract_cases import document_validators

QUESTIONS = (
    "topics --list",
    "topics --describe",
    "topics --describe --topics-with-overrides",
    "configs --describe --topic {topic} --all",
    "configs --describe --entity-type brokers --all",
    "consumer-groups --list",
    "consumer-groups --describe --group {group}",
    "consumer-groups --describe --group {group} --members",
    "consumer-groups --describe --group {group} --state",
    "consumer-groups --reset-offsets --group {group}-idle --topic {topic} --to-latest --dry-run",
    "broker-api-versions",
    "cluster cluster-id",
    "cluster list-endpoints",
)
SINCE_3_3 = (
    "configs --describe --entity-type users",
    "features describe",
    "features upgrade --dry-run --release-version {release}",
    "metadata-quorum describe --status",
    "metadata-quorum describe --replication",
)
SINCE_3_7 = ("client-metrics --list", "client-metrics --describe")
CLUSTERS = {
    "kafka_new": (*QUESTIONS, *SINCE_3_3, *SINCE_3_7),
    "kafka_39": (*QUESTIONS, *SINCE_3_3, *SINCE_3_7),
    "kafka_28": QUESTIONS,
    "kafka_22": QUESTIONS,
    "kafka_11": QUESTIONS,
}


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[tuple[RealKafka, str, str]]:
    """A cluster, a topic with a setting of its own, and a group that reads it."""
    kafka: RealKafka = request.getfixturevalue(request.param)
    topic = fresh("contract")
    done(
        ours(
            kafka,
            "topics",
            "--create",
            "--topic",
            topic,
            "--partitions",
            2,
            "--replication-factor",
            1,
            *("--config", "retention.ms=1000"),
        )
    )
    settings = {"group.id": f"{topic}-readers", "auto.offset.reset": "earliest", **LASTING}
    with Consumer(ClientConfig.load(bootstrap_servers=kafka.bootstrap_servers, properties=settings)) as consumer:
        consumer.subscribe([topic])
        poll_until_assigned(consumer)
        consumer.commit()
        yield kafka, topic, settings["group.id"]


@pytest.mark.parametrize("group", CLUSTERS, indirect=True)
def test_documents_about_real_clusters_follow_their_schemas(
    group: tuple[RealKafka, str, str],
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    kafka, topic, group_id = group
    documents = document_validators()
    release = ".".join(kafka.setup.release.split(".")[:2])
    for question in CLUSTERS[request.node.callspec.params["group"]]:
        name, *words = question.format(topic=topic, group=group_id, release=release).split()
        status = running.run(cli.load(name), [*words, "-b", kafka.bootstrap_servers, "-o", "json"], f"kafka-{name}")
        out, err = capsys.readouterr()
        assert status == 0, (question, err)
        document = json.loads(out)
        documents[document["schema"].split("/")[1]].validate(document)
        assert document["data"] or "--entity-type users" in question or name == "client-metrics", question
