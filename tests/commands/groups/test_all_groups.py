"""kafka-groups: which groups each filter leaves, its command lines, and brokers that tell little or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.admin.virtual_cluster import VirtualCluster
from tests.net.virtual import without_chance

Ended = tuple[int, str, str]
Run = Callable[..., Ended]

GROUPS = {
    1: (("billing", "consumer", "classic"), ("simple", "", "classic"), ("sink", "connect", "classic")),
    2: (("modern", "consumer", "consumer"), ("jobs", "share", "share")),
    3: (("app", "streams", "streams"), ("later", "new", "tomorrows")),
}


def told(request: Any, version: int, node: Any) -> Any:
    if not isinstance(request, ListGroupsRequest):
        return None
    Group = ListGroupsResponse.ListedGroup
    listed = [
        Group(group_id=name, protocol_type=protocol, group_state="Stable", group_type=kind if version >= 5 else "")
        for name, protocol, kind in GROUPS[node.id]
    ]
    return ListGroupsResponse(groups=listed)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*words: str, release: str | None = None, fault: Any = told) -> Ended:
        cluster = VirtualCluster(release=release)
        cluster.fault = fault
        with cluster.network.in_use(), without_chance():
            arguments = [*words, "--bootstrap-server", cluster.bootstrap, "--timeout", "5000"]
            status = running.run(cli.load("groups"), arguments, "kafka-groups")
        return status, *capsys.readouterr()

    return ended


def names(ended: Ended) -> list[str]:
    return [line.split()[0] for line in ended[1].splitlines()[1:]]


def test_all_types_with_kafkas_columns(run: Run) -> None:
    status, out, _ = run("--list")
    assert status == 0
    assert out.splitlines()[:3] == [
        "GROUP                TYPE                 PROTOCOL            ",
        "app                  Streams              streams              ",
        "billing              Classic              consumer             ",
    ]
    assert "later                Unknown(tomorrows)   new                  " in out.splitlines()
    assert "simple               Classic                                   " in out.splitlines()


@pytest.mark.parametrize(
    "words, found",
    [
        (("--consumer",), ["billing", "modern", "simple"]),
        (("--share",), ["jobs"]),
        (("--streams",), ["app"]),
        (("--group-type", "Classic"), ["billing", "simple", "sink"]),
        (("--group-type", "consumer"), ["modern"]),
        (("--protocol", "consumer"), ["billing", "modern"]),
        (("--protocol", ""), ["simple"]),
        (("--group-type", "classic", "--protocol", "connect"), ["sink"]),
        (("--group-type", "share", "--protocol", "connect"), []),
    ],
)
def test_filters(run: Run, words: tuple[str, ...], found: list[str]) -> None:
    assert names(run("--list", *words)) == found


def test_brokers_that_do_not_tell_types_have_classic_groups(run: Run) -> None:
    for release in ("1.1", "2.2", "3.7"):
        assert names(run("--list", "--group-type", "classic", release=release)) == sorted(
            name for listed in GROUPS.values() for name, *_ in listed
        )
        assert names(run("--list", "--share", release=release)) == []
    assert "billing                                   consumer             \n" in run("--list", release="3.7")[1]


def test_of_three_brokers_one_fails_and_the_groups_of_the_others_are_listed(run: Run) -> None:
    def two_tell(request: Any, version: int, node: Any) -> Any:
        if isinstance(request, ListGroupsRequest) and node.id == 2:
            return error_reply(request, version, error_codes.UNKNOWN_SERVER_ERROR)
        return told(request, version, node)

    ended = run("--list", fault=two_tell)
    assert (ended[0], names(ended)) == (1, ["app", "billing", "later", "simple", "sink"])
    assert ended[2].count("\n") == 1
    assert "kafka2:9092" in ended[2]


@pytest.mark.parametrize(
    "words, text",
    [
        ((), "Give --list."),
        (("--list", "--group-type", "consumers"), "--group-type must be a valid group type."),
        (("--list", "--consumer", "--share"), 'Option "[consumer]" can\'t be used with option "[share]"'),
        (("--list", "--consumer", "--protocol", ""), 'Option "[consumer]" can\'t be used with option "[protocol]"'),
        (("--list", "--share", "--group-type", "share"), 'Option "[share]" can\'t be used with option "[group-type]"'),
        (("--list", "--streams", "--protocol", "x"), 'Option "[streams]" can\'t be used with option "[protocol]"'),
    ],
)
def test_command_lines_that_are_wrong(run: Run, words: tuple[str, ...], text: str) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert text in err
