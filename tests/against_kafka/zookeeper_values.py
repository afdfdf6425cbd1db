"""Values inside, at and beyond the bounds of every config that ZooKeeper may hold, judged by Kafka and by us.

``python -m tests.against_kafka.zookeeper_values classes`` asks the classes of every release from 1.1 to 3.9 (fetched if
they are not here) with every value, and prints what was judged alike; ``... tools`` puts command lines beside the
releases' own ``kafka-configs --zookeeper``; ``... starts`` has brokers start with what is accepted
(``zookeeper_starts.py``). Behind these words releases may follow, and behind ``starts`` configs. How far it is stands
on stderr. ``test_zookeeper_values.py`` runs a seeded part.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.config_definitions import Row
from kafka_tools.config_definitions.zookeeper import tables as tables
from kafka_tools.config_definitions.zookeeper.releases import (
    RELEASES,
    THROTTLES,
    Kind,
    check_together,
    check_value,
    names_in,
)
from kafka_tools.errors import KafkaToolsError
from tests.against_kafka.harness import RealZooKeeper
from tests.against_kafka.jars import ENVIRONMENT
from tests.against_kafka.tool_server import run_tool
from tests.config_releases import PATCH_LEVELS, compiled, java_command

CONFIG_COMMAND = "kafka.admin.ConfigCommand"
TABLES: dict[Kind, tables.Table] = {
    "topic": tables.TOPIC,
    "client": tables.CLIENT,
    "user": tables.USER,
    "ip": tables.IP,
    "broker": tables.BROKER,
    "all brokers": tables.BROKER,
}
CLASS_OF = {"client": "Client", "user": "User", "ip": "Ip", "all brokers": "brokers"}
"""Kind -> what the Java side calls it, where that is another word."""

_LIMITS = {"SHORT": 1 << 15, "INT": 1 << 31, "LONG": 1 << 63, "DOUBLE": 1 << 70}
_EDGES = (*range(-6, 25), 99, 100, 1000, -131072, -131073)
_NUMBERS = ("1.5", "1e3", "0x10", "+7", "-0", "1_000", "0.5", "1.0000001", "NaN", "1d", "5L")
JAVA_NUMBERS = ("1d", "NaN")
"""Numbers to Java, which our command line does not take for a quota."""
_LISTS = ("compact", "delete", "compact,delete", "compact, delete", "delete,delete", "Compact", "compact,", "none")
_REPLICAS = ("0:1", "0:1,1:2", "*", "*,x", "0:1,*", "*,0:1", "*,*", "1,2:3", "0:1,,1:2", "a:b", "0:99999999999")
_WORDS = (
    *("producer", "gzip", "zstd", "snappy", "lz4", "uncompressed", "GZIP", "none", "CreateTime", "LogAppendTime"),
    *("createtime", "required", "2.2", "2.2-IV1", "2.2.2", "9.9", "0.8.2", "0.8.2.2", "0.10.0-IV0", "0.10", "3.9"),
    *("4.0-IV0", "1.1", "1.1.x", "1", "0.9.0.0", "3.8-IV0", "/a/path"),
)
_PLUGINS = (
    *("of.a.plugin", "listener.name.a.max.connections", "listener.name.a.num.network.threads"),
    *("listener.name.a.ssl.keystore.location", "listener.name.a.ssl.client.auth", "listener.name.a.broker.id"),
    "listener.name.a.plain.connections.max.reauth.ms",
)
ON_PURPOSE = (
    "brokers store secrets",
    "cannot set an empty value",
    "only a broker",
    "this many threads",
    "ignores all of its dynamic configs",
    "accepts no connections",
    "in ZooKeeper mode: brokers with it do not start",
    "must be the literal '*' or a list of replicas",
    "throttled.replicas: Not a number of type INT",
    *(f"Cannot parse quota configuration value for {name}: {text}" for name in tables.CLIENT for text in JAVA_NUMBERS),
)
"""What we refuse and the releases' classes take: secrets, classes, empty values (the tool of 1.1 refuses them too), and
lists with which brokers do not start; quotas of which only Java says that they are numbers."""


MAIN_LEVELS = ("1.1.1", "2.2.2", "2.8.2", "3.9.2")
"""The releases whose tools and brokers run here."""


NAMES_ON_PURPOSE = ("message.format.version", "message.timestamp.type", "password.encoder.")
"""Configs whose bad values the tools of 1.1 and 2.0 store, and those that only say how the tool encrypts a secret."""


class Case(NamedTuple):
    """A value for a config."""

    kind: Kind
    name: str
    value: str


class Judged(NamedTuple):
    """A case, the reason why each side refuses it, "" where it takes it."""

    case: Case
    ours: str
    theirs: str

    @property
    def alike(self) -> bool:
        """Whether both take or both refuse it, or we refuse on purpose."""
        return bool(self.ours) == bool(self.theirs) or self.on_purpose

    @property
    def on_purpose(self) -> bool:
        """Whether we refuse what Kafka's class takes, for a reason that the command's page gives."""
        stricter = bool(self.ours) and not self.theirs
        known = any(text in self.ours for text in ON_PURPOSE)
        return stricter and (known or _is_twin(self.case) or self.case.name.startswith(NAMES_ON_PURPOSE))


def _is_twin(case: Case) -> bool:
    """Whether a broker's config is the default of a topic's, whose bounds hold then."""
    from kafka_tools.config_definitions.zookeeper.releases import _TOPIC_CONFIGS

    return case.kind in ("broker", "all brokers") and case.name in _TOPIC_CONFIGS


def values_for(row: Row) -> list[str]:
    """Texts inside, at and beyond what a row allows, and of no type at all."""
    texts = ["", "x", " 5 ", "a,b", ",", row[1] or "d"]
    if row[0] in _LIMITS:
        limit = _LIMITS[row[0]]
        texts += [str(number) for number in (*_EDGES, limit - 1, limit, -limit, -limit - 1)]
        texts += [text for text in _NUMBERS if row[0] == "DOUBLE" or text != "1d"]  # a day to us, where times are typed
    elif row[0] == "BOOLEAN":
        texts += ["true", "FALSE", "1", "yes", " true"]
    else:
        texts += [*_LISTS, *_REPLICAS] if row[0] == "LIST" else _WORDS
    return list(dict.fromkeys(texts))


def cases(release: str) -> list[Case]:
    """Every value for every config of every kind, also for those that only other releases know."""
    found: list[Case] = []
    for kind, table in TABLES.items():
        for name, rows in table.items():
            texts = {text for row in rows.values() if row for text in values_for(row)}
            found += [Case(kind, name, text) for text in sorted(texts)]
    for kind in ("broker", "all brokers"):
        found += [Case(kind, name, "1") for name in sorted(names_in("STATIC", release))]
        found += [Case(kind, name, text) for name in _PLUGINS for text in ("1", "x", "required")]
    return [*found, Case("topic", "no.such", "1"), Case("client", "no_such", "1"), Case("user", "no_such", "1")]


def class_cases(release: str) -> list[Case]:
    """The cases that its classes judge: the tool of 1.1 refuses all but throttles of brokers before it asks them."""
    found = cases(release)
    if release > RELEASES[0]:
        return found
    return [
        each for each in found if "broker" not in each.kind or (each.name in THROTTLES and each.kind != "all brokers")
    ]


def by_us(release: str, case: Case) -> str:
    """Why we refuse a value for brokers of a release; "" if we take it."""
    try:
        check_value([release], case.kind, case.name, case.value)
        if case.kind == "topic":
            check_together([release], {case.name: case.value}, judged=True)
    except KafkaToolsError as error:
        return str(error)
    return ""


def by_classes(level: str, chosen: Sequence[Case], classes: Path) -> list[Judged]:
    """What a release's own classes say, beside what we say."""
    lines = "".join(f"{CLASS_OF.get(case.kind, case.kind)}\t{case.name}={case.value}\n" for case in chosen)
    done = subprocess.run(
        java_command(level, classes, "judge"), input=lines, capture_output=True, encoding="utf-8", timeout=600,
        env=ENVIRONMENT,
    )  # fmt: skip
    answers = done.stdout.splitlines()
    assert len(answers) == len(chosen), done.stderr[-2000:]
    release = level.rpartition(".")[0]
    return [
        Judged(case, by_us(release, case), "" if answer == "ok" else answer)
        for case, answer in zip(chosen, answers, strict=True)
    ]


# command lines


def entity(kind: Kind) -> tuple[str, ...]:
    """The options that name an entity of a kind, as every release takes them. Broker 7 never runs."""
    name = {"topic": "topics", "client": "clients", "user": "users", "ip": "ips"}.get(kind, "brokers")
    if kind == "all brokers":
        return ("--entity-type", name, "--entity-default")
    return ("--entity-type", name, "--entity-name", {"topic": "t", "ip": "127.0.0.1", "broker": "7"}.get(kind, "n"))


def can_be_typed(case: Case) -> bool:
    """Whether a value means the same on both command lines: Kafka splits at commas, ours takes blanks away first."""
    return case.value == case.value.strip() and case.value != "" and "SCRAM" not in case.name


def line(case: Case) -> tuple[str, ...]:
    """The command line that sets a value."""
    value = f"[{case.value}]" if "," in case.value else case.value
    return ("--alter", *entity(case.kind), "--add-config", f"{case.name}={value}")


def by_tools(level: str, connect: str, chosen: Iterable[Case]) -> list[Judged]:
    """What ConfigCommand of a release does with each line on a ZooKeeper without brokers, beside what ours does."""
    found = []
    release = level.rpartition(".")[0]
    for case in chosen:
        theirs = run_tool(level, CONFIG_COMMAND, "--zookeeper", connect, *line(case))
        assert ("ompleted" in theirs.stdout) == (theirs.returncode == 0), theirs
        ours = here("configs", "--zookeeper", connect, "--zk-release", release, *line(case))
        found.append(Judged(case, ours, theirs.stderr + theirs.stdout if theirs.returncode else ""))
    return found


def here(command: str, *words: str) -> str:
    """Our command in this process; "" if it succeeds, else its last line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = running.run(cli.load(command), list(words), f"kafka-{command}")
    return err.getvalue().splitlines()[-1] if status else ""


def prepared(server: RealZooKeeper, level: str) -> str:
    """The address of a chroot with topic ``t``, in which no broker has run but could have."""
    from kazoo.client import KazooClient

    chroot = f"/values-{level}"
    client = KazooClient(server.address)
    client.start()
    try:
        for path in ("/brokers/ids", "/brokers/topics/t", "/config/changes"):
            client.ensure_path(chroot + path)
    finally:
        client.stop()
        client.close()
    return server.address + chroot


def kinds_of_tool(level: str) -> tuple[Kind, ...]:
    """Whose configs ``kafka-configs --zookeeper`` of a release takes: from 3.0 only those of brokers."""
    return ("broker", "all brokers") if level >= "3" else tuple(TABLES)


def tool_cases(level: str, count: int, seed: int) -> list[Case]:
    """A drawn part of what can be typed for the kinds that the release's tool has."""
    known = [case for case in cases(level.rpartition(".")[0]) if case.kind in kinds_of_tool(level)]
    return random.Random(f"{seed} {level}").sample([case for case in known if can_be_typed(case)], count)


def report(level: str, judged: Sequence[Judged]) -> bool:
    """Print the figures, and what was judged differently; whether all was alike."""
    wrong = [each for each in judged if not each.alike]
    purpose = sum(each.on_purpose for each in judged)
    print(
        f"Kafka {level}: {len(judged)} values, {len(judged) - len(wrong) - purpose} alike, {purpose} on purpose",
        flush=True,
    )
    for each in wrong:
        print(f"  {each.case}: ours {each.ours[:90] or 'takes'!r}, theirs {each.theirs[:120] or 'takes'!r}")
    return not wrong


def main(words: Sequence[str]) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("classes", "tools", "starts"), nargs="?", default="classes")
    parser.add_argument("levels", nargs="*", metavar="release or config")
    what, given = (parsed := parser.parse_args(words)).what, parsed.levels
    levels = [each for each in given if each[0].isdigit()]
    names = [each for each in given if not each[0].isdigit()]
    if names and what != "starts":
        parser.error(f"only 'starts' takes configs: {', '.join(names)}")
    if what == "classes":
        with tempfile.TemporaryDirectory() as folder:
            classes = compiled(Path(folder))
            done = [
                report(level, by_classes(level, class_cases(level.rpartition(".")[0]), classes))
                for level in levels or PATCH_LEVELS
            ]
        return 0 if all(done) else 1
    if what == "starts":
        from tests.against_kafka.zookeeper_starts import starts

        failed = [problem for level in levels or MAIN_LEVELS for problem in starts(level, names)]
        return 1 if failed else 0
    with tempfile.TemporaryDirectory() as folder:
        server = RealZooKeeper.launch(Path(folder) / "zookeeper")
        try:
            done = [
                report(level, by_tools(level, prepared(server, level), tool_cases(level, 400, 1)))
                for level in levels or MAIN_LEVELS
            ]
        finally:
            server.stop()
    return 0 if all(done) else 1


if __name__ == "__main__":
    assert RELEASES[0] == "1.1"
    sys.exit(main(sys.argv[1:]))
