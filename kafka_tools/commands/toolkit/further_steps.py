"""The steps that only ``tour --all`` takes: every command that the others do not show."""

from __future__ import annotations

from kafka_tools import KAFKA_MINOR
from kafka_tools.commands.toolkit.step_checks import CommandResult, Step, has, lists, require
from kafka_tools.commands.toolkit.tour_steps import PASSWORD_OF_A_BROKER_THAT_IS_THROWN_AWAY as PASSWORD
from kafka_tools.commands.toolkit.tour_steps import USER, TourPlace


def further_steps(place: TourPlace) -> list[Step]:
    """The steps, which follow those of the tour. Writes the file with which the user logs in into the folder."""
    return [*_cluster(place), *_security(place), *_groups(place), *_directories(place)]


def _cluster(place: TourPlace) -> list[Step]:
    at = ["--bootstrap-server", place.bootstrap_server]
    return [
        Step(
            "Which requests the broker takes, in which versions",
            ["kafka-broker-api-versions", *at],
            has(f"{place.bootstrap_server} (id: 1 rack: null isFenced: false) -> (", "Produce(0): "),
        ),
        Step(
            "At which levels the cluster's features are",
            ["kafka-features", *at, "describe"],
            has("Feature: metadata.version", f"FinalizedVersionLevel: {KAFKA_MINOR}-IV"),
        ),
        Step(
            "Who decides",
            ["kafka-metadata-quorum", *at, "describe", "--status"],
            has(f"ClusterId:              {place.cluster_id}", "LeaderId:               1"),
        ),
        Step(
            "Ask clients for metrics, every five minutes",
            ["kafka-client-metrics", *at, "--alter", "--name", "slow", "--metrics", "*", "--interval", "5m"],
            has("Altered client metrics config for slow."),
        ),
    ]


def _security(place: TourPlace) -> list[Step]:
    login = place.folder / "login.properties"
    login.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config="
        f'org.apache.kafka.common.security.scram.ScramLoginModule required username="{USER}" password="{PASSWORD}";\n',
        encoding="utf-8",
    )
    tokens = ["kafka-delegation-tokens", "--bootstrap-server", place.login_server, "--command-config", str(login)]
    return [
        Step(
            "Which SCRAM mechanisms the user has",
            ["kafka-scram", "--bootstrap-server", place.bootstrap_server, "--describe", "--username", USER],
            has(USER, "SCRAM-SHA-256"),
        ),
        Step(
            "The user logs in and asks for a delegation token",
            [*tokens, "--create", "--max-life-time-period", "-1"],
            has("Created delegation token with tokenId : ", f"User:{USER}"),
        ),
        Step("And sees that it is there", [*tokens, "--describe"], has("Total number of tokens : 1")),
    ]


def _groups(place: TourPlace) -> list[Step]:
    at = ["--bootstrap-server", place.bootstrap_server]
    return [
        Step("Share groups: there are none", ["kafka-share-groups", *at, "--list"], lists()),
        Step("Streams groups: none either", ["kafka-streams-groups", *at, "--list"], lists()),
        Step(
            "What the reset of a Streams application would do",
            [
                *["kafka-streams-application-reset", *at, "--application-id", "billing", "--input-topics", "orders"],
                "--dry-run",
            ],
            has("Reset-offsets for input topics [orders]", "Topic: orders Partition: 2 Offset: 0"),
        ),
    ]


def _directories(place: TourPlace) -> list[Step]:
    properties = str(place.folder / "server.properties")
    return [
        Step(
            "Whose the formatted directory is now",
            ["kafka-storage", "info", "--config", properties],
            has(f"  {place.data_dir}\n", f"cluster.id={place.cluster_id}"),
        ),
        Step(
            "Look for damage in it",
            ["kafka-dump-log", "--check", str(place.data_dir)],
            _finds_nothing,
        ),
        Step(
            "Completion of commands and options for bash",
            ["kafka-tools", "completion", "bash"],
            has("complete -F", " kafka-topics"),
        ),
        Step(
            "The commands under the names of Kafka's scripts",
            ["kafka-tools", "install-scripts", "--sh", str(place.folder / "bin")],
            has(str(place.folder / "bin")),
        ),
    ]


def _finds_nothing(answer: CommandResult) -> None:
    require(answer.output == "", "there should be no damage")
