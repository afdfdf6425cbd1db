"""No option of Kafka's tools is unknown here: it works, or the command says what took its place.

What the tools' own help pages list, release by release.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache

import click
import pytest

from kafka_tools import cli
from kafka_tools.commands.options.removed import REMOVED
from tests.against_kafka.jars import NEWEST, VERSIONS
from tests.against_kafka.tool_server import run_tool

OURS, SCALA, SCALA_TOOLS = "org.apache.kafka.tools.", "kafka.admin.", "kafka.tools."
TOOLS = {
    "topics": (f"{OURS}TopicCommand", f"{SCALA}TopicCommand"),
    "configs": (f"{OURS}ConfigCommand", f"{SCALA}ConfigCommand"),
    "consumer-groups": (f"{OURS}consumer.group.ConsumerGroupCommand", f"{SCALA}ConsumerGroupCommand"),
    "delete-records": (f"{OURS}DeleteRecordsCommand", f"{SCALA}DeleteRecordsCommand"),
    "get-offsets": (f"{OURS}GetOffsetShell", f"{SCALA_TOOLS}GetOffsetShell"),
    "leader-election": (f"{OURS}LeaderElectionCommand", f"{SCALA}LeaderElectionCommand"),
    "log-dirs": (f"{OURS}LogDirsCommand", f"{SCALA}LogDirsCommand"),
    "reassign-partitions": (f"{OURS}reassign.ReassignPartitionsCommand", f"{SCALA}ReassignPartitionsCommand"),
    "broker-api-versions": (f"{OURS}BrokerApiVersionsCommand", f"{SCALA}BrokerApiVersionsCommand"),
    "acls": (f"{OURS}AclCommand", f"{SCALA}AclCommand"),
    "delegation-tokens": (f"{OURS}DelegationTokenCommand", f"{SCALA}DelegationTokenCommand"),
    "features": (f"{OURS}FeatureCommand", f"{SCALA}FeatureCommand"),
    "cluster": (f"{OURS}ClusterTool", f"{SCALA_TOOLS}ClusterTool"),
    "metadata-quorum": (f"{OURS}MetadataQuorumCommand", f"{SCALA}MetadataQuorumCommand"),
    "client-metrics": (f"{OURS}ClientMetricsCommand",),
    "groups": (f"{OURS}GroupsCommand",),
    "share-groups": (f"{OURS}consumer.group.ShareGroupCommand",),
    "streams-groups": (f"{OURS}streams.StreamsGroupCommand",),
    "streams-application-reset": (f"{OURS}StreamsResetter", f"{SCALA_TOOLS}StreamsResetter"),
    "transactions": (f"{OURS}TransactionsCommand",),
    "storage": (f"{SCALA_TOOLS}StorageTool",),
    "console-producer": (f"{OURS}ConsoleProducer", f"{SCALA_TOOLS}ConsoleProducer"),
    "console-consumer": (f"{OURS}consumer.ConsoleConsumer", f"{SCALA_TOOLS}ConsoleConsumer"),
    "console-share-consumer": (f"{OURS}consumer.ConsoleShareConsumer",),
    "producer-perf-test": (f"{OURS}ProducerPerformance",),
    "consumer-perf-test": (f"{OURS}ConsumerPerformance", f"{SCALA_TOOLS}ConsumerPerformance"),
    "verifiable-producer": (f"{OURS}VerifiableProducer",),
    "verifiable-consumer": (f"{OURS}VerifiableConsumer",),
    "verifiable-share-consumer": (f"{OURS}VerifiableShareConsumer",),
    "replica-verification": (f"{OURS}ReplicaVerificationTool", f"{SCALA_TOOLS}ReplicaVerificationTool"),
    "dump-log": (f"{OURS}DumpLogSegments", f"{SCALA_TOOLS}DumpLogSegments"),
}
OLDER_NAMESAKES = {("1.1.1", "producer-perf-test")}
"""The release's script starts a class of the jar kafka-tools; the server's jar has an older one of the same name."""
_OPTION = r"--?[a-zA-Z][\w.-]*"
_LISTED = re.compile(rf"^(?:  )?({_OPTION}(?:, *{_OPTION})*)", re.MULTILINE)


@pytest.mark.parametrize("release", VERSIONS)
def test_every_option_of_kafkas_tools_is_there_or_explained(release: str) -> None:
    assert list(unknown_options(release)) == []
    assert sum(len(options_listed(release, mains)) for mains in TOOLS.values()) > 100


def unknown_options(release: str) -> Iterator[tuple[str, str]]:
    """(command, option of the release's tool that the command neither has nor explains)."""
    for command, mains in TOOLS.items():
        if (release, command) in OLDER_NAMESAKES:
            continue
        gone = REMOVED.get(f"kafka-{command}", {})
        yield from ((command, each) for each in sorted(options_listed(release, mains) - _known(command) - gone.keys()))


@cache
def options_listed(release: str, mains: tuple[str, ...]) -> frozenset[str]:
    """The options on the help pages of a tool and of its subcommands; none where the release lacks the tool."""
    lists = [each for text in help_pages(release, mains) for each in _LISTED.findall(text)]
    return frozenset(option for each in lists for option in re.findall(_OPTION, each))


@cache
def help_pages(release: str, mains: tuple[str, ...]) -> list[str]:
    """The help pages of a tool and of its subcommands; none where the release lacks the tool."""
    for main in mains:
        page = _help(run_tool(release, main, "--help"))
        if page is not None and "UnrecognizedOptionException" in page:  # tools of 1.1 without that option
            page = _help(run_tool(release, main))
        if page is not None:
            pages = [_help(run_tool(release, main, each, "--help")) for each in subcommands(page)]
            return [page, *(each for each in pages if each is not None)]
    return []


def subcommands(page: str) -> list[str]:
    """The subcommands that a help page lists, in either way of argparse4j."""
    named = re.search(r"^usage: .*?\{([a-z,-]+)\}", page, re.MULTILINE | re.DOTALL)
    if named:
        return named[1].split(",")
    listed = re.search(r"^commands:\n  COMMAND\n((?:    .*\n?)+)", page, re.MULTILINE)
    return re.findall(r"^    ([a-zA-Z-]+)(?: |$)", listed[1], re.MULTILINE) if listed else []


def test_subcommands_are_found_on_the_help_page_of_transactions() -> None:
    page = _help(run_tool(NEWEST, *TOOLS["transactions"], "--help"))
    assert page is not None
    assert subcommands(page) == [
        "list", "describe", "describe-producers", "abort", "find-hanging", "forceTerminateTransaction",
    ]  # fmt: skip
    assert "--transactional-id" in options_listed(NEWEST, TOOLS["transactions"])


def _help(ended: subprocess.CompletedProcess[str]) -> str | None:
    text = ended.stdout + ended.stderr
    absent = ("ClassNotFound", "NoClassDefFound", "Could not find or load", "could not find")
    return None if any(each in text for each in absent) else text


def _known(command: str) -> set[str]:
    loaded = cli.load(command)
    parts = [loaded, *(loaded.commands.values() if isinstance(loaded, click.Group) else ())]
    own = {name for part in parts for parameter in part.params for name in parameter.opts}
    return own | {"-h", "--help", "--version"}
