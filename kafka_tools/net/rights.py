"""Authorization errors name the missing right, from the definition of each request.

The error code determines the kind of resource.
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
"""Error code -> the kind of resource that the caller is not allowed to use, as in ``rights`` of definitions."""


def needed(request: Request | type[Request], code: int) -> str | None:
    """The missing right of a request with error ``code``: ``Delete on the topic``; None for other errors."""
    kind = KINDS.get(code)
    found = request.RIGHTS.get(kind or "")
    if found is None:
        return None
    return found if " on " in found else f"{found} on the {kind}"


def with_right(text: str, request: Request | type[Request], code: int) -> str:
    """The text of an error, with the right that the request requires if ``code`` is an authorization error."""
    right = needed(request, code)
    return text if right is None or right in text else f"{text} (requires {right})"


def refused(
    request: Request | type[Request], code: int, about: str, message: str | None = None, *, hint: str | None = None
) -> BrokerError:
    """The error of a request, with the missing right if there is one; ``about``: the request's subject."""
    row = error_codes.error(code)
    return BrokerError(row, f"{with_right(message or row.text, request, code)} ({about})", hint=hint)


def name_what_is_missing(error: Exception, request: Request | type[Request]) -> None:
    """Add the required right to an authorization error; leave other errors unchanged."""
    if isinstance(error, AuthorizationFailed):
        error.args = (with_right(str(error), request, error.code.code),)
