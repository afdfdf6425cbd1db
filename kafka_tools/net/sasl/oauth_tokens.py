"""Where a client gets its OAUTHBEARER token: made from the login module's options (tests only), a file, a provider.

``sasl.oauthbearer.token.endpoint.url`` names it, as for Kafka's ``JwtRetriever``s (KIP-768): ``https://`` an identity
provider, ``file://`` a file, which is read anew for each connection, so that whoever renews it needs not tell us. No
message here repeats a token.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, urlsplit

from kafka_tools.clock import Clock
from kafka_tools.errors import ConfigError
from kafka_tools.net.config import ClientConfig

URL_KEY = "sasl.oauthbearer.token.endpoint.url"
MAX_TOKEN_BYTES = 256 * 1024
_USED_SHARE = 0.8
"""Of a token's life; then a new one is fetched (sasl.login.refresh.window.factor of Kafka)."""

_TOKEN = re.compile(r"[-_~+/.a-zA-Z0-9]+=*", re.ASCII)


class Tokens:
    """The tokens of one client; one from an identity provider is kept until most of its life is over."""

    def __init__(self, config: ClientConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._kept = ""
        self._good_until_s = 0.0

    def token(self) -> str:
        """The token to log in with now. Raises ConfigError, and AuthenticationFailed if a provider gives none."""
        options = self._config.oauth_options()
        url = self._config[URL_KEY].strip()
        if not url:
            from kafka_tools.net.sasl.unsecured_jws import make_token

            return make_token(options, self._clock.now_ms())
        parts = urlsplit(url)
        if parts.scheme in ("https", "http") and parts.hostname:
            return self._from_provider(parts)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path:
            raise ConfigError(f"{URL_KEY}: https://host/path or file:///path is expected")
        return _from_file(unquote(parts.path))

    def _from_provider(self, url: SplitResult) -> str:
        from kafka_tools.net.sasl.oauth_http import fetch_token

        now_s = self._clock.monotonic_s()
        if now_s >= self._good_until_s:
            found = fetch_token(self._config, url, self._clock.sleep)
            self._kept = _checked(found.token, url.netloc)
            self._good_until_s = now_s + found.lifetime_s * _USED_SHARE
        return self._kept


def _from_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_TOKEN_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{URL_KEY}: cannot read {path}: {error.strerror or error}") from error
    return _checked(raw.strip().decode("ascii", "replace") if len(raw) <= MAX_TOKEN_BYTES else "", path)


def _checked(token: str, source: str) -> str:
    if not _TOKEN.fullmatch(token):
        raise ConfigError(
            f"{URL_KEY}: {source} holds no token", hint="one line with the token is expected, nothing else"
        )
    return token
