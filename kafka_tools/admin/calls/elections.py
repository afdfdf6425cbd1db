"""Leader elections (KIP-183, KIP-460): preferred leaders, and unclean elections if no in-sync replica is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin.calls.records import by_topic
from kafka_tools.admin.driver import ALL, AdminCall, Reply
from kafka_tools.admin.lookups import ControllerLookup
from kafka_tools.admin.outcomes import Outcome, Outcomes, answered
from kafka_tools.clock import Deadline
from kafka_tools.net.broker_errors import broker_error, error_of
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import ElectionType
from kafka_tools.protocol.schema import Request
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.elect_leaders import ElectLeadersResponse

PREFERRED, UNCLEAN = ElectionType.PREFERRED, ElectionType.UNCLEAN
Elected = Outcomes[TopicPartition, None]


class ElectLeaders(AdminCall[str, Elected, "ElectLeadersResponse"]):
    """An outcome per partition; for all partitions (None), only those that an election changed or failed for.

    One call for all partitions: the controller handles them together.
    """

    name = "elect leaders"
    lookup = ControllerLookup()

    kind: int
    partitions: Sequence[TopicPartition] | None

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.elect_leaders import ElectLeadersRequest

        versions.require(ElectLeadersRequest, 0, "electing leaders")
        if self.kind != PREFERRED:
            versions.require(ElectLeadersRequest, 1, "an unclean election")
        topics = None
        if self.partitions is not None:
            Topic = ElectLeadersRequest.TopicPartitions
            topics = [Topic(topic=name, partitions=numbers) for name, numbers in by_topic(self.partitions).items()]
        return ElectLeadersRequest(election_type=self.kind, topic_partitions=topics, timeout_ms=deadline.left_ms())

    def interpret(self, reply: Reply[str, Elected, ElectLeadersResponse]) -> None:
        if reply.response.error_code != error_codes.NONE:
            reply.settle(ALL, reply.response.error_code, None, Outcomes(()))
            return
        found: dict[TopicPartition, Outcome[None]] = {}
        for topic in reply.response.replica_election_results:
            for item in topic.partition_result:
                if item.error_code == error_codes.NOT_CONTROLLER:
                    reply.again[ALL] = broker_error(item.error_code)
                    return
                failure = error_of(item.error_code, item.error_message)
                found[TopicPartition(topic.topic, item.partition_id)] = Outcome(None, failure)
        wanted = sorted(found) if self.partitions is None else self.partitions
        reply.completed[ALL] = answered(wanted, found, reply.node)
