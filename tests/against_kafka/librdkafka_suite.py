"""librdkafka's broker tests on the bundled broker, and those that fail there on Kafka as well.

``python -m tests.against_kafka.librdkafka_suite DIR``: DIR is the ``tests`` folder of a librdkafka whose test runner is
built already (``test-runner``, by its own Makefile). Each number of its tests runs by itself, with a time limit,
``--jobs`` of them at once (``--quick``: its own quick mode, which leaves out more than half of what they do). What
failed runs again, alone, and what failed twice runs on Kafka.
A test that passes there and fails twice here is a difference: the exit status is 1 if there is one that ``ACCEPTED``
does not name. Where its tests call Kafka's scripts they get the commands of this project, and Kafka's classes for Java
programs of theirs. Tests of share groups, which the bundled broker does not serve, and those that are run by hand (from
8000 on) run only if ``--only`` names them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST, class_path, java
from tests.broker_embedded.kills.killed_broker import KilledBroker

RELEASE = NEWEST
SETTINGS = {
    "num.partitions": "4",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "broker.rack": "RACK1",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "connections.max.reauth.ms": "10000",
    "group.initial.rebalance.delay.ms": "3000",
    "group.share.min.record.lock.duration.ms": "1000",
}
"""Of both brokers: those of librdkafka's own clusters, where they are not Kafka's defaults or the harness's."""
SHARE_GROUPS = range(170, 191)
"""The numbers of the tests of share consumers."""
BY_HAND = 8000
SCENARIOS = {"default": "true", "noautocreate": "false"}
"""What librdkafka calls a cluster, and its ``auto.create.topics.enable``."""
PATIENCE = 3.0
"""Times librdkafka's own limits of time: machines are shared."""
LIMIT_S = 900
"""Of a number's tests."""
ACCEPTED: dict[str, str] = {}
"""Tests that pass on Kafka and may fail here, and why."""


Start = Callable[[Path, Mapping[str, str]], AbstractContextManager[str]]
"""Starts a broker with its data in a folder; where it listens."""


class Ended(NamedTuple):
    """How one test ended: librdkafka's word for it, after how long, and what it says of a failure."""

    state: str
    seconds: float
    remark: str


class Runner:
    """A built test runner of librdkafka. ``folder``: for logs and reports; ``scripts``: has ``bin``."""

    def __init__(self, tests: Path, folder: Path, scripts: Path, quick: bool, protocol: str) -> None:
        self.tests = tests
        self.quick = quick
        self.protocol = protocol
        self.folder = folder
        self.scripts = scripts

    def numbers(self) -> list[str]:
        """The numbers of all its tests, those that need no broker included."""
        report, _ = self._run("none", "default", "127.0.0.1:1", "numbers")
        numbers = numbers_of(name for name in report if name[0].isdigit())
        return [number for number in numbers if int(number) < BY_HAND and int(number) not in SHARE_GROUPS]

    def run(self, number: str, scenario: str, servers: str, log: str) -> dict[str, Ended]:
        """The tests of one number that a broker of this scenario is needed for, by name."""
        report, text = self._run(number, scenario, servers, log)
        told = {name: remark.strip() for name, remark in re.findall(r"^\| *(\w+) +\|.*?s +\|(.*)$", text, re.MULTILINE)}
        found = {}
        for name, (state, seconds) in report.items():
            remark = told.get(name, "")
            asked = state != "SKIPPED" or (remark and not remark.startswith("Filtered"))
            if name.startswith(number) and asked:
                found[name] = Ended(state, seconds, remark)
        return found

    def _run(self, number: str, scenario: str, servers: str, log: str) -> tuple[dict[str, tuple[str, float]], str]:
        """State and seconds of every test, and what the runner printed."""
        config, report, said = (self.folder / f"{log}.{ending}" for ending in ("conf", "json", "log"))
        config.write_text(
            f"bootstrap.servers={servers}\nbroker.address.family=v4\n"
            f"test.timeout.multiplier={PATIENCE}\ntest.topic.random=true\n"
        )
        report.unlink(missing_ok=True)
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": f"{self.tests.parent / 'src'}:{self.tests.parent / 'src-cpp'}",
            "RDKAFKA_TEST_CONF": str(config), "TEST_REPORT": str(report), "TESTS": number,
            "TEST_KAFKA_VERSION": RELEASE, "BROKERS": servers, "KAFKA_PATH": str(self.scripts),
            "TEST_CONSUMER_GROUP_PROTOCOL": self.protocol,
        }  # fmt: skip
        with said.open("wb") as output:
            process = subprocess.Popen(
                [self.tests / "test-runner", "-L", "-p1", "-s", scenario, *(["-Q"] if self.quick else [])],
                cwd=self.tests, env=environment, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
            try:
                process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        text = re.sub(r"\x1b\[[0-9;]*m", "", said.read_text(errors="replace"))
        if not report.exists():
            return {number: (f"runner ended with {process.returncode}", LIMIT_S)}, text
        each = json.loads(report.read_text(errors="replace"))["tests"]
        return {name: (test["state"], test["duration"]) for name, test in each.items()}, text


@contextmanager
def bundled(folder: Path, settings: Mapping[str, str]) -> Iterator[str]:
    """Where a bundled broker listens, in a process of its own."""
    folder.mkdir()
    broker = KilledBroker(folder, dict(settings), "kafka")
    try:
        broker.spawn()
        broker.wait_until_ready()
        yield broker.address
        broker.end(signal.SIGTERM)
    finally:
        broker.close()


@contextmanager
def real(folder: Path, settings: Mapping[str, str]) -> Iterator[str]:
    """Where Kafka listens."""
    with RealKafka.start(Setup(RELEASE, properties=tuple(settings.items())), folder) as kafka:
        yield kafka.bootstrap_servers


def run(runner: Runner, start: Start, label: str, numbers: Sequence[str], scenario: str, jobs: int) -> dict[str, Ended]:
    """These numbers' tests on a broker of their own, ``jobs`` at once."""
    settings = {**SETTINGS, "auto.create.topics.enable": SCENARIOS[scenario]}
    with start(runner.folder / f"{label}-{scenario}", settings) as servers, ThreadPoolExecutor(jobs) as pool:

        def one(number: str) -> dict[str, Ended]:
            ended = runner.run(number, scenario, servers, f"{label}-{scenario}-{number}")
            for name, (state, seconds, remark) in ended.items():
                print(f"{label:8} {name:50} {state:8} {seconds:7.1f} s  {remark}", flush=True)
            return ended

        return {name: each for ended in pool.map(one, numbers) for name, each in ended.items()}


def compare(runner: Runner, numbers: Sequence[str], jobs: int, on_kafka: str) -> list[str]:
    """Run everything; the lines of those tests that pass on Kafka and not here, and that nobody accepted."""
    different, counts = [], Counter[str]()
    for scenario in SCENARIOS:
        here = run(runner, bundled, "ours", numbers, scenario, jobs)
        failed = [name for name, ended in here.items() if ended.state not in ("PASSED", "SKIPPED")]
        if failed:
            again = run(runner, bundled, "again", numbers_of(failed), scenario, 1)
            here |= {name: again.get(name, here[name]) for name in failed}
        failed = [name for name, ended in here.items() if ended.state not in ("PASSED", "SKIPPED")]
        wanted = {"none": [], "failed": numbers_of(failed), "all": numbers_of(here)}[on_kafka]
        there = run(runner, real, "kafka", wanted, scenario, jobs if on_kafka == "all" else 1) if wanted else {}
        counts.update(ended.state for ended in here.values())
        for name in failed:
            state = there[name].state if name in there else "not run"
            print(f"{scenario}: {name}: {here[name].state} here, {state} on Kafka {RELEASE}: {here[name].remark}")
            if state == "PASSED" and name not in ACCEPTED:
                different.append(name)
            elif state == "PASSED":
                print(f"    accepted: {ACCEPTED[name]}")
    print(", ".join(f"{count} {state}" for state, count in counts.most_common()), "on the bundled broker")
    return different


def kafka_home(folder: Path) -> Path:
    """A folder with ``bin`` and ``libs`` as in Kafka's: the scripts are ours, but for the one that runs classes."""
    subprocess.run(
        [sys.executable, "-m", "kafka_tools", "install-scripts", "--sh", folder / "bin"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    jars = class_path(RELEASE)
    (folder / "libs").symlink_to(jars[0].parent)
    run_class = folder / "bin" / "kafka-run-class.sh"
    run_class.write_text(f'#!/bin/sh\nexec {java()} -cp "$CLASSPATH:{":".join(map(str, jars))}" "$@"\n')
    run_class.chmod(0o755)
    return folder


def numbers_of(names: Iterable[str]) -> list[str]:
    return sorted({name.partition("_")[0] for name in names})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", type=Path, metavar="DIR", help="librdkafka's folder tests, its test-runner built")
    parser.add_argument("--only", default="", help="numbers of tests, 0081,0103 for example; default: all")
    parser.add_argument("--jobs", type=int, default=3, help="tests at once")
    parser.add_argument(
        "--on-kafka", choices=["none", "failed", "all"], default="failed", help="which tests run on Kafka as well"
    )
    parser.add_argument("--quick", action="store_true", help="librdkafka's quick mode")
    parser.add_argument("--group-protocol", choices=["classic", "consumer"], default="classic", help="of its consumers")
    parser.add_argument("--keep", type=Path, help="where logs and reports are left (an empty folder)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (given.keep or Path(scratch)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        runner = Runner(given.tests.absolute(), folder, kafka_home(folder / "kafka"), given.quick, given.group_protocol)
        numbers = given.only.split(",") if given.only else runner.numbers()
        different = compare(runner, numbers, given.jobs, given.on_kafka)
    print("\n".join([f"{len(different)} differences from Kafka {RELEASE}", *different]))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
