"""kafka-consumer-groups --all-groups where a broker cannot tell which groups it has."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from tests.commands.groups.scripted import Run, listing, runner, sent


def told(request: Any, version: int, node: Any) -> Any:
    if not isinstance(request, ListGroupsRequest):
        return None
    if node.id == 2:
        return error_reply(request, version, error_codes.CLUSTER_AUTHORIZATION_FAILED)
    return listing(node, "consumer", {"known": "Empty"})


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner("consumer-groups", told, capsys)


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        ("--describe --state", ""),
        ("--delete", "cannot delete "),
        ("--reset-offsets --topic t --to-earliest --execute", "cannot reset "),
        ("--reset-offsets --topic t --to-earliest --dry-run", "cannot reset "),
    ],
)
@pytest.mark.parametrize("form", ["", " -o json"])
def test_all_groups_are_not_all_where_a_broker_did_not_tell_its_own(run: Run, words: str, verb: str, form: str) -> None:
    (status, out, err), cluster = run(f"{words} --all-groups{form}")
    assert (status, "known" in out) == (1, True)
    assert f"kafka-consumer-groups: {verb}groups of " in err
    assert "CLUSTER_AUTHORIZATION_FAILED" in err
    assert ("groups of " in out) == bool(form)
    assert len(sent(cluster, DeleteGroupsRequest)) == words.count("--delete")
    assert len(sent(cluster, OffsetCommitRequest)) == words.count("--execute")
