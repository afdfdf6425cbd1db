"""The tables that are Kafka's own are what the jars of its releases say (``python -m tests.regen release``)."""

from __future__ import annotations

import pytest

from kafka_tools.protocol.fields import AS_IT_IS, NO_VERSIONS
from kafka_tools.protocol.messages.delete_records import DeleteRecordsResponse
from kafka_tools.protocol.messages.end_txn import EndTxnRequest
from kafka_tools.protocol.messages.produce import ProduceResponse
from tests.against_kafka.jars import BEFORE, NEWEST
from tests.releases import decisions, facts, tables


@pytest.mark.parametrize("release", [NEWEST, BEFORE, "3.9.2"])
def test_a_release_that_was_followed_changes_nothing(release: str) -> None:
    assert [path.name for path, _ in tables.changes(facts.of(release))] == []


def test_of_the_newest_release_nothing_is_left_to_decide() -> None:
    """But for the texts of help pages: ours are written in our own words."""
    said = facts.of(NEWEST)
    assert {each.what: list(each.decisions(said)) for each in decisions.QUESTIONS} == {
        each.what: [] for each in decisions.QUESTIONS
    }


def test_a_fact_that_a_definition_lacks_is_named_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProduceResponse, "THROTTLES", NO_VERSIONS)
    monkeypatch.setattr(EndTxnRequest, "RIGHTS", {})
    monkeypatch.setattr(DeleteRecordsResponse.TopicResult.PartitionResult.FIELDS[1], "on_error", AS_IT_IS)
    said = facts.of(NEWEST)
    listed = dict([*decisions.of_rights(said), *decisions.of_versions(said)])
    folder = "kafka_tools/protocol/messages"
    assert listed.keys() == {f"{folder}/produce.py", f"{folder}/end_txn.py"}
    assert "Kafka's client waits after a throttled answer of v6, v7," in listed[f"{folder}/produce.py"]
    right = 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED without the right in `rights={"transactional id": ...}`'
    assert listed[f"{folder}/end_txn.py"] == f"EndTxn: {right}"
    shapes = dict(decisions.of_error_replies(said))
    assert list(shapes) == [f"{folder}/delete_records.py"]
    assert "topics.partitions.low_watermark is 0, Kafka's -1" in shapes[f"{folder}/delete_records.py"]
