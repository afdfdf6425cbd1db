"""A principal as brokers send it to the controller (KIP-590)."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, boolean, string


class DefaultPrincipalData(Stored, versions="0", flexible="0+"):
    """The principal of a forwarded request.

    The broker that forwards a client's request puts it into Envelope. The controller authorises the request with it.
    """

    # User, unless a principal builder of the broker's chose another.
    type = string()
    # Name without its type, such as alice.
    name = string()
    # True after a login with a delegation token: such a client may not create tokens.
    token_authenticated = boolean()
