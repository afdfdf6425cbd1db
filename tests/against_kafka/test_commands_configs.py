"""kafka-configs beside Kafka's ConfigCommand on real clusters: equal text, equal state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.against_kafka.harness import RealKafka, eventually
from tests.against_kafka.side_by_side import assert_equal, done, fresh, ours, same, theirs, write


@pytest.fixture(params=["kafka_new", "kafka_39"])
def kafka(request: pytest.FixtureRequest) -> RealKafka:
    found: RealKafka = request.getfixturevalue(request.param)
    return found


def create(kafka: RealKafka, name: str) -> str:
    done(ours(kafka, "topics", "--create", "--topic", name, "--partitions", 1, "--replication-factor", 1))
    return name


@pytest.mark.req("CFG-11", "CFG-43")
def test_topic_changed_by_ours_and_by_theirs_is_described_the_same(kafka: RealKafka) -> None:
    our, their = create(kafka, fresh("cfg")), create(kafka, fresh("cfg"))
    for change in (
        ("--add-config", "retention.ms=1000000,cleanup.policy=[compact,delete],segment.bytes=1048576"),
        ("--add-config", "flush.ms=9", "--delete-config", "retention.ms,segment.bytes"),
    ):
        texts = [done(ours(kafka, "configs", "--alter", "--topic", our, *change))]
        texts.append(done(theirs(kafka, "configs", "--alter", "--topic", their, *change)))
        assert texts == [f"Completed updating config for topic {name}.\n" for name in (our, their)]
        described = [same(kafka, "configs", "--describe", "--topic", name) for name in (our, their)]
        assert_equal(described[0].replace(our, "T"), described[1].replace(their, "T"))
    assert "flush.ms=9" in described[0]
    assert "retention.ms" not in described[0]


def test_all_configs_of_a_topic_and_of_a_broker_are_equal(kafka: RealKafka) -> None:
    name = create(kafka, fresh("cfg"))
    same(kafka, "configs", "--describe", "--topic", name, "--all")
    same(kafka, "configs", "--describe", "--broker", 1, "--all")
    same(kafka, "configs", "--describe", "--entity-type", "topics", "--entity-name", name)


def test_every_topic_is_described(kafka: RealKafka) -> None:
    create(kafka, fresh("cfg"))
    same(kafka, "configs", "--describe", "--entity-type", "topics", sort=True)


def test_broker_and_cluster_defaults(kafka: RealKafka) -> None:
    done(ours(kafka, "configs", "--alter", "--broker", 1, "--add-config", "log.cleaner.threads=2"))
    text = done(ours(kafka, "configs", "--alter", "--broker-defaults", "--add-config", "log.cleaner.backoff.ms=16000"))
    assert text == "Completed updating default config for brokers in the cluster.\n"

    def hold() -> None:
        described = same(kafka, "configs", "--describe", "--entity-type", "brokers")
        assert "log.cleaner.threads=2" in described
        assert "log.cleaner.backoff.ms=16000" in described

    eventually(hold)
    same(kafka, "configs", "--describe", "--broker-defaults")
    done(ours(kafka, "configs", "--alter", "--broker", 1, "--delete-config", "log.cleaner.threads"))
    done(ours(kafka, "configs", "--alter", "--broker-defaults", "--delete-config", "log.cleaner.backoff.ms"))

    def gone() -> None:
        assert "cleaner" not in same(kafka, "configs", "--describe", "--entity-type", "brokers")

    eventually(gone)


def test_broker_loggers(kafka: RealKafka) -> None:
    done(ours(kafka, "configs", "--alter", "--broker-logger", 1, "--add-config", "root=WARN"))
    assert "root=WARN" in same(kafka, "configs", "--describe", "--broker-logger", 1)
    refused = ours(kafka, "configs", "--alter", "--broker-logger", 1, "--delete-config", "root")
    assert "Removing the log level of the root logger is not allowed" in refused.stderr
    done(ours(kafka, "configs", "--alter", "--broker-logger", 1, "--add-config", "root=ERROR"))


DEFAULT_QUOTAS = (
    (("--user-defaults",), "request_percentage"),
    (
        ("--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-default"),
        "request_percentage",
    ),
    (("--client-defaults",), "controller_mutation_rate"),
)


@pytest.fixture
def no_default_quotas(kafka: RealKafka) -> Iterator[None]:
    """Afterwards no quota holds back the other tests on this cluster."""
    yield
    for entity, key in DEFAULT_QUOTAS:
        if ours(kafka, "configs", "--describe", *entity).stdout:
            done(ours(kafka, "configs", "--alter", *entity, "--delete-config", key))


def test_quotas_of_users_clients_and_addresses(kafka: RealKafka, no_default_quotas: None) -> None:
    user, client = fresh("user"), fresh("client")
    everybody = ("--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-default")
    for entity, change, text in (
        (("--user", user), "producer_byte_rate=1024,consumer_byte_rate=2048", f"config for user {user}"),
        (("--user", user, "--client", client), "request_percentage=50", f"config for client {client}"),
        (("--user-defaults",), "request_percentage=10000000", "default config for users in the cluster"),
        (("--client-defaults",), "controller_mutation_rate=2.5", "default config for clients in the cluster"),
        (("--ip", "127.0.0.9"), "connection_creation_rate=50", "config for ip 127.0.0.9"),
        (everybody, "request_percentage=0.00001", "default config for users in the cluster"),
        # Or everybody waits from now on.
        (everybody, "request_percentage=10000000", "default config for users in the cluster"),
    ):
        assert (
            done(ours(kafka, "configs", "--alter", *entity, "--add-config", change)) == f"Completed updating {text}.\n"
        )

        def told(entity: tuple[str, ...] = entity) -> None:
            assert same(kafka, "configs", "--describe", *entity).count("\n") == 1

        eventually(told)
    for types in (("users",), ("clients",), ("users", "clients"), ("ips",)):
        arguments = [part for kind in types for part in ("--entity-type", kind)]
        same(kafka, "configs", "--describe", *arguments, sort=True)
    done(ours(kafka, "configs", "--alter", "--user", user, "--delete-config", "producer_byte_rate,consumer_byte_rate"))
    assert same(kafka, "configs", "--describe", "--user", user) == ""
    done(ours(kafka, "configs", "--alter", "--user-defaults", "--delete-config", "request_percentage"))
    refused = ours(kafka, "configs", "--alter", "--user", user, "--delete-config", "producer_byte_rate")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "Invalid config(s): producer_byte_rate" in refused.stderr


@pytest.mark.req("SC-3", "SC-4", "SC-5", "SC-13")
def test_scram_users(kafka: RealKafka) -> None:
    user = fresh("scram")
    both = "SCRAM-SHA-256=[iterations=8192,password=alice-secret],SCRAM-SHA-512=[password=alice-secret]"
    assert done(ours(kafka, "configs", "--alter", "--user", user, "--add-config", both)) == (
        f"Completed updating config for user {user}.\n"
    )
    described = same(kafka, "configs", "--describe", "--user", user)
    assert "SCRAM-SHA-256=iterations=8192" in described
    assert "SCRAM-SHA-512=iterations=4096" in described
    done(ours(kafka, "configs", "--alter", "--user", user, "--delete-config", "SCRAM-SHA-512"))
    assert "512" not in same(kafka, "configs", "--describe", "--user", user)
    done(ours(kafka, "configs", "--alter", "--user", user, "--delete-config", "SCRAM-SHA-256"))
    assert same(kafka, "configs", "--describe", "--user", user) == ""


def test_groups_and_client_metrics(kafka_new: RealKafka) -> None:
    group, metrics = fresh("group"), fresh("metrics")
    done(ours(kafka_new, "configs", "--alter", "--group", group, "--add-config", "consumer.session.timeout.ms=50000"))
    done(
        ours(
            kafka_new,
            "configs",
            "--alter",
            "--client-metrics",
            metrics,
            "--add-config",
            "interval.ms=60000,metrics=[a,b]",
        )
    )
    assert "50000" in same(kafka_new, "configs", "--describe", "--group", group)
    assert "metrics=a,b" in same(kafka_new, "configs", "--describe", "--client-metrics", metrics)
    same(kafka_new, "configs", "--describe", "--entity-type", "groups", sort=True)
    same(kafka_new, "configs", "--describe", "--entity-type", "client-metrics", sort=True)


def test_a_file_of_configs_is_read_as_javas_properties(kafka_new: RealKafka, tmp_path: Path) -> None:
    our, their = create(kafka_new, fresh("cfg")), create(kafka_new, fresh("cfg"))
    path = write(tmp_path, "# comment\nretention.ms : 700000\nflush.ms=9\ncleanup.policy = compact,\\\n   delete\n")
    done(ours(kafka_new, "configs", "--alter", "--topic", our, "--add-config-file", path))
    done(theirs(kafka_new, "configs", "--alter", "--topic", their, "--add-config-file", path))
    described = [same(kafka_new, "configs", "--describe", "--topic", name) for name in (our, their)]
    assert_equal(described[0].replace(our, "T"), described[1].replace(their, "T"))


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (("--alter", "--topic", "{topic}", "--add-config", "retention.ms=abc"), "Not a number of type LONG"),
        (("--alter", "--topic", "{topic}", "--add-config", "no.such=1"), "no.such"),
        (("--describe", "--topic", "no-such-topic"), "no-such-topic"),
        (("--describe", "--broker", "77"), "77"),
        (("--alter", "--broker", "1", "--add-config", "ssl.keystore.password=hunter2"), "ssl.keystore.password"),
        (("--alter", "--user", "u", "--delete-config", "SCRAM-SHA-256"), "does not exist"),
    ],
)
def test_refusals_exit_1_with_one_line_and_no_secret(
    kafka_new: RealKafka, arguments: tuple[str, ...], reason: str
) -> None:
    topic = "cfg-refused"
    done(ours(kafka_new, "topics", "--create", "--topic", topic, "--if-not-exists"))
    refused = ours(kafka_new, "configs", *(argument.format(topic=topic) for argument in arguments))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert reason in refused.stderr
    assert "hunter2" not in refused.stderr
    assert "Traceback" not in refused.stderr


def planned(kafka: RealKafka, *arguments: object) -> dict[str, dict[str, object]]:
    """Key -> what a dry run says of it."""
    document = json.loads(done(ours(kafka, "configs", "--alter", *arguments, "--dry-run", "-o", "json")))
    return {row["name"]: row for row in document["data"]}


def held(kafka: RealKafka, *entity: object) -> dict[str, dict[str, object]]:
    """Key -> what holds."""
    document = json.loads(done(ours(kafka, "configs", "--describe", *entity, "--all", "-o", "json")))
    return {row["name"]: row for row in document["data"][0]["configs"]}


def values(configs: dict[str, dict[str, object]], names: Iterable[str]) -> dict[str, tuple[object, object]]:
    """Key -> value and where it comes from."""
    return {name: (configs[name]["value"], configs[name]["source"]) for name in names}


@pytest.mark.req("CFG-31")
@pytest.mark.parametrize("release", ["kafka_new", "kafka_39_zk", "kafka_22"])
def test_a_dry_run_foretells_what_the_broker_then_has(request: pytest.FixtureRequest, release: str) -> None:
    kafka: RealKafka = request.getfixturevalue(release)
    topic = ("--topic", create(kafka, fresh("cfg")))
    for change in (
        ("--add-config", "retention.ms=1000000,flush.ms=9"),
        ("--append-config", "cleanup.policy=compact,delete"),
        ("--add-config", "follower.replication.throttled.replicas+=0:1,1:1,max.message.bytes=2000000"),
        ("--subtract-config", "cleanup.policy=delete", "--delete-config", "flush.ms"),
        ("--add-config", "follower.replication.throttled.replicas-=1:1,retention.ms=1000000"),
        ("--delete-config", "retention.ms,max.message.bytes,cleanup.policy"),
    ):
        before = held(kafka, *topic)
        said = planned(kafka, *topic, *change)
        assert held(kafka, *topic) == before
        done(ours(kafka, "configs", "--alter", *topic, *change))
        assert {name: (row["old"], row["old_source"]) for name, row in said.items()} == values(before, said)

        def as_foretold(said: dict[str, dict[str, object]] = said) -> None:
            new = {name: (row["new"], row["new_source"]) for name, row in said.items()}
            assert new == values(held(kafka, *topic), said)

        eventually(as_foretold)
    refused = ours(kafka, "configs", "--alter", *topic, "--add-config", "retention.ms=abc", "--dry-run")
    assert refused.returncode == 1 and "retention.ms" in refused.stderr


def test_a_dry_run_of_a_brokers_configs(kafka: RealKafka) -> None:
    broker = ("--broker", 1)
    done(ours(kafka, "configs", "--alter", "--broker-defaults", "--add-config", "log.cleaner.threads=2"))

    def arrived() -> None:
        assert held(kafka, *broker)["log.cleaner.threads"]["value"] == "2"

    eventually(arrived)
    try:
        for change in (("--add-config", "log.cleaner.threads=1"), ("--delete-config", "log.cleaner.threads")):
            said = planned(kafka, *broker, *change)["log.cleaner.threads"]
            done(ours(kafka, "configs", "--alter", *broker, *change))

            def as_foretold(said: dict[str, object] = said) -> None:
                after = held(kafka, *broker)["log.cleaner.threads"]
                assert (said["new"], said["new_source"]) == (after["value"], after["source"])

            eventually(as_foretold)
        assert said["new_source"] == "DYNAMIC_DEFAULT_BROKER_CONFIG"
    finally:
        done(ours(kafka, "configs", "--alter", "--broker-defaults", "--delete-config", "log.cleaner.threads"))
    secret = planned(kafka, *broker, "--add-config", "listener.name.internal.ssl.key.password=hunter2")
    assert "hunter2" not in str(secret)


def test_lists_of_all_brokers_start_from_kafkas_default(kafka: RealKafka) -> None:
    entity = ("--broker-defaults",)
    for change in (
        ("--append-config", "log.cleanup.policy=compact"),
        ("--subtract-config", "log.cleanup.policy=delete"),
    ):
        said = planned(kafka, *entity, *change)["log.cleanup.policy"]
        done(ours(kafka, "configs", "--alter", *entity, *change))

        def as_foretold(said: dict[str, object] = said) -> None:
            assert held(kafka, *entity).get("log.cleanup.policy", {}).get("value") == said["new"]

        eventually(as_foretold)
    done(ours(kafka, "configs", "--alter", *entity, "--delete-config", "log.cleanup.policy"))


def test_several_brokers_are_changed_and_one_that_is_not_there_is_told(kafka_new_three: RealKafka) -> None:
    named = ("--broker", 1, "--broker", 77, "--broker", 3)
    for change in ("--add-config", "log.cleaner.threads=2"), ("--delete-config", "log.cleaner.threads"):
        partly = ours(kafka_new_three, "configs", "--alter", *named, *change)
        assert partly.returncode == 1
        assert partly.stdout == "".join(f"Completed updating config for broker {number}.\n" for number in (1, 3))
        assert "broker '77': " in partly.stderr and partly.stderr.count("\n") == 1
    described = ours(kafka_new_three, "configs", "--describe", *named)
    assert (described.returncode, described.stdout.count("Dynamic configs for broker ")) == (1, 2)


@pytest.mark.req("QT-6", "QT-11", "QT-21", "QT-22")
def test_explain_on_every_broker_of_three(kafka_new_three: RealKafka) -> None:
    user, client = fresh("who"), fresh("app")
    pair = ("--user", user, "--client", client)
    levels = ((pair[:2], 3), ((*pair[:2], "--client-defaults"), 2), (pair, 1))
    addresses = kafka_new_three.bootstrap_servers.split(",")
    for (entity, level), address in zip(levels, addresses, strict=True):
        change = ("--add-config", f"consumer_byte_rate={level * 1000000}")
        done(ours(kafka_new_three, "configs", "-b", address, "--alter", *entity, *change, connect=False))

        def seen(level: int = level) -> None:
            for each in addresses:
                asked = ("--describe", "--explain", "--user", user, "--client", client)
                text = done(ours(kafka_new_three, "configs", "-b", each, *asked, connect=False))
                assert f"consumer_byte_rate={level}000000.0 from level {level}, " in text

        eventually(seen)
    for entity, _ in levels:
        done(ours(kafka_new_three, "configs", "--alter", *entity, "--delete-config", "consumer_byte_rate"))


@pytest.mark.req("CFG-21")
def test_the_configs_that_kip_248_shows_are_described(kafka_39: RealKafka) -> None:
    text = done(
        ours(kafka_39, "configs", "--describe", "--topic", create(kafka_39, fresh("cfg")), "--all", "-o", "wide")
    )
    for name in (
        "file.delete.delay.ms",
        "message.timestamp.difference.max.ms",
        "min.compaction.lag.ms",
        "segment.jitter.ms",
        "retention.ms",
        "delete.retention.ms",
        "segment.ms",
        "flush.ms",
    ):
        assert f" {name} = " in text


@pytest.mark.req("CFG-42")
def test_the_stores_of_a_listener_are_dynamic(kafka: RealKafka) -> None:
    names = [f"ssl.{store}.{part}" for store in ("keystore", "truststore") for part in ("type", "location", "password")]
    for name in (*names, "ssl.key.password"):
        value = "JKS" if name.endswith("type") else "x"
        planned(kafka, "--broker", 1, "--add-config", f"listener.name.some.{name}={value}")
    refused = ours(kafka, "configs", "--alter", "--broker", 1, "--add-config", "log.dirs=/x", "--dry-run")
    assert "Cannot update these configs dynamically" in refused.stderr


@pytest.mark.req("CFG-26")
def test_what_kafka_2_2_cannot_do_is_refused_and_nothing_goes_to_zookeeper(kafka_22: RealKafka) -> None:
    for change in ("producer_byte_rate=1", "SCRAM-SHA-256=[password=x]"):
        refused = ours(kafka_22, "configs", "--alter", "--user", "u", "--add-config", change)
        assert refused.returncode == 1
        assert "give --zookeeper HOST:PORT" in refused.stderr
        assert "needs Alter" in refused.stderr


def test_configs_of_kafka_2_2_are_merged_with_a_warning(kafka_22: RealKafka) -> None:
    name = create(kafka_22, fresh("cfg"))
    done(ours(kafka_22, "configs", "--alter", "--topic", name, "--add-config", "retention.ms=1000000,flush.ms=9"))
    changed = ours(
        kafka_22,
        "configs",
        "--alter",
        "--topic",
        name,
        "--add-config",
        "flush.ms=10",
        "--delete-config",
        "retention.ms",
    )
    assert changed.returncode == 0
    assert "does not support incremental changes" in changed.stderr
    described = done(ours(kafka_22, "configs", "--describe", "--topic", name))
    assert "flush.ms=10" in described
    assert "retention.ms" not in described
    assert kafka_22.zookeeper is not None
    address = (
        "--zookeeper",
        kafka_22.zookeeper.connect,
        "--describe",
        "--entity-type",
        "topics",
        "--entity-name",
        name,
    )
    assert (
        f"Configs for topic '{name}' are flush.ms=10"
        in kafka_22.tool("kafka.admin.ConfigCommand", *address, connect=False).stdout
    )
