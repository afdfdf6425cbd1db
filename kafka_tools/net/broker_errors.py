"""From an error code of a response to the exception that stands for it.

The four families that callers tell apart by type are listed here; every other code is a plain BrokerError, which
still knows whether a retry may help.
"""

from __future__ import annotations

from kafka_tools.errors import AlreadyExists, AuthorizationFailed, BrokerError, InvalidRequest, NotFound
from kafka_tools.protocol import error_codes

_AUTHORIZATION = frozenset({29, 30, 31, 53, 64, 65})
_NOT_FOUND = frozenset({3, 57, 62, 69, 72, 91, 100, 102, 105, 116, 127})
_EXISTS = frozenset({36, 92, 101, 126})
_HINTS = {
    error_codes.MISMATCHED_ENDPOINT_TYPE: (
        "give addresses of brokers to --bootstrap-server, and addresses of controllers to --bootstrap-controller"
    ),
}
"""What to do about errors that an operator cannot place."""
_INVALID = frozenset({17, 21, 24, 26, 37, 38, 39, 40, 42, 44, 50, 67, 82, 93, 95, 115, 119, 128})


def broker_error(code: int, message: str | None = None, *, hint: str | None = None) -> BrokerError:
    """The error of a code that is not 0, with the broker's own message if it sent one."""
    row = error_codes.error(code)
    hint = hint or _HINTS.get(code)
    if code in _AUTHORIZATION:
        return AuthorizationFailed(row, message, hint=hint)
    if code in _NOT_FOUND:
        return NotFound(row, message, hint=hint)
    if code in _EXISTS:
        return AlreadyExists(row, message, hint=hint)
    if code in _INVALID:
        return InvalidRequest(row, message, hint=hint)
    return BrokerError(row, message, hint=hint)


def error_of(code: int, message: str | None = None) -> BrokerError | None:
    """None for success, else the error."""
    return None if code == error_codes.NONE else broker_error(code, message or None)


def has_code(error: BaseException | None, code: int) -> bool:
    """Whether an error is the broker's with this code."""
    return isinstance(error, BrokerError) and error.code.code == code
