"""The coordinator of a group as a client sees it: looked up when it is not known, forgotten when it has moved.

Follows ``CoordinatorRequestManager`` of Kafka's Java client.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_tools.clients.calls import Calls
from kafka_tools.clients.settings import ConsumerSettings
from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError, NetworkError
from kafka_tools.net.rights import refused
from kafka_tools.protocol.enums import CoordinatorType
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.net.connection import Pending
    from kafka_tools.net.versions import NodeVersions


class KnownCoordinator:
    """``node`` is None while it is not known. At most one look-up at a time, and none within ``retry.backoff.ms``."""

    def __init__(self, settings: ConsumerSettings, calls: Calls, clock: Clock, any_node: Callable[[], Node]) -> None:
        assert settings.group_id
        self.group_id = settings.group_id
        self.node: Node | None = None
        self._settings = settings
        self._calls = calls
        self._clock = clock
        self._any_node = any_node
        self._look_up_at_s = 0.0

    def find(self) -> None:
        """Start to look it up if it is not known."""
        if self.node is not None or self._calls.is_under_way("coordinator"):
            return
        if self._clock.monotonic_s() >= self._look_up_at_s:
            timeout_s = self._settings.request_timeout_ms / 1000
            self._calls.start("coordinator", self._any_node(), self._request, timeout_s, self._take)

    def wait_s(self) -> float:
        """Seconds until ``find`` may start a look-up; infinite while one is under way or none is needed."""
        if self.node is not None or self._calls.is_under_way("coordinator"):
            return float("inf")
        return max(0.0, self._look_up_at_s - self._clock.monotonic_s())

    def _request(self, versions: NodeVersions) -> FindCoordinatorRequest:
        if versions.newest(FindCoordinatorRequest) >= 4:
            return FindCoordinatorRequest(key_type=CoordinatorType.GROUP, coordinator_keys=[self.group_id])
        return FindCoordinatorRequest(key=self.group_id, key_type=CoordinatorType.GROUP)

    def _take(self, pending: Pending) -> None:
        self._look_up_at_s = self._clock.monotonic_s() + self._settings.retry_backoff_ms / 1000
        if pending.error is not None:
            if not isinstance(pending.error, NetworkError):
                raise pending.error
            return
        answer = pending.response
        if pending.version >= 4:
            if not answer.coordinators:
                raise KafkaToolsError(f"{pending.node} did not name the coordinator of group '{self.group_id}'")
            answer = answer.coordinators[0]
        if not answer.error_code:
            self.node = Node(answer.node_id, answer.host, answer.port)
            return
        about = f"coordinator of group '{self.group_id}'"
        error = refused(FindCoordinatorRequest, answer.error_code, about, answer.error_message)
        if not error.code.retriable:
            raise error
