"""What else may listen on a port that was taken for a Kafka node's."""

from __future__ import annotations

from kafka_tools.errors import ConnectFailed, DecodeError


def explained(error: DecodeError, start: bytes, peer: str, is_new: bool) -> Exception:
    """The error for a frame length that cannot be, most often another protocol's.

    ``start`` is the frame's first bytes; ``is_new``: nothing of the peer was understood before.
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
            hint="check the port, and that security.protocol is that of the listener",
        )
    return error
