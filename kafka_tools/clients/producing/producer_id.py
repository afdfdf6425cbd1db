"""The id and epoch under which an idempotent producer numbers its batches (KIP-98): asked for once, by one request.

Follows ``InitProducerIdHandler`` of Kafka's Java client, for producers without a transactional id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.clients.producing.batch import ProducerIdentity
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.clock import Deadline
from kafka_tools.errors import NetworkError
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest

if TYPE_CHECKING:
    from kafka_tools.net.connection import Pending


class ProducerId:
    """``identity`` is None while it is not known."""

    def __init__(self, settings: ProducerSettings, exchange: Exchange, metadata: ClusterMetadata) -> None:
        self.identity: ProducerIdentity | None = None
        self.asking: Pending | None = None
        """The request in progress."""
        self._settings = settings
        self._exchange = exchange
        self._metadata = metadata
        self._retry_at_s = 0.0

    def forget(self) -> None:
        """The id cannot be used for more batches: another one is asked for."""
        self.identity = None

    def advance(self, now_s: float) -> float:
        """Ask, or take the response. Returns the seconds until the next attempt; infinity while a request is in
        progress. Raises BrokerError for a refusal that no retry mends."""
        if self.asking is not None and self.asking.done:
            answered, self.asking = self.asking, None
            self._retry_at_s = now_s + self._settings.retry_backoff_ms / 1000
            self._take(answered)
        if self.identity is None and self.asking is None and now_s >= self._retry_at_s:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)
            timeout_s = self._settings.request_timeout_ms / 1000
            node = self._metadata.next_node(timeout_s)
            self.asking = self._exchange.send(node, request, Deadline(self._exchange.clock, timeout_s))
        return float("inf") if self.asking is not None else max(0.0, self._retry_at_s - now_s)

    def _take(self, answered: Pending) -> None:
        if answered.error is not None:
            if isinstance(answered.error, NetworkError):
                return  # asked again; until then the batches wait, at most for their delivery timeout
            raise answered.error
        row = error_codes.error(answered.response.error_code)
        if row.code and not row.retriable:
            raise refused(InitProducerIdRequest, row.code, "asking for a producer id", hint=_HINTS.get(row.code))
        if not row.code:
            self.identity = ProducerIdentity(answered.response.producer_id, answered.response.producer_epoch)


_HINTS = {
    error_codes.CLUSTER_AUTHORIZATION_FAILED: (
        "before Kafka 2.8, an idempotent producer needs IdempotentWrite on the cluster: grant it, or set "
        "enable.idempotence=false"
    )
}
