"""The keys for signatures of OAUTHBEARER tokens, from a JWKS file or an identity provider.

A file is read again after it has changed. A provider (KIP-768, Kafka's ``RefreshingHttpsJwks``) gets a request at the
start, every ``sasl.oauthbearer.jwks.endpoint.refresh.ms``, and early for an unknown key id. Later requests run on a
separate thread, so that no client waits. If the provider does not respond, the known keys stay valid.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from kafka_tools.broker_embedded.security.signed_tokens import WebKey, parse_key_set
from kafka_tools.errors import ConfigError

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.timers import Timers

log = logging.getLogger(__name__)

MAX_DOCUMENT_BYTES = 1024 * 1024
EARLY_MS = 10_000
"""The minimum time before an early request for an unknown key id, so that unknown clients cannot cause many."""
_TIMEOUT_MS = 10_000


class Pace(NamedTuple):
    """The interval of requests to a provider, and the pauses between retries, in ms."""

    refresh_ms: int = 3_600_000
    backoff_ms: int = 100
    backoff_max_ms: int = 10_000


class FileKeys:
    """The keys of a file."""

    def __init__(self, path: str) -> None:
        """Raises ConfigError."""
        self._path = path
        self._stamp = self._look()
        self._keys = self._read()

    def current(self) -> Sequence[WebKey]:
        """The keys in the file; the last known keys if it cannot be read."""
        try:
            stamp = self._look()
            if stamp != self._stamp:
                self._keys, self._stamp = self._read(), stamp
        except ConfigError as error:
            log.error("%s; the known keys stay in use", error)
        return self._keys

    def missing(self, key_id: str) -> None:
        """Does nothing: ``current`` has just read the file."""

    def _look(self) -> tuple[int, int]:
        try:
            found = os.stat(self._path)
        except OSError as error:
            raise ConfigError(
                f"sasl.oauthbearer.jwks.endpoint.url: cannot read {self._path}: {error.strerror}"
            ) from error
        return found.st_mtime_ns, found.st_size

    def _read(self) -> list[WebKey]:
        try:
            with open(self._path, "rb") as file:
                data = file.read(MAX_DOCUMENT_BYTES + 1)
        except OSError as error:
            raise ConfigError(
                f"sasl.oauthbearer.jwks.endpoint.url: cannot read {self._path}: {error.strerror}"
            ) from error
        return _parsed(data, self._path)


class ProviderKeys:
    """The keys of a provider. ``fetch()`` requests them; it raises ConfigError or OSError."""

    def __init__(
        self,
        fetch: Callable[[], list[WebKey]],
        timers: Timers,
        pace: Pace,
        *,
        run: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        """Sends the first request. Raises the errors of ``fetch``. ``run``: runs work on another thread."""
        self._fetch = fetch
        self._timers = timers
        self._pace = pace
        self._run = run or _on_a_thread
        self._asking = threading.Lock()
        self._keys = fetch()
        self._asked_s = timers.clock.monotonic_s()
        self._wait()

    def current(self) -> Sequence[WebKey]:
        """The keys in the last response of the provider."""
        return self._keys

    def missing(self, key_id: str) -> None:
        """Request the keys again, unless the last request is less than ``EARLY_MS`` old."""
        if (self._timers.clock.monotonic_s() - self._asked_s) * 1000 >= EARLY_MS:
            log.info("a token names an unknown key: requesting the keys again")
            self._ask()

    def _wait(self) -> None:
        self._timers.call_later(self._pace.refresh_ms, self._due)

    def _due(self) -> None:
        self._ask()
        self._wait()

    def _ask(self) -> None:
        self._asked_s = self._timers.clock.monotonic_s()
        self._run(self._refresh)

    def _refresh(self) -> None:
        if not self._asking.acquire(blocking=False):
            return  # a request is already in progress
        try:
            self._keys = self._fetch()
        except (ConfigError, OSError) as error:
            log.error("cannot get keys from sasl.oauthbearer.jwks.endpoint.url: %s; the known keys stay in use", error)
        finally:
            self._asking.release()


def fetch_keys(
    url: SplitResult, options: Mapping[str, str], pace: Pace, sleep: Callable[[float], None]
) -> list[WebKey]:
    """The keys at an HTTP(S) URL; ``options`` may contain ``ssl.*`` settings. Raises ConfigError after retries."""
    from http.client import HTTPException

    left_ms, pause_ms = pace.backoff_max_ms, pace.backoff_ms
    while True:
        try:
            return _get(url, options)
        except (OSError, HTTPException) as error:
            if left_ms <= 0:
                said = getattr(error, "strerror", None) or str(error) or type(error).__name__
                raise ConfigError(
                    f"cannot get keys from {url.netloc}: {said}",
                    hint="check sasl.oauthbearer.jwks.endpoint.url, and the ssl.* options of the login module",
                ) from error
        pause_ms = min(pause_ms, left_ms)
        sleep(pause_ms / 1000)
        left_ms -= max(pause_ms, 1)
        pause_ms *= 2


def key_source(
    url: str, options: Mapping[str, str], pace: Pace, timers: Timers, sleep: Callable[[float], None]
) -> FileKeys | ProviderKeys:
    """The source of the keys of ``sasl.oauthbearer.jwks.endpoint.url``. Raises ConfigError."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return FileKeys(unquote(parts.path))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError("sasl.oauthbearer.jwks.endpoint.url: must be an https, http or file URL")
    return ProviderKeys(lambda: fetch_keys(parts, options, pace, sleep), timers, pace)


def _get(url: SplitResult, options: Mapping[str, str]) -> list[WebKey]:
    from http.client import HTTPConnection, HTTPException, HTTPSConnection

    assert url.hostname is not None
    connection: HTTPConnection
    if url.scheme == "http":
        connection = HTTPConnection(url.hostname, url.port, timeout=_TIMEOUT_MS / 1000)
    else:
        from kafka_tools.net.tls import client_settings

        context = client_settings(options).context
        connection = HTTPSConnection(url.hostname, url.port, timeout=_TIMEOUT_MS / 1000, context=context)
    try:
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        connection.request("GET", path, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        data = answer.read(MAX_DOCUMENT_BYTES + 1)
    finally:
        connection.close()
    if 400 <= answer.status < 500:
        raise ConfigError(f"cannot get keys from {url.netloc}: HTTP status {answer.status}")
    if answer.status != 200:
        raise HTTPException(f"HTTP status {answer.status}")
    return _parsed(data, url.netloc)


def _parsed(data: bytes, source: str) -> list[WebKey]:
    if len(data) > MAX_DOCUMENT_BYTES:
        raise ConfigError(f"{source}: the key set has more than {MAX_DOCUMENT_BYTES} bytes")
    return parse_key_set(data, source)


def _on_a_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="token keys", daemon=True).start()
