"""Changes on brokers that the newest tools cannot ask: what ours leave is what the release's own tools leave.

Ours and the release's tool make the same change, one after the other; the release's tool tells each time what there is.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.against_kafka.compare_commands.comparison import Pair, here
from tests.against_kafka.compare_commands.line import Line
from tests.against_kafka.harness import RealKafka, eventually
from tests.against_kafka.side_by_side import Ended

RELEASES = ("2.2.2", "1.1.1")
TOPIC = "cmp-topic"
_TOPICS, _GROUPS = "kafka.admin.TopicCommand --zookeeper {zookeeper}", "kafka.admin.ConsumerGroupCommand {brokers}"
_CONFIGS = "kafka.admin.ConfigCommand --zookeeper {zookeeper}"
_STARTS = "kafka.tools.GetOffsetShell --broker-list {address} --topic cmp-topic --time -2"
_DELETE = "kafka.admin.DeleteRecordsCommand {brokers} --offset-json-file {records}"
_RESET = "--reset-offsets --group cmp-old"


class Step(NamedTuple):
    """``ours``: our command line; ``theirs``: the release's; ``state``: the release's tool, asked afterwards."""

    ours: str
    theirs: str
    state: str


def _topic(words: str, shown: str) -> Step:
    return Step(f"topics {words}", f"{_TOPICS} {words}", f"{_TOPICS} --describe --topic {shown}")


def _reset(words: str) -> Step:
    words = f"{_RESET} {words} --execute"
    return Step(f"consumer-groups {words}", f"{_GROUPS} {words}", f"{_GROUPS} --describe --group cmp-old")


STEPS = (
    _topic("--create --topic cmp-a --partitions 3 --replication-factor 1", "cmp-a"),
    _topic("--create --topic cmp-b --replica-assignment 1,1", "cmp-b"),
    _topic(
        "--create --topic cmp-c --partitions 1 --replication-factor 1 --config retention.ms=600000 "
        "--config cleanup.policy=compact",
        "cmp-c",
    ),
    _topic("--alter --topic cmp-a --partitions 5", "cmp-a"),
    _topic("--alter --topic cmp-b --partitions 3", "cmp-b"),
    Step(
        "configs --alter --entity-type topics --entity-name cmp-a --add-config flush.ms=9,retention.ms=5000",
        f"{_CONFIGS} --alter --entity-type topics --entity-name cmp-a --add-config flush.ms=9,retention.ms=5000",
        f"{_CONFIGS} --describe --entity-type topics --entity-name cmp-a",
    ),
    Step(
        "configs --alter --entity-type topics --entity-name cmp-a --delete-config flush.ms",
        f"{_CONFIGS} --alter --entity-type topics --entity-name cmp-a --delete-config flush.ms",
        f"{_CONFIGS} --describe --entity-type topics --entity-name cmp-a",
    ),
    _reset(f"--topic {TOPIC} --to-earliest"),
    _reset(f"--topic {TOPIC} --to-offset 5"),
    _reset(f"--topic {TOPIC}:1 --shift-by 2"),
    _reset("--all-topics --shift-by -1"),
    _reset(f"--topic {TOPIC}:0,2 --to-latest"),
    _reset(f"--topic {TOPIC} --to-offset 77777"),
    _reset(f"--topic {TOPIC} --to-datetime 2020-01-01T00:00:00.000"),
    _reset(f"--topic {TOPIC}:2 --by-duration PT0S"),
    _reset("--from-file {csv}"),
    Step("delete-records --offset-json-file {records}", _DELETE, _STARTS),
    Step(
        "consumer-groups --delete --group cmp-old",
        f"{_GROUPS} --delete --group cmp-old",
        f"{_GROUPS} --list",
    ),
    *(
        Step(f"topics --delete --topic cmp-{each}", f"{_TOPICS} --delete --topic cmp-{each}", f"{_TOPICS} --list")
        for each in "abc"
    ),
)


def prepare(kafka: RealKafka, named: Mapping[str, str]) -> None:
    """A topic with records, some of them deleted as both sides will again, by the release's own tools."""
    create = f"{_TOPICS} --create --topic {TOPIC} --partitions 3 --replication-factor 1"
    assert _tool(kafka, create, {}).returncode == 0
    text = "".join(f"k{number}:v{number}\n" for number in range(60))
    words = ("--broker-list", kafka.bootstrap_servers, "--topic", TOPIC)
    keys = ("--property", "parse.key=true", "--property", "key.separator=:", "--request-timeout-ms", "60000")
    main = "kafka.tools.ConsoleProducer"
    assert kafka.tool(main, *words, *keys, stdin=text, connect=False, fresh=True).returncode == 0
    assert _tool(kafka, _DELETE, named).returncode == 0


def values(folder: Path) -> dict[str, str]:
    """The files that steps name."""
    records = {"version": 1, "partitions": [{"topic": TOPIC, "partition": 0, "offset": 2}]}
    (folder / "old_records.json").write_text(json.dumps(records), encoding="utf-8")
    (folder / "old.csv").write_text(f"{TOPIC},0,2\n{TOPIC},1,4\n", encoding="utf-8")
    return {"records": str(folder / "old_records.json"), "csv": str(folder / "old.csv")}


def run(kafka: RealKafka, steps: Sequence[Step], named: Mapping[str, str]) -> list[Pair]:
    """For each step the exit statuses of both, and the state after each."""
    sides = []
    for ours in (True, False):
        done = []
        for step in steps:
            if ours:
                changed = here(kafka, *(word.format(**named) for word in shlex.split(step.ours)))
            else:
                changed = _tool(kafka, step.theirs, named)
            silent = subprocess.CompletedProcess(changed.args, changed.returncode, "", changed.stdout + changed.stderr)
            done += [silent, _settled(kafka, step.state, named)]
        sides.append(done)
    lines = [line for step in steps for line in (Line(step.ours), Line(step.state, state=True))]
    return [Pair(*each) for each in zip(lines, *sides, strict=True)]


def _settled(kafka: RealKafka, text: str, named: Mapping[str, str]) -> Ended:
    """What the release's tool says once it says the same twice: with ZooKeeper changes arrive later."""
    found: list[Ended] = []

    def same_twice() -> None:
        found.extend(_tool(kafka, text, named) for _ in range(2))
        assert _sorted(found[-1].stdout) == _sorted(found[-2].stdout)
        assert "marked for deletion" not in found[-1].stdout

    eventually(same_twice)
    last = found[-1]
    return subprocess.CompletedProcess(last.args, last.returncode, _sorted(last.stdout), last.stderr)


def _sorted(text: str) -> str:
    return "\n".join(sorted(text.splitlines()))


def _tool(kafka: RealKafka, text: str, named: Mapping[str, str]) -> Ended:
    assert kafka.zookeeper is not None
    address = kafka.bootstrap_servers
    places = {"zookeeper": kafka.zookeeper.connect, "brokers": f"--bootstrap-server {address}", "address": address}
    main, *words = shlex.split(text.format(**places, **named))
    return kafka.tool(main, *words, connect=False)
