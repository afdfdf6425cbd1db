"""kafka-topics: what is shown when the cluster does not tell everything."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_tools.admin.client import PartitionDescription, Reassignment, TopicDescription
from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.commands.topics import rows
from kafka_tools.errors import DeadlineExceeded
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.output.rows import Rows
from kafka_tools.protocol import error_codes
from kafka_tools.values import TopicPartition

UNDER_REPLICATED = ["under_replicated_partitions"]


def admin(moving: dict[TopicPartition, Reassignment] | Exception, replicas: tuple[int, ...] = (2, 3, 1)) -> Any:
    """An admin client whose topic t has one partition with brokers 1 and 2 in sync."""
    partition = PartitionDescription(0, 1, 0, replicas, (1, 2), (), None, None)
    topic = TopicDescription("t", uuid.UUID(int=0), False, (partition,), None)

    def list_partition_reassignments(**_: object) -> dict[TopicPartition, Reassignment]:
        if isinstance(moving, Exception):
            raise moving
        return moving

    return SimpleNamespace(
        describe_topics=lambda keys, page_size: Outcomes([("t", Outcome(topic))]),
        list_partition_reassignments=list_partition_reassignments,
        deadline=lambda: SimpleNamespace(left_s=lambda: 30.0),
    )


def shown(client: Any) -> Rows:
    return rows.describe(client, client.describe_topics(["t"], page_size=None), UNDER_REPLICATED)


def test_a_replica_on_its_way_is_not_missing() -> None:
    moving = {TopicPartition("t", 0): Reassignment((2, 3, 1), (3,), (1,))}
    (row,) = shown(admin(moving)).rows
    assert (row["replication_factor"], row["partitions"]) == (2, [])


def test_a_reassignment_that_has_ended_meanwhile_does_not_count() -> None:
    moving = {TopicPartition("t", 0): Reassignment((2, 3, 1), (3,), (1,))}
    (row,) = shown(admin(moving, replicas=(2, 4, 5))).rows
    assert row["replication_factor"] == 3
    assert len(row["partitions"]) == 1


def test_topics_are_shown_while_no_controller_tells_of_reassignments() -> None:
    result = shown(admin(DeadlineExceeded("no controller")))
    (row,) = result.rows
    assert row["partitions"][0]["replicas"] == [2, 3, 1]
    assert [(error.item, error.message) for error in result.errors] == [("reassignments in progress", "no controller")]


def test_who_may_not_see_reassignments_is_told_so_and_sees_the_topics(capsys: pytest.CaptureFixture[str]) -> None:
    denied = broker_error(error_codes.CLUSTER_AUTHORIZATION_FAILED)
    result = shown(admin(denied))
    (row,) = result.rows
    assert row["partitions"][0]["replicas"] == [2, 3, 1]
    assert result.errors == []
    assert capsys.readouterr().err == (
        "warning: reassignments in progress are not shown, because that needs Describe on the cluster; the "
        "replicas that they add count as missing\n"
    )


def test_a_cluster_in_which_all_is_in_sync_is_not_asked_for_reassignments() -> None:
    result = shown(admin(AssertionError("asked"), replicas=(1, 2)))
    assert [row["partitions"] for row in result.rows] == [[]]
