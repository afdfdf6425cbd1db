"""Where a client gets its OAUTHBEARER token: made from the login module's options (tests only), or read from a file.

``sasl.oauthbearer.token.endpoint.url=file:///path`` names a file, as in Kafka's ``JwtRetriever``s (KIP-768); it is read
anew for each connection, so that whoever renews it needs not tell us. No message here repeats a token.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from kafka_tools.clock import Clock
from kafka_tools.errors import ConfigError
from kafka_tools.net.config import ClientConfig

URL_KEY = "sasl.oauthbearer.token.endpoint.url"
MAX_TOKEN_BYTES = 256 * 1024

_TOKEN = re.compile(r"[-_~+/.a-zA-Z0-9]+=*", re.ASCII)


def token_for(config: ClientConfig, clock: Clock) -> str:
    """The token to log in with now. Raises ConfigError."""
    options = config.oauth_options()
    url = (config.get(URL_KEY) or "").strip()
    if not url:
        from kafka_tools.net.sasl.unsecured_jws import make_token

        return make_token(options, clock.now_ms())
    parts = urlsplit(url)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path:
        raise ConfigError(f"{URL_KEY}: only file:///path is supported here", hint="put the token into a file")
    return _from_file(unquote(parts.path))


def _from_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_TOKEN_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{URL_KEY}: cannot read {path}: {error.strerror or error}") from error
    token = raw.strip().decode("ascii", "replace")
    if len(raw) > MAX_TOKEN_BYTES or not _TOKEN.fullmatch(token):
        raise ConfigError(f"{URL_KEY}: {path} holds no token", hint="one line with the token is expected, nothing else")
    return token
