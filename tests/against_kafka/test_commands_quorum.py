"""kafka-features, kafka-metadata-quorum, kafka-client-metrics and kafka-cluster unregister, beside Kafka's tools."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from kafka_tools import KAFKA_MINOR
from kafka_tools.protocol.feature_levels import LATEST_PRODUCTION, known_levels, metadata_level, of_release
from tests.against_kafka.harness import RealKafka, eventually
from tests.against_kafka.side_by_side import assert_equal, done, fresh, ours, same, theirs


@pytest.fixture(params=["kafka_new", "kafka_39"])
def kafka(request: pytest.FixtureRequest) -> RealKafka:
    found: RealKafka = request.getfixturevalue(request.param)
    return found


def without_numbers(text: str) -> str:
    """Epochs, offsets and times differ from one moment to the next."""
    return re.sub(r"(?<=Epoch: )\d+|\d{2,}", "N", text)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("features", ("describe",)),
        ("metadata-quorum", ("describe", "--status")),
        ("metadata-quorum", ("describe", "--replication")),
        ("metadata-quorum", ("remove-controller", "-i", 3, "-d", "AAAAAAAAAAAAAAAAAAAAAQ", "--dry-run")),
    ],
)
def test_answers_are_equal_but_for_their_numbers(kafka: RealKafka, command: str, arguments: tuple[object, ...]) -> None:
    our, their = (done(run(kafka, command, *arguments)) for run in (ours, theirs))
    their = re.sub(r"UNKNOWN 1\b", "3.0-IV1", their)  # a level that only older releases had has its name here
    assert_equal(re.sub(r" +|N +", " ", without_numbers(our)), re.sub(r" +|N +", " ", without_numbers(their)))


@pytest.mark.parametrize(
    "arguments",
    [
        ("version-mapping",),
        ("version-mapping", "--release-version", "3.9"),
        ("version-mapping", "--release-version", "4.0-IV1"),
        ("feature-dependencies", "--feature", "eligible.leader.replicas.version=1", "--feature", "metadata.version=25"),
        ("feature-dependencies", "--feature", "transaction.version=2"),
    ],
)
def test_levels_are_kafkas(kafka_new: RealKafka, arguments: tuple[str, ...]) -> None:
    first, *rest = arguments
    our = ours(kafka_new, "features", first, *rest, connect=False)
    assert_equal(done(our), done(theirs(kafka_new, "features", first, *rest)))


@pytest.mark.parametrize(
    "arguments",
    [
        ("upgrade", "--feature", "group.version=1", "--dry-run"),
        ("upgrade", "--release-version", KAFKA_MINOR, "--dry-run"),
        ("downgrade", "--feature", "group.version=0", "--dry-run"),
        ("disable", "--feature", "group.version", "--dry-run"),
    ],
)
def test_dry_runs_say_the_same(kafka_new: RealKafka, arguments: tuple[str, ...]) -> None:
    same(kafka_new, "features", *arguments)


def test_the_levels_of_every_release_are_kafkas(kafka_new: RealKafka) -> None:
    for level, name in known_levels().items():
        if level <= LATEST_PRODUCTION:
            text = done(theirs(kafka_new, "features", "version-mapping", "--release-version", name))
            expected = of_release(metadata_level(name))
            assert text.splitlines()[0] == f"metadata.version={level} ({name})"
            assert [line.split("=")[1] for line in text.splitlines()[1:]] == [str(v) for v in expected.values()][1:]


def test_what_cannot_be_is_said_and_fails(kafka_new: RealKafka) -> None:
    refused = ours(kafka_new, "features", "upgrade", "--metadata", "4.1", "--dry-run")
    assert refused.returncode == 1
    assert "Can not upgrade metadata.version to 27." in refused.stderr
    assert "1 out of 1 operation(s) failed." in refused.stderr
    unknown = ours(kafka_new, "cluster", "unregister", "--id", 99)
    assert unknown.returncode == 1 and "Broker ID 99 is not currently registered" in unknown.stderr


def test_client_metrics_from_first_to_last(kafka_new: RealKafka) -> None:
    name = fresh("metrics")
    change = ("--alter", "--name", name, "--metrics", "org.apache.", "--interval", 60000, "--match", "client_id=a.*")
    assert done(ours(kafka_new, "client-metrics", *change)) == f"Altered client metrics config for {name}.\n"
    same(kafka_new, "client-metrics", "--describe", "--name", name)
    same(kafka_new, "client-metrics", "--list", sort=True)
    same(kafka_new, "client-metrics", "--describe", sort=True)
    done(ours(kafka_new, "client-metrics", "--alter", "--name", name, "--interval", ""))
    assert "interval.ms=300000" in same(kafka_new, "client-metrics", "--describe", "--name", name)
    assert done(ours(kafka_new, "client-metrics", "--delete", "--name", name)) == (
        f"Deleted client metrics config for {name}.\n"
    )
    assert name not in same(kafka_new, "client-metrics", "--list", sort=True)
    missing = ours(kafka_new, "client-metrics", "--describe", "--name", name)
    assert missing.returncode == 1 and "doesn't exist" in missing.stderr


_VOTER = ("-i", 2, "-d", "AAAAAAAAAAAAAAAAAAAAAQ")


def test_removing_and_unregistering_a_controller_says_the_same(kafka_new_three: RealKafka) -> None:
    both = same(kafka_new_three, "metadata-quorum", "remove-controller", *_VOTER, "--unregister", "--dry-run")
    assert both.splitlines()[1:] == ["DRY RUN of unregistering KRaft controller 2"]
    remove = ("remove-controller", *_VOTER, "--unregister")
    our, their = (run(kafka_new_three, "metadata-quorum", *remove) for run in (ours, theirs))
    assert (our.returncode, our.stdout, their.returncode, their.stdout) == (1, "", 1, "")
    # The voters of this cluster stand in its configuration: they cannot be removed.
    expected = their.stderr.strip().replace("kafka-cluster.sh", "kafka-cluster")
    assert expected.startswith("Failed to remove KRaft voter 2: Cluster doesn't support removing voter")
    assert expected in our.stderr.replace("UNSUPPORTED_VERSION: ", "")


def test_controllers_are_unregistered_as_by_kafka(kafka_new_three: RealKafka) -> None:
    status = done(ours(kafka_new_three, "metadata-quorum", "describe", "--status"))
    leader = int(re.findall(r"LeaderId: +(\d+)", status)[0])
    other = next(node for node in kafka_new_three.node_ids if node != leader)
    texts = []
    for run in (ours, theirs):
        texts.append(done(run(kafka_new_three, "cluster", "unregister-controller", "--id", other)))
        registered_again(kafka_new_three, other)
    assert texts == [f"Controller {other} is no longer registered.\n"] * 2
    for controller, why in ((99, "Controller ID 99 is not currently registered."), (leader, "while it is active.")):
        our, their = (
            run(kafka_new_three, "cluster", "unregister-controller", "--id", controller) for run in (ours, theirs)
        )
        assert (our.returncode, their.returncode) == (1, 1)
        assert why in our.stderr and why in their.stderr


def registered_again(kafka: RealKafka, controller: int) -> None:
    """Wait until a controller that lives has registered again: it does so as soon as it misses itself."""

    def asked() -> None:
        addresses = ("--bootstrap-controller", kafka.bootstrap_controllers)
        words = ("-m", "kafka_tools", "cluster", "list-endpoints", *addresses, "-o", "json")
        ended = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60, check=True)
        assert controller in [row["id"] for row in json.loads(ended.stdout)["data"]]

    eventually(asked)
