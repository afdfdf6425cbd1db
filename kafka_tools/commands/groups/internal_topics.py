"""Topics that Kafka Streams makes for itself: which names say so."""

from __future__ import annotations

import re

_INTERNAL = re.compile(
    r".*(?:-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic"
    r"|.-KTABLE-FK-JOIN-SUBSCRIPTION-(?:REGISTRATION|RESPONSE)-[0-9]+-topic)",
    re.DOTALL,
)
"""StreamsResetter.matchesInternalTopicFormat; the last ones are those of foreign-key joins."""


def is_internal(topic: str, application: str) -> bool:
    """Whether the name says that the application with this id made the topic, for itself alone."""
    return topic.startswith(f"{application}-") and _INTERNAL.fullmatch(topic) is not None
