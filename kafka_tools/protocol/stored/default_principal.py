"""A principal as brokers send it to the controller (KIP-590)."""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, boolean, string


class DefaultPrincipalData(Stored, versions="0", flexible="0+"):
    """Type and name of a principal."""

    type = string()
    name = string()
    token_authenticated = boolean()
