"""The output of Kafka's DelegationTokenCommand, except HMACs, which are passwords."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.output.cells import Row
from kafka_tools.output.kafka.text import pad
from kafka_tools.shown_text import MASK

_WIDTHS = (15, 30, 15, 15, 25, 15, 15, 15)
_TITLES = ("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")


def creating(renewers: Sequence[str], lifetime_ms: int) -> str:
    """The text before a token is created."""
    return f"Calling create token operation with renewers :{_listed(renewers)} , max-life-time-period :{lifetime_ms}\n"


def created(rows: Sequence[Row]) -> str:
    """The new token, which is one row, with its HMAC. This is the only time that it is shown."""
    return f"Created delegation token with tokenId : {rows[0]['token_id']}\n{_table(rows)}"


def describing(owners: Sequence[str]) -> str:
    """The text before tokens are described."""
    if not owners:
        return "Calling describe token operation for current user.\n"
    return f"Calling describe token operation for owners: {_listed(owners)}\n"


def described(rows: Sequence[Row]) -> str:
    """All tokens."""
    return f"Total number of tokens : {len(rows)}{_table(rows)}"


def prolonging(action: str, period_ms: int) -> str:
    """The text before a token is renewed or expired."""
    what = {"renew": "renew-time-period", "expire": "expire-time-period"}[action]
    return f"Calling {action} token operation with hmac :{MASK} , {what} :{period_ms}\n"


def prolonged(action: str, expires_ms: int) -> str:
    """The text after a token is renewed or expired."""
    return f"Completed {action} operation. New expiry date : {_minute(expires_ms)}\n"


def _table(rows: Sequence[Row]) -> str:
    text = f"\n{pad(_WIDTHS, _TITLES)}\n"
    for row in rows:
        requester = "" if row["requester"] is None else row["requester"]
        times = [_minute(row[name]) for name in ("issued_ms", "expires_ms", "max_ms")]
        first = (row["token_id"], row["hmac"], row["owner"], requester, _listed(row["renewers"]))
        text += f"\n{pad(_WIDTHS, (*first, *times))}\n"
    return text


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _minute(time_ms: int) -> str:
    """Local time, as in Kafka: 2026-01-31T17:05; the bare number outside the years that Python knows."""
    from datetime import datetime

    try:
        return datetime.fromtimestamp(time_ms / 1000).strftime("%Y-%m-%dT%H:%M")
    except (ValueError, OverflowError, OSError):
        return str(time_ms)
