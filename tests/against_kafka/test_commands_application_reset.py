"""kafka-streams-application-reset beside Kafka's StreamsResetter: equal text, equal state afterwards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.clients.producer import Producer
from kafka_tools.net.config import ClientConfig
from kafka_tools.values import TopicPartition
from tests.against_kafka.harness import RealKafka
from tests.against_kafka.side_by_side import assert_equal, done, fresh, ours, theirs, write

COMMAND = "streams-application-reset"
INTERNAL = (
    "count-changelog", "count-repartition", "j-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic",
    "j-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic", "s-subscription-registration-topic",
)  # fmt: skip
NOT_INTERNAL = ("report", "changelogs", "j-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE--topic")


class Application:
    """Topics and offsets as a stopped application left them: two partitions of input, one of them empty."""

    def __init__(self, kafka: RealKafka) -> None:
        self.kafka, self.id = kafka, fresh("reset-app")
        self.input, self.intermediate = f"in-{self.id}", f"between-{self.id}"
        self.made = [f"{self.id}-{name}" for name in INTERNAL]
        self.others = [f"{self.id}-{name}" for name in NOT_INTERNAL]
        names = (self.intermediate, *self.made, *self.others)
        settings = ClientConfig.load(kafka.bootstrap_servers)
        with AdminClient(settings) as admin, Producer(settings) as producer:
            admin.create_topics([NewTopic(self.input, 2, 1), *(NewTopic(name, 1, 1) for name in names)]).raise_any()
            for number in range(12):
                producer.send(self.input, f"value-{number}".encode(), partition=0)
                producer.send(self.intermediate, b"value", partition=0)
            producer.flush()
            offsets = {TopicPartition(self.input, 0): 2, TopicPartition(self.intermediate, 0): 0}
            admin.alter_group_offsets(self.id, offsets).raise_any()

    def anonymous(self, text: str) -> str:
        """A text without this application's number, and with the names of lists sorted."""
        lists = re.sub(r"\[(.*)\]", lambda found: f"[{', '.join(sorted(found[1].split(', ')))}]", text)
        return lists.replace(self.id, "APP")

    def state(self) -> object:
        """Topics that are left and offsets."""
        with AdminClient(ClientConfig.load(self.kafka.bootstrap_servers)) as admin:
            left = sorted(topic.name for topic in admin.list_topics() if topic.name.startswith(f"{self.id}-"))
            found = admin.list_group_offsets(self.id).succeeded()
        rows = sorted((str(key), None if each is None else each.offset) for key, each in found.items())
        return self.anonymous(str(left)), self.anonymous(str(rows))


@pytest.fixture(scope="module")
def stopped(kafka_new: RealKafka) -> Application:
    return Application(kafka_new)


def test_what_would_be_done_is_told_the_same(kafka_new: RealKafka, stopped: Application, tmp_path: Path) -> None:
    app, topic = ("--application-id", stopped.id), ("--input-topics", stopped.input)
    plan = write(tmp_path, f"{stopped.input},0,3\n{stopped.input},1,99\n")
    for words in (
        (),
        topic,
        (*topic, "--to-earliest"),
        (*topic, "--to-latest"),
        (*topic, "--to-offset", 4),
        (*topic, "--to-offset", 0),
        (*topic, "--shift-by", 1),
        (*topic, "--shift-by", -99),
        (*topic, "--to-datetime", "2020-01-01T00:00:00.000"),
        (*topic, "--to-datetime", "2100-01-01T00:00:00.000"),
        (*topic, "--by-duration", "PT1H"),
        (*topic, "--from-file", plan),
        (*topic, "--intermediate-topics", stopped.intermediate),
        ("--intermediate-topics", stopped.intermediate),
        ("--internal-topics", f"{stopped.made[1]},{stopped.made[0]}"),
        ("--input-topics", f"{stopped.input},no-such-topic", "--intermediate-topics", "nor-this"),
        ("--input-topics", "no-such-topic"),
        ("--input-topics", f"{stopped.input},{stopped.made[0]}", "--to-latest"),
    ):
        our, their = (tool(kafka_new, COMMAND, *app, *words, "--dry-run") for tool in (ours, theirs))
        assert our.returncode == their.returncode, (words, our, their)
        assert_equal(stopped.anonymous(our.stdout), stopped.anonymous(their.stdout), sort=True)


def test_what_is_refused_is_refused_by_both(kafka_new: RealKafka, stopped: Application, tmp_path: Path) -> None:
    app, before = ("--application-id", stopped.id), stopped.state()
    for words, text in (
        (
            ("--internal-topics", stopped.others[0], "--dry-run"),
            "Invalid topic specified in the --internal-topics option.",
        ),
        (("--input-topics", stopped.input, "--from-file", write(tmp_path, "a,b\n")), ""),
        (("--input-topics", stopped.input, "--from-file", write(tmp_path, f"{stopped.input},0,3\n")), ""),
        (("--to-latest", "--to-earliest"), "can't be used with option"),
    ):
        our, their = (tool(kafka_new, COMMAND, *app, *words) for tool in (ours, theirs))
        assert our.returncode != 0 != their.returncode, (words, our, their)
        assert text in our.stderr
        assert text in their.stderr
    assert stopped.state() == before


def test_both_leave_the_same_state(kafka_new: RealKafka) -> None:
    texts, states = [], []
    for tool in (ours, theirs):
        app = Application(kafka_new)
        topics = ("--input-topics", app.input, "--intermediate-topics", app.intermediate)
        ended = tool(kafka_new, COMMAND, "--application-id", app.id, *topics, "--shift-by", 3)
        texts.append(app.anonymous(done(ended)))
        states.append(app.state())
    assert_equal(*texts, sort=True)
    assert states[0] == states[1]
    assert "changelogs" in str(states[0])
