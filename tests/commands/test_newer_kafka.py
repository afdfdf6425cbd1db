"""Every command against a broker of a made-up Kafka 5.9: it does its work, or says in one line why it cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kafka_tools import KAFKA_MINOR
from kafka_tools.admin.calls.permissions import operations_of
from kafka_tools.admin.client import AclFilter
from kafka_tools.cli import COMMANDS
from kafka_tools.protocol.enums import OPERATIONS_NOT_ASKED
from kafka_tools.protocol.messages.delete_acls import DeleteAclsRequest
from kafka_tools.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from tests.admin.operations import OPERATIONS, failure_of
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands import release_table
from tests.commands.release_table import Ended, Run
from tests.newer_kafka import ERROR, KEY, NUMBER, OPERATION, WORD, NewerBroker, renew

LOCAL = {
    *("dump-log", "storage", "metadata-shell", "audit", "broker", "load", "explain", "tour", "completion"),
    "install-scripts",
}
"""Commands that ask no broker."""
RUN_ON = {"console-share-consumer", "replica-verification"}
"""Commands that do not end by themselves, as most of those that load a cluster."""
PREPARED = (
    "topics --create --topic changing --partitions 1 --replication-factor 1",
    "topics --create --topic going --partitions 1 --replication-factor 1",
    "consumer-groups --reset-offsets --group going --topic orders --to-earliest --execute",
    "acls --add --allow-principal User:a --operation Write --topic going",
    "configs --alter --user u --add-config SCRAM-SHA-256=[password=abc]",
)
FURTHER = (
    "doctor -o json",
    "request DescribeCluster",
    "clients",
    "purge --prefix orders --dry-run",
    "configs --describe --topic orders --all -o json",
    "configs --describe --entity-type groups",
    "acls --list -o json",
    "topics --describe -o json",
    "topics --describe --topics-with-overrides -o yaml",
    "log-dirs --describe -o table",
    "consumer-groups --list --state --type",
    "consumer-groups --describe --all-groups --members",
    "groups --list -o json",
    "share-groups --describe --group g --state",
    "share-groups --describe --group g --members --verbose",
    "streams-groups --describe --group g --state --verbose",
    "streams-groups --describe --group g --members",
    "streams-groups --describe --group g --topology",
    "features describe -o json",
    "features version-mapping",
    "features feature-dependencies --feature transaction.version=2",
    "transactions list -o json",
    "reassign-partitions --list -o json",
    "get-offsets -o json",
)
"""Command lines beside those of ``release_table``."""
ASSIGNMENTS = r"Assignments can only be reset if the group '.*' is inactive, but the current state is Dreaming\."
REFUSED = {
    "acls --remove": "no such ACL entry",
    "consumer-groups --reset-offsets --group idle": ASSIGNMENTS,
    "share-groups --reset-offsets": r"Share group 'g' is not empty\.",
    "streams-groups --reset-offsets": ASSIGNMENTS,
    "share-groups --delete ": r"Group 'g' is not a share group\.",
    "streams-groups --delete ": r"Group 'g' does not exist or is not a streams group\.",
    "streams-groups --describe --group g --topology": r"No topology description .* \(status: UNKNOWN\(99\)\)\.",
    "transactions describe ": "TRANSACTIONAL_ID_NOT_FOUND",
    "transactions force-terminate": "TRANSACTIONAL_ID_NOT_FOUND",
}
"""How lines begin that are refused, and why: what came later is in the way, or there is nothing of that name."""
LINES = [
    line.text.replace("going-{n}", "going").replace("changing-{n}", "changing").replace("{n}", str(number))
    for number, line in enumerate(release_table.LINES)
]


@contextmanager
def newer_broker() -> Iterator[tuple[NewerBroker, Run]]:
    with (
        release_table.broker() as broker,
        NewerBroker(broker.bootstrap_servers) as node,
        release_table.runs_on(node.bootstrap) as run,
    ):
        for line in PREPARED:
            assert run(line).status == 0
        yield node, run


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with newer_broker() as (_, run):
        yield run


def test_every_command_that_asks_a_broker_is_tried() -> None:
    loads = {name for name, row in COMMANDS.items() if row.module.partition(".")[0] in ("performance", "verifiable")}
    assert {line.split()[0] for line in (*LINES, *FURTHER)} == COMMANDS.keys() - LOCAL - loads - RUN_ON


def does_its_work_or_says_why_not(line: str, ended: Ended) -> bool:
    why = next((text for start, text in REFUSED.items() if line.startswith(start)), None)
    complaints = [said for said in ended.err.splitlines() if said.startswith("kafka-")]
    if why is None:
        if line.endswith("-o json"):
            json.loads(ended.out)
        return (ended.status, complaints) == (0, [])
    return (ended.status, len(complaints)) == (1, 1) and re.search(why, complaints[0]) is not None


def names_the_error(line: str, ended: Ended) -> bool:
    return ended.status == 0 or f"UNKNOWN_ERROR_CODE_{ERROR}" in ended.err


@pytest.mark.parametrize("is_failing, right", [(False, does_its_work_or_says_why_not), (True, names_the_error)])
def test_each_command_line(is_failing: bool, right: Callable[[str, Ended], bool]) -> None:
    """In order, since lines delete what others made. With ``is_failing`` every answer has an error nobody knows."""
    with newer_broker() as (node, run):
        node.is_failing = is_failing
        ended = {line: run(line) for line in (*FURTHER, *LINES)}
    assert [(line, each) for line, each in ended.items() if "Traceback" in each.err or "internal err" in each.err] == []
    assert [(line, each) for line, each in ended.items() if not right(line, each)] == []


@pytest.mark.parametrize(
    "line, told",
    [
        ("features describe", f"SupportedMaxVersion: UNKNOWN {NUMBER} "),
        ("features describe", f"metadata.version {NUMBER}, mirror.version 9, transaction.version 7: newer than this"),
        ("features describe", f"({KAFKA_MINOR})"),
        ("acls --list", f"resourceType=UNKNOWN({NUMBER}), name=going, patternType=UNKNOWN({NUMBER})"),
        ("acls --list", f"operation=UNKNOWN({NUMBER}), permissionType=UNKNOWN({NUMBER})"),
        ("scram --describe", f"UNKNOWN({NUMBER})=iterations=4096"),
        ("configs --describe --topic orders --all", f"  {KEY}=7 sensitive=false synonyms={{}}\n"),
        ("configs --describe --topic orders --all", f"synonyms={{UNKNOWN({NUMBER}):log.cleanup.policy="),
        ("configs --describe --entity-type users", "Quota configs for user-principal 'd' are dream_rate=1.5"),
        ("groups --list", f"Unknown({WORD.lower()})"),
        ("consumer-groups --describe --group idle --state", f"Unknown({WORD})"),
        ("share-groups --describe --group g --state", f"Unknown({WORD})"),
        ("streams-groups --describe --group g --state", f"Unknown({WORD})"),
        ("broker-api-versions", "UNKNOWN(120): 0 to 2"),
        ("broker-api-versions", "Fetch(1): 0 to 21 [usable: 18]"),
        ("cluster api-versions", "UNKNOWN(120): 0 to 2"),
    ],
)  # fmt: skip
def test_what_came_later_is_shown_as_it_is(run: Run, line: str, told: str) -> None:
    ended = run(line)
    assert told in ended.out + ended.err


KNOWS_NOT = f"not a known config of {{}} ({KAFKA_MINOR}); the broker validates it"


@pytest.mark.parametrize(
    "entity, kind",
    [("topic orders", "topics"), ("broker 1", "brokers"), ("group g", "groups"), ("client-metrics m", "client-metrics")]
)  # fmt: skip
def test_a_config_that_only_the_broker_knows_can_be_set_and_read(run: Run, entity: str, kind: str) -> None:
    judged = run(f"configs --alter --{entity} --add-config {KEY}=never")
    assert (judged.status, judged.out) == (1, "")
    assert f"{KEY} is at least 1" in judged.err
    changed = run(f"configs --alter --{entity} --add-config {KEY}=12")
    assert changed.status == 0
    assert changed.err == f"warning: {KEY}: {KNOWS_NOT.format(kind)}\n"
    assert f"  {KEY}=12 " in run(f"configs --describe --{entity} --all").out


def test_a_misspelt_config_is_still_refused_with_the_nearest(run: Run) -> None:
    ended = run("configs --alter --topic orders --add-config retention.mss=12")
    assert (ended.status, ended.out) == (1, "")
    assert "Unknown topic config name: retention.mss (did you mean retention.ms?)" in ended.err


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_admin_client_takes_what_came_later(name: str) -> None:
    def result(is_newer: bool) -> str | None:
        cluster = VirtualCluster()

        def fault(request: object, version: int, node: object) -> object:
            answer = cluster.truth(request, version)
            if answer is not None and is_newer:
                renew(answer, version)
            return answer

        cluster.fault = fault
        with cluster.admin() as admin:
            failure = failure_of(OPERATIONS[name].call(admin))
        return None if failure is None else type(failure).__name__

    assert result(is_newer=True) == result(is_newer=False)


def test_the_admin_client_gives_back_what_it_was_told() -> None:
    """Numbers that nobody knows are words that name them, and an entry with them can be deleted again."""
    asked = []
    cluster = VirtualCluster()

    def fault(request: object, version: int, node: object) -> object:
        if isinstance(request, DescribeAclsRequest):
            Resource = DescribeAclsResponse.Resource
            acl = Resource.AclDescription(principal="User:a", host="*", operation=16, permission_type=3)
            resource = Resource(resource_type=9, resource_name="d", pattern_type=5, acls=[acl])
            return DescribeAclsResponse(resources=[resource])
        if isinstance(request, DeleteAclsRequest):
            asked.extend(request.filters)
        return None

    cluster.fault = fault
    with cluster.admin() as admin:
        (found,) = admin.describe_acls(AclFilter())
        admin.delete_acls([AclFilter(*found)])
    assert found == ("UNKNOWN(9)", "d", "UNKNOWN(5)", "User:a", "*", "UNKNOWN(16)", "ALLOW")
    (asked_for,) = asked
    assert (asked_for.resource_type_filter, asked_for.pattern_type_filter, asked_for.operation) == (9, 5, 16)


def test_operations_that_came_later_are_among_those_allowed() -> None:
    assert operations_of(1 << 3 | 1 << OPERATION) == ("READ", f"UNKNOWN({OPERATION})")
    assert operations_of(OPERATIONS_NOT_ASKED) is None
