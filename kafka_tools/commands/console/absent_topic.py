"""A topic that kafka-console-consumer creates by reading it, as Kafka's does: said, since the name may be misspelt."""

from __future__ import annotations

from collections.abc import Collection

from kafka_tools.clock import Deadline
from kafka_tools.commands import running
from kafka_tools.errors import NetworkError
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata
from kafka_tools.protocol import error_codes


class AbsentTopic:
    """``topic`` None: none can be created. ``exchange``: the consumer's own connections."""

    def __init__(self, exchange: Exchange, topic: str | None) -> None:
        self._exchange = exchange
        self._topic = topic
        self._is_absent = False

    def look(self) -> None:
        """Before the consumer asks for the topic: a warning where there is none. Raises BrokerError.

        Where no broker answers, nothing is known: the consumer tries longer, and says what is wrong.
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
                f"warning: topic '{self._topic}' does not exist: reading it creates it where brokers have "
                "auto.create.topics.enable; if the name is misspelt, delete it with kafka-topics --delete "
                "(--command-property allow.auto.create.topics=false creates none)"
            )

    def tell(self, unknown: Collection[str]) -> None:
        """Once the consumer has asked; ``unknown``: the topics that brokers still do not know."""
        if self._is_absent and self._topic not in unknown:
            self._is_absent = False
            running.note(f"Topic '{self._topic}' was created, because this command reads it.")
