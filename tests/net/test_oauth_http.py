"""Tokens from an identity provider: a real HTTPS server on loopback that answers as it is told."""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import trustme

from kafka_tools.clock import ManualClock
from kafka_tools.errors import AuthenticationFailed, ConfigError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.sasl.oauth.http import fetch_token
from kafka_tools.net.sasl.oauth.tokens import Tokens

SECRET = "planted:secret&more"


class Provider:
    """``answers``: (status, body) one after the other, the last one again and again. ``asked``: (headers, form)."""

    def __init__(self, folder: Path) -> None:
        self.answers: list[tuple[int, object]] = [(200, {"access_token": "eyJ.abc.def", "expires_in": 100})]
        self.asked: list[tuple[dict[str, str], dict[str, list[str]]]] = []
        self.drips = False
        """Answers byte after byte and never to the end."""
        self.idle = threading.Event()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                provider.asked.append((dict(self.headers), parse_qs(self.rfile.read(size).decode())))
                if provider.drips:
                    self._drip()
                    return
                status, body = provider.answers.pop(0) if len(provider.answers) > 1 else provider.answers[0]
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _drip(self) -> None:
                self.send_response(200)
                self.end_headers()
                with contextlib.suppress(OSError):
                    while provider.drips:
                        self.wfile.write(b" ")
                        provider.idle.wait(0.02)

            def log_message(self, *_: object) -> None:
                pass

        authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        self.ca = folder / "ca.pem"
        authority.cert_pem.write_to_path(self.ca)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://localhost:{self.server.server_address[1]}/oauth2/token?tenant=a"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def config(self, **changes: str) -> ClientConfig:
        values = {
            "bootstrap.servers": "a:1",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
            "sasl.oauthbearer.token.endpoint.url": self.url,
            "sasl.oauthbearer.client.credentials.client.id": "operator",
            "sasl.oauthbearer.client.credentials.client.secret": SECRET,
            "ssl.truststore.location": str(self.ca),
            "sasl.login.retry.backoff.max.ms": "1000",
        }
        return ClientConfig({**values, **{name.replace("__", "."): value for name, value in changes.items()}})


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    made = Provider(tmp_path_factory.mktemp("provider"))
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def provider(running: Provider) -> Provider:
    running.answers[:] = [(200, {"access_token": "eyJ.abc.def", "expires_in": 100})]
    running.asked.clear()
    return running


def fetch(config: ClientConfig, pauses: list[float] | None = None) -> str:
    url = urlsplit(config["sasl.oauthbearer.token.endpoint.url"])
    return fetch_token(config, url, (pauses if pauses is not None else []).append).token


def test_the_provider_is_asked_with_the_client_credentials(provider: Provider) -> None:
    assert fetch(provider.config(sasl__oauthbearer__scope="kafka read")) == "eyJ.abc.def"
    ((headers, form),) = provider.asked
    assert form == {"grant_type": ["client_credentials"], "scope": ["kafka read"]}
    assert headers["Authorization"] == "Basic " + base64.b64encode(f"operator:{SECRET}".encode()).decode()
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"


def test_options_of_the_login_module_will_do_and_may_be_encoded(provider: Provider) -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    older = f'{module} required clientId="an id" clientSecret="s&" scope="x";'
    config = provider.config(
        sasl__jaas__config=older,
        sasl__oauthbearer__header__urlencode="true",
        sasl__oauthbearer__client__credentials__client__id="",
        sasl__oauthbearer__client__credentials__client__secret="",
    )
    assert fetch(config) == "eyJ.abc.def"
    ((headers, form),) = provider.asked
    assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")) == b"an+id:s%26"
    assert form["scope"] == ["x"]


def test_a_token_is_kept_until_most_of_its_life_is_over(provider: Provider) -> None:
    clock = ManualClock()
    tokens = Tokens(provider.config(), clock)
    assert [tokens.token() for _ in range(3)] == ["eyJ.abc.def"] * 3
    assert len(provider.asked) == 1
    clock.advance(79)
    tokens.token()
    assert len(provider.asked) == 1
    clock.advance(6.1)
    tokens.token()
    assert len(provider.asked) == 2


@pytest.mark.req("OA-38")
def test_a_token_that_cannot_be_renewed_is_used_on_and_its_provider_asked_later(provider: Provider) -> None:
    clock = ManualClock()
    tokens = Tokens(provider.config(), clock)
    tokens.token()
    provider.answers[:] = [(401, {"error": "invalid_client"})]
    clock.advance(86)
    assert [tokens.token() for _ in range(3)] == ["eyJ.abc.def"] * 3
    assert len(provider.asked) == 2
    clock.advance(10)
    tokens.token()
    assert len(provider.asked) == 3
    clock.advance(5)
    with pytest.raises(AuthenticationFailed, match="invalid_client"):
        tokens.token()
    provider.answers[:] = [(200, {"access_token": "new"})]
    assert tokens.token() == "new"


def test_a_providers_own_error_is_tried_again_and_a_refusal_is_not(provider: Provider) -> None:
    provider.answers[:] = [(503, b""), (500, b"{}"), (200, {"id_token": "a.b."})]
    pauses: list[float] = []
    assert fetch(provider.config(), pauses) == "a.b."
    assert pauses == [0.1, 0.2]
    provider.answers[:] = [(401, {"error": "invalid_client", "error_description": SECRET})]
    provider.asked.clear()
    with pytest.raises(
        AuthenticationFailed, match=r"cannot get a token from localhost:\d+: HTTP status 401 \(invalid_client\)"
    ) as e:
        fetch(provider.config())
    assert "planted" not in str(e.value)
    assert len(provider.asked) == 1


def test_a_provider_that_stays_away_is_given_up(provider: Provider) -> None:
    provider.answers[:] = [(503, b"")]
    pauses: list[float] = []
    with pytest.raises(AuthenticationFailed, match="HTTP status 503"):
        fetch(provider.config(), pauses)
    assert sum(pauses) == pytest.approx(1.0)


def test_a_provider_that_never_comes_to_an_end_is_cut_off(provider: Provider) -> None:
    provider.drips = True
    try:
        with pytest.raises(AuthenticationFailed, match=r"no complete response within 1\.5 s"):
            fetch(provider.config(sasl__login__read__timeout__ms="1500", sasl__login__retry__backoff__max__ms="0"))
    finally:
        provider.drips = False


NO_TOKENS = [b"", b"[]", b"null", b'{"access_token": ""}', b'{"access_token": 5}', b"[" * 100_000, b"x" * (1 << 20)]


@pytest.mark.parametrize("body", NO_TOKENS, ids=range(len(NO_TOKENS)))
def test_an_answer_that_is_no_token_is_said(provider: Provider, body: bytes) -> None:
    provider.answers[:] = [(200, body)]
    with pytest.raises(AuthenticationFailed, match="not a JSON object with an access_token"):
        fetch(provider.config())


def test_a_provider_with_another_certificate_gets_no_secret(provider: Provider, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    with pytest.raises(AuthenticationFailed, match="certificate verify failed"):
        fetch(provider.config(ssl__truststore__location=str(other)))
    assert provider.asked == []


def test_what_is_missing_is_named(provider: Provider) -> None:
    with pytest.raises(ConfigError, match=r"client\.credentials\.client\.secret is not set"):
        fetch(provider.config(sasl__oauthbearer__client__credentials__client__secret=""))
    with pytest.raises(ConfigError, match=r"client\.credentials\.client\.secret is not UTF-8 text"):
        fetch(provider.config(sasl__oauthbearer__client__credentials__client__secret="s3cr\udcfcet"))
    with pytest.raises(ConfigError, match="https://host/path or file:///path"):
        Tokens(provider.config(sasl__oauthbearer__token__endpoint__url="ftp://x/y"), ManualClock()).token()
