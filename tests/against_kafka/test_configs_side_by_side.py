"""kafka-configs and Kafka's ConfigCommand, line by line: text and exit status, on real clusters.

Every difference has its reason on the command's page. ``pytest -s`` prints how many lines were tried and equal.
"""

from __future__ import annotations

import io
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, ConfigChange, ConfigResource
from kafka_tools.commands import running
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.values import Node
from tests.against_kafka.config_lines import BEFORE_2_3, CONTROLLERS, NOT_EVERYWHERE, SCENARIOS, Line
from tests.against_kafka.harness import RealKafka, eventually
from tests.against_kafka.side_by_side import MAIN, RELEASE, Ended, done, ours, theirs, write
from tests.against_kafka.tool_server import run_tool

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands" / "configs.md"
TOPIC, GROUP = "cmp-a", "cmp-live"


def reasons() -> list[str]:
    """What the page lists as differences from Kafka's tool."""
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## Differences from Kafka's tool\n")
    return re.findall(r"^\* (.*)", section.partition("\n## ")[0], re.MULTILINE)


def here(kafka: RealKafka, command: str, *arguments: object) -> Ended:
    """Our command in this process: hundreds of processes would take minutes."""
    words = [*map(str, arguments), "--bootstrap-server", kafka.bootstrap_servers]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = running.run(cli.load(command), words, f"kafka-{command}")
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def run(side: Callable[..., Ended], kafka: RealKafka, line: Line, named: dict[str, object]) -> Ended:
    """One line by one of the tools."""
    return side(kafka, "configs", *shlex.split(line.text.format(**named)))


@contextmanager
def settling(kafka: RealKafka) -> Iterator[Callable[[], None]]:
    """A function that waits until every broker acts on what was altered before.

    Brokers act on changes in their order, those in ZooKeeper too: one that acts on a later change of the cluster's
    defaults, and on its end, is done with the others.
    """
    name, number = "log.cleaner.delete.retention.ms", "86400000"
    defaults = ConfigResource("broker", "")
    asked = DescribeConfigsRequest.Resource(resource_type=4, resource_name="", configuration_keys=[name])
    with AdminClient(ClientConfig.load(kafka.bootstrap_servers), timeout_s=60) as admin:
        nodes = admin.describe_cluster().nodes

        def check(node: Node, expected: list[str]) -> None:
            request = DescribeConfigsRequest(resources=[asked])
            (result,) = admin.cluster.exchange.call(node, request, admin.deadline()).results
            assert [config.value for config in result.configs] == expected

        def settle() -> None:
            for change, expected in ((ConfigChange(name, "set", number), [number]), (ConfigChange(name, "delete"), [])):
                admin.alter_configs_incremental({defaults: [change]}).raise_any()
                for node in nodes:
                    eventually(partial(check, node, expected))

        settle()
        yield settle


def run_all(
    side: Callable[..., Ended], kafka: RealKafka, lines: Sequence[Line], named: dict[str, object]
) -> list[Ended]:
    """Each line of a scenario by one of the tools, in order; what one changes is everywhere before another asks for it.

    A line that only adds configs asks for nothing: what it changes is checked where the change before it was made.
    """
    ended = []
    changed = False
    with settling(kafka) as settle:
        for line in lines:
            alters = "--alter" in line.text
            if changed and not (alters and "--delete-config" not in line.text):
                settle()
                changed = False
            ended.append(run(side, kafka, line, named))
            changed = changed or alters
    return ended


def outcome(ended: Ended, line: Line) -> tuple[int, list[str]]:
    """What scripts see: the exit status and the lines of standard output."""
    lines = [_in_order(text) for text in ended.stdout.split("\n")]
    return ended.returncode, sorted(lines) if line.sort else lines


def _in_order(line: str) -> str:
    """A line of quotas or credentials with these sorted: which comes first is the broker's choice."""
    head, are, values = line.partition(" are ")
    return head + are + ", ".join(sorted(values.split(", "))) if line.startswith(("Quota", "SCRAM")) else line


def places(kafka: RealKafka, folder: Path) -> dict[str, object]:
    """What the lines name: files, and a logger that the cluster has."""
    listed = theirs(kafka, "configs", "--describe", "--broker-logger", 1).stdout
    loggers = [name for name in re.findall(r"^  (\S+)=", listed, re.MULTILINE) if name != "root"]
    return {
        "file": write(folder, "# comment\nretention.ms : 700000\nflush.ms=9\n"),
        "quick": write(folder, "default.api.timeout.ms=5000\nrequest.timeout.ms=4000\n"),
        "logger": loggers[0] if loggers else "root",
    }


def prepare(kafka: RealKafka) -> None:
    """The topic and the group that lines are about."""
    create = ("--create", "--topic", TOPIC, "--if-not-exists", "--partitions", 1, "--replication-factor", 1)
    done(ours(kafka, "topics", *create))
    reset = ("--reset-offsets", "--group", GROUP, "--topic", TOPIC, "--to-earliest", "--execute")
    done(ours(kafka, "consumer-groups", *reset))


def compare(kafka: RealKafka, name: str, lines: Sequence[Line], our: Sequence[Ended], their: Sequence[Ended]) -> None:
    """Every line is equal, or differs as it should, for a reason that is on the page. Prints the figures."""
    kind = "ZooKeeper" if kafka.zookeeper is not None else "KRaft"
    explained = reasons()
    wrong = []
    equal = 0
    for line, mine, other in zip(lines, our, their, strict=True):
        same = outcome(mine, line) == outcome(other, line)
        equal += same
        if same == (bool(line.differs) and line.where in ("", kind)):
            wrong.append((line, mine, other))
        assert not line.differs or any(reason.startswith(line.differs) for reason in explained), line
    print(f"{name}: {len(lines)} lines, {equal} equal, {len(lines) - equal} different")
    assert not wrong, "\n".join(map(str, wrong))


class Bundled(NamedTuple):
    """The bundled broker, as far as ``ours``, ``theirs`` and ``compare`` need it."""

    bootstrap_servers: str
    zookeeper: None = None

    def catch_up(self) -> None:
        """Nothing to wait for: it has a change when it answers."""

    def tool(self, main: str, *arguments: object, release: str) -> Ended:
        return run_tool(release, main, "--bootstrap-server", self.bootstrap_servers, *arguments)


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundled]:
    from kafka_tools.broker_embedded import EmbeddedBroker

    with EmbeddedBroker(data_dir=tmp_path_factory.mktemp("bundled") / "data") as broker:
        yield Bundled(broker.bootstrap_servers)


@pytest.mark.parametrize(
    "cluster, scenario",
    [
        (cluster, scenario)
        for scenario in SCENARIOS
        for cluster in NOT_EVERYWHERE.get(scenario, ("bundled", "kafka_new_three", "kafka_39_zk"))
    ],
)
def test_text_and_status_are_those_of_kafkas_tool(
    request: pytest.FixtureRequest, cluster: str, scenario: str, tmp_path: Path
) -> None:
    kafka: RealKafka = request.getfixturevalue(cluster)
    prepare(kafka)
    lines, named = SCENARIOS[scenario], places(kafka, tmp_path)
    our, their = (run_all(side, kafka, lines, named) for side in (here, theirs))
    compare(kafka, f"{cluster}, {scenario}", lines, our, their)


def test_text_and_status_beside_brokers_that_kafkas_tool_cannot_change(kafka_22: RealKafka, tmp_path: Path) -> None:
    prepare(kafka_22)
    named = places(kafka_22, tmp_path)
    both: list[tuple[Ended, Ended]] = []
    for line in BEFORE_2_3:

        def ask(line: Line = line) -> None:
            mine, other = run(here, kafka_22, line, named), run(theirs, kafka_22, line, named)
            # What ours has changed may not have arrived when one of them asks.
            arrived = "--alter" in line.text or line.differs or outcome(mine, line) == outcome(other, line)
            assert arrived, (line, mine, other)
            both.append((mine, other))

        eventually(ask)
    compare(kafka_22, "kafka_22", BEFORE_2_3, *zip(*both, strict=True))


def test_text_and_status_beside_controllers(kafka_new: RealKafka, tmp_path: Path) -> None:
    prepare(kafka_new)
    address = ("--bootstrap-controller", kafka_new.bootstrap_controllers)
    our = [ours(kafka_new, "configs", *address, *shlex.split(line.text), connect=False) for line in CONTROLLERS]
    their = [
        kafka_new.tool(MAIN["configs"], *address, *shlex.split(line.text), release=RELEASE, connect=False)
        for line in CONTROLLERS
    ]
    compare(kafka_new, "kafka_new, controllers", CONTROLLERS, our, their)
