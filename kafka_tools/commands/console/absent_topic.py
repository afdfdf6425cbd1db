"""Reports a topic that kafka-console-consumer creates by reading it, as Kafka's does: its name may be misspelt."""

from __future__ import annotations

from collections.abc import Collection

from kafka_tools.clock import Deadline
from kafka_tools.commands import running
from kafka_tools.errors import NetworkError
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.protocol import error_codes


class AbsentTopic:
    """``topic``: None if no topic can be created. ``exchange``: the consumer's own connections."""

    def __init__(self, exchange: Exchange, topic: str | None) -> None:
        self._exchange = exchange
        self._topic = topic
        self._is_absent = False

    def look(self) -> None:
        """Warn about a missing topic, before the consumer requests it. Raises BrokerError.

        If no broker responds, nothing is printed: the consumer waits longer, and reports the error.
        """
        if self._topic is None:
            return
        cluster = ClusterMetadata(self._exchange)  # one that creates nothing
        cluster.add(self._topic)
        try:
            cluster.refresh(Deadline(self._exchange.clock, self._exchange.config.number("request.timeout.ms") / 1000))
        except NetworkError:
            return
        found = cluster.topics.get(self._topic)
        self._is_absent = found is not None and found.error == error_codes.UNKNOWN_TOPIC_OR_PARTITION
        if self._is_absent:
            running.note(
                f"warning: topic '{self._topic}' does not exist. Brokers with auto.create.topics.enable create it when "
                "it is read. If the name is misspelt, delete the topic with kafka-topics --delete. To prevent this, "
                "pass --command-property allow.auto.create.topics=false"
            )

    def tell(self, unknown: Collection[str]) -> None:
        """Report the created topic, after the consumer's request. ``unknown``: topics that brokers still do not
        know."""
        if self._is_absent and self._topic not in unknown:
            self._is_absent = False
            running.note(f"Topic '{self._topic}' was created, because this command reads it.")
