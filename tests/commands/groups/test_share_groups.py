"""kafka-share-groups against scripted nodes, and against the bundled broker, which has no share groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands import running
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from tests.commands.groups.scripted import (
    Run,
    check_bundled_broker_lacks,
    check_releases_without,
    check_wrong_command_lines,
    listing,
    runner,
    sent,
)


def told(request: Any, version: int, node: Any) -> Any:
    """Groups ``idle`` and ``busy``, and no other."""
    if isinstance(request, ListGroupsRequest):
        return listing(node, "share", {"idle": "Empty", "busy": "Stable"})
    if isinstance(request, ShareGroupDescribeRequest):
        Group_ = ShareGroupDescribeResponse.DescribedGroup
        answer = ShareGroupDescribeResponse()
        for name in request.group_ids:
            if name == "busy":
                member = Group_.Member(member_id="m-1", client_id="app", client_host="/10.0.0.9")
                answer.groups.append(Group_(group_id=name, group_state="Stable", members=[member]))
            elif name == "idle":
                answer.groups.append(Group_(group_id=name, group_state="Empty"))
            else:
                answer.groups.append(Group_(group_id=name, error_code=error_codes.GROUP_ID_NOT_FOUND))
        return answer
    return None


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner("share-groups", told, capsys)


def test_of_three_groups_one_is_not_there_and_the_others_are_described(run: Run) -> None:
    (status, out, err), _ = run("--describe --group idle --group none --group busy --state -o csv")
    assert (status, [line.split(",")[0] for line in out.splitlines()[1:]]) == (1, ["busy", "idle"])
    assert "cannot describe group 'none': GROUP_ID_NOT_FOUND: Group none not found." in err


def test_of_three_groups_one_can_be_deleted_and_the_reasons_of_the_others_name_members(run: Run) -> None:
    (status, out, err), cluster = run("--delete --group busy --group idle --group orders-consumers")
    assert (status, out) == (1, "\nThese share groups were deleted successfully: 'idle'\n")
    assert "cannot delete group 'busy': Share group 'busy' is not EMPTY. Members: app at /10.0.0.9" in err
    assert "Group 'orders-consumers' is not a share group." in err
    (request,) = sent(cluster, DeleteGroupsRequest)
    assert request.groups_names == ["idle"]


def test_a_reset_leaves_out_groups_with_members_and_does_the_rest(run: Run) -> None:
    (status, out, err), cluster = run(
        "--reset-offsets --group busy --group idle --group new --topic t --to-earliest --execute"
    )
    assert status == 1
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["idle", "new"]
    assert "Share group 'busy' is not empty. Members: app at /10.0.0.9" in err
    assert [request.group_id for request in sent(cluster, AlterShareGroupOffsetsRequest)] == ["idle", "new"]
    planned, cluster = run("--reset-offsets --group idle --topic t --to-latest --dry-run")
    assert (planned[0], sent(cluster, AlterShareGroupOffsetsRequest)) == (0, [])


def test_a_group_whose_offsets_are_not_told_is_an_error_and_the_others_are_shown(run: Run) -> None:
    def denied(request: Any, version: int, node: Any) -> Any:
        if isinstance(request, DescribeShareGroupOffsetsRequest):
            answer = error_reply(request, version, 0)
            for group in answer.groups:
                group.error_code = error_codes.GROUP_AUTHORIZATION_FAILED if group.group_id == "busy" else 0
            return answer
        return told(request, version, node)

    (status, out, err), _ = run("--describe --group busy --group idle", fault=denied)
    assert (status, out) == (1, "\nShare group 'idle' has no offset information.\n")
    assert "cannot describe the offsets of group 'busy': GROUP_AUTHORIZATION_FAILED" in err


@pytest.mark.parametrize("release", ["1.1", "2.2", "3.9", "4.0"])
@pytest.mark.parametrize(
    "words",
    [
        "--describe --group g",
        "--reset-offsets --group g --topic t --to-latest --dry-run",
        "--delete-offsets --group g --topic t",
    ],
)
def test_releases_without_share_groups(run: Run, words: str, release: str) -> None:
    check_releases_without(run, words, release, "4.1")


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker() as broker:
        yield broker.bootstrap_servers


@pytest.mark.parametrize(
    "words", ["--describe --group g", "--reset-offsets --group g --all-topics --to-latest --execute"]
)
def test_the_bundled_broker_has_none_and_one_line_says_so(
    servers: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    needs = "describing share groups needs ShareGroupDescribe v"
    check_bundled_broker_lacks("share-groups", f"{words} -b {servers}", capsys, needs)
    status = running.run(cli.load("share-groups"), ["--list", "-b", servers], "kafka-share-groups")
    assert (status, *capsys.readouterr()) == (0, "", "")


def test_command_lines_that_are_wrong(run: Run) -> None:
    check_wrong_command_lines(
        run,
        {
            "": "Give exactly one of --list, --describe, --delete, --reset-offsets, --delete-offsets.",
            "--describe": "Option [describe] takes one of these options: [all-groups], [group]",
            "--describe --group g --all-groups": "can't be used with option",
            "--describe --group g --state Empty": "Option [describe] does not take a value for [state]",
            "--list --state Empty,Lost": "Invalid state list 'Empty,Lost'. Valid states are: Dead, Empty, Stable",
            "--list --verbose": "--verbose can only be used with --describe.",
            "--delete --group g --topic t": "--topic can only be used with --reset-offsets or --delete-offsets.",
            "--reset-offsets --group g --topic t --to-latest": "takes the option: [execute] or [dry-run]",
            "--reset-offsets --group g --topic t --execute --to-latest --to-earliest": "can't be used with option",
            "--reset-offsets --group g --to-latest --dry-run": "of these options: [all-topics], [from-file], [topic]",
            "--reset-offsets --group g --topic t --dry-run": (
                "[from-file], [to-current], [to-datetime], [to-earliest], [to-latest], [to-offset]"
            ),
            "--reset-offsets --group g --topic t --from-file plan.csv --dry-run": (
                'Option "[topic]" can\'t be used with option "[from-file]"'
            ),
            "--reset-offsets --group g --topic t --to-current --dry-run --export -o csv": "-o cannot be used with",
            "--describe --group g --export": "--export can only be used with --reset-offsets.",
            "--delete-offsets --group g": "Option [delete-offsets] takes the following options: [group], [topic]",
        },
    )
