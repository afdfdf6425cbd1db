"""SASL OAUTHBEARER, both halves, and unsecured tokens: the rules and texts of Kafka's own (KIP-255)."""

import base64
import json

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.errors import AuthenticationFailed, ConfigError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.sasl.oauth.tokens import Tokens
from kafka_tools.net.sasl.oauthbearer import BearerToken, OAuthBearerClient, OAuthBearerServer, TokenRefused
from kafka_tools.net.sasl.unsecured_jws import UnsecuredValidator, list_of, make_token, read_token

NOW_MS = 1_700_000_000_000
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def jws(claims, header=None, signature=""):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part(header or {'alg': 'none'})}.{part(claims)}.{signature}"


def claims(**changes):
    return {"sub": "alice", "iat": NOW_MS / 1000, "exp": NOW_MS / 1000 + 60, **changes}


def validator(**options):
    found = UnsecuredValidator({f"unsecuredValidator{key}": value for key, value in options.items()})
    return lambda token: found.validate(token, NOW_MS)


def logged_in(token, validate=None):
    client, server = OAuthBearerClient(token), OAuthBearerServer(validate or validator())
    answer = server.step(client.step(None))
    last = client.step(answer)
    if last is not None:
        server.step(last)
    return client, server


@pytest.mark.req("OA-3", "OA-13")
def test_a_right_token_logs_in():
    client, server = logged_in(jws(claims()))
    assert client.done
    assert server.done
    assert server.username == "alice"
    assert server.token == BearerToken("alice", frozenset(), NOW_MS + 60_000, NOW_MS)


@pytest.mark.req("OA-4", "OA-10")
def test_a_wrong_token_is_told_as_json_and_fails_when_the_client_answers():
    server, client = OAuthBearerServer(validator(RequiredScope="read write")), OAuthBearerClient(jws(claims()))
    answer = server.step(client.step(None))
    assert json.loads(answer) == {"status": "insufficient_scope", "scope": "[read, write]"}
    kiss = client.step(answer)
    assert kiss == b"\x01"
    assert not client.done
    with pytest.raises(AuthenticationFailed, match="insufficient_scope"):
        server.step(kiss)
    with pytest.raises(AuthenticationFailed, match="Unexpected challenge in Sasl client state"):
        client.step(b"")


@pytest.mark.req("OA-5")
def test_the_first_challenge_must_be_empty():
    with pytest.raises(AuthenticationFailed, match="Expected empty challenge"):
        OAuthBearerClient("t").step(b"x")
    over, failed = OAuthBearerClient("t"), OAuthBearerClient("t")
    for client, answer in ((over, b""), (failed, b'{"status":"invalid_token"}')):
        client.step(None)
        client.step(answer)
    with pytest.raises(AuthenticationFailed, match=r"^Unexpected challenge in Sasl client state complete$"):
        over.step(b"")
    with pytest.raises(AuthenticationFailed, match=r"^Unexpected challenge in Sasl client state failed$"):
        failed.step(b"")


@pytest.mark.req("OA-8", "OA-9")
@pytest.mark.parametrize(
    ("message", "text"),
    [
        (b"", "Invalid OAUTHBEARER client first message"),
        (b"\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01auth=Bearer a b\x01\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01auth=Bearer a.b.\x01", "Invalid OAUTHBEARER client first message"),
        (b"y,,\x01auth=Bearer a.b.\x01\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01user=x\x01\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01auth=Basic abc\x01\x01", "Invalid scheme in OAUTHBEARER client first message: Basic"),
        (b"n,," + b"a" * 1_000_000, "Invalid OAUTHBEARER client first message"),
    ],
)
def test_malformed_first_messages_are_refused(message, text):
    with pytest.raises(AuthenticationFailed, match=text):
        OAuthBearerServer(validator()).step(message)


@pytest.mark.req("OA-8", "OA-9", "OA-12")
def test_forms_of_the_first_message_that_are_right():
    token = jws(claims())
    for message in (
        f"n,,\x01auth=bearer   {token}\x01\x01",
        f"n,a=alice,\x01auth=BEARER {token}\x01traceId=123\x01\x01",
        f"n,,auth=Bearer {token}",
    ):
        server = OAuthBearerServer(validator())
        assert server.step(message.encode()) == b""
        assert server.username == "alice"
    with pytest.raises(AuthenticationFailed, match=r"authorization id \(bob\) that is different .* \(alice\)"):
        OAuthBearerServer(validator()).step(f"n,a=bob,\x01auth=Bearer {token}\x01\x01".encode())


@pytest.mark.req("OA-16", "OA-17", "OA-18", "OA-19", "OA-20")
@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("a..b", "Malformed compact serialization contains '..'"),
        ("a.b", "must have 3 dot-separated Base64URL-encoded values"),
        ("a!.b.", "malformed Base64 URL encoded value"),
        ("YQ.YQ.", "malformed JSON"),
        (jws(claims(), {"alg": "RS256"}), "must have 'none' for an algorithm"),
        (jws(claims(), signature="abc"), "must not contain a digital signature"),
        (jws(claims(exp=None)), "No expiration time in JWT"),
        (jws(claims(sub=" ")), "No principal name in JWT claim: sub"),
        (jws(claims(sub=7)), "The 'sub' claim was not of type"),
        (jws(claims(exp="soon")), "The 'exp' claim was not of type Number"),
        (jws(claims(iat=NOW_MS / 1000 + 1)), "Issued At value .* was after the indicated time"),
        (jws(claims(exp=NOW_MS / 1000)), "was on or after the Expiration Time value"),
    ],
)
def test_tokens_that_are_not_right(token, text):
    with pytest.raises(TokenRefused, match=text):
        validator()(token)


@pytest.mark.req("OA-30")
def test_times_of_a_token_are_judged_with_the_skew_that_is_allowed():
    now_s = NOW_MS / 1000
    judge = validator(AllowableClockSkewMs="2000")
    for right in (claims(iat=now_s + 2), claims(exp=now_s - 1.999, iat=now_s - 9)):
        assert judge(jws(right)).principal == "alice"
    wrong = {
        "The Issued At value (1700000002.001000 seconds) was after the indicated time (1700000000000 ms) plus "
        "allowable clock skew (2000 ms)": claims(iat=now_s + 2.001),
        "The indicated time (1700000000000 ms) minus allowable clock skew (2000 ms) was on or after the Expiration "
        "Time value (1699999998.000000 seconds)": claims(exp=now_s - 2, iat=now_s - 9),
        "The Expiration Time time (1700000001.000000 seconds) was not after the Issued At time (1700000001.000000 "
        "seconds)": claims(iat=now_s + 1, exp=now_s + 1),
    }
    for why, token in wrong.items():
        with pytest.raises(TokenRefused) as caught:
            judge(jws(token))
        assert str(caught.value) == why


@pytest.mark.req("GAP-16")
def test_tokens_are_base64url_without_padding():
    """Letters that plain Base64 writes as + and /, and lengths that it would pad."""
    token = make_token({"unsecuredLoginStringClaim_sub": "\u03ef\u03bf>>>???~~~"}, NOW_MS)
    payload = token.split(".")[1]
    assert "-" in payload or "_" in payload
    assert not set("+/=") & set(token)
    assert read_token(token)["sub"] == "\u03ef\u03bf>>>???~~~"
    header, plain = token.split(".")[0], payload.replace("_", "/").replace("-", "+")
    with pytest.raises(TokenRefused, match="malformed Base64 URL encoded value"):
        read_token(f"{header}.{plain}.")


@pytest.mark.req("OA-18")
@pytest.mark.parametrize(("exp_s", "expected_ms"), [(5.0004, 5000), (5.0006, 5001), (5.25, 5250), (5, 5000)])
def test_fractions_of_a_second_are_rounded_to_milliseconds(exp_s, expected_ms):
    found = UnsecuredValidator({}).validate(jws({"sub": "alice", "exp": exp_s}), 0)
    assert (found.expires_ms, found.start_ms) == (expected_ms, None)


@pytest.mark.req("OA-28")
def test_a_clock_skew_is_allowed_when_set():
    late = jws(claims(iat=NOW_MS / 1000 - 60, exp=NOW_MS / 1000 - 1))
    assert validator(AllowableClockSkewMs="1001")(late).principal == "alice"
    with pytest.raises(ConfigError, match="Allowable clock skew millis must not be negative: -1"):
        validator(AllowableClockSkewMs="-1")


@pytest.mark.req("OA-21")
def test_tokens_are_decoded_with_the_url_alphabet():
    token = jws(claims(sub="~~~>>>???"))
    assert set(token) & set("-_")
    assert validator()(token).principal == "~~~>>>???"


@pytest.mark.req("OA-22")
def test_a_scope_in_one_text_is_one_element():
    assert validator()(jws(claims(scope=" a b "))).scope == {"a b"}
    assert validator()(jws(claims(scope=[" a", "", "b"]))).scope == {"a", "b"}


@pytest.mark.req("OA-32")
def test_required_scopes_must_be_legal():
    with pytest.raises(ConfigError, match='Invalid scope value: a"b'):
        validator(RequiredScope='a"b')


@pytest.mark.req("OA-24", "OA-25")
def test_login_options_make_the_claims():
    token = make_token(
        {
            "unsecuredLoginStringClaim_user": 'al"ice\\',
            "unsecuredLoginPrincipalClaimName": "user",
            "unsecuredLoginNumberClaim_level": "7",
            "unsecuredLoginListClaim_scope": ",a,b",
            "unsecuredLoginLifetimeSeconds": "10",
        },
        NOW_MS,
    )
    assert read_token(token) == {
        "user": 'al"ice\\', "level": 7.0, "scope": ["a", "b"], "iat": NOW_MS / 1000, "exp": NOW_MS / 1000 + 10,
    }  # fmt: skip
    for option in ("unsecuredLoginNumberClaim_iat", "unsecuredLoginStringClaim_exp"):
        with pytest.raises(ConfigError, match="Cannot explicitly set the"):
            make_token({option: "1"}, NOW_MS)


@pytest.mark.req("OA-26")
def test_a_list_claim_begins_with_its_delimiter():
    assert list_of("") == list_of(",") == []
    assert list_of(",a,,") == ["a", ""]
    assert list_of(",,a") == ["", "a", ""]
    assert list_of(",a,,b") == ["a", "", "b", ""]
    assert list_of("|a|b") == ["a", "b"]


def config(url=None, options='unsecuredLoginStringClaim_sub="alice"'):
    values = {
        "bootstrap.servers": "a:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{MODULE} {options};",
    }  # fmt: skip
    return ClientConfig({**values, **({"sasl.oauthbearer.token.endpoint.url": url} if url else {})})


def test_the_client_takes_its_token_from_the_options_or_a_file(tmp_path):
    clock = ManualClock()
    assert read_token(Tokens(config(), clock).token())["sub"] == "alice"
    file = tmp_path / "a token"
    file.write_text("eyJ.abc.def\n")
    url = file.as_uri()
    assert Tokens(config(url), clock).token() == "eyJ.abc.def"
    file.write_text("another.one.")
    assert Tokens(config(url), clock).token() == "another.one."
    file.write_text("planted secret")
    with pytest.raises(ConfigError, match="contains no token") as caught:
        Tokens(config(url), clock).token()
    assert "planted" not in str(caught.value)
    file.unlink()
    with pytest.raises(ConfigError, match="cannot read"):
        Tokens(config(url), clock).token()


def test_a_client_without_principal_or_module_is_told_what_to_set():
    with pytest.raises(ConfigError, match="no 'sub' claim") as caught:
        Tokens(config(options=""), ManualClock()).token()
    assert "unsecuredLoginStringClaim_sub" in caught.value.hint
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config is not set"):
        ClientConfig({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"})


def test_a_client_logs_in_to_the_bundled_broker():
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.broker_embedded import EmbeddedBroker

    properties = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": f"{MODULE};",
    }
    with EmbeddedBroker(listeners=["SASL_PLAINTEXT://127.0.0.1:0"], config=properties) as broker:
        right = config().values | {"bootstrap.servers": broker.bootstrap_servers}
        with AdminClient(ClientConfig(right)) as admin:
            assert admin.describe_cluster().cluster_id == broker.cluster_id
        late = f'{MODULE} unsecuredLoginStringClaim_sub="alice" unsecuredLoginLifetimeSeconds="-5";'
        with AdminClient(ClientConfig(right | {"sasl.jaas.config": late})) as admin:
            with pytest.raises(AuthenticationFailed, match="invalid_token"):
                admin.describe_cluster()


def test_extensions_of_the_login_module_travel_with_the_token():
    options = 'unsecuredLoginStringClaim_sub="alice" extension_logicalCluster="lkc-1 x" unsecuredLoginExtension_b="c"'
    tokens = Tokens(config(options=options), ManualClock(NOW_MS))
    assert tokens.extensions() == {"logicalCluster": "lkc-1 x", "b": "c"}
    client = OAuthBearerClient(tokens.token(), tokens.extensions())
    message = client.step(None)
    assert message.endswith(b"\x01logicalCluster=lkc-1 x\x01b=c\x01\x01")
    server = OAuthBearerServer(validator())
    assert server.step(message) == b""
    for name, value in (("auth", "x"), ("a1", "x"), ("a", ""), ("a", "\x01"), ("a", "\u00e4")):
        with pytest.raises(ConfigError, match="invalid extension"):
            OAuthBearerClient("token", {name: value})
