"""Where Kafka's tools are wrong about failures, and ours are not: each line is run in both.

Known faults: status 0 although the call failed, errors on stdout, status 1 for a wrong command line as for everything
else, passwords in messages. Should a later release mend one, its line here fails and comes off the command's page.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.against_kafka.harness import RealKafka
from tests.against_kafka.side_by_side import done, ours, theirs

PAGES = Path(__file__).resolve().parents[2] / "docs" / "commands"
SECRET = "hunter2-secret"
STATUS, STDOUT, USAGE, ECHO = "exits 0", "errors on stdout", "usage exits 1", "echoes a password"


class Fault(NamedTuple):
    line: str
    of_kafka: tuple[str, ...]
    prints: str = ""  # what our command has on stdout all the same: the items that did not fail, or a heading


FAULTS = (
    Fault("topics --describe --topic no-such-topic", (STDOUT,)),
    Fault("topics --create --topic faults", (STDOUT,)),
    Fault("topics --delete --topic no-such-topic", (STDOUT,)),
    Fault("topics --alter --topic faults --partitions 1", (STDOUT,)),
    Fault("topics --create", (USAGE,)),
    Fault("topics --list --no-such-option", (USAGE,)),
    Fault("configs --describe --topic no-such-topic", (STATUS, STDOUT)),
    Fault("configs --describe --client-metrics no-such-name", (STATUS, STDOUT)),
    Fault(f"configs --alter --topic faults --add-config no.such.setting={SECRET}", (ECHO,)),
    Fault("configs --describe --no-such-option", (USAGE,)),
    Fault("consumer-groups --describe --group no-such-group", (STATUS, STDOUT)),
    Fault("consumer-groups --delete --group no-such-group", (STATUS, STDOUT)),
    Fault("consumer-groups --delete-offsets --group no-such-group --topic faults", (STATUS, STDOUT)),
    Fault("consumer-groups --reset-offsets --group g --topic no-such-topic --to-latest --execute", (STATUS, STDOUT)),
    Fault("consumer-groups --reset-offsets --group g --topic faults:9 --to-latest --execute", (STATUS, STDOUT)),
    Fault("consumer-groups --describe", (USAGE,)),
    Fault("consumer-groups --list --state Sleeping", (USAGE,)),
    Fault("delete-records --offset-json-file beyond.json", (STATUS,), "error: OFFSET_OUT_OF_RANGE"),
    Fault("delete-records", (USAGE,)),
    Fault("acls --list --topic faults", (STDOUT,)),
    Fault("acls --add --topic faults --allow-principal User:alice", (STDOUT,)),
    Fault("acls --add --topic faults --allow-principal alice", (STDOUT, USAGE)),
    Fault("acls --add --topic faults", (USAGE,)),
    Fault("cluster cluster-id --no-such-option", (USAGE,)),
    Fault("features upgrade --feature no.such.feature=1", (STDOUT,)),
    Fault("features downgrade --feature metadata.version=7", (STDOUT,)),
    Fault("features disable --feature no.such.feature", (STDOUT,)),
    Fault("features upgrade --feature metadata.version", (USAGE,)),
    Fault("metadata-quorum describe", (USAGE,)),
    Fault("metadata-quorum describe --status --replication", (USAGE,)),
    Fault("client-metrics --describe --name no-such-name", (STATUS, STDOUT)),
    Fault("client-metrics --delete --name no-such-name", (STATUS,)),
    Fault("client-metrics --alter --name nothing", (STATUS, USAGE)),
    Fault("client-metrics --alter --name n --interval 1", (STDOUT,)),
    Fault("broker-api-versions --no-such-option", (USAGE,)),
)


@pytest.fixture(scope="module")
def kafka(kafka_new: RealKafka) -> RealKafka:
    done(ours(kafka_new, "topics", "--create", "--topic", "faults", "--partitions", 2))
    return kafka_new


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.line)
def test_a_failure_is_told_as_one(
    fault: Fault, kafka: RealKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "beyond.json"
    path.write_text('{"partitions": [{"topic": "faults", "partition": 0, "offset": 99}]}', encoding="utf-8")
    command, *words = [str(path) if word == path.name else word for word in fault.line.split()]
    their = theirs(kafka, command, *words)
    assert their.returncode == (0 if STATUS in fault.of_kafka else 1)
    if STDOUT in fault.of_kafka:
        assert any(word in their.stdout for word in ("Error", "doesn't exist", "Could not"))
    assert (SECRET in their.stdout + their.stderr) == (ECHO in fault.of_kafka)

    our = ours(kafka, command, *words)
    assert our.returncode == (2 if USAGE in fault.of_kafka else 1)
    assert fault.prints in our.stdout
    if not fault.prints:
        assert our.stdout == ""
    assert our.stderr.startswith("kafka-tools")
    assert SECRET not in our.stderr
    assert not any(word in our.stderr for word in ("Traceback", "Exception", "java."))


def test_help_is_no_failure(kafka: RealKafka) -> None:
    for command in ("topics", "configs", "consumer-groups", "delete-records", "acls", "client-metrics"):
        assert theirs(kafka, command, "--help").returncode == 1
        our = ours(kafka, command, "--help", connect=False)
        assert (our.returncode, our.stderr) == (0, "")


@pytest.mark.parametrize("command", sorted({fault.line.split()[0] for fault in FAULTS}))
def test_the_commands_page_says_so(command: str) -> None:
    text = (PAGES / f"{command}.md").read_text(encoding="utf-8")
    page = " ".join(text.partition("## Differences from Kafka's tool")[2].split())
    of_kafka = {each for fault in FAULTS if fault.line.split()[0] == command for each in fault.of_kafka}
    words = {STATUS: "exits 0|Kafka: 0", STDOUT: "on stdout", USAGE: "exits 2|with status 2", ECHO: "passwords"}
    for each in sorted(of_kafka):
        assert any(word in page for word in words[each].split("|")), f"{each}: not on {command}.md"
