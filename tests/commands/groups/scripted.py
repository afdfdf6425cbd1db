"""Commands about groups against scripted nodes: what was printed, and what was sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.protocol.messages.list_groups import ListGroupsResponse
from tests.admin.virtual_cluster import VirtualCluster
from tests.net.virtual import without_chance

Ended = tuple[int, str, str]
"""Exit status, standard output, standard error."""
Run = Callable[..., tuple[Ended, VirtualCluster]]
Told = Callable[[Any, int, Any], Any]
"""(request, version, node) -> its answer, or None for what the virtual cluster answers."""


def runner(command: str, told: Told, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``command`` with the words of a command line on a new cluster of a release, whose answers are ``told``."""

    def ended(words: str, release: str | None = None, fault: Told = told) -> tuple[Ended, VirtualCluster]:
        cluster = VirtualCluster(release=release)
        cluster.fault = fault
        with cluster.network.in_use(), without_chance():
            arguments = [*words.split(), "--bootstrap-server", cluster.bootstrap, "--timeout", "5000"]
            status = running.run(cli.load(command), arguments, f"kafka-{command}")
        return (status, *capsys.readouterr()), cluster

    return ended


def sent(cluster: VirtualCluster, kind: type) -> list[Any]:
    """The requests of a kind that reached the cluster."""
    return [each[2] for each in cluster.log if isinstance(each[2], kind)]


def listing(node: Any, group_type: str, states: Mapping[str, str]) -> ListGroupsResponse:
    """What node 1 answers to ListGroups: these groups; the other nodes have none."""
    Group = ListGroupsResponse.ListedGroup
    groups = [
        Group(group_id=name, protocol_type=group_type, group_state=state, group_type=group_type)
        for name, state in states.items()
    ]
    return ListGroupsResponse(groups=groups if node.id == 1 else [])


def check_wrong_command_lines(run: Run, lines: Mapping[str, str]) -> None:
    """Command lines -> a part of the complaint about each."""
    for words, text in lines.items():
        (status, out, err), _ = run(words)
        assert (status, out) == (2, ""), words
        assert text in err


def check_releases_without(run: Run, words: str, release: str, needs: str) -> None:
    """A release that lacks the API is one clear error, which names the releases that have it."""
    (status, out, err), _ = run(words, release=release)
    assert (status, out) == (1, "")
    assert f"brokers of Kafka {needs} and later" in err


def check_bundled_broker_lacks(command: str, words: str, capsys: pytest.CaptureFixture[str], text: str) -> None:
    """One line says that the bundled broker does not have groups of this type."""
    status = running.run(cli.load(command), words.split(), f"kafka-{command}")
    out, err = capsys.readouterr()
    assert (status, out) == (1, "")
    assert err.startswith(f"kafka-{command}: {text}")
