"""kafka_tools.admin.AdminClient: a call raises when any key failed, outcomes per key on request."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_tools.admin import AdminClient, client
from kafka_tools.admin.client import AclBinding, AclFilter, ConfigChange, ConfigResource, NewTopic
from kafka_tools.admin.outcomes import Listing, Outcome, Outcomes
from kafka_tools.admin.raising import RaisingAdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.errors import AlreadyExists, BrokerError, NetworkError, PartialFailure
from kafka_tools.values import TopicPartition


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


def test_a_key_that_failed_is_raised(broker: EmbeddedBroker) -> None:
    with AdminClient(broker.bootstrap_servers) as admin:
        created = admin.create_topics([NewTopic("one", 2, 1)])
        assert created["one"].get().topic_id is not None
        with pytest.raises(AlreadyExists):
            admin.create_topics([NewTopic("two", 1, 1), NewTopic("one", 1, 1)])
        assert {"one", "two"} <= {listing.name for listing in admin.list_topics()}
        with pytest.raises(PartialFailure) as failed:
            admin.delete_topics(["none", "two", "no other"])
        assert [key for key, outcome in failed.value.outcomes.items() if outcome.error is None] == ["two"]


def test_a_part_of_a_key_that_failed_is_raised(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    there, gone = TopicPartition("parts", 0), TopicPartition("parts", 7)
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("parts", 1, 1)])
        admin.alter_groups_offsets({"a": {there: 0}, "b": {there: 0}})
        with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            admin.alter_groups_offsets({"a": {there: 0}, "b": {there: 0, gone: 0}})
        with pytest.raises(PartialFailure) as failed:
            admin.alter_groups_offsets({"a": {gone: 0}, "b": {gone: 0}, "c": {there: 0}})
        assert list(failed.value.outcomes.failures()) == ["a", "b"]
        assert not admin.outcomes.alter_groups_offsets({"a": {gone: 0}}).failures()

        bindings = [AclBinding("TOPIC", name, "LITERAL", "User:u", "*", "READ", "ALLOW") for name in ("t", "u")]
        error = NetworkError("not written")
        deleted = [(bindings[0], Outcome(None)), (bindings[1], Outcome(None, error))]
        monkeypatch.setattr(admin.outcomes, "delete_acls", lambda _: Outcomes([(AclFilter(), Outcome(deleted))]))
        with pytest.raises(NetworkError, match="not written"):
            admin.delete_acls([AclFilter()])


def test_outcomes_are_there_on_request(broker: EmbeddedBroker) -> None:
    with AdminClient({"bootstrap.servers": broker.bootstrap_servers}) as admin:
        ended = admin.outcomes.delete_topics(["none"])
        assert isinstance(ended["none"].error, BrokerError)
        assert admin.outcomes.cluster is admin.cluster


def test_what_a_call_asks_on_its_way_has_its_outcomes(broker: EmbeddedBroker) -> None:
    resource = ConfigResource("topic", "three")
    with AdminClient(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("three", 1, 1)])
        admin.alter_configs_incremental({resource: [ConfigChange("retention.ms", "set", "1000")]})
        with pytest.raises(BrokerError):
            admin.alter_configs_incremental({resource: [ConfigChange("retention.ms", "set", "soon")]})
        described = admin.describe_topics(["three"])
        assert len(described["three"].get().partitions) == 1


def test_a_listing_is_whole_or_raises(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    with AdminClient(broker.bootstrap_servers) as admin:
        monkeypatch.setattr(admin.outcomes, "list_groups", lambda: Listing([], [NetworkError("node 2 is away")]))
        assert admin.outcomes.list_groups() == []
        with pytest.raises(NetworkError, match="node 2 is away"):
            admin.list_groups()


def test_the_client_of_the_commands_keeps_failures_as_values(broker: EmbeddedBroker) -> None:
    with client.AdminClient(broker.bootstrap_servers) as admin:
        assert isinstance(admin.delete_topics(["none"])["none"].error, BrokerError)


def test_every_method_is_there() -> None:
    own = vars(RaisingAdminClient)
    for name in dir(client.AdminClient):
        assert name.startswith("_") or name in own, name
    assert issubclass(AdminClient, client.AdminClient)
    assert own["create_topics"].__doc__ == client.AdminClient.create_topics.__doc__
