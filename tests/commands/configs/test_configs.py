"""kafka-configs against the bundled broker: several entities, lists, dry runs, what wins among quotas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.commands import running


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    from kafka_tools.broker_embedded import EmbeddedBroker

    with EmbeddedBroker(config={"ssl.keystore.type": "PEM"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def run(servers: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*arguments: object, command: str = "configs") -> Ended:
        words = [*map(str, arguments), "--bootstrap-server", servers]
        status = running.run(cli.load(command), words, f"kafka-{command}")
        return Ended(status, *capsys.readouterr())

    return ended


@pytest.fixture
def topics(run: Run, request: pytest.FixtureRequest) -> tuple[str, str]:
    stem = f"t-{abs(hash(request.node.nodeid)) % 10**9}"
    for name in (f"{stem}-a", f"{stem}-b"):
        assert run("--create", "--topic", name, command="topics").status == 0
    return f"{stem}-a", f"{stem}-b"


def document(ended: Ended) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ended.out)
    return found


def held(run: Run, *entity: object) -> dict[str, str | None]:
    """Key -> value of what is set."""
    (row,) = document(run("--describe", *entity, "-o", "json"))["data"]
    return {config["name"]: config["value"] for config in row["configs"]}


def test_several_topics_are_changed_and_described_in_one_call(run: Run, topics: tuple[str, str]) -> None:
    first, second = topics
    both = ("--topic", first, "--topic", second)
    changed = run("--alter", *both, "--add-config", "flush.ms=9")
    assert changed == Ended(
        0, f"Completed updating config for topic {first}.\nCompleted updating config for topic {second}.\n", ""
    )
    described = run("--describe", "--entity-type", "topics", "--entity-name", first, "--entity-name", second)
    assert described.out.count("flush.ms=9 ") == 2


def test_what_fails_for_one_entity_is_a_line_of_its_own_and_the_others_are_done(
    run: Run, topics: tuple[str, str]
) -> None:
    first, second = topics
    names = ("--topic", first, "--topic", "no-such", "--topic", second)
    partly = run("--alter", *names, "--add-config", "flush.ms=9")
    assert partly.status == 1
    assert partly.out.count("Completed updating config for topic t-") == 2
    assert partly.err.count("\n") == 1
    assert partly.err.startswith("kafka-configs: topic 'no-such': UNKNOWN_TOPIC_OR_PARTITION")
    shown = run("--describe", *names, "-o", "json")
    assert shown.status == 1
    assert [row["entity"]["topics"] for row in document(shown)["data"]] == [first, second]
    assert [error["item"] for error in document(shown)["errors"]] == ["topic 'no-such'"]


def test_users_and_pairs_are_changed_together(run: Run) -> None:
    text = run("--alter", "--user", "u1", "--user", "u2", "--client", "c1", "--add-config", "request_percentage=5")
    assert text.out == "Completed updating config for client c1.\n" * 2
    described = run("--describe", "--user", "u1", "--user", "u2", "--client", "c1")
    assert [line.split("'")[1] for line in described.out.splitlines()] == ["u1", "u2"]
    partly = run("--alter", "--user", "u1", "--user", "u3", "--client", "c1", "--delete-config", "request_percentage")
    assert (partly.status, partly.out) == (1, "Completed updating config for client c1.\n")
    assert partly.err.startswith("kafka-configs: client 'c1', user 'u3': Invalid config(s): request_percentage")


def test_lists_are_appended_to_and_subtracted_from(run: Run, topics: tuple[str, str]) -> None:
    topic = ("--topic", topics[0])
    for change, policy in (
        (("--add-config", "cleanup.policy+=compact,flush.ms=9"), "delete,compact"),
        (("--append-config", "cleanup.policy=compact"), "delete,compact"),
        (("--subtract-config", "cleanup.policy=delete"), "compact"),
        (("--add-config", "cleanup.policy-=compact,cleanup.policy2=x"), "compact"),
    ):
        planned = run("--alter", *topic, *change, "--dry-run", "-o", "json")
        before = held(run, *topic)
        changed = run("--alter", *topic, *change)
        after = held(run, *topic)
        assert after["cleanup.policy"] == policy
        if changed.status == 0:
            rows = {row["name"]: row for row in document(planned)["data"]}
            assert rows["cleanup.policy"]["new"] == policy
            assert rows["cleanup.policy"]["old"] == before.get("cleanup.policy", "delete")
        else:
            assert planned.status == 1
            assert before == after
    assert held(run, *topic)["flush.ms"] == "9"
    refused = run("--alter", *topic, "--append-config", "flush.ms=9")
    assert refused.status == 1
    assert "its type is not LIST" in refused.err


@pytest.mark.req("CFG-31")
def test_a_dry_run_shows_old_and_new_and_changes_nothing(run: Run, topics: tuple[str, str]) -> None:
    topic = ("--topic", topics[0])
    run("--alter", *topic, "--add-config", "flush.ms=9,segment.ms=5000")
    planned = run(
        "--alter", *topic, "--add-config", "retention.ms=1,segment.ms=5000", "--delete-config", "flush.ms", "--dry-run"
    )
    assert planned == Ended(
        0,
        f"Would update config for topic {topics[0]}:\n"
        "  retention.ms: 604800000 (default config) -> 1\n"
        "  segment.ms: 5000 -> 5000 (no change)\n"
        "  flush.ms: 9 -> 9223372036854775807 (default config)\n",
        "",
    )  # fmt: skip
    assert held(run, *topic) == {"flush.ms": "9", "segment.ms": "5000"}
    refused = run("--alter", *topic, "--topic", topics[1], "--add-config", "retention.ms=-2", "--dry-run")
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 2)
    assert "Value must be at least -1" in refused.err


@pytest.mark.req("QT-14")
def test_a_dry_run_of_quotas_and_credentials_changes_nothing(run: Run) -> None:
    run("--alter", "--user", "dry", "--add-config", "producer_byte_rate=1024")
    planned = run("--alter", "--user", "dry", "--user-defaults", "--add-config", "producer_byte_rate=2048", "--dry-run")
    assert planned.out == (
        "Would update config for user dry:\n  producer_byte_rate: 1024.0 -> 2048.0\n"
        "Would update config for default user:\n  producer_byte_rate: (not set) -> 2048.0\n"
    )
    credential = "SCRAM-SHA-256=[iterations=8192,password=hunter2]"
    planned = run("--alter", "--user", "dry", "--add-config", credential, "--dry-run")
    assert planned.out == (
        "Would update config for user dry:\n  SCRAM-SHA-256: (not set) -> iterations=8192,password=[hidden]\n"
    )
    assert "hunter2" not in run("--alter", "--user", "dry", "--add-config", credential, "--dry-run", "-o", "json").out
    missing = run("--alter", "--user", "dry", "--delete-config", "SCRAM-SHA-256", "--dry-run")
    assert missing.status == 1
    assert (
        run("--describe", "--user", "dry").out
        == "Quota configs for user-principal 'dry' are producer_byte_rate=1024.0\n"
    )
    run("--alter", "--user", "dry", "--delete-config", "producer_byte_rate")


def test_a_dry_run_hides_the_secrets_of_a_broker(run: Run) -> None:
    name = "listener.name.internal.ssl.key.password"
    planned = run("--alter", "--broker", 1, "--add-config", f"{name}=hunter2,log.cleaner.threads=2", "--dry-run")
    assert planned.status == 0, planned.err
    assert f"  {name}: (not set) -> [hidden]\n" in planned.out
    assert "  log.cleaner.threads: 1 (default config) -> 2\n" in planned.out
    assert "hunter2" not in planned.out + planned.err


LEVELS = (
    (("--client-defaults",), 8, "Default client"),
    (("--client", "app"), 7, "Client"),
    (("--user-defaults",), 6, "Default user"),
    (("--user-defaults", "--client-defaults"), 5, "Default client of default user"),
    (("--user-defaults", "--client", "app"), 4, "Client of default user"),
    (("--user", "who"), 3, "User"),
    (("--user", "who", "--client-defaults"), 2, "Default client of user"),
    (("--user", "who", "--client", "app"), 1, "Client of user"),
)


@pytest.mark.req("QT-11", "QT-21", "QT-22")
def test_explain_says_which_of_the_eight_levels_wins(run: Run) -> None:
    who = ("--user", "who", "--client", "app")
    try:
        for entity, level, source in LEVELS:
            run("--alter", *entity, "--add-config", f"consumer_byte_rate={level * 1000000}")
            rows = document(run("--describe", "--explain", *who, "-o", "json"))["data"]
            (row,) = [row for row in rows if row["quota"] == "consumer_byte_rate"]
            assert (row["level"], row["source"], row["value"]) == (level, source, level * 1000000)
        text = run("--describe", "--explain", *who).out
        assert text.startswith(
            "Quotas in effect for user 'who' and client-id 'app':\n  producer_byte_rate: no quota on any level\n  "
            "consumer_byte_rate=1000000.0 from level 1, client of user: user 'who', client-id 'app'\n    "
            "overrides level 2, default client of user: user 'who', default client-id, 2000000.0\n"
        )
        alone = run("--describe", "--explain", "--user", "who").out
        assert "consumer_byte_rate=2000000.0 from level 2, default client of user" in alone
        nobody = run("--describe", "--explain", "--client", "other").out
        assert "consumer_byte_rate=5000000.0 from level 5, default client of default user" in nobody
    finally:
        for entity, _, _ in LEVELS:
            run("--alter", *entity, "--delete-config", "consumer_byte_rate")


def test_explain_of_an_address(run: Run) -> None:
    run("--alter", "--ip-defaults", "--add-config", "connection_creation_rate=1000")
    run("--alter", "--ip", "127.0.0.9", "--add-config", "connection_creation_rate=2000")
    try:
        assert "=2000.0 from level 1, ip: ip '127.0.0.9'" in run("--describe", "--explain", "--ip", "127.0.0.9").out
        assert "=1000.0 from level 2, default ip: default ip" in run("--describe", "--explain", "--ip", "127.0.0.8").out
        assert "=1000.0 from level 2, default ip: default ip" in run("--describe", "--explain", "--ip-defaults").out
    finally:
        run("--alter", "--ip-defaults", "--ip", "127.0.0.9", "--delete-config", "connection_creation_rate")


@pytest.mark.parametrize(
    "arguments, status, said",
    [
        (("--alter", "--topic", "{0}", "--add-config", "flush.massages=1"), 1, "did you mean flush.messages"),
        (("--alter", "--user", "u", "--add-config", "producer.byte.rate=1"), 2, "did you mean producer_byte_rate?"),
        (("--alter", "--user", "u", "--add-config", "SCRAM-SHA-265=[password=p]"), 2, "did you mean SCRAM-SHA-256"),
        (("--alter", "--ip", "127.0.0.1", "--add-config", "connection_rate=1"), 2, "connection_creation_rate"),
        (("--describe", "--entity-type", "topic"), 2, "invalid entity type 'topic': did you mean topics?"),
        (("--describe", "--entity-type", "planets"), 2, "one of topics, clients"),
        (("--alter", "--client-metrics", "m", "--add-config", "intervall.ms=1000"), 1, "did you mean interval.ms?"),
        (("--alter", "--group", "g", "--add-config", "consumer.session.timeout=1"), 1, "consumer.session.timeout.ms"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(
    run: Run, topics: tuple[str, str], arguments: tuple[str, ...], status: int, said: str
) -> None:
    ended = run(*(argument.format(*topics) for argument in arguments))
    assert (ended.status, ended.out) == (status, "")
    assert said in ended.err


def test_a_broker_takes_any_name_so_a_misspelt_one_is_warned_of(run: Run) -> None:
    ended = run("--alter", "--broker", 1, "--add-config", "log.cleaner.thraeds=2,my.plugin.setting=x", "--dry-run")
    assert ended.err == (
        "warning: brokers have no config log.cleaner.thraeds (did you mean log.cleaner.threads?); "
        "brokers accept any name here\n"
    )


def test_a_misspelt_name_to_delete_is_warned_of(run: Run, topics: tuple[str, str]) -> None:
    ended = run("--alter", "--topic", topics[0], "--delete-config", "flush.massages,no.such.thing")
    assert (ended.status, ended.out) == (0, f"Completed updating config for topic {topics[0]}.\n")
    assert ended.err.startswith("warning: topics have no config flush.massages (did you mean flush.messages?);")


def test_lists_of_the_default_broker_start_from_kafkas_default(run: Run) -> None:
    change = ("--append-config", "log.cleanup.policy=compact")
    planned = run("--alter", "--broker-defaults", *change, "--dry-run")
    assert planned.out == "Would update config for default broker:\n  log.cleanup.policy: (not set) -> delete,compact\n"
    run("--alter", "--broker-defaults", *change)
    assert held(run, "--broker-defaults")["log.cleanup.policy"] == "delete,compact"
    planned = run("--alter", "--broker-defaults", "--delete-config", "log.cleanup.policy", "--dry-run")
    assert planned.out.endswith("  log.cleanup.policy: delete,compact -> (not set)\n")
    run("--alter", "--broker-defaults", "--delete-config", "log.cleanup.policy")


def test_a_dry_run_of_loggers_groups_and_client_metrics(run: Run) -> None:
    for entity, change, line in (
        (("--broker-logger", 1), "root=TRACE", " -> TRACE\n"),
        (("--group", "g"), "consumer.session.timeout.ms=50000", "45000 (default config) -> 50000\n"),
        (("--client-metrics", "m"), "interval.ms=60000", " -> 60000\n"),
    ):
        planned = run("--alter", *entity, "--add-config", change, "--dry-run")
        assert planned.status == 0, planned.err
        assert planned.out.endswith(line)


def test_quotas_are_described_where_credentials_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    from kafka_tools.broker_embedded import EmbeddedBroker

    with EmbeddedBroker(release="2.6") as broker:
        address = ("--bootstrap-server", broker.bootstrap_servers)
        change = ("--alter", "--user", "u", "--add-config", "producer_byte_rate=5")
        assert running.run(cli.load("configs"), [*change, *address], "kafka-configs") == 0
        capsys.readouterr()
        status = running.run(cli.load("configs"), ["--describe", "--user", "u", *address], "kafka-configs")
    out, err = capsys.readouterr()
    assert (status, out) == (1, "Quota configs for user-principal 'u' are producer_byte_rate=5.0\n")
    assert err.startswith("kafka-configs: SCRAM credentials of user 'u': ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--describe", "--topic", "t", "--dry-run"),
        ("--alter", "--topic", "t", "--add-config", "a=1", "--explain"),
        ("--alter", "--topic", "t", "--add-config", "a=1", "--append-config", "a=b"),
        ("--alter", "--topic", "t", "--add-config", "a=1", "--dry-run", "--describe"),
        ("--alter", "--user", "u", "--append-config", "producer_byte_rate=1"),
        ("--describe", "--explain", "--topic", "t"),
        ("--describe", "--explain", "--entity-type", "users"),
        ("--describe", "--topic", "t", "--append-config", "a=b"),
    ],
)
def test_options_that_do_not_go_together(run: Run, arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("kafka-configs: ")


def test_documentation_is_shown_where_it_is_asked_for(run: Run, topics: tuple[str, str]) -> None:
    shown = document(run("--describe", "--topic", topics[0], "--all", "--documentation", "-o", "json"))
    assert all("documentation" in config for config in shown["data"][0]["configs"])
    assert run("--describe", "--topic", topics[0], "--all", "--documentation", "-o", "wide").status == 0


@pytest.mark.req("CFG-13")
def test_force_is_a_flag_that_has_nothing_to_silence(run: Run, topics: tuple[str, str]) -> None:
    forced = run("--alter", "--force", "--topic", topics[0], "--add-config", "flush.ms=9")
    assert forced == Ended(0, f"Completed updating config for topic {topics[0]}.\n", "")


@pytest.mark.req("CFG-41")
def test_a_retention_without_a_limit_is_minus_1(run: Run, topics: tuple[str, str]) -> None:
    topic = ("--topic", topics[0])
    assert run("--alter", *topic, "--add-config", "retention.ms=-1").status == 0
    assert held(run, *topic)["retention.ms"] == "-1"
    assert "Value must be at least -1" in run("--alter", *topic, "--add-config", "retention.ms=-2").err


@pytest.mark.req("QT-1")
def test_the_quotas_of_users_have_the_names_of_kafka(run: Run) -> None:
    names = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
    change = ",".join(f"{name}={number}" for number, name in enumerate(names, 1))
    assert run("--alter", "--user", "q", "--add-config", change).status == 0
    (row,) = document(run("--describe", "--user", "q", "-o", "json"))["data"]
    assert row["quotas"] == {name: number for number, name in enumerate(names, 1)}
    assert run("--alter", "--user", "q", "--delete-config", ",".join(names)).status == 0
    assert run("--describe", "--user", "q").out == ""


@pytest.mark.req("CFG-1")
def test_every_departure_from_kip_248_is_on_the_page() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "commands" / "configs.md").read_text(encoding="utf-8")
    departures = page.partition("\n## KIP-248\n")[2].partition("\n## ")[0]
    assert "rejected" in departures
    for option in ("--adminclient.config", "--adminclient-property", "--entity-default", "--force", "--describe"):
        assert f"`{option}`" in departures
    for word in ("ZooKeeper", "table", "defaults", "SCRAM", "DescribeQuotas", "AlterQuotas", "entity types"):
        assert word in departures


@pytest.mark.req("CFG-10", "CFG-22")
def test_one_of_describe_and_alter_is_needed(run: Run, topics: tuple[str, str]) -> None:
    neither = run("--topic", topics[0])
    assert (neither.status, neither.out) == (2, "")
    both = run("--describe", "--alter", "--topic", topics[0], "--add-config", "flush.ms=9")
    assert both.out.startswith(f"Completed updating config for topic {topics[0]}.\nDynamic configs for topic")


@pytest.mark.req("CFG-18")
def test_defaults_are_described_with_all(run: Run, topics: tuple[str, str]) -> None:
    run("--alter", "--topic", topics[0], "--add-config", "flush.ms=9")
    everything = run("--describe", "--topic", topics[0], "--all", "-o", "wide").out
    assert " retention.ms = 604800000 " in everything and "Default config" in everything
    assert "retention.ms" not in run("--describe", "--topic", topics[0], "-o", "wide").out


def test_documentation_in_html_is_shown_as_text() -> None:
    from kafka_tools.output.config_table import tables

    config = {
        "name": "k", "value": "v", "source": "DEFAULT_CONFIG", "sensitive": False, "read_only": True, "type": "LIST",
        "synonyms": [], "documentation": "One of <code>a</code>, &lt;b&gt;.<ul><li>first</li><li>second</li></ul>",
    }  # fmt: skip
    assert tables([{"kind": "resource", "entity": {"brokers": "1"}, "configs": [config]}]).splitlines()[-2:] == [
        "   k = v      false      true       Default config  list",
        "       One of a, <b>. first second",
    ]


def test_values_may_have_units_which_are_told_as_what_they_resolve_to(
    run: Run, topics: tuple[str, str], tmp_path: Path
) -> None:
    one, other = topics
    done = run("--alter", "--topic", one, "--add-config", "retention.ms=7d,segment.bytes=10MB,cleanup.policy=compact")
    assert done.status == 0
    assert done.err == "retention.ms=7d is 604800000 ms\nsegment.bytes=10MB is 10000000 bytes\n"
    assert held(run, "--topic", one) == {
        "retention.ms": "604800000",
        "segment.bytes": "10000000",
        "cleanup.policy": "compact",
    }
    file = tmp_path / "configs.properties"
    file.write_text("segment.bytes=10MiB\nretention.ms=1000\n", encoding="utf-8")
    assert run("--alter", "--topic", other, "--add-config-file", file).err == "segment.bytes=10MiB is 10485760 bytes\n"
    assert held(run, "--topic", other) == {"segment.bytes": "10485760", "retention.ms": "1000"}
    planned = run("--alter", "--topic", other, "--add-config", "retention.ms=1.5h", "--dry-run")
    assert "retention.ms: 1000 -> 5400000" in planned.out
    assert planned.err == "retention.ms=1.5h is 5400000 ms\n"


def test_quotas_may_have_units_of_bytes(run: Run) -> None:
    done = run("--alter", "--user", "units", "--add-config", "producer_byte_rate=10MB/s,consumer_byte_rate=1MiB")
    assert done.err.splitlines() == [
        "producer_byte_rate=10MB/s is 10000000 bytes per second",
        "consumer_byte_rate=1MiB is 1048576 bytes per second",
    ]
    (row,) = document(run("--describe", "--user", "units", "-o", "json"))["data"]
    assert row["quotas"] == {"producer_byte_rate": 10_000_000.0, "consumer_byte_rate": 1_048_576.0}


def test_a_unit_that_a_config_does_not_have_is_one_line_and_changes_nothing(
    run: Run, topics: tuple[str, str], tmp_path: Path
) -> None:
    refused = run("--alter", "--topic", topics[0], "--add-config", "flush.messages=5,retention.ms=7x")
    assert refused == (
        2,
        "",
        (
            "kafka-configs: --add-config: Invalid value 7x for configuration retention.ms: Not a number of "
            "type LONG: invalid unit of time 'x': expected ms, s, m, h, d or w\n"
        ),
    )
    file = tmp_path / "configs.properties"
    file.write_text("segment.bytes=10GB\n", encoding="utf-8")
    refused = run("--alter", "--topic", topics[0], "--add-config-file", file)
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert refused.err.startswith(f"kafka-configs: {file}: Invalid value 10GB for configuration segment.bytes")
    assert held(run, "--topic", topics[0]) == {}
    judged_by_the_broker = run("--alter", "--topic", topics[0], "--add-config", "cleanup.policy=7d")
    assert (judged_by_the_broker.status, judged_by_the_broker.out) == (1, "")
