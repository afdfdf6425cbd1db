"""A member of a consumer group on a broker in memory: what it says in a heartbeat, and what it has from the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.broker_embedded.memory_broker import MemoryBroker

REBALANCE_MS = 60_000
Owned = Mapping[str, Sequence[int]]


class ModernMember:
    """``join``, ``beat`` and ``leave`` send a heartbeat; ``epoch`` and ``assigned`` (by name) are what came back."""

    def __init__(self, broker: MemoryBroker, member_id: str, group: str = "g", instance: str | None = None) -> None:
        self.broker = broker
        self.id = member_id
        self.group = group
        self.instance = instance
        self.epoch = 0
        self.assigned: dict[str, list[int]] = {}

    def send(self, version: int = 1, **fields: Any) -> Any:
        """A heartbeat with these fields; the answer as it is."""
        topics = fields.pop("owned", None)
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.id,
            instance_id=self.instance,
            topic_partitions=None if topics is None else self._partitions(topics),
            **fields,
        )
        answer = self.broker.call(request, version)
        if not answer.error_code:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                found = answer.assignment.topic_partitions
                names = self.broker.core.cluster.topics_by_id
                self.assigned = {names[each.topic_id].name: list(each.partitions) for each in found}
        return answer

    def _partitions(self, topics: Owned) -> list[ConsumerGroupHeartbeatRequest.TopicPartitions]:
        ids = self.broker.core.cluster.topics
        return [
            ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=ids[name].id, partitions=list(numbers))
            for name, numbers in topics.items()
        ]

    def join(self, *topics: str, regex: str | None = None, **fields: Any) -> Any:
        return self.send(
            member_epoch=0,
            rebalance_timeout_ms=fields.pop("rebalance_timeout_ms", REBALANCE_MS),
            subscribed_topic_names=list(topics) if regex is None else None,
            subscribed_topic_regex=regex,
            owned={},
            **fields,
        )

    def beat(self, owned: Owned | None = None, **fields: Any) -> Any:
        """As a client whose partitions have not changed; ``owned`` says them."""
        return self.send(member_epoch=fields.pop("member_epoch", self.epoch), owned=owned, **fields)

    def leave(self, epoch: int = -1) -> Any:
        return self.send(member_epoch=epoch)


def settled(*members: ModernMember) -> None:
    """Let members give up and get partitions until nothing changes any more."""
    for _ in range(10):
        before = [(member.epoch, dict(member.assigned)) for member in members]
        for member in members:
            member.beat(member.assigned)
        if before == [(member.epoch, dict(member.assigned)) for member in members]:
            return
    raise AssertionError("the group does not settle")


def describe(broker: MemoryBroker, group: str = "g") -> Any:
    """The group as ConsumerGroupDescribe tells it."""
    (found,) = broker.call(ConsumerGroupDescribeRequest(group_ids=[group])).groups
    return found


def state(broker: MemoryBroker, group: str = "g") -> str:
    found = describe(broker, group)
    return str(found.group_state) if not found.error_code else str(codes.error(found.error_code))
