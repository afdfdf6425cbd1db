"""OAUTHBEARER tokens with signatures: which are taken, where the keys come from, and a login with one.

The tokens are made with ``cryptography`` alone, so that who checks them and who makes them share no code.
"""

from __future__ import annotations

import base64
import json
import logging
import ssl
import threading
from collections.abc import Callable, Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.security.signed_tokens import Rules, SignedTokens, parse_key_set
from kafka_tools.broker_embedded.security.token_keys import EARLY_MS, FileKeys, Pace, ProviderKeys, fetch_keys
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import ManualClock
from kafka_tools.errors import ConfigError
from kafka_tools.net.sasl.oauthbearer import OAuthBearerClient, TokenRefused
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from tests.broker_embedded.wire_client import WireClient

NOW_S = 1_700_000_000
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
SIGNED = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
UNSECURED = (
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
)
CURVES: dict[str, ec.EllipticCurve] = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}
CURVE_OF = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
SIZES = {"P-256": 32, "P-384": 48, "P-521": 66}
HASHES: dict[str, Callable[[], hashes.HashAlgorithm]] = {
    "256": hashes.SHA256, "384": hashes.SHA384, "512": hashes.SHA512,
}  # fmt: skip


@cache
def rsa_key(name: str = "known", bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


@cache
def ec_key(curve: str) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(CURVES[curve])


def encoded(data: bytes | dict[str, Any]) -> str:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def number(value: int, size: int | None = None) -> str:
    return encoded(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def rsa_row(key: rsa.RSAPrivateKey | None = None, **fields: Any) -> dict[str, Any]:
    numbers = (key or rsa_key()).public_key().public_numbers()
    return {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e), "kid": "r", **fields}


def ec_row(curve: str, **fields: Any) -> dict[str, Any]:
    numbers = ec_key(curve).public_key().public_numbers()
    size = SIZES[curve]
    return {"kty": "EC", "crv": curve, "x": number(numbers.x, size), "y": number(numbers.y, size), "kid": curve,
            **fields}  # fmt: skip


def key_set(*rows: dict[str, Any]) -> bytes:
    return json.dumps({"keys": list(rows)}).encode()


@cache
def all_keys() -> bytes:
    return key_set(rsa_row(), *map(ec_row, CURVES))


def sign(algorithm: str, signed: bytes, key: rsa.RSAPrivateKey) -> bytes:
    if algorithm == "none":
        return b"x"
    digest = HASHES[algorithm[2:]]()
    if algorithm.startswith("ES"):
        curve = CURVE_OF[algorithm]
        r, s = decode_dss_signature(ec_key(curve).sign(signed, ec.ECDSA(digest)))
        return r.to_bytes(SIZES[curve], "big") + s.to_bytes(SIZES[curve], "big")
    if algorithm.startswith("PS"):
        return key.sign(signed, padding.PSS(padding.MGF1(digest), digest.digest_size), digest)
    return key.sign(signed, padding.PKCS1v15(), digest)


def token(
    algorithm: str = "RS256", header: dict[str, Any] | None = None, key: rsa.RSAPrivateKey | None = None,
    now_s: float = NOW_S, **claims: Any,
) -> str:  # fmt: skip
    """A token that is right but for what is given; a claim of None is left out."""
    values = {"sub": "alice", "iat": now_s, "exp": now_s + 300, **claims}
    kid = "r" if algorithm[:2] in ("RS", "PS") else CURVE_OF.get(algorithm)
    fields = {"alg": algorithm, "kid": kid, **(header or {})}
    signed = ".".join(
        encoded({name: value for name, value in part.items() if value is not None}) for part in (fields, values)
    )
    return f"{signed}.{encoded(sign(algorithm, signed.encode(), key or rsa_key()))}"


def written(header: str = "", claims: str = "", now_s: float = NOW_S) -> str:
    """A token with these members, as they are written, before those that it needs."""
    signed = ".".join((
        encoded(f'{{{header}"alg":"RS256","kid":"r"}}'.encode()),
        encoded(f'{{{claims}"iat":{now_s:.0f},"exp":{now_s + 300:.0f},"sub":"alice"}}'.encode()),
    ))  # fmt: skip
    return f"{signed}.{encoded(sign('RS256', signed.encode(), rsa_key()))}"


UNKNOWN_PARAMETERS: dict[str, Any] = {
    "nonce": "abc", "pi.atm": "1", "x5t": "abc", "x5t#S256": "abc", "jku": 7, "x5c": "no", "typ": 1,
    "zip": "DEF", "b64": True, "jwk": {"kty": "RSA"}, "url": "x" * 4000,
}  # fmt: skip


def judged(text: str, *, keys: bytes | None = None, now_s: float = NOW_S, **rules: Any) -> Any:
    found = parse_key_set(keys or all_keys(), "keys")
    return SignedTokens(Rules(**rules), lambda: found).validate(text, round(now_s * 1000))


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", *CURVE_OF])
def test_tokens_of_known_keys_are_taken(algorithm: str) -> None:
    found = judged(token(algorithm, scope=["read", " write "]))
    assert (found.principal, found.scope) == ("alice", {"read", "write"})
    assert (found.start_ms, found.expires_ms) == (NOW_S * 1000, (NOW_S + 300) * 1000)
    assert judged(token(algorithm, {"kid": None})).principal == "alice", "a token need not name its key"


@pytest.mark.parametrize("name", UNKNOWN_PARAMETERS)
def test_what_is_not_understood_in_a_header_is_ignored_unless_it_is_critical(name: str) -> None:
    assert judged(token(header={name: UNKNOWN_PARAMETERS[name]})).principal == "alice"
    critical = token(header={name: UNKNOWN_PARAMETERS[name], "crit": [name]})
    if name == "b64":  # true is what holds without it
        assert judged(critical).principal == "alice"
        return
    with pytest.raises(TokenRefused, match=r"extensions \(crit\) that are not supported"):
        judged(critical)


def test_header_and_claims_are_bounded_by_what_a_login_may_send() -> None:
    assert judged(token(header={"more": "x" * 100_000}, groups=["y" * 36] * 4000)).principal == "alice"
    with pytest.raises(TokenRefused, match="longer than 524288 characters"):
        judged(token(header={"more": "x" * 400_000}))


@pytest.mark.parametrize(
    ("subject", "principal"),
    [("\u00a0admin", "\u00a0admin"), ("admin\u2003", "admin\u2003"), (" \x1cadmin\t", "admin"), ("\u3000", "\u3000")],
)
def test_a_subject_is_cut_as_java_does_and_no_further(subject: str, principal: str) -> None:
    found = judged(token(sub=subject, scope=[subject]))
    assert (found.principal, found.scope) == (principal, {principal})


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: token(exp=None), "no expiration time"),
        (lambda: token(iat=None), "no issue time"),
        (lambda: token(iat=NOW_S - 60, exp=NOW_S - 30), "it expired"),
        (lambda: token(nbf=NOW_S + 31), "it is valid from"),
        (lambda: token(iat=NOW_S + 301), "expires before it was issued"),
        (lambda: token(exp="soon"), "its exp is not a time"),
        (lambda: token(exp=True), "its exp is not a time"),
        (lambda: token(exp=-5), "its exp is not a time"),
        (lambda: token(exp=float("inf")), "its payload is not JSON"),
        (lambda: written(claims='"sub":"admin",'), "a duplicate key"),
        (lambda: written(claims='"act":{"sub":"a","sub":"b"},'), "a duplicate key"),
        (lambda: written('"kid":"r",'), "a duplicate key"),
        (lambda: token(sub=None), "it has no subject"),
        (lambda: token(sub=" "), "it has no subject"),
        (lambda: token(sub=5), "it has no subject"),
        (lambda: token(scope=["a", "a"]), "an item twice"),
        (lambda: token(scope=[" "]), "empty or not a string"),
        (lambda: token(header={"kid": "other"}), "no key in the key set"),
        (lambda: token(header={"kid": 5}), "not a string"),
        (lambda: token(header={"cty": 5}), "not a string"),
        (lambda: token(header={"alg": None}), "names no algorithm"),
        (lambda: token(header={"crit": "b64"}), "extensions"),
        (lambda: token(header={"b64": False}), "must be encoded"),
        (lambda: token(header={"cty": "JWT"}), "another token"),
        (lambda: token(header={"crit": ["b64"], "b64": False}), "must be encoded"),
        (lambda: token(header={"alg": "RS512"}), "signature is invalid"),
        (lambda: token("ES256", {"alg": "ES384", "kid": "P-384"}), "signature is invalid"),
        (lambda: token(header={"alg": "HS256"}), "no key in the key set"),
        (lambda: token("none"), "no key in the key set"),
        (lambda: token(key=rsa_key("stranger")), "signature is invalid"),
        (lambda: token().rpartition(".")[0] + ".", "no key|signature is invalid|not a signed token"),
        (lambda: "a.b", "not a signed token"),
        (lambda: "a.b.c", "not a signed token"),
        (lambda: "", "not a signed token"),
        (lambda: f"{encoded(b'[]')}.e30.eA", "its header is not a JSON object"),
        (lambda: f"{encoded(b'[' * 20000)}.e30.eA", "its header is not JSON"),
        (lambda: f"{encoded(b'{}')}.e30.e\u00a0", "not base64url"),
    ],
)  # fmt: skip
def test_tokens_that_are_refused(make: Callable[[], str], why: str) -> None:
    text = make()
    with pytest.raises(TokenRefused, match=why) as refused:
        judged(text)
    assert refused.value.status == "invalid_token"
    assert not text or text not in str(refused.value)


def test_times_are_taken_with_the_skew_between_clocks() -> None:
    assert judged(token(iat=NOW_S - 60, exp=NOW_S - 29)).principal == "alice"
    assert judged(token(nbf=NOW_S + 30)).principal == "alice"
    with pytest.raises(TokenRefused, match="it expired"):
        judged(token(iat=NOW_S - 60, exp=NOW_S - 29), clock_skew_s=10)


def test_audience_issuer_and_names_of_claims_are_the_listeners() -> None:
    kafka = {"audiences": frozenset({"kafka", "broker"}), "issuer": "https://login"}
    assert judged(token(aud=["x", "broker"], iss="https://login"), **kafka).principal == "alice"
    assert judged(token(aud="kafka", iss="https://login"), **kafka).principal == "alice"
    for wrong in ({"iss": "https://login"}, {"aud": "x", "iss": "https://login"}, {"aud": "kafka"},
                  {"aud": "kafka", "iss": "https://other"}):  # fmt: skip
        with pytest.raises(TokenRefused, match=r"audience|issuer"):
            judged(token(**wrong), **kafka)
    for aud in ("x", ["x"], 5, None):  # nobody is expected: Kafka since 4.4
        assert judged(token(aud=aud)).principal == "alice"
    for aud in (5, None, [5]):
        with pytest.raises(TokenRefused, match="missing or not a string"):
            judged(token(aud=aud), audiences=frozenset({"kafka"}))
    renamed = judged(token(client="bob", scp="read write"), subject_claim="client", scope_claim="scp")
    assert (renamed.principal, renamed.scope) == ("bob", {"read write"})


@pytest.mark.filterwarnings("ignore:Key size should be")
def test_keys_that_are_of_no_use_are_left_out() -> None:
    short = rsa_row(rsa_key("short", 1024))
    rows: list[Any] = [
        short, {"kty": "oct", "k": "AAAA"}, {"kty": "RSA"}, {"kty": "new"}, 5, ec_row("P-256", y="AA"),
        rsa_row(use="enc"), rsa_row(alg="HS256"), rsa_row(kid=5), ec_row("P-384", alg="ES384"),
    ]  # fmt: skip
    (key,) = parse_key_set(json.dumps({"keys": rows}).encode(), "keys")
    assert (key.id, key.algorithms) == ("P-384", ("ES384",))


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"keys": 5}', b"[" * 100_000, b"\xff"])
def test_what_is_no_key_set_is_told(data: bytes) -> None:
    with pytest.raises(ConfigError, match=r"keys\.json: not a JSON web key set"):
        parse_key_set(data, "keys.json")


# Where keys come from


def test_a_file_of_keys_is_read_again_when_it_changed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(key_set(rsa_row()))
    source = FileKeys(str(path))
    assert [key.id for key in source.current()] == ["r"]
    path.write_bytes(key_set(rsa_row(kid="new"), ec_row("P-256")))
    assert [key.id for key in source.current()] == ["new", "P-256"]
    path.write_bytes(b"{")
    assert [key.id for key in source.current()] == ["new", "P-256"]
    path.unlink()
    assert [key.id for key in source.current()] == ["new", "P-256"]
    assert "known keys stay in use" in caplog.text
    with pytest.raises(ConfigError, match="No such file"):
        FileKeys(str(path))


def test_a_provider_is_asked_in_time_and_early_for_an_unknown_key(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    timers = Timers(clock)
    answers: list[bytes | Exception] = [key_set(rsa_row())]
    asked: list[float] = []

    def fetch() -> Any:
        asked.append(clock.monotonic_s())
        answer = answers[-1]
        if isinstance(answer, Exception):
            raise answer
        return parse_key_set(answer, "provider")

    source = ProviderKeys(fetch, timers, Pace(refresh_ms=60_000), run=lambda work: work())
    tokens = SignedTokens(Rules(), source.current, source.missing)

    def login() -> bool:
        try:
            return bool(tokens.validate(token("ES256"), NOW_S * 1000))
        except TokenRefused:
            return False

    answers.append(key_set(rsa_row(), ec_row("P-256")))
    assert not login() and asked == [0.0], "it was asked a moment ago"
    clock.advance(EARLY_MS / 1000)
    assert not login() and asked == [0.0, 10.0], "the token that asked is refused, the next one is not"
    assert login()
    answers.append(ConfigError("down"))
    clock.advance(50)
    timers.run_due()
    assert asked == [0.0, 10.0, 60.0] and login()
    assert "down; the known keys stay in use" in caplog.text
    answers.append(key_set(rsa_row()))
    clock.advance(60)
    timers.run_due()
    assert len(asked) == 4 and not login(), "a key that the provider took back is of no use"


class Provider:
    """A real HTTPS server that gives ``answers``, one after the other, the last one again and again."""

    def __init__(self, folder: Path) -> None:
        self.answers: list[tuple[int, bytes]] = [(200, all_keys())]
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = provider.answers.pop(0) if len(provider.answers) > 1 else provider.answers[0]
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *rest: object) -> None:
                pass

        authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        self.trusted = folder / "ca.pem"
        authority.cert_pem.write_to_path(str(self.trusted))
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://localhost:{self.server.server_port}/jwks"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    running = Provider(tmp_path)
    yield running
    running.server.shutdown()
    running.server.server_close()


def test_a_provider_that_fails_is_asked_again(provider: Provider) -> None:
    slept: list[float] = []
    options = {"ssl.truststore.location": str(provider.trusted)}

    def fetched() -> list[Any]:
        return list(fetch_keys(urlsplit(provider.url), options, Pace(), slept.append))

    provider.answers = [(503, b""), (500, b""), (200, all_keys())]
    assert len(fetched()) == 4 and slept == [0.1, 0.2]
    provider.answers = [(404, b"")]
    with pytest.raises(ConfigError, match="HTTP status 404"):
        fetched()
    provider.answers = [(200, b" " * (1024 * 1024 + 1))]
    with pytest.raises(ConfigError, match="more than 1048576 bytes"):
        fetched()
    slept.clear()
    provider.answers = [(500, b"")]
    with pytest.raises(ConfigError, match=": HTTP status 500"):
        fetched()
    assert sum(slept) == pytest.approx(10)
    with pytest.raises(ConfigError, match=r"cannot get keys from .*certificate verify failed"):
        fetch_keys(urlsplit(provider.url), {}, Pace(backoff_max_ms=0), slept.append)


# A broker


def config(**more: str) -> dict[str, str]:
    """Settings of a broker; tokens of any audience and issuer are taken unless ``more`` expects some."""
    for name in ("audience", "issuer"):
        if f"expected_{name}" not in more:
            more.setdefault(f"allow_unverified_{name}", "true")
    values = {"sasl.enabled.mechanisms": "OAUTHBEARER", "oauthbearer.sasl.jaas.config": f"{MODULE};"}
    return {**values, **{f"sasl.oauthbearer.{key.replace('_', '.')}": value for key, value in more.items()}}


def log_in(broker: EmbeddedBroker, text: str) -> tuple[int, str | None]:
    """Error code and text of a login with the token; a request follows a login that went well."""
    from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
    from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeRequest

    with WireClient(broker.bootstrap_servers) as client:
        assert client.call(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1).error_code == 0
        mechanism = OAuthBearerClient(text)
        message = mechanism.step(None)
        while message is not None:
            answer = client.call(SaslAuthenticateRequest(auth_bytes=message), 2)
            if answer.error_code:
                return answer.error_code, answer.error_message
            message = mechanism.step(bytes(answer.auth_bytes))
        assert client.call(DescribeClusterRequest(), 0).error_code == codes.NONE
        return codes.NONE, None


@pytest.mark.req("OA-10")
def test_a_listener_with_keys_takes_signed_tokens_only(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    import time

    settings = config(jwks_endpoint_url=provider.url, expected_audience="kafka")
    settings["oauthbearer.sasl.jaas.config"] = f'{MODULE} ssl.truststore.location="{provider.trusted}";'
    settings["oauthbearer.sasl.server.callback.handler.class"] = SIGNED
    now_s = int(time.time())
    with EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=settings) as broker:
        assert log_in(broker, token(now_s=now_s, aud="kafka")) == (codes.NONE, None)
        assert log_in(broker, token("ES256", now_s=now_s, aud="kafka")) == (codes.NONE, None)
        refused = (codes.SASL_AUTHENTICATION_FAILED, '{"status":"invalid_token"}')
        other = token(now_s=now_s, aud="other")
        assert log_in(broker, other) == refused
        assert "refused an OAUTHBEARER token: its audience (aud) is not the expected one" in caplog.text
        assert "accepts tokens of any issuer" in caplog.text and "of any audience" not in caplog.text
        assert other not in caplog.text and other.split(".")[1] not in caplog.text
        unsecured = {"sub": "alice", "iat": now_s, "exp": now_s + 300, "aud": "kafka"}
        assert log_in(broker, f"{encoded({'alg': 'none'})}.{encoded(unsecured)}.") == refused


def test_the_settings_of_tokens_may_be_those_of_a_mechanism(tmp_path: Path) -> None:
    """As Kafka's documentation spells them; the listener's own settings hold where the mechanism has none."""
    import time

    path = tmp_path / "keys.json"
    path.write_bytes(all_keys())
    settings = config(expected_audience="nobody", expected_issuer="acme")
    for name, value in {
        "server.callback.handler.class": SIGNED,
        "oauthbearer.jwks.endpoint.url": path.as_uri(),
        "oauthbearer.expected.audience": "kafka",
    }.items():
        settings[f"listener.name.sasl_plaintext.oauthbearer.sasl.{name}"] = value
    now_s = int(time.time())
    with EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=settings) as broker:
        assert log_in(broker, token(now_s=now_s, aud="kafka", iss="acme")) == (codes.NONE, None)
        for wrong in ({"aud": "nobody", "iss": "acme"}, {"aud": "kafka", "iss": "other"}):
            assert log_in(broker, token(now_s=now_s, **wrong))[0] == codes.SASL_AUTHENTICATION_FAILED


def test_librdkafka_logs_in_with_a_signed_token(tmp_path: Path) -> None:
    import time

    from confluent_kafka import KafkaError
    from confluent_kafka.admin import AdminClient

    path = tmp_path / "keys.json"
    path.write_bytes(all_keys())
    now_s = time.time()
    errors: list[Any] = []

    def client(text: str) -> AdminClient:
        settings = {
            "bootstrap.servers": broker.bootstrap_servers, "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _: (text, now_s + 300, "alice", {}),
            "error_cb": errors.append,
        }  # fmt: skip
        return AdminClient(settings, logger=logging.getLogger("librdkafka"))

    settings = config(jwks_endpoint_url=path.as_uri())
    with EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=settings) as broker:
        right = client(token("ES256", now_s=now_s))
        right.poll(0)  # asks for the token
        assert right.list_topics(timeout=60).topics == {}
        wrong = client(token("ES256", now_s=now_s - 1000))
        for _ in range(60):
            wrong.poll(1)
            if errors:
                break
        assert errors[0].code() == KafkaError._AUTHENTICATION, errors


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (config(jwks_endpoint_url="ftp://x/y"), "https, http or file"),
        (config(jwks_endpoint_url="file:///nowhere/keys.json"), "No such file"),
        ({**config(), "oauthbearer.sasl.server.callback.handler.class": SIGNED}, "needs sasl.oauthbearer.jwks"),
        (
            {**config(jwks_endpoint_url="file:///x"), "oauthbearer.sasl.server.callback.handler.class": UNSECURED},
            "set only one of them",
        ),
        ({**config(), "oauthbearer.sasl.server.callback.handler.class": "org.example.Mine"}, "Java code"),
        (config(jwks_endpoint_url="file:///x", clock_skew_seconds="a bit"), "clock.skew.seconds"),
        (config(jwks_endpoint_url="file:///x", allow_unverified_audience="false"), r"expected\.audience is missing"),
        (config(jwks_endpoint_url="file:///x", allow_unverified_issuer="false"), r"expected\.issuer is missing"),
    ],
)
@pytest.mark.req("SASL-13")
def test_settings_that_cannot_be_are_told(settings: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        EmbeddedBroker(listeners="SASL_PLAINTEXT://127.0.0.1:0", config=settings).start()


def test_the_package_for_signatures_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "joserfc.jwk", None)
    with pytest.raises(ConfigError, match="the Python package joserfc is missing"):
        parse_key_set(all_keys(), "keys")
