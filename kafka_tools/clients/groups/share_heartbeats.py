"""A member of a share group (KIP-932): the coordinator assigns partitions, which several members may have at once.

Nobody revokes anything before another member gets it, so there is nothing to reconcile or acknowledge. A state machine
without I/O. Follows ``ShareMembershipManager`` and ``ShareHeartbeatRequestManager`` of Kafka's Java client.
"""

from __future__ import annotations

from kafka_tools.clients.groups.heartbeats import MemberHeartbeats, MemberState
from kafka_tools.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest


class ShareHeartbeats(MemberHeartbeats[ShareGroupHeartbeatRequest]):
    """One member. ``target`` is what it may fetch now."""

    request_class = ShareGroupHeartbeatRequest
    unsupported = "the brokers have no share groups: they need Kafka 4.1 or later and the feature share.version=1"

    def _heartbeat(self, everything: bool) -> ShareGroupHeartbeatRequest:
        request = ShareGroupHeartbeatRequest(group_id=self.group_id, member_id=self.member_id, member_epoch=self.epoch)
        if self.epoch < 0:
            return request
        if everything:
            request.rack_id = self.settings.client_rack or None
        if self._changed("topics", self.topics, everything):
            request.subscribed_topic_names = list(self.topics)
        return request

    def _on_target(self) -> None:
        self.state = MemberState.STABLE

    def _acknowledged(self) -> None:
        """Only consumer groups acknowledge an assignment."""
