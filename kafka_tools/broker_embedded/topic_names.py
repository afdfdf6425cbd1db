"""Which names a topic may have (``org.apache.kafka.common.internals.Topic``)."""

from __future__ import annotations

import re

from kafka_tools.broker_embedded.dispatch import refuse
from kafka_tools.protocol import error_codes

MAX_NAME_LENGTH = 249

_ALLOWED = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """BrokerError INVALID_TOPIC_EXCEPTION, with Kafka's text, for a name that no topic can have."""
    wrong = None
    if not name:
        wrong = "the empty string is not allowed"
    elif name in (".", ".."):
        wrong = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        wrong = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif not _ALLOWED.fullmatch(name):
        wrong = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    if wrong:
        raise refuse(error_codes.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {wrong}")
