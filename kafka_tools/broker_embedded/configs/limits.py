"""Limits that no config of Kafka sets. Tests use smaller ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BrokerLimits:
    """The limits of one broker."""

    slice_s: float = 0.004
    """Maximum time of a slice before other work runs (``slices``)."""
    loaded_first_bytes: int = 512 * 1024
    """The bytes of the coordinators' logs that a start reads before it serves clients: a fraction of a second.

    Counted in bytes instead of time, so that a start is the same on a busy machine."""
    answering_s: float = 10.0
    """How long a broker answers after losing its metadata log, so that clients get errors before it stops."""
    handshake_s: float = 60.0
    """Maximum time of a TLS handshake, or ``connections.max.idle.ms`` if that is less. Kafka has only the latter."""
    silent_handshakes: int = 4000
    """Maximum TLS connections whose client has sent nothing: about 5 KiB each."""
    handshakes: int = 1000
    """Maximum TLS connections in a handshake: about 50 KiB each, nearly all in OpenSSL."""
    ended_connections: int = 1000
    """Each time so many connections have ended, free memory is returned to the system."""
