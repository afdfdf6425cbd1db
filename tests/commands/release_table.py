"""What every command does on the bundled broker as each release from 1.1 on, and where each begins to work.

``python -m tests.commands.release_table`` runs all of it (half a minute of CPU); its
test runs what changes with each.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from kafka_tools import cli
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from kafka_tools.protocol.releases import releases

RELEASES = releases()[releases().index("1.1") :]
NEVER = ""
"""For ``Line.since``: the bundled broker does not serve it, whatever the release."""


class Line(NamedTuple):
    """A command line, the release from which on it ends with 0, and with what it is answered before that.

    ``{n}`` is a number that no other line has.
    """

    text: str
    since: str = "1.1"
    lacks: str = r"Kafka [234]\.\d"


SCRIPT = r"kafka-reassign-partitions\.sh --zookeeper"
QUOTAS = r"before Kafka 2\.6, quotas are stored in ZooKeeper: give --zookeeper"
CREDENTIALS = r"before Kafka 2\.7, credentials are stored in ZooKeeper: give --zookeeper"
KRAFT = r"Kafka \d\.\d and later .*in KRaft mode"
NO_QUORUM = "clusters that use ZooKeeper have no metadata quorum"
NOT_SERVED = r"Kafka \d\.\d and later support \w+ v\d.*|are new in Kafka 4|bundled broker"
LINES = tuple(
    Line(*each) if isinstance(each, tuple) else Line(each)
    for each in (
        "topics --list",
        "topics --describe --topic orders",
        "topics --describe --topics-with-overrides",
        "topics --describe --under-replicated-partitions",
        ("topics --create --topic new-{n}", "2.4"),
        ("topics --create --topic new-{n} --partitions 2", "2.4"),
        "topics --create --topic new-{n} --partitions 2 --replication-factor 1 --config retention.ms=7d",
        "topics --create --topic new-{n} --replica-assignment 1,1",
        "topics --create --topic new-{n} --clone-from orders",
        "topics --alter --topic changing-{n} --partitions 9",
        "topics --delete --topic going-{n}",
        "configs --describe --topic orders --all",
        "configs --describe --entity-type brokers --entity-name 1 --all",
        "configs --describe --entity-type brokers --entity-default",
        ("configs --describe --entity-type users", "2.7", rf"{QUOTAS}|{CREDENTIALS}"),
        ("configs --describe --entity-type users --entity-name u --entity-type clients --entity-name c", "2.6", QUOTAS),
        ("configs --describe --entity-type ips", "2.6", QUOTAS),
        ("configs --describe --explain --user alice --client app", "2.6", QUOTAS),
        ("configs --describe --entity-type client-metrics", "4.0", KRAFT),
        ("configs --describe --broker-logger 1", "2.4"),
        "configs --alter --topic orders --add-config flush.ms=1000",
        "configs --alter --topic orders --delete-config flush.ms",
        "configs --alter --topic orders --add-config cleanup.policy=[compact] --dry-run",
        "configs --alter --entity-type brokers --entity-name 1 --add-config log.retention.ms=100000",
        "configs --alter --entity-type brokers --entity-default --add-config log.retention.ms=100000",
        ("configs --alter --user u --add-config producer_byte_rate=1000", "2.6", QUOTAS),
        ("configs --alter --user u --add-config SCRAM-SHA-256=[password=abc]", "2.7", CREDENTIALS),
        ("configs --alter --entity-type groups --entity-name g --add-config consumer.session.timeout.ms=45000", "4.0"),
        ("configs --alter --entity-type client-metrics --entity-name m --add-config interval.ms=1000", "4.0", KRAFT),
        ("scram --describe", "2.7", CREDENTIALS),
        ("scram --add SCRAM-SHA-256=[password=abc] --username v", "2.7", CREDENTIALS),
        "acls --list",
        ("acls --who --operation Read --topic t", "2.0"),
        "acls --add --allow-principal User:a --operation Read --topic t",
        ("acls --add --allow-principal User:a --operation Read --topic t --resource-pattern-type prefixed", "2.0"),
        "acls --add --producer --idempotent --allow-principal User:a --topic t",
        "acls --remove --force --allow-principal User:a --operation Write --topic going-{n}",
        "delegation-tokens --describe",
        "delegation-tokens --create --max-life-time-period -1",
        ("delegation-tokens --create --max-life-time-period -1 --owner-principal User:x", "3.3"),
        "consumer-groups --list --state",
        ("consumer-groups --list --state Empty", "2.6"),
        "consumer-groups --list --type classic",
        ("consumer-groups --list --type consumer", "3.8"),
        "consumer-groups --describe --group idle",
        "consumer-groups --describe --group idle --members --verbose",
        "consumer-groups --describe --group idle --state",
        "consumer-groups --describe --all-groups",
        "consumer-groups --describe --topic orders",
        "consumer-groups --describe --all-groups --lag-by topic",
        "consumer-groups --reset-offsets --group new-{n} --topic orders --to-earliest --execute",
        "consumer-groups --reset-offsets --group idle --topic orders --to-datetime 2026-01-01T00:00:00.000 --dry-run",
        "consumer-groups --reset-offsets --group new-{n} --from-group idle --execute",
        ("consumer-groups --delete-offsets --group going-{n} --topic orders", "2.4"),
        "consumer-groups --remove-members --group idle --all-members",
        "consumer-groups --delete --group going-{n}",
        "groups --list",
        "groups --list --share",
        ("share-groups --list", "3.8", "share groups are new in Kafka 4.1"),
        ("share-groups --describe --all-groups", "3.8", "share groups are new in Kafka 4.1"),
        ("share-groups --describe --group g", NEVER, NOT_SERVED),
        ("share-groups --reset-offsets --group g --topic orders --to-latest --execute", NEVER, NOT_SERVED),
        ("share-groups --delete-offsets --group g --topic orders", NEVER, NOT_SERVED),
        ("share-groups --delete --group g", NEVER, r"are new in Kafka 4\.1|is not a share group"),
        ("streams-groups --list", "3.8", "streams groups are new in Kafka 4.2"),
        ("streams-groups --describe --all-groups", "3.8", "streams groups are new in Kafka 4.2"),
        ("streams-groups --describe --group g", NEVER, NOT_SERVED),
        ("streams-groups --reset-offsets --group g --all-input-topics --to-latest --execute", NEVER, NOT_SERVED),
        ("streams-groups --delete-offsets --group g --all-input-topics", NEVER, NOT_SERVED),
        ("streams-groups --delete --group g", NEVER, r"are new in Kafka 4\.2|is not a streams group"),
        "streams-application-reset --application-id app-{n} --input-topics orders --dry-run",
        "streams-application-reset --application-id app-{n} --input-topics orders",
        "delete-records --offset-json-file offsets.json",
        "delete-records --topic orders --before end",
        "delete-records --topic orders --before 2026-01-01 --dry-run",
        "produce orders -k k -v v -o json",
        "messages orders",
        "messages orders --count-by 1d",
        "messages orders@2020-01-01..now --where value~x -o json",
        "messages orders --last 2",
        "get-offsets",
        "get-offsets --topic orders --time earliest",
        "get-offsets --topic orders --time 1000",
        ("get-offsets --topic orders --time max-timestamp", "3.0"),
        ("get-offsets --topic orders --time earliest-local", "3.5"),
        ("get-offsets --topic orders --time latest-tiered", "3.9"),
        ("get-offsets --topic orders --time earliest-pending-upload", "4.2"),
        (
            "leader-election --election-type PREFERRED --topic orders --partition 0", "2.2",
            r"kafka-preferred-replica-election\.sh --zookeeper",
        ),
        (
            "leader-election --election-type UNCLEAN --topic orders --partition 0", "2.4",
            r"kafka-preferred-replica-election\.sh|Kafka 2\.4 and later hold unclean elections",
        ),
        "log-dirs --describe",
        "log-dirs --by topic --top 3",
        "topics --describe --summary",
        "topics --describe --under-replicated-partitions -o table",
        "clients",
        "purge --prefix going-{n} --dry-run",
        ("reassign-partitions --list", "2.4", SCRIPT),
        "reassign-partitions --generate --topics-to-move-json-file topics.json --broker-list 1",
        "reassign-partitions --generate --strategy by-size",
        "reassign-partitions --generate --replication-factor 1 --topic orders",
        ("reassign-partitions --execute --reassignment-json-file plan.json --throttle 5000", "2.4", SCRIPT),
        (
            "reassign-partitions --execute --reassignment-json-file plan.json --disallow-replication-factor-change",
            "4.1", rf"{SCRIPT}|Kafka 4\.1 and later",
        ),
        ("reassign-partitions --execute --watch --reassignment-json-file plan.json", "2.4", SCRIPT),
        ("reassign-partitions --execute --reassignment-json-file dirs.json", NEVER, rf"{SCRIPT}|{NOT_SERVED}"),
        ("reassign-partitions --verify --reassignment-json-file plan.json", "2.4", SCRIPT),
        ("reassign-partitions --cancel --reassignment-json-file plan.json", "2.4", SCRIPT),
        ("reassign-partitions --watch", "2.4", SCRIPT),
        "broker-api-versions",
        "cluster cluster-id",
        "cluster list-endpoints",
        ("cluster list-endpoints --include-fenced-brokers", "4.0"),
        "cluster api-versions",
        ("cluster unregister --id 3", NEVER, NOT_SERVED),
        ("cluster unregister-controller --id 3", NEVER, NOT_SERVED),
        ("features describe", "2.4"),
        ("features upgrade --feature group.version=1 --dry-run", "3.3"),
        ("features disable --feature kraft.version --dry-run", "3.3"),
        ("metadata-quorum describe --status", "4.0", NO_QUORUM),
        ("metadata-quorum describe --replication", "4.0", NO_QUORUM),
        (
            "metadata-quorum remove-controller --controller-id 1 --controller-directory-id 8bpaWIu9SiydwIqO5atq0g",
            NEVER, NOT_SERVED,
        ),
        ("transactions list", "3.0"),
        ("transactions list --duration-filter 5", "3.8"),
        ("transactions list --transactional-id-pattern a.*", "4.1"),
        ("transactions describe --transactional-id no-{n}", NEVER, r"Kafka 3\.0 and later|TRANSACTIONAL_ID_NOT_FOUND"),
        ("transactions describe-producers --topic orders --partition 0", "2.8"),
        ("transactions find-hanging --topic orders", "2.8"),
        ("transactions force-terminate --transactional-id no-{n}", NEVER, "TRANSACTIONAL_ID_NOT_FOUND"),
        ("client-metrics --list", "4.0", KRAFT),
        ("client-metrics --describe", "4.0", KRAFT),
        ("client-metrics --alter --name m --interval 1000", "4.0", KRAFT),
        ("client-metrics --delete --name m", "4.0", KRAFT),
        "console-producer --topic orders",
        "console-consumer --topic orders --from-beginning --max-messages 1",
        "console-consumer --topic orders --group read-{n} --from-beginning --max-messages 1",
    )
)  # fmt: skip

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
    "delegation.token.secret.key": "key of the tests",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="admin-secret";'
    ),
}
"""A broker with everything switched on that commands ask about: ACLs, logins and with them delegation tokens."""
CLIENT = """security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" \
password="admin-secret";
"""


class Ended(NamedTuple):
    """How a command ended: exit status and both streams."""

    status: int
    out: str
    err: str


Run = Callable[[str], Ended]


@contextlib.contextmanager
def as_release(release: str) -> Iterator[Run]:
    """What runs command lines on a broker of a release, in a folder with the files that they name."""
    with broker(release) as node, runs_on(node.bootstrap_servers) as run:
        yield run


def broker(release: str | None = None) -> EmbeddedBroker:
    """A broker with everything switched on that commands ask about."""
    return EmbeddedBroker(release=release, listeners=["SASL_PLAINTEXT://127.0.0.1:0"], config=SETTINGS)


@contextlib.contextmanager
def runs_on(servers: str) -> Iterator[Run]:
    """The same on a broker that is there."""
    with tempfile.TemporaryDirectory() as folder:
        _write_files(Path(folder))
        connection = ["--bootstrap-server", servers]

        def run(line: str) -> Ended:
            name, *words = shlex.split(line)
            own = [*connection, *(["--timeout-ms", "10000"] if name == "console-consumer" else ["--timeout", "10s"])]
            if name == "console-producer":
                own = connection.copy()
            own += ["--config" if name == "cluster" else "--command-config", "client.properties"]
            out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
            with (
                contextlib.chdir(folder),
                _home(folder),
                _standard_input(Path(folder) / "lines.txt"),
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                status = running.run(cli.load(name), _placed(name, words, own), f"kafka-{name}")
            printed = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
            return Ended(status, printed, err.getvalue().replace(servers, "BROKER"))

        run("topics --create --topic orders --partitions 2 --replication-factor 1")
        _produce(servers)
        run("consumer-groups --reset-offsets --group idle --topic orders --to-earliest --execute")
        yield run


@contextlib.contextmanager
def _standard_input(path: Path) -> Iterator[None]:
    before = sys.stdin
    with path.open(encoding="utf-8") as sys.stdin:
        try:
            yield
        finally:
            sys.stdin = before


def _placed(name: str, words: list[str], own: list[str]) -> list[str]:
    """``words`` with the options of the connection where the command takes them."""
    if name == "cluster":
        return [words[0], *own, *words[1:]]
    return [*own, *words]


@contextlib.contextmanager
def _home(folder: str) -> Iterator[None]:
    """Where commands keep what they remember."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = before


def _produce(servers: str) -> None:
    from kafka_tools.clients import Producer

    properties = dict(line.split("=", 1) for line in CLIENT.splitlines())
    with Producer({"bootstrap.servers": servers, **properties}) as producer:
        for partition in (0, 1):
            producer.send("orders", b"hello", partition=partition)


def _write_files(folder: Path) -> None:
    place = {"topic": "orders", "partition": 0}
    documents = {
        "offsets": {"version": 1, "partitions": [{**place, "offset": 0}]},
        "plan": {"version": 1, "partitions": [{**place, "replicas": [1]}]},
        "topics": {"version": 1, "topics": [{"topic": "orders"}]},
        "dirs": {"version": 1, "partitions": [{**place, "replicas": [1], "log_dirs": ["/elsewhere"]}]},
    }
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "lines.txt").write_text("one\ntwo\n", encoding="utf-8")
    (folder / "client.properties").write_text(CLIENT, encoding="utf-8")


_MAKE_TOPIC = "topics --create --topic {name} --partitions 1 --replication-factor 1"
_MAKE_ENTRY = "acls --add --allow-principal User:a --operation Write --topic {name}"
_MAKE_GROUP = "consumer-groups --reset-offsets --group {name} --topic orders --to-earliest --execute"


def mistake(run: Run, line: Line, number: int, release: str) -> str | None:
    """What is wrong with how a line ends on a release; None: nothing."""
    text = line.text.replace("{n}", str(number))
    if made := re.search(r"\b(?:going|changing)-\d+", text):
        make = _MAKE_ENTRY if text.startswith("acls") else _MAKE_GROUP if "--group" in text else _MAKE_TOPIC
        run(make.format(name=made[0]))
    ended = run(text)
    works = line.since != NEVER and RELEASES.index(line.since) <= RELEASES.index(release)
    complaints = [said for said in ended.err.splitlines() if said.startswith("kafka-")]
    if "Traceback" in ended.err or "internal error" in ended.err:
        wrong = "an internal error"
    elif works:
        wrong = "" if ended.status == 0 and not complaints else "fails"
    elif ended.status != 1:
        wrong = "does not fail" if ended.status == 0 else "fails in another way"
    else:
        wrong = "" if len(complaints) == 1 and re.search(line.lacks, ended.err) else "is not told what is missing"
    return f"{release}: {text}: {wrong}: {ended.status} {ended.out[:200]!r} {ended.err!r}" if wrong else None


def main() -> int:
    """Run every line on every release, or on those that are named; 1 when one ended otherwise than it should."""
    found = []
    for release in sys.argv[1:] or RELEASES:
        with as_release(release) as run:
            found += filter(None, (mistake(run, line, number, release) for number, line in enumerate(LINES)))
    print("\n".join([*found, f"{len(found)} mistakes"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
