"""Refusals: errors that become the answer to a request, with Kafka's own text where there is one.

Clients print the text, and operators search for it; ``protocol.error_codes`` has our sentences about the same codes.
"""

from __future__ import annotations

from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.primitives import MOST_STRING_BYTES, fitting

_TEXTS = {
    error_codes.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    error_codes.NOT_LEADER_OR_FOLLOWER: (
        "For requests intended only for the leader, this error indicates that the broker is not the current leader. "
        "For requests intended for any replica, this error indicates that the broker is not a replica of the topic "
        "partition."
    ),
    error_codes.INVALID_TOPIC_EXCEPTION: "The request attempted to perform an operation on an invalid topic.",
    error_codes.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    error_codes.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    error_codes.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    error_codes.INVALID_REQUEST: (
        "This most likely occurs because of a request being malformed by the client library or the message was sent to "
        "an incompatible broker. See the broker logs for more details."
    ),
}


def default_message(code: int) -> str:
    """Kafka's text for a code. KeyError for a code that this broker never sends without another text."""
    return _TEXTS[code]


def error_for(code: int, message: str | None = None) -> BrokerError:
    """The error that makes dispatch answer with ``code`` in every error field of the response."""
    return BrokerError(error_codes.error(code), None if message is None else cut_to_fit(message))


def cut_to_fit(text: str) -> str:
    """A text with names from a client, truncated to the length that an answer can contain."""
    return text if len(text.encode("utf-8", "surrogatepass")) <= MOST_STRING_BYTES else fitting(text, "...")


def default_error(code: int) -> BrokerError:
    """``error_for`` with Kafka's own text for the code."""
    return error_for(code, default_message(code))


def bad_request(message: str | None = None) -> BrokerError:
    """INVALID_REQUEST."""
    return error_for(error_codes.INVALID_REQUEST, message)


def bad_config(message: str) -> BrokerError:
    """INVALID_CONFIG."""
    return error_for(error_codes.INVALID_CONFIG, message)
