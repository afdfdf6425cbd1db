"""A connection step by step: name, port, TLS and certificate, login, API versions, and the advertised addresses."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.clock import Clock
from kafka_tools.errors import AuthenticationFailed, KafkaToolsError, UnsupportedVersion
from kafka_tools.health.finding import counted
from kafka_tools.net.config import ClientConfig
from kafka_tools.shown_text import one_line
from kafka_tools.values import format_address

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

_SOON_DAYS = 14


class ConnectStep(NamedTuple):
    """One step and how it ended. ``ok`` is None for a step that succeeded with a warning."""

    name: str
    ok: bool | None
    text: str
    hint: str = ""


class Address(NamedTuple):
    """A bootstrap address, and how to connect to it alone."""

    host: str
    port: int
    admin: Callable[[str], AdminClient]
    """A client of one address."""

    def __str__(self) -> str:
        return format_address(self.host, self.port)


def steps(address: Address, config: ClientConfig, clock: Clock, limit_s: float) -> Iterator[ConnectStep]:
    """Try one bootstrap address. Ends after the first step that fails."""
    found = _resolved(address)
    yield found[0]
    if not found[1]:
        return
    sock, step = _connected(address, found[1], limit_s, clock)
    yield step
    if sock is None:
        return
    with sock:
        if config.security_protocol in ("SSL", "SASL_SSL"):
            step = _encrypted(sock, address, config, clock)
            yield step
            if step.ok is False:
                return
    yield from _spoken(address, config, limit_s, clock)


def _ms(clock: Clock, began_s: float) -> str:
    return f"{(clock.monotonic_s() - began_s) * 1000:.0f} ms"


def _resolved(address: Address) -> tuple[ConnectStep, list[tuple[int, tuple[Any, ...]]]]:
    try:
        infos = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "check the spelling, and the name service of this machine"
        return ConnectStep("name", False, f"{address.host}: {one_line(reason)}", hint), []
    found: list[tuple[int, tuple[Any, ...]]] = list(dict.fromkeys((family, place) for family, _, _, _, place in infos))
    shown = ", ".join(str(place[0]) for _, place in found[:4])
    return ConnectStep("name", True, f"{address.host} is {shown}"), found


def _connected(
    address: Address, places: list[tuple[int, tuple[Any, ...]]], limit_s: float, clock: Clock
) -> tuple[socket.socket | None, ConnectStep]:
    failed: list[str] = []
    for family, place in places:
        began_s = clock.monotonic_s()
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.settimeout(limit_s)
        try:
            sock.connect(place)
        except OSError as error:
            sock.close()
            reason = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
            failed.append(f"{place[0]}: {reason.lower()}")
            continue
        return sock, ConnectStep("port", True, f"{address} accepts connections ({_ms(clock, began_s)})")
    hint = "no process listens there: the broker is down, or has other listeners"
    if any("no answer" in each for each in failed):
        hint = "a firewall drops the packets, or the machine is down"
    return None, ConnectStep("port", False, f"{address}: {'; '.join(failed)}", hint)


def _encrypted(sock: socket.socket, address: Address, config: ClientConfig, clock: Clock) -> ConnectStep:
    from kafka_tools.net.tls import TlsStream, client_settings

    try:
        stream = TlsStream(sock, client_settings(config.values), address.host, str(address))
        stream.handshake()
    except KafkaToolsError as error:
        return ConnectStep("TLS", False, str(error), error.hint or "")
    except OSError as error:  # the time limit of the socket
        return ConnectStep(
            "TLS", False, f"{address}: no answer in the handshake ({error})", "check that the port speaks TLS"
        )
    version, suite = stream.chosen
    shown = f"{version}, {suite}"
    certificate = stream.socket.getpeercert() or {}
    ends = certificate.get("notAfter")
    if not isinstance(ends, str):
        return ConnectStep("TLS", True, shown)
    left_days = (datetime.strptime(f"{ends[:-4]} +0000", "%b %d %H:%M:%S %Y %z").timestamp() * 1000
                 - clock.now_ms()) / 86_400_000  # fmt: skip
    text = f"{shown}, certificate of {_subject(certificate)}, valid for {counted(int(left_days), 'day')}"
    if left_days < _SOON_DAYS:
        return ConnectStep("TLS", None, text, "renew the certificate of the broker")
    return ConnectStep("TLS", True, text)


def _subject(certificate: object) -> str:
    parts = certificate.get("subject", ()) if isinstance(certificate, dict) else ()
    names = [value for part in parts for key, value in part if key == "commonName"]
    return one_line(names[0]) if names else "no name"


def _spoken(address: Address, config: ClientConfig, limit_s: float, clock: Clock) -> Iterator[ConnectStep]:
    """The login and the first requests, then the advertised addresses."""
    logs_in = config.security_protocol.startswith("SASL")
    mechanism = config["sasl.mechanism"]
    began_s = clock.monotonic_s()
    with address.admin(str(address)) as admin:
        try:
            cluster = admin.describe_cluster(timeout_s=limit_s)
        except AuthenticationFailed as error:
            yield ConnectStep(
                "login", False, str(error), error.hint or "check the user, the password and sasl.mechanism"
            )
            return
        except KafkaToolsError as error:
            yield ConnectStep("login" if logs_in else "request", False, str(error), error.hint or "")
            return
        if logs_in:
            yield ConnectStep("login", True, f"{mechanism} ({_ms(clock, began_s)})")
        nodes = counted(len(cluster.nodes), "controller" if config.is_controllers else "broker")
        yield ConnectStep("request", True, f"cluster {cluster.cluster_id} of {nodes} ({_ms(clock, began_s)})")
        try:
            outcomes = admin.api_versions(timeout_s=limit_s)
        except UnsupportedVersion:
            return
        except KafkaToolsError as error:
            yield ConnectStep("advertised", False, str(error), error.hint or "")
            return
        for node, outcome in outcomes.items():
            place = f"{node.id} at {format_address(node.host, node.port)}"
            if outcome.error is None:
                yield ConnectStep("advertised", True, f"node {place} answers")
            else:
                hint = "clients connect to this address: correct advertised.listeners, or the network"
                yield ConnectStep("advertised", False, f"node {place}: {one_line(str(outcome.error))}", hint)
