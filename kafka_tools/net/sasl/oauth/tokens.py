"""The OAUTHBEARER token of a client: from a provider, a file or a command, or created from options (tests only).

``sasl.oauthbearer.token.endpoint.url`` names provider or file, as for Kafka's ``JwtRetriever``s (KIP-768). A file is
read for each login, because another program may renew it. Kafka does not have ``sasl.oauthbearer.token.command``.
Tokens of providers and commands are kept, and renewed before they expire (``refresh``). No message here repeats a
token.
"""

from __future__ import annotations

import base64
import json
import re
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from kafka_tools.clock import Clock, Deadline
from kafka_tools.errors import AuthenticationFailed, ConfigError
from kafka_tools.given_files import read_given
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.sasl.oauth.refresh import RefreshWindow, refresh_at_ms, seconds

URL_KEY = "sasl.oauthbearer.token.endpoint.url"
COMMAND_KEY = "sasl.oauthbearer.token.command"
MAX_TOKEN_BYTES = 256 * 1024
PROVIDER_LIFETIME_S = 300.0
"""The lifetime assumed for a provider's token that states none."""
_RETRY_MS = 10_000
"""A token that could not be renewed remains in use; its source is asked again after this time (as in Kafka)."""

_TOKEN = re.compile(r"[-_~+/.a-zA-Z0-9]+=*", re.ASCII)


class _Kept(NamedTuple):
    token: str
    expires_ms: int
    refresh_ms: int


class Tokens:
    """The tokens of one client."""

    def __init__(self, config: ClientConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._kept: _Kept | None = None

    def token(self) -> str:
        """The token to log in with now. Raises ConfigError, and AuthenticationFailed if its source returns none."""
        options = self._config.oauth_options()
        url, command = self._config[URL_KEY].strip(), self._config[COMMAND_KEY].strip()
        if url and command:
            raise ConfigError(f"{URL_KEY} and {COMMAND_KEY} cannot be combined: set one of them")
        if command:
            return self._kept_or_new(None)
        if not url:
            from kafka_tools.net.sasl.unsecured_jws import make_token

            return make_token(options, self._clock.now_ms())
        try:
            parts = urlsplit(url)
            _ = parts.port  # raises ValueError if the port is not a number
        except ValueError:
            raise ConfigError(f"invalid {URL_KEY}: expected https://host/path or file:///path") from None
        if parts.scheme in ("https", "http") and parts.hostname:
            return self._kept_or_new(parts)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path:
            raise ConfigError(f"invalid {URL_KEY}: expected https://host/path or file:///path")
        return _from_file(unquote(parts.path))

    def extensions(self) -> dict[str, str]:
        """The SASL extensions that the login module's options declare (KIP-342)."""
        prefixes = ("extension_", "unsecuredLoginExtension_")
        return {
            name.removeprefix(prefix): value
            for name, value in self._config.oauth_options().items()
            for prefix in prefixes
            if name.startswith(prefix)
        }

    def _kept_or_new(self, url: SplitResult | None) -> str:
        """The kept token until it should be renewed; also later, while it is valid and its source returns no other."""
        kept, now_ms = self._kept, self._clock.now_ms()
        if kept is not None and now_ms < kept.refresh_ms:
            return kept.token
        try:
            token, lifetime_s = self._from_command() if url is None else self._from_provider(url)
        except (AuthenticationFailed, ConfigError):
            now_ms = self._clock.now_ms()
            if kept is None or now_ms >= kept.expires_ms:
                raise
            self._kept = kept._replace(refresh_ms=min(now_ms + _RETRY_MS, kept.expires_ms))
            return kept.token
        self._kept = self._to_keep(token, lifetime_s)
        return token

    def _to_keep(self, token: str, lifetime_s: float | None) -> _Kept | None:
        """The token with the times that it states itself, else with the times of its source; None without any times."""
        import random

        now_ms = self._clock.now_ms()
        start_ms, expires_ms = _stated_times(token)
        if expires_ms is None:
            if lifetime_s is None:
                return None
            start_ms, expires_ms = None, now_ms + int(lifetime_s * 1000)
        begins_ms = now_ms if start_ms is None else start_ms
        refresh_ms = refresh_at_ms(begins_ms, expires_ms, now_ms, RefreshWindow.of(self._config), random.random())
        return _Kept(token, expires_ms, refresh_ms)

    def _from_provider(self, url: SplitResult) -> tuple[str, float | None]:
        from kafka_tools.net.sasl.oauth.http import fetch_token, place

        found = fetch_token(self._config, url, self._clock.sleep)
        lifetime_s = PROVIDER_LIFETIME_S if found.lifetime_s is None else found.lifetime_s
        return _checked(found.token, f"{URL_KEY}: {place(url)}"), lifetime_s

    def _from_command(self) -> tuple[str, float | None]:
        from kafka_tools.net.sasl.oauth.command import command_words, run_command

        words = command_words(self._config[COMMAND_KEY])
        deadline = Deadline(self._clock, self._config.number("sasl.login.read.timeout.ms") / 1000)
        token, lifetime_s = run_command(words, deadline)
        return _checked(token, f"{COMMAND_KEY}: the output of {words[0]}"), lifetime_s


def _from_file(path: str) -> str:
    try:
        raw = read_given(path)
    except OSError as error:
        raise ConfigError(f"{URL_KEY}: cannot read {path}: {error.strerror or error}") from error
    return _checked(raw.strip().decode("ascii", "replace") if len(raw) <= MAX_TOKEN_BYTES else "", f"{URL_KEY}: {path}")


def _checked(token: str, source: str) -> str:
    if len(token) > MAX_TOKEN_BYTES or not _TOKEN.fullmatch(token):
        raise ConfigError(f"{source} contains no token", hint="write the token on one line, and nothing else")
    return token


def _stated_times(token: str) -> tuple[int | None, int | None]:
    """``iat`` and ``exp`` of a JSON web token, epoch ms; None where it states none, or is something else."""
    parts = token.split(".")
    if len(parts) != 3:
        return None, None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        expires_ms = int(seconds(claims["exp"]) * 1000)
        start = claims.get("iat")
        return None if start is None else int(seconds(start) * 1000), expires_ms
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, None
