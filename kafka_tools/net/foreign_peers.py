"""Errors for a peer that is not a Kafka node, or whose port uses TLS."""

from __future__ import annotations

from kafka_tools.errors import ConnectFailed, DecodeError


def explained(error: DecodeError, start: bytes, peer: str, is_new: bool) -> Exception:
    """The error for an impossible frame length; most often the peer uses another protocol.

    ``start`` is the frame's first bytes; ``is_new``: the peer sent no valid frame before.
    """
    if start[:1] == b"\x15" and start[1:2] == b"\x03":
        return ConnectFailed(
            f"{peer} answered with a TLS alert: this port speaks TLS",
            node=peer,
            hint="set security.protocol=SSL or SASL_SSL",
        )
    if start.startswith(b"HTTP"):
        return ConnectFailed(
            f"{peer} answered with HTTP: this is not a Kafka port",
            node=peer,
            hint="use the port of a Kafka listener (often 9092)",
        )
    if is_new:
        return ConnectFailed(
            f"{peer} does not answer as a Kafka node: {error}",
            node=peer,
            hint="check the port, and that security.protocol matches the listener",
        )
    return error
