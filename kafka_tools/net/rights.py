"""Refusals for want of rights name the right that is missing: the definition of each request says what it takes.

The error code of a refusal tells which kind of resource was in the way.
"""

from __future__ import annotations

from kafka_tools.errors import AuthorizationFailed, BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Request

KINDS = {
    error_codes.TOPIC_AUTHORIZATION_FAILED: "topic",
    error_codes.GROUP_AUTHORIZATION_FAILED: "group",
    error_codes.CLUSTER_AUTHORIZATION_FAILED: "cluster",
    error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional id",
    error_codes.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "delegation token",
}
"""Error code -> the kind of resource that the caller may not use, as definitions name it in ``rights``."""


def needed(request: Request | type[Request], code: int) -> str | None:
    """The right that was missing for a request with error ``code``: ``Delete on the topic``; None where none was."""
    kind = KINDS.get(code)
    found = request.RIGHTS.get(kind or "")
    if found is None:
        return None
    return found if " on " in found else f"{found} on the {kind}"


def with_right(text: str, request: Request | type[Request], code: int) -> str:
    """The text of a refusal with the right that the request takes, where one is missing."""
    right = needed(request, code)
    return text if right is None or right in text else f"{text} (requires {right})"


def refused(
    request: Request | type[Request], code: int, about: str, message: str | None = None, *, hint: str | None = None
) -> BrokerError:
    """The refusal of a request, with the right that is missing, if one is; ``about``: what the request was about."""
    row = error_codes.error(code)
    return BrokerError(row, f"{with_right(message or row.text, request, code)} ({about})", hint=hint)


def name_what_is_missing(error: Exception, request: Request | type[Request]) -> None:
    """Add to a refusal for want of rights which right the request takes; leaves other errors alone."""
    if isinstance(error, AuthorizationFailed):
        error.args = (with_right(str(error), request, error.code.code),)
