"""Bounds that no config of Kafka sets. Tests pass smaller ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BrokerLimits:
    """The bounds of one broker."""

    slice_s: float = 0.004
    """How long work goes on before it lets others go (``slices``)."""
    loaded_first_bytes: int = 512 * 1024
    """How much of the coordinators' logs a start reads before it serves clients: a fraction of a second.

    Counted in bytes and not in time, so that a directory starts in the same way on a busy machine."""
    answering_s: float = 10.0
    """How long a broker that lost its metadata log still answers. Clients are told so, and not just disconnected."""
    handshake_s: float = 60.0
    """How long a TLS handshake may take; less if ``connections.max.idle.ms`` is, the only limit that Kafka has."""
    silent_handshakes: int = 4000
    """TLS connections whose client has sent nothing: about 5 KiB each."""
    handshakes: int = 1000
    """TLS connections in a handshake: about 50 KiB each, nearly all of it OpenSSL's."""
    ended_connections: int = 1000
    """After so many connections free memory goes back to the system."""
