"""The commands against the bundled broker: the whole way from the command line to the log and back, without Java."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

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

    with EmbeddedBroker() as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def run(servers: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(name: str, *arguments: object, connect: bool = True) -> Ended:
        address = ["--bootstrap-server", servers] if connect else []
        words = [*map(str, arguments), *address]
        status = running.run(cli.load(name), words, f"kafka-{name}")
        return Ended(status, *capsys.readouterr())

    return ended


@pytest.fixture
def topic(run: Run, request: pytest.FixtureRequest) -> str:
    name = f"t-{abs(hash(request.node.nodeid)) % 10**9}"
    assert run("topics", "--create", "--topic", name, "--partitions", 2).status == 0
    return name


def data(ended: Ended) -> list[dict[str, Any]]:
    document = json.loads(ended.out)
    assert document.keys() == {"schema", "data", "errors"}
    assert document["schema"].startswith("kafka-tools/")
    found: list[dict[str, Any]] = document["data"]
    return found


def test_topics_live_and_die(run: Run, topic: str) -> None:
    assert topic in run("topics", "--list").out.split()
    described = run("topics", "--describe", "--topic", topic)
    assert described.out.splitlines()[0].startswith(f"Topic: {topic}\tTopicId: ")
    assert run("topics", "--alter", "--topic", topic, "--partitions", 3) == Ended(0, "", "")
    assert data(run("topics", "--describe", "--topic", topic, "-o", "json"))[0]["partition_count"] == 3
    assert data(run("topics", "--delete", "--topic", topic, "-o", "json")) == [{"topic": topic, "result": "deleted"}]
    gone = run("topics", "--describe", "--topic", topic)
    assert gone == Ended(1, "", f"kafka-topics: Topic '{topic}' does not exist as expected\n")


def test_every_form_holds_what_the_table_shows(run: Run, topic: str) -> None:
    views = [
        ("topics", "--list"),
        ("topics", "--describe", "--topic", topic),
        ("configs", "--describe", "--topic", topic, "--all"),
        ("broker-api-versions",),
        ("cluster", "list-endpoints"),
        ("consumer-groups", "--list"),
    ]
    for view in views:
        table = run(*view, "-o", "table").out
        document = json.loads(run(*view, "-o", "json").out)
        assert yaml.safe_load(run(*view, "-o", "yaml").out) == document
        keys = set(_keys(document["data"])) | {"broker", "entity", "topic"}
        if document["data"]:
            assert {heading.lower().replace("-", "_") for heading in table.splitlines()[0].split()} <= keys


def _keys(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list) else value.values():
        if isinstance(each, dict | list):
            yield from _keys(each)
    if isinstance(value, dict):
        yield from value


def test_a_topic_that_exists_is_an_error_in_every_form(run: Run, topic: str) -> None:
    plain = run("topics", "--create", "--topic", topic)
    assert plain == Ended(1, "", f"kafka-topics: TOPIC_ALREADY_EXISTS: Topic '{topic}' already exists.\n")
    document = json.loads(run("topics", "--create", "--topic", topic, "-o", "json").out)
    assert document["errors"][0]["error"] == "TOPIC_ALREADY_EXISTS"
    again = run("topics", "--create", "--topic", topic, "--if-not-exists", "-o", "json")
    assert data(again) == [{"topic": topic, "result": "exists"}]


def test_an_empty_result_is_an_empty_list(run: Run) -> None:
    assert data(run("topics", "--list", "--topic", "no-such.*", "-o", "json")) == []
    assert run("topics", "--list", "--topic", "no-such.*").out == "\n"


@pytest.mark.req("CFG-43", "CFG-22")
def test_configs_change_one_key_and_leave_the_others(run: Run, topic: str) -> None:
    run("configs", "--alter", "--topic", topic, "--add-config", "retention.ms=1000,cleanup.policy=[compact,delete]")
    changed = run("configs", "--alter", "--topic", topic, "--add-config", "flush.ms=9", "-o", "json")
    configs = {row["name"]: row["value"] for row in data(changed)[0]["configs"]}
    assert configs == {"retention.ms": "1000", "cleanup.policy": "compact,delete", "flush.ms": "9"}
    both = run("configs", "--alter", "--describe", "--topic", topic, "--delete-config", "retention.ms")
    assert both.out.startswith(
        f"Completed updating config for topic {topic}.\nDynamic configs for topic {topic} are:\n"
    )
    assert "retention.ms" not in both.out


@pytest.mark.req("CFG-15", "CFG-16", "CFG-17", "CFG-20")
def test_wide_is_the_table_of_kip_248(run: Run, topic: str) -> None:
    run("configs", "--alter", "--topic", topic, "--add-config", "retention.ms=1000")
    lines = run("configs", "--describe", "--topic", topic, "--all", "-o", "wide").out.splitlines()
    assert lines[0].strip() == f"CONFIGS FOR TOPIC {topic}"
    assert lines[1].split() == ["Name", "Value", "Sensitive", "Read-only", "Source", "Type", "Synonyms"]
    (retention,) = [line for line in lines if line.lstrip().startswith("retention.ms =")]
    assert " ".join(retention.split()[:9]) == "retention.ms = 1000 false false Dynamic topic config long"
    assert retention.endswith("  Dynamic topic config: retention.ms=1000")
    equals = {line.index(" = ") for line in lines[2:]}
    assert len(equals) == 1


@pytest.mark.req("DESIGN-30")
def test_a_topic_has_kafkas_defaults(run: Run, topic: str) -> None:
    described = data(run("configs", "--describe", "--topic", topic, "--all", "-o", "json"))
    values = {row["name"]: row["value"] for row in described[0]["configs"]}
    defaults = {
        "max.message.bytes": "1048588",
        "index.interval.bytes": "4096",
        "min.cleanable.dirty.ratio": "0.5",
        "segment.bytes": "1073741824",
        "segment.index.bytes": "10485760",
        "retention.ms": "604800000",
        "delete.retention.ms": "86400000",
        "min.insync.replicas": "1",
        "compression.type": "producer",
        "cleanup.policy": "delete",
        "preallocate": "false",
        "flush.messages": str(2**63 - 1),
    }
    assert {name: values[name] for name in defaults} == defaults


@pytest.mark.req("SC-13", "CFG-19")
def test_users_have_quotas_and_credentials_and_no_secret_is_shown(run: Run) -> None:
    secret = "hunter2-secret"
    credential = f"SCRAM-SHA-256=[iterations=8192,password={secret}],SCRAM-SHA-512=[password={secret}]"
    seen = [run("configs", "--alter", "--user", "alice", "--add-config", credential, "--trace")]
    seen.append(run("configs", "--alter", "--user", "alice", "--add-config", "producer_byte_rate=1024"))
    described = run("configs", "--describe", "--user", "alice")
    assert described.out == (
        "Quota configs for user-principal 'alice' are producer_byte_rate=1024.0\n"
        "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-256=iterations=8192, "
        "SCRAM-SHA-512=iterations=4096\n"
    )
    wide = run("configs", "--describe", "--user", "alice", "-o", "wide").out
    assert [line.split()[0] for line in wide.splitlines()] == [
        "CONFIGS",
        "Name",
        "producer_byte_rate",
        "SCRAM-SHA-256",
        "SCRAM-SHA-512",
    ]
    for wrong in (
        f"SCRAM-SHA-256=[iterations=1,password={secret}]",
        f"SCRAM-SHA-256={secret}",
        f"x={secret}",
        f"[{secret}",
    ):
        refused = run("configs", "--alter", "--user", "alice", "--add-config", wrong, "--debug")
        assert refused.status in (1, 2)
        seen.append(refused._replace(err=refused.err.partition("Traceback")[0]))
    seen.append(
        run("configs", "--alter", "--user", "alice", "--add-config", "x=1", "--command-property", f"sasl.x={secret}")
    )
    assert [ended for ended in seen if secret in ended.out + ended.err] == []
    assert all(ended.status == 0 for ended in seen[:2])


def test_a_topic_id_of_another_form_is_a_wrong_command_line(run: Run) -> None:
    ended = run("topics", "--describe", "--topic-id", "AAAA")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("kafka-topics: --topic-id: invalid uuid 'AAAA': expected 22 characters of")


def test_a_release_without_topic_ids_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    from kafka_tools.broker_embedded import EmbeddedBroker

    with EmbeddedBroker(release="2.2") as broker:
        address = ["--bootstrap-server", broker.bootstrap_servers]
        new = ["--create", "--topic", "t", "--partitions", "1", "--replication-factor", "1"]
        assert running.run(cli.load("topics"), [*new, *address], "kafka-topics") == 0
        capsys.readouterr()
        given = ["--describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAQ"]
        assert running.run(cli.load("topics"), [*given, *address], "kafka-topics") == 1
    assert capsys.readouterr() == (
        "",
        "kafka-topics: the topics of this cluster have no ids (new in Kafka 2.8)\n  give --topic NAME\n",
    )


def test_a_user_without_anything_is_described_as_nothing(run: Run) -> None:
    assert run("configs", "--describe", "--user", "nobody") == Ended(0, "", "")


@pytest.mark.req("DR-12", "DR-14", "DR-16")
def test_delete_records_reports_each_partition(run: Run, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "offsets.json"
    entries = [{"topic": topic, "partition": 0, "offset": -1}, {"topic": topic, "partition": 1, "offset": 7}]
    path.write_text(json.dumps({"partitions": entries}), encoding="utf-8")
    ended = run("delete-records", "--offset-json-file", path)
    assert ended.status == 1
    first, second, third, fourth = ended.out.splitlines()
    assert (first, second) == ("Executing records delete operation", "Records delete operation completed:")
    assert third == f"partition: {topic}-0\tlow_watermark: 0"
    assert fourth.startswith(f"partition: {topic}-1\terror: OFFSET_OUT_OF_RANGE")
    assert ended.err.startswith(f"kafka-delete-records: cannot delete records of {topic}-1: OFFSET_OUT_OF_RANGE")


@pytest.mark.req("DR-15")
def test_the_longest_wait_travels_with_the_request(run: Run, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "offsets.json"
    path.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": 0}]}), encoding="utf-8")
    for given, longest in ((), 30_000), (("--timeout", "7s"), 7_000):
        ended = run("delete-records", "--offset-json-file", path, "--trace", *given)
        assert ended.status == 0
        (sent,) = re.findall(r"DeleteRecordsRequest.*", ended.err)
        (timeout_ms,) = map(int, re.findall(r"timeoutMs\W+(\d+)", sent))
        assert longest - 5_000 < timeout_ms <= longest


def test_a_missing_file_is_one_line(run: Run) -> None:
    ended = run("delete-records", "--offset-json-file", "no-such-file.json")
    assert ended == Ended(1, "", "kafka-delete-records: offsets file no-such-file.json: No such file or directory\n")


@pytest.mark.req("CG-1")
def test_groups_are_reset_described_and_deleted(run: Run, topic: str) -> None:
    group = f"group-of-{topic}"
    scope = ("--group", group, "--topic", topic)
    planned = run("consumer-groups", "--reset-offsets", *scope, "--to-earliest")
    assert planned.status == 0
    assert "No action will be performed" in planned.err
    assert group not in run("consumer-groups", "--list").out
    assert run("consumer-groups", "--reset-offsets", *scope, "--to-earliest", "--execute").out == planned.out
    described = data(run("consumer-groups", "--describe", "--group", group, "-o", "json"))
    assert [(row["partition"], row["current_offset"], row["lag"]) for row in described] == [(0, 0, 0), (1, 0, 0)]
    state = run("consumer-groups", "--describe", "--group", group, "--state")
    assert state.out.splitlines()[2].split()[0] == group
    assert "has no active members" in state.err
    assert run("consumer-groups", "--delete", "--group", group).status == 0
    missing = run("consumer-groups", "--describe", "--group", group)
    assert (missing.status, missing.out) == (1, "")
    assert missing.err == f"kafka-consumer-groups: group '{group}': GROUP_ID_NOT_FOUND: Group {group} not found.\n"


def test_one_bad_item_of_several_exits_1_and_the_others_are_done(run: Run, topic: str) -> None:
    ended = run(
        "consumer-groups",
        "--reset-offsets",
        "--group",
        "a",
        "--group",
        "b",
        "--topic",
        topic,
        "--to-latest",
        "--execute",
    )
    assert ended.status == 0
    ended = run("consumer-groups", "--delete", "--group", "a", "--group", "no-such-group", "--group", "b")
    assert ended.status == 1
    assert ended.out == "\nThese consumer groups were deleted successfully: 'a', 'b'\n"
    assert "no-such-group" in ended.err


@pytest.mark.parametrize("action", [("--alter", "--partitions", 3), ("--delete",)])
def test_of_three_topics_one_that_does_not_exist_is_named_and_the_others_are_done(
    run: Run, action: tuple[object, ...]
) -> None:
    stem = action[0].removeprefix("--")  # type: ignore[attr-defined]
    first, last = f"{stem}-first", f"{stem}-last"
    for name in (first, last):
        assert run("topics", "--create", "--topic", name).status == 0
    words = (*action, "--topic", f"{first},{stem}-none,{last}")
    ended = run("topics", *words, "-o", "json")
    assert ended.status == 1
    assert [row["topic"] for row in data(ended)] == [first, last]
    assert f"Topic '{stem}-none' does not exist as expected\n" in ended.err
    if stem == "delete":
        assert run("topics", "--create", "--topic", first).status == 0
    assert run("topics", *(word if word != 3 else 4 for word in words), "--if-exists").status == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("topics",),
        ("topics", "--list", "--create"),
        ("topics", "--create"),
        ("topics", "--list", "--if-exists"),
        ("topics", "--alter", "--topic", "x"),
        ("topics", "--create", "--topic", "x", "--partitions", 0),
        ("topics", "--create", "--topic", "x", "--replica-assignment", "1:1"),
        ("topics", "--create", "--topic", "x", "--replica-assignment", "1", "--partitions", 1),
        ("topics", "--describe", "--topics-with-overrides", "--unavailable-partitions"),
        ("topics", "--describe", "--topic", "a("),
        ("configs",),
        ("configs", "--describe"),
        ("configs", "--alter", "--topic", "x"),
        ("configs", "--describe", "--topic", "x", "--add-config", "a=b"),
        ("configs", "--alter", "--topic", "x", "--add-config", "a=1", "--delete-config", "a"),
        ("configs", "--alter", "--entity-type", "planets", "--entity-name", "x", "--add-config", "a=b"),
        ("configs", "--alter", "--user", "u", "--add-config", "foo=1"),
        ("configs", "--alter", "--user", "u", "--add-config", "producer_byte_rate=fast"),
        ("configs", "--alter", "--user-defaults", "--add-config", "SCRAM-SHA-256=[password=x]"),
        ("consumer-groups", "--describe"),
        ("consumer-groups", "--describe", "--group", "g", "--members", "--state"),
        ("consumer-groups", "--list", "--group", "g"),
        ("consumer-groups", "--list", "--state", "Sleeping"),
        ("consumer-groups", "--reset-offsets", "--group", "g", "--topic", "t"),
        ("consumer-groups", "--reset-offsets", "--group", "g", "--to-latest"),
        ("consumer-groups", "--reset-offsets", "--group", "g", "--topic", "t", "--to-latest", "--to-earliest"),
        ("consumer-groups", "--reset-offsets", "--group", "g", "--topic", "t", "--to-datetime", "yesterday"),
        ("consumer-groups", "--delete-offsets", "--group", "g"),
        ("delete-records",),
        ("cluster",),
    ],
)
def test_a_wrong_command_line_exits_2_and_prints_nothing(run: Run, arguments: tuple[object, ...]) -> None:
    ended = run(*arguments)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"kafka-{arguments[0]}")


def test_nowhere_to_connect_to_is_a_usage_error(run: Run) -> None:
    ended = run("topics", "--list", connect=False)
    assert ended.status == 2
    assert ended.err.splitlines()[0] == "kafka-topics: --bootstrap-server is required"


def test_a_dead_address_is_named_within_the_timeout(
    capsys: pytest.CaptureFixture[str], free_port: Callable[[], int]
) -> None:
    address = f"127.0.0.1:{free_port()}"
    status = running.run(cli.load("topics"), ["--list", "-b", address, "--timeout", "2s"], "kafka-topics")
    out, err = capsys.readouterr()
    assert (status, out) == (1, "")
    assert address in err
    assert "Traceback" not in err


@pytest.mark.req("CFG-4")
def test_settings_come_from_the_file_and_unknown_ones_are_named(
    servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "client.properties"
    path.write_text(f"bootstrap.servers={servers}\nno.such.setting=1\n", encoding="utf-8")
    assert running.run(cli.load("topics"), ["--list", "--command-config", str(path)], "kafka-topics") == 0
    assert "no.such.setting" in capsys.readouterr().err


def test_trace_shows_requests_and_responses_on_stderr(run: Run) -> None:
    ended = run("topics", "--list", "--trace")
    assert "MetadataRequest" in ended.err
    assert "MetadataResponse" in ended.err
    assert "Metadata" not in ended.out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "consumer-groups --reset-offsets --group no-one --all-topics --to-earliest --execute",
            "group 'no-one' has no",
        ),
        (
            "consumer-groups --reset-offsets --all-topics --group a --group b --to-latest --dry-run",
            "groups 'a', 'b' have",
        ),
        ("log-dirs --describe --topic-list no-such", "no broker that answered has a replica of no-such"),
        ("transactions find-hanging --broker-id 77", "nothing was searched: broker 77 has no replica of any topic"),
    ],
)
def test_where_there_is_nothing_to_do_that_is_said(run: Run, topic: str, line: str, told: str) -> None:
    ended = run(*line.split())
    assert (ended.status, told in ended.err) == (0, True), ended


def test_a_group_that_does_not_exist_is_named_where_its_offsets_were_to_go(run: Run, topic: str) -> None:
    for line in ("--delete-offsets --topic {}", "--remove-members --all-members"):
        ended = run("consumer-groups", "--group", "no-one", *line.format(topic).split())
        assert (ended.status, "no-one" in ended.err) == (1, True), ended


@pytest.mark.parametrize(
    "line",
    [
        "streams-groups --reset-offsets --group g --all-input-topics --execute --to-earliest --to-offset 0",
        "streams-groups --reset-offsets --group g --all-input-topics --execute --shift-by 0 --to-offset 0",
        "consumer-groups --reset-offsets --group g --all-topics --execute --to-earliest --to-offset 0",
        "streams-application-reset --application-id g --to-earliest --shift-by 0",
        "reassign-partitions --list --throttle 0",
        "reassign-partitions --list --seed 0",
        "reassign-partitions --verify --reassignment-json-file x --replica-alter-log-dirs-throttle 0",
    ],
)
def test_an_option_with_zero_for_a_value_is_given_like_any_other(run: Run, line: str) -> None:
    ended = run(*line.split())
    assert (ended.status, ended.out) == (2, ""), ended
    assert "can't be used" in ended.err or "only one" in ended.err.lower() or "exactly one" in ended.err, ended
