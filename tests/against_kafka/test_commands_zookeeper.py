"""kafka-configs and kafka-scram over ZooKeeper, beside brokers and tools of the releases that had it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.admin.calls.quotas import EXACT, QuotaFilter
from kafka_tools.admin.client import AdminClient
from kafka_tools.net.config import ClientConfig
from tests.against_kafka.harness import SECURE, RealKafka, RealZooKeeper, Setup, eventually
from tests.against_kafka.side_by_side import Ended, done, fresh, ours

CONFIG_COMMAND = "kafka.admin.ConfigCommand"


@pytest.fixture(params=["kafka_39_zk", "kafka_28", "kafka_22", "kafka_11"])
def kafka(request: pytest.FixtureRequest) -> RealKafka:
    found: RealKafka = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def kafka_22_secure(real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
    return real_kafka(Setup("2.2.2", listeners=SECURE, properties=(("password.encoder.secret", "encoder-secret"),)))


def run(command: str, connect: str, *arguments: object, stdin: str | None = None) -> Ended:
    """Our command on a ZooKeeper."""
    return subprocess.run(
        [sys.executable, "-m", "kafka_tools", command, "--zookeeper", connect, *map(str, arguments)],
        input=stdin, capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip


def on_zookeeper(kafka: RealKafka, command: str, *arguments: object, stdin: str | None = None) -> Ended:
    assert kafka.zookeeper is not None
    return run(command, kafka.zookeeper.connect, *arguments, stdin=stdin)


def their_configs(kafka: RealKafka, *arguments: object) -> str:
    """The release's own ConfigCommand on its ZooKeeper."""
    assert kafka.zookeeper is not None
    ended = kafka.tool(CONFIG_COMMAND, "--zookeeper", kafka.zookeeper.connect, *arguments, connect=False)
    assert ended.returncode == 0, ended
    return ended.stdout


@pytest.mark.req("CFG-2")
def test_brokers_act_on_a_topic_config_that_we_wrote(kafka: RealKafka) -> None:
    topic = fresh("zk")
    done(ours(kafka, "topics", "--create", "--topic", topic, "--partitions", 1, "--replication-factor", 1))
    text = done(on_zookeeper(kafka, "configs", "--alter", "--topic", topic, "--add-config", "flush.messages=777"))
    assert text == f"Completed updating config for topic {topic}.\n"
    assert "flush.messages=777" in done(on_zookeeper(kafka, "configs", "--describe", "--topic", topic))

    def seen() -> None:
        assert "flush.messages=777 " in done(ours(kafka, "configs", "--describe", "--topic", topic))

    eventually(seen)
    done(on_zookeeper(kafka, "configs", "--alter", "--topic", topic, "--delete-config", "flush.messages"))
    assert "flush" not in done(on_zookeeper(kafka, "configs", "--describe", "--topic", topic))
    for change, said in (
        ("flush.messages=no", "Not a number of type LONG"),
        ("flush.massages=1", "Unknown topic config name: flush.massages"),
    ):
        refused = on_zookeeper(kafka, "configs", "--alter", "--topic", topic, "--add-config", change)
        assert refused.returncode == 1 and said in refused.stderr
    refused = on_zookeeper(kafka, "configs", "--alter", "--topic", topic + "x", "--add-config", "flush.ms=1")
    assert refused.returncode == 1 and "does not exist" in refused.stderr


@pytest.mark.req("QT-20", "CFG-2")
def test_quotas_that_we_wrote_are_what_kafka_reads_and_the_other_way_round(kafka: RealKafka) -> None:
    user, client = fresh("user with blanks=,*"), fresh("client~")
    pair = ("--entity-type", "users", "--entity-name", user, "--entity-type", "clients", "--entity-name", client)
    alone = ("--entity-type", "users", "--entity-name", user)
    done(
        on_zookeeper(
            kafka, "configs", "--alter", *alone, "--add-config", "producer_byte_rate=1024,request_percentage=12.5"
        )
    )
    done(on_zookeeper(kafka, "configs", "--alter", *pair, "--add-config", "consumer_byte_rate=2048"))
    read_back = their_configs(kafka, "--describe", *alone)
    assert "producer_byte_rate=1024" in read_back and "request_percentage=12.5" in read_back
    assert user in read_back or "%20" in read_back
    if kafka.release < "3":  # later only users themselves and brokers
        assert "consumer_byte_rate=2048" in their_configs(kafka, "--describe", *pair)
        their_configs(kafka, "--alter", *pair, "--add-config", "consumer_byte_rate=4096")
        assert (
            f"Quota configs for user-principal '{user}', client-id '{client}' are consumer_byte_rate=4096.0\n"
            == done(on_zookeeper(kafka, "configs", "--describe", *pair))
        )
    done(on_zookeeper(kafka, "configs", "--alter", *alone, "--delete-config", "producer_byte_rate,request_percentage"))
    done(on_zookeeper(kafka, "configs", "--alter", *pair, "--delete-config", "consumer_byte_rate"))
    assert done(on_zookeeper(kafka, "configs", "--describe", *alone)) == ""


@pytest.mark.req("CFG-24")
def test_lists_dry_runs_and_what_wins_work_without_a_broker_too(kafka: RealKafka) -> None:
    topic, user = fresh("zk"), fresh("u")
    done(ours(kafka, "topics", "--create", "--topic", topic, "--partitions", 1, "--replication-factor", 1))
    entity = ("--topic", topic)
    dry = on_zookeeper(kafka, "configs", "--alter", *entity, "--append-config", "cleanup.policy=compact", "--dry-run")
    assert done(dry) == (
        f"Would update config for topic {topic}:\n  cleanup.policy: delete (default config) -> delete,compact\n"
    )
    assert "--zookeeper is deprecated and will be removed" in dry.stderr
    assert "cleanup" not in done(on_zookeeper(kafka, "configs", "--describe", *entity))
    done(on_zookeeper(kafka, "configs", "--alter", *entity, "--append-config", "cleanup.policy=compact"))
    done(on_zookeeper(kafka, "configs", "--alter", *entity, "--add-config", "cleanup.policy-=delete"))
    assert "cleanup.policy=compact " in done(on_zookeeper(kafka, "configs", "--describe", *entity))
    for number in ("1", "2"):
        both = ("--user", user, "--client-defaults") if number == "2" else ("--user", user)
        done(on_zookeeper(kafka, "configs", "--alter", *both, "--add-config", f"consumer_byte_rate={number}000000"))
    asked = ("--describe", "--explain", "--user", user, "--client", "any")
    assert "=2000000.0 from level 2, default client of user" in done(on_zookeeper(kafka, "configs", *asked))
    partly = on_zookeeper(
        kafka, "configs", "--alter", "--user", user, "--user", user + "x", "--delete-config", "consumer_byte_rate"
    )
    assert (partly.returncode, partly.stdout) == (1, f"Completed updating config for user {user}.\n")
    assert f"user '{user}x': Invalid config(s): consumer_byte_rate" in partly.stderr
    done(
        on_zookeeper(
            kafka, "configs", "--alter", "--user", user, "--client-defaults", "--delete-config", "consumer_byte_rate"
        )
    )


@pytest.mark.req("QT-20")
@pytest.mark.parametrize("name", ["kafka_39_zk", "kafka_28"])
def test_running_brokers_take_quotas_at_once(request: pytest.FixtureRequest, name: str) -> None:
    kafka: RealKafka = request.getfixturevalue(name)
    user = fresh("u")
    done(on_zookeeper(kafka, "configs", "--alter", "--user", user, "--add-config", "consumer_byte_rate=5000"))

    def seen() -> None:
        with AdminClient(ClientConfig.load(kafka.bootstrap_servers), timeout_s=30) as admin:
            found = admin.describe_client_quotas([QuotaFilter("user", EXACT, user)])
        assert list(found.values()) == [{"consumer_byte_rate": 5000.0}]

    eventually(seen)
    done(on_zookeeper(kafka, "configs", "--alter", "--user", user, "--delete-config", "consumer_byte_rate"))


@pytest.mark.req("SC-2", "SC-3", "SC-4", "SC-5", "SC-11", "SC-13", "GAP-5", "GAP-6")
def test_a_client_logs_in_with_the_password_that_we_stored(kafka_22_secure: RealKafka, tmp_path: Path) -> None:
    user = "bob"
    both = "SCRAM-SHA-256=[iterations=8192,password=bob-secret],SCRAM-SHA-512"
    stored = on_zookeeper(
        kafka_22_secure, "scram", "--add", both, "--username", user, "--password-file", "-", stdin="other-secret\n"
    )
    assert done(stored) == f"Completed updating config for user {user}.\n"
    described = done(on_zookeeper(kafka_22_secure, "scram", "--describe", "--username", user))
    assert described == (
        f"SCRAM credential configs for user-principal '{user}' are "
        "SCRAM-SHA-256=iterations=8192, SCRAM-SHA-512=iterations=4096\n"
    )
    table = json.loads(done(on_zookeeper(kafka_22_secure, "scram", "--describe", "-o", "json")))
    assert {"user": user, "mechanism": "SCRAM-SHA-256", "iterations": 8192} in table["data"]
    for mechanism, password in (("SCRAM-SHA-256", "bob-secret"), ("SCRAM-SHA-512", "other-secret")):
        config = tmp_path / f"{mechanism}.properties"
        config.write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
            "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required "
            f'username="{user}" password="{password}";\n'
        )
        address = kafka_22_secure.bootstrap("SASL_PLAINTEXT")

        def logged_in(config: Path = config, address: str = address) -> None:
            main = "kafka.admin.BrokerApiVersionsCommand"
            ended = kafka_22_secure.tool(main, "--bootstrap-server", address, "--command-config", config, connect=False)
            assert ended.returncode == 0 and "Produce(0)" in ended.stdout, ended

        eventually(logged_in, 60.0)
    done(on_zookeeper(kafka_22_secure, "scram", "--delete", "SCRAM-SHA-512", "--username", user))
    assert "SCRAM-SHA-512" not in done(on_zookeeper(kafka_22_secure, "scram", "--describe", "--username", user))
    refused = on_zookeeper(kafka_22_secure, "scram", "--delete", "SCRAM-SHA-512", "--username", user)
    assert refused.returncode == 1 and "Invalid config(s): SCRAM-SHA-512" in refused.stderr
    theirs = their_configs(kafka_22_secure, "--describe", "--entity-type", "users", "--entity-name", user)
    assert "SCRAM-SHA-256=salt=" in theirs and "iterations=8192" in theirs


def test_the_configs_of_a_running_broker_are_refused(kafka_22: RealKafka) -> None:
    number = kafka_22.node_ids[0]
    refused = on_zookeeper(kafka_22, "configs", "--alter", "--broker", number, "--add-config", "log.cleaner.threads=2")
    assert refused.returncode == 1 and f"of broker {number} through ZooKeeper while it is running" in refused.stderr
    done(on_zookeeper(kafka_22, "configs", "--alter", "--broker", 99, "--add-config", "log.cleaner.threads=2"))
    assert "log.cleaner.threads=2" in their_configs(
        kafka_22, "--describe", "--entity-type", "brokers", "--entity-name", 99
    )
    done(on_zookeeper(kafka_22, "configs", "--alter", "--broker", 99, "--delete-config", "log.cleaner.threads"))


@pytest.mark.req("SC-1")
def test_credentials_can_be_stored_before_any_broker_runs_and_be_protected(
    zookeeper: RealZooKeeper, tmp_path: Path
) -> None:
    digest, tls = tmp_path / "digest", tmp_path / "zk.properties"
    digest.write_text("keeper:keeper-secret\n")
    tls.write_text("zookeeper.set.acl=true\n")
    protected = ("--zk-digest-file", digest, "--zk-tls-config-file", tls)
    done(run("scram", zookeeper.address, "--add", "SCRAM-SHA-512=[password=p]", "--username", "first", *protected))
    assert "SCRAM-SHA-512" in done(run("scram", zookeeper.address, "--describe", "--username", "first", *protected))
    refused = run("scram", zookeeper.address, "--describe", "--username", "first")
    assert refused.returncode == 1
    assert "ZooKeeper node /config/users/first: access denied" in refused.stderr


def test_what_cannot_be_reached_is_one_line(zookeeper: RealZooKeeper) -> None:
    nobody = run("scram", "127.0.0.1:1", "--describe")
    assert nobody.returncode == 1 and nobody.stderr.count("\n") <= 2
    assert "cannot reach a ZooKeeper server at 127.0.0.1:1: 127.0.0.1:1: connection refused" in nobody.stderr
    no_chroot = run("scram", zookeeper.address + "/nowhere", "--describe")
    assert no_chroot.returncode == 1 and "has no chroot /nowhere" in no_chroot.stderr
