"""Names of the internal topics of Kafka Streams."""

from __future__ import annotations

import re

_INTERNAL = re.compile(
    r".*(?:-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic"
    r"|.-KTABLE-FK-JOIN-SUBSCRIPTION-(?:REGISTRATION|RESPONSE)-[0-9]+-topic)",
    re.DOTALL,
)
"""StreamsResetter.matchesInternalTopicFormat. The last forms are those of foreign-key joins."""


def is_internal(topic: str, application: str) -> bool:
    """Whether the topic is an internal topic of the application with this id."""
    return topic.startswith(f"{application}-") and _INTERNAL.fullmatch(topic) is not None
