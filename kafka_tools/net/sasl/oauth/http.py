"""An OAUTHBEARER token from an identity provider: the client credentials grant over HTTPS (RFC 6749, KIP-768).

It sends one POST and checks the provider's certificate with the ``ssl.*`` settings of the client. Temporary failures
(no connection, a server error) are retried for ``sasl.login.retry.backoff.max.ms``; a refusal is final. No message
repeats id, secret or token. Source: ``HttpJwtRetriever`` of Kafka.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple
from urllib.parse import SplitResult, quote_plus, urlencode

from kafka_tools.errors import AuthenticationFailed, ConfigError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.sasl.oauth.refresh import seconds
from kafka_tools.values import can_be_sent

_PREFIX = "sasl.oauthbearer."
MAX_ANSWER_BYTES = 1024 * 1024


class Fetched(NamedTuple):
    """A token, and its lifetime in seconds if the provider states it. Its ``repr`` hides the token."""

    token: str
    lifetime_s: float | None

    def __repr__(self) -> str:
        return f"Fetched(***, {self.lifetime_s})"


class _Refused(Exception):
    """The provider refuses to issue a token; retries do not help."""


def place(url: SplitResult) -> str:
    """Host and port of a URL, for messages, without the user and password that it may contain."""
    return f"{url.hostname}:{url.port}" if url.port else str(url.hostname)


def fetch_token(config: ClientConfig, url: SplitResult, sleep: Callable[[float], None]) -> Fetched:
    """Ask the provider at ``url``. Raises ConfigError for missing credentials, AuthenticationFailed for no token.

    ``sleep`` waits between attempts, for seconds.
    """
    headers, body = _request(config)
    backoff_s = config.number("sasl.login.retry.backoff.ms") / 1000
    left_s = config.number("sasl.login.retry.backoff.max.ms") / 1000
    while True:
        try:
            return _ask(config, url, headers, body)
        except _Refused as error:
            raise AuthenticationFailed(f"cannot get a token from {place(url)}: {error}") from error
        except (OSError, HTTPException) as error:
            if left_s <= 0:
                raise AuthenticationFailed(
                    f"cannot get a token from {place(url)}: {_said(error)}",
                    hint="check sasl.oauthbearer.token.endpoint.url and the ssl.* settings",
                ) from error
        pause_s = min(backoff_s, left_s)
        sleep(pause_s)
        left_s -= max(pause_s, 0.001)
        backoff_s *= 2


def _request(config: ClientConfig) -> tuple[dict[str, str], str]:
    options = config.oauth_options()
    names = {"client.id": "clientId", "client.secret": "clientSecret"}
    given = {}
    for name, option in names.items():
        given[name] = config[f"{_PREFIX}client.credentials.{name}"] or options.get(option) or ""
        if not given[name]:
            raise ConfigError(f"{_PREFIX}client.credentials.{name} is not set (nor {option} in sasl.jaas.config)")
        if not can_be_sent(given[name]):
            raise ConfigError(f"{_PREFIX}client.credentials.{name} is not UTF-8 text")
    if config[f"{_PREFIX}header.urlencode"].strip().lower() == "true":
        given = {name: quote_plus(value) for name, value in given.items()}
    pair = f"{given['client.id']}:{given['client.secret']}".encode()
    headers = {
        "Accept": "application/json",
        "Authorization": f"Basic {base64.b64encode(pair).decode('ascii')}",
        "Cache-Control": "no-cache",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    fields = {"grant_type": "client_credentials"}
    scope = config[f"{_PREFIX}scope"] or options.get("scope")
    if scope:
        fields["scope"] = scope
    return headers, urlencode(fields)


def _ask(config: ClientConfig, url: SplitResult, headers: dict[str, str], body: str) -> Fetched:
    connection = _connection(config, url)
    try:
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        connection.connect()
        with _ended_in_time(connection):
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            data = answer.read(MAX_ANSWER_BYTES + 1)
    finally:
        connection.close()
    if answer.status >= 500:
        raise HTTPException(f"HTTP status {answer.status}")
    if answer.status != 200:
        raise _Refused(f"HTTP status {answer.status}{_reason(data)}")
    return _parsed(data)


@contextmanager
def _ended_in_time(connection: HTTPConnection) -> Iterator[None]:
    """Shut the connection down after its timeout in total: a socket's own timeout restarts with every byte."""
    import socket
    import threading

    sock, is_late = connection.sock, threading.Event()

    def cut() -> None:
        is_late.set()
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)  # the reader still uses the TLS layer above

    timer = threading.Timer(connection.timeout or 0, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, HTTPException) as error:
        if is_late.is_set():
            raise HTTPException(f"no complete response within {connection.timeout:g} s") from error
        raise
    finally:
        timer.cancel()
    if is_late.is_set():
        raise HTTPException(f"no complete response within {connection.timeout:g} s")


def _connection(config: ClientConfig, url: SplitResult) -> HTTPConnection:
    timeout_s = config.number("sasl.login.read.timeout.ms") / 1000
    assert url.hostname is not None
    if url.scheme == "http":
        return HTTPConnection(url.hostname, url.port, timeout=timeout_s)
    from kafka_tools.net.tls import client_settings

    return HTTPSConnection(url.hostname, url.port, timeout=timeout_s, context=client_settings(config.values).context)


def _parsed(data: bytes) -> Fetched:
    try:
        if len(data) > MAX_ANSWER_BYTES:
            raise ValueError("too long")
        document = json.loads(data)
        token = document.get("access_token") or document["id_token"]
        stated = document.get("expires_in")
        lifetime_s = None if stated is None else seconds(stated)
        if not isinstance(token, str) or not token.strip():
            raise ValueError("no text")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _Refused("its response is not a JSON object with an access_token") from None
    return Fetched(token.strip(), lifetime_s)


def _reason(data: bytes) -> str:
    """The ``error`` in a refusal, if RFC 6749 defines it."""
    try:
        word = json.loads(data[:10_000]).get("error")
    except (ValueError, AttributeError, RecursionError):
        return ""
    known = ("invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type")
    return f" ({word})" if word in (*known, "invalid_scope") else ""


def _said(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
