"""Groups as rows: what is listed, what an unknown state becomes, and errors of single partitions and groups."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_tools.admin.calls.groups import GroupDescription, GroupListing
from kafka_tools.admin.calls.offsets import CommittedOffset, ListedOffset
from kafka_tools.admin.client import AdminClient
from kafka_tools.admin.outcomes import Listing, Outcome, Outcomes
from kafka_tools.commands.groups import rows as group_rows
from kafka_tools.errors import BrokerError, EncodeError
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import encode
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.values import Node, TopicPartition

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def refused(code: int) -> BrokerError:
    return BrokerError(error_codes.error(code))


def listed(*groups: GroupListing) -> list[tuple[str, str, str]]:
    admin: Any = SimpleNamespace(list_groups=lambda states, types: Listing(groups))
    return [(row["group"], row["type"], row["state"]) for row in group_rows.list_groups(admin, [], []).rows]


def group(state: str) -> GroupDescription:
    return GroupDescription("g", "classic", "consumer", "", state, Node(1, "localhost", 9092), ())


@pytest.mark.req("CG-3")
def test_consumer_groups_and_groups_with_offsets_only_are_listed_and_no_others() -> None:
    found = listed(
        GroupListing("classic", "consumer", "Stable", "classic"),
        GroupListing("simple", "", "Empty", "classic"),
        GroupListing("connectors", "connect", "Stable", "classic"),
        GroupListing("registry", "sr", "Stable", None),
        GroupListing("old", "consumer", None, None),
        GroupListing("new", "consumer", "Stable", "consumer"),
        GroupListing("shared", "share", "Stable", "share"),
    )
    assert [name for name, *_ in found] == ["classic", "simple", "old", "new"]
    assert GroupListing("simple", "", "Empty", "classic").is_simple


@pytest.mark.req("CG-5")
@pytest.mark.parametrize(
    "told, shown",
    [
        *((state, state) for state in ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")),
        ("Assigning", "Assigning"),
        ("stable", "Stable"),
        ("Dreaming", "Unknown(Dreaming)"),
        ("", "Unknown"),
        (None, "Unknown"),
    ],
)
def test_a_state_that_nobody_knows_is_unknown(told: str | None, shown: str) -> None:
    assert listed(GroupListing("g", "consumer", told, "classic")) == [("g", "Classic", shown)]
    described = group_rows.states(SimpleNamespace(), [group(told or "")])  # type: ignore[arg-type]
    assert [row["state"] for row in described["g"][0]] == [shown]


@pytest.mark.req("CG-8")
def test_a_partition_that_cannot_be_told_is_reported_and_skipped() -> None:
    committed: Outcomes[TopicPartition, CommittedOffset | None] = Outcomes(
        {
            FIRST: Outcome(CommittedOffset(5)),
            SECOND: Outcome[CommittedOffset | None](None, refused(error_codes.TOPIC_AUTHORIZATION_FAILED)),
        }.items()
    )
    admin: Any = SimpleNamespace(
        list_groups_offsets=lambda wanted: Outcomes({name: Outcome(committed) for name in wanted}.items()),
        list_offsets=lambda specs: Outcomes({key: Outcome(ListedOffset(7, -1, None)) for key in specs}.items()),
    )
    rows, errors = group_rows.offsets(admin, [group("Empty")])["g"]
    assert [(row["partition"], row["current_offset"], row["lag"]) for row in rows] == [(0, 5, 2)]
    assert [(error.item, error.error) for error in errors] == [("orders-1", "TOPIC_AUTHORIZATION_FAILED")]


@pytest.mark.req("CG-9")
def test_a_group_id_may_be_empty_but_not_null() -> None:
    from kafka_tools.broker_embedded import EmbeddedBroker

    with pytest.raises(EncodeError):
        encode(DescribeGroupsRequest(groups=[None]), 5)  # type: ignore[list-item]
    with EmbeddedBroker() as broker:
        config = ClientConfig.load(bootstrap_servers=broker.bootstrap_servers)
        with AdminClient(config) as admin:
            error = admin.describe_groups([""])[""].error
    assert isinstance(error, BrokerError)  # the broker's answer, not a refusal to ask


@pytest.mark.req("CG-10")
@pytest.mark.parametrize("version", range(DescribeGroupsRequest.MIN_VERSION, DescribeGroupsRequest.MAX_VERSION + 1))
def test_a_request_that_fails_as_a_whole_is_an_error_for_each_group(version: int) -> None:
    code = error_codes.COORDINATOR_NOT_AVAILABLE
    reply = error_reply(DescribeGroupsRequest(groups=["a", "b"]), version, code)
    assert [(each.group_id, each.error_code, each.group_state) for each in reply.groups] == [
        ("a", code, ""),
        ("b", code, ""),
    ]
