"""What operators see when something is wrong: every command against each fault, as the page ``docs/faults.md``.

Runs the commands in this process, in virtual time, against the nodes of ``tests.admin.virtual_cluster``. The page is
written by ``python -m tests.regen faults``, and a test holds it up to date.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.frames import framed
from tests.admin.faults import ITEMS, TOP, with_code
from tests.admin.operations import LOOKUPS
from tests.admin.virtual_cluster import VirtualCluster
from tests.net.peers import HANG_UP, SILENCE
from tests.net.virtual import Later, without_chance

COMMANDS = (
    "kafka-topics --list",
    "kafka-topics --describe --topic t",
    "kafka-topics --create --topic new --partitions 1 --replication-factor 1",
    "kafka-topics --alter --topic t --partitions 2",
    "kafka-topics --delete --topic t",
    "kafka-configs --describe --entity-type topics --entity-name t",
    "kafka-configs --alter --entity-type topics --entity-name t --add-config retention.ms=1000",
    "kafka-configs --alter --entity-type users --entity-name u --add-config producer_byte_rate=1000",
    "kafka-scram --delete SCRAM-SHA-256 --username u",
    "kafka-acls --list",
    "kafka-acls --who --operation Read --topic t",
    "kafka-acls --add --allow-principal User:a --operation Read --topic t",
    "kafka-delegation-tokens --describe",
    "kafka-delegation-tokens --create --max-life-time-period -1",
    "kafka-consumer-groups --list",
    "kafka-consumer-groups --describe --group g",
    "kafka-consumer-groups --describe --group g --lag-by topic",
    "kafka-consumer-groups --reset-offsets --group g --topic t --to-earliest --execute",
    "kafka-consumer-groups --delete --group g",
    "kafka-groups --list",
    "kafka-streams-groups --describe --group g",
    "kafka-streams-groups --reset-offsets --group g --all-input-topics --to-earliest --execute",
    "kafka-streams-application-reset --application-id g --input-topics t",
    "kafka-share-groups --describe --group g",
    "kafka-share-groups --reset-offsets --group g --topic t --to-earliest --execute",
    "kafka-delete-records --offset-json-file offsets.json",
    "kafka-delete-records --topic t --before 5",
    "kafka-get-offsets --topic t",
    "kafka-leader-election --election-type PREFERRED --topic t --partition 0",
    "kafka-log-dirs --describe",
    "kafka-log-dirs --by topic",
    "kafka-reassign-partitions --list",
    "kafka-reassign-partitions --execute --reassignment-json-file plan.json",
    "kafka-reassign-partitions --generate --topics-to-move-json-file topics.json --broker-list 1",
    "kafka-reassign-partitions --generate --strategy by-size",
    "kafka-reassign-partitions --watch",
    "kafka-reassign-partitions --execute --batch-size 1 --reassignment-json-file there.json",
    "kafka-broker-api-versions",
    "kafka-cluster cluster-id",
    "kafka-cluster api-versions",
    "kafka-cluster unregister --id 9",
    "kafka-cluster unregister-controller --id 9",
    "kafka-features describe",
    "kafka-features upgrade --feature metadata.version=20",
    "kafka-metadata-quorum describe --replication",
    "kafka-transactions list",
    "kafka-transactions describe --transactional-id x",
    "kafka-transactions describe-producers --topic t --partition 0",
    "kafka-transactions abort --topic t --partition 0 --producer-id 1 --producer-epoch 0 --coordinator-epoch 0",
    "kafka-transactions find-hanging --topic t",
    "kafka-transactions find-hanging",
    "kafka-transactions force-terminate --transactional-id x",
    "kafka-client-metrics --list",
)
ABOUT_THE_CLUSTER = ("kafka-topics --list", "kafka-topics --describe", "kafka-cluster cluster-id")
"""Commands whose own requests are those by which others find out whom to ask."""
LASTING = ("kafka-reassign-partitions --watch", "kafka-reassign-partitions --execute --batch-size")
"""Commands that may last: each of their requests has the time limit, not all together."""
OFFSETS = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "offset": 5}]}
PLAN = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [2]}]}
THERE = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}
TOPICS_TO_MOVE = {"version": 1, "topics": [{"topic": "t"}]}
TIMEOUT_MS = 10_000
LONGEST_OUTPUT = 160
LOGIN_WANTED = "The listener requires a SASL login, and none is configured"

Reply = Callable[[VirtualCluster, Any, int, Any], Any]
"""(cluster, request, version, node) -> what the node answers to a command's own request; None: the truth."""


class Fault(NamedTuple):
    """What is wrong, for the page; ``prepare`` breaks the nodes, ``reply`` their answers the first ``times`` times."""

    title: str
    reply: Reply | None = None
    times: int | None = None
    prepare: Callable[[VirtualCluster], object] = lambda cluster: None
    release: str | None = None


def _code(code: int) -> Reply:
    def reply(cluster: VirtualCluster, request: Any, version: int, node: Any) -> Any:
        answers = (with_code(cluster, request, version, code, level) for level in (TOP, ITEMS))
        return next((answer for answer in answers if answer is not None), None)

    return reply


def _slowly(cluster: VirtualCluster, request: Any, version: int, node: Any) -> Any:
    truth = cluster.truth(request, version)
    return None if truth is None else Later(2.0, truth)


def _throttled(cluster: VirtualCluster, request: Any, version: int, node: Any) -> Any:
    truth = cluster.truth(request, version)
    if truth is not None and hasattr(truth, "throttle_time_ms"):
        truth.throttle_time_ms = 3000
    return truth


def _refuse(*ids: int) -> Callable[[VirtualCluster], None]:
    def prepare(cluster: VirtualCluster) -> None:
        for node in cluster.nodes:
            if node.id in ids:
                node.refuses = lambda: True

    return prepare


def _swallow(cluster: VirtualCluster) -> None:
    for node in cluster.nodes:
        node.swallows = lambda: True


def _want_logins(cluster: VirtualCluster) -> None:
    """As SASL listeners: versions are told, the next request ends the connection."""
    for node in cluster.nodes:
        node.answer = lambda *_: HANG_UP


FAULTS = (
    Fault("No fault"),
    Fault("No broker is running", prepare=_refuse(1, 2, 3)),
    Fault("One broker of three is down; it leads no partition", prepare=_refuse(3)),
    Fault("A firewall drops all connections", prepare=_swallow),
    Fault("Brokers accept requests but do not answer", lambda *_: SILENCE),
    Fault("Every answer takes 2 s", _slowly),
    Fault("Brokers throttle: throttle_time_ms=3000 in every answer", _throttled),
    Fault("One connection breaks during a request", lambda *_: HANG_UP, 1),
    Fault("Every connection breaks during a request", lambda *_: HANG_UP),
    Fault(LOGIN_WANTED, prepare=_want_logins),
    Fault("The answer is malformed", lambda *_: framed(b"\x00\x00\x00\x03" + b"\xff" * 40)),
    Fault("The controller has moved: NOT_CONTROLLER, twice", _code(error_codes.NOT_CONTROLLER), 2),
    Fault("There is no controller: NOT_CONTROLLER, always", _code(error_codes.NOT_CONTROLLER)),
    Fault("The coordinator is loading for a short time", _code(error_codes.COORDINATOR_LOAD_IN_PROGRESS), 2),
    Fault("The coordinator never finishes loading", _code(error_codes.COORDINATOR_LOAD_IN_PROGRESS)),
    Fault("The change timed out on the broker", _code(error_codes.REQUEST_TIMED_OUT), 1),
    Fault("The principal is not authorized", _code(error_codes.CLUSTER_AUTHORIZATION_FAILED)),
    Fault("The broker has an internal error", _code(error_codes.UNKNOWN_SERVER_ERROR)),
    Fault("The broker returns UNSUPPORTED_VERSION", _code(error_codes.UNSUPPORTED_VERSION)),
    Fault("The brokers are Kafka 1.1", release="1.1"),
)


class Printed(NamedTuple):
    """What a command left: exit status, virtual seconds, both streams."""

    status: int
    seconds: float
    out: str
    err: str


def run(line: str, fault: Fault) -> Printed:
    """Run one command line against one fault."""
    cluster = VirtualCluster(release=fault.release)
    fault.prepare(cluster)
    counts: dict[int, int] = {}
    about_the_cluster = line.startswith(ABOUT_THE_CLUSTER)

    def reply(request: Any, version: int, node: Any) -> Any:
        if fault.reply is None or (isinstance(request, LOOKUPS) and not about_the_cluster):
            return None
        counts[node.id] = counts.get(node.id, 0) + 1
        if fault.times is not None and counts[node.id] > fault.times:
            return None
        return fault.reply(cluster, request, version, node)

    cluster.fault = reply
    program, *arguments = shlex.split(line)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for name, document in (("offsets", OFFSETS), ("plan", PLAN), ("there", THERE), ("topics", TOPICS_TO_MOVE)):
            (Path(folder) / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
        stack.enter_context(contextlib.chdir(folder))
        stack.enter_context(cluster.network.in_use())
        stack.enter_context(without_chance())
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        connection = ["--bootstrap-server", cluster.bootstrap, "--timeout", str(TIMEOUT_MS)]
        command = cli.load(program.removeprefix("kafka-"))
        place = 1 if program in ("kafka-cluster", "kafka-features", "kafka-metadata-quorum") else 0
        if program == "kafka-cluster":
            arguments[place:place] = connection
        else:
            arguments[:0] = connection
        status = running.run(command, arguments, program)
    return Printed(status, cluster.network.clock.monotonic_s(), out.getvalue(), err.getvalue())


run_once = cache(run)
"""The same, once in a process: the page and the tests ask the same of ``FAULTS``."""


HEAD = """# When something is wrong

For each fault, this page shows what each command prints and its exit status. `python -m tests.regen faults` writes it
by running the commands against scripted brokers in virtual time.

- There are three brokers, `kafka1` to `kafka3`. `kafka1` is the leader of all partitions, the coordinator and the
  controller.
- Every command has `--bootstrap-server kafka1:9092,kafka2:9092,kafka3:9092 --timeout 10000`. The time limit of 10 s
  applies to all requests of the command together. For the long-running `--watch` and `--batch-size` it applies to each
  request. [Batches and progress](commands/reassign-partitions.md#batches-and-progress) describes how these continue
  while brokers are down.
- Errors are shown as printed on stderr, without the command's name in front. "result" means the usual output on stdout.
- The exit status is 0 if everything was done, 1 otherwise.

If a broker reports that a change timed out, the command does not send it again, because the broker may still carry it
out. If the connection breaks, the command sends the change again, because it did not get the answer. If the broker then
reports "exists already" or "does not exist", the message says that the first attempt may have succeeded.
"""


def page() -> str:
    """The text of ``docs/faults.md``."""
    parts = [HEAD]
    usual = {line: run_once(line, FAULTS[0]) for line in COMMANDS}
    for fault in FAULTS[1:]:
        parts += [f"## {fault.title}", ""]
        parts += ["| command | exit | seconds | printed |", "| --- | --- | --- | --- |"]
        rows: dict[str, list[str]] = {}
        for line in COMMANDS:
            printed = run_once(line, fault)
            cells = f"{printed.status} | {printed.seconds:.0f} | {_cell(line, printed, usual[line])} |"
            rows.setdefault(cells, []).append(f"`{line}`")
        parts += [f"| {'<br>'.join(lines)} | {cells}" for cells, lines in rows.items()]
        parts.append("")
    return "\n".join(parts)


def _cell(line: str, printed: Printed, usual: Printed) -> str:
    program = f"{line.split()[0]}: "
    shown = [f"`{text.removeprefix(program)}`" for text in printed.err.splitlines() if text.strip()]
    if printed.status == 0 and printed.out == usual.out:
        shown.insert(0, "result")
    elif printed.out:
        text = " ".join(printed.out.split())
        shown.insert(0, f"stdout: `{text if len(text) <= LONGEST_OUTPUT else text[:LONGEST_OUTPUT] + ' ...'}`")
    return "<br>".join(shown).replace("|", "\\|") or "nothing"
