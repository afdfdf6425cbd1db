"""The stores in which logins are looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.security.delegation_tokens import DelegationTokens
    from kafka_tools.broker_embedded.security.scram_credentials import Credentials
    from kafka_tools.broker_embedded.timers import Timers


class LoginSources(NamedTuple):
    """The users of SCRAM, the delegation tokens, and the time."""

    credentials: Credentials
    tokens: DelegationTokens
    timers: Timers
