"""The time at which a token is renewed, as in Kafka's ``ExpiringCredentialRefreshingLogin``, without its thread.

A client that logs in after ``refresh_at_ms`` gets a new token first.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_tools.net.config import ClientConfig

_PREFIX = "sasl.login.refresh."
_MOST_S = 1e11


class RefreshWindow(NamedTuple):
    """``sasl.login.refresh.*``: parts of a token's lifetime, and seconds."""

    factor: float = 0.8
    jitter: float = 0.05
    min_period_s: int = 60
    buffer_s: int = 300

    @classmethod
    def of(cls, config: ClientConfig) -> RefreshWindow:
        return cls(
            config.fraction(f"{_PREFIX}window.factor"),
            config.fraction(f"{_PREFIX}window.jitter"),
            config.number(f"{_PREFIX}min.period.seconds"),
            config.number(f"{_PREFIX}buffer.seconds"),
        )


def seconds(value: object) -> float:
    """A number of seconds from another program; ValueError or TypeError for an invalid number."""
    number = float(value)  # type: ignore[arg-type]
    if not abs(number) < _MOST_S:
        raise ValueError("no time")
    return number


def refresh_at_ms(start_ms: int, expires_ms: int, now_ms: int, window: RefreshWindow, luck: float) -> int:
    """The time from which a token is renewed; ``luck``, 0 to 1, spreads the renewals of many clients.

    It is after ``factor`` of the lifetime, plus up to ``jitter``. It is at least ``buffer`` before the end and
    ``min_period`` from now, unless the rest of the lifetime is too short for both.
    """
    proposed_ms = start_ms + int((expires_ms - start_ms) * (window.factor + window.jitter * luck))
    min_period_ms, buffer_ms = window.min_period_s * 1000, window.buffer_s * 1000
    if now_ms + min_period_ms + buffer_ms > expires_ms:
        return proposed_ms
    return max(min(proposed_ms, expires_ms - buffer_ms), now_ms + min_period_ms)
