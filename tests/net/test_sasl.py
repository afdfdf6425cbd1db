"""SASL PLAIN and SCRAM, both halves: RFC vectors, Kafka's messages, hostile input."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools import scram_math
from kafka_tools.errors import AuthenticationFailed
from kafka_tools.net.sasl.plain import PlainClient, PlainServer
from kafka_tools.net.sasl.scram import ScramClient, ScramLogin, ScramServer

CLIENT_NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
SERVER_FIRST = f"r={CLIENT_NONCE}{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
CLIENT_FINAL = f"c=biws,r={CLIENT_NONCE}{SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def scram_server(password="pencil", user="user", mechanism="SCRAM-SHA-256", nonce=SERVER_NONCE):
    credential = scram_math.credential(scram_math.mechanism(mechanism), password, 4096, SALT)
    return ScramServer(mechanism, lambda login: credential if login.username == user else None, nonce=nonce)


@pytest.mark.req("SC-14", "SC-15", "SC-16")
def test_scram_client_follows_rfc_7677_section_3():
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", nonce=CLIENT_NONCE)
    assert client.step(None) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert client.step(SERVER_FIRST) == CLIENT_FINAL
    assert client.step(SERVER_FINAL) is None
    assert client.done


@pytest.mark.req("SC-14", "SC-16")
def test_scram_server_follows_rfc_7677_section_3():
    server = scram_server()
    assert server.step(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == SERVER_FIRST
    assert server.step(CLIENT_FINAL) == SERVER_FINAL
    assert server.done
    assert server.username == "user"


@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.sampled_from(["SCRAM-SHA-256", "SCRAM-SHA-512"]),
)
def test_scram_halves_agree_for_any_user_and_password(user, password, mechanism):
    server = scram_server(password, user, mechanism)
    client = ScramClient(mechanism, user, password)
    assert client.step(server.step(client.step(server.step(client.step(None))))) is None
    assert client.done
    assert server.username == user


@pytest.mark.req("SC-12")
def test_user_name_is_escaped_in_messages():
    assert ScramClient("SCRAM-SHA-256", "a=b,c", "x", nonce="n").step(None) == b"n,,n=a=3Db=2Cc,r=n"


def test_token_login_sends_the_extension_and_reaches_the_lookup():
    seen = []
    server = ScramServer("SCRAM-SHA-256", seen.append)
    with pytest.raises(AuthenticationFailed, match=r"Invalid user credentials"):
        server.step(ScramClient("SCRAM-SHA-256", "token-id", "hmac", token_auth=True).step(None))
    assert seen == [ScramLogin("token-id", True)]
    assert server.token_auth


def test_scram_wrong_password_and_unknown_user():
    server = scram_server()
    client = ScramClient("SCRAM-SHA-256", "user", "wrong")
    final = client.step(server.step(client.step(None)))
    with pytest.raises(AuthenticationFailed, match=r"Invalid client credentials"):
        server.step(final)
    with pytest.raises(AuthenticationFailed, match=r"Invalid user credentials"):
        scram_server().step(b"n,,n=nobody,r=abc")


@pytest.mark.req("SC-21")
def test_scram_server_is_over_after_a_failure():
    server = scram_server()
    with pytest.raises(AuthenticationFailed):
        server.step(b"rubbish")
    with pytest.raises(AuthenticationFailed, match=r"Unexpected challenge in Sasl server state FAILED"):
        server.step(b"n,,n=user,r=abc")


@pytest.mark.req("SC-17")
def test_malformed_client_final():
    server = scram_server()
    server.step(b"n,,n=user,r=abc")
    with pytest.raises(AuthenticationFailed, match=r"Invalid SCRAM client final message format"):
        server.step(b"c=biws,r=abc")


@pytest.mark.req("SC-20")
def test_failing_lookup_is_told_apart_from_a_wrong_user():
    def broken(_):
        raise RuntimeError("store is down")

    server = ScramServer("SCRAM-SHA-256", broken)
    with pytest.raises(AuthenticationFailed, match=r"^Authentication failed: Credentials could not be obtained$"):
        server.step(b"n,,n=user,r=abc")
    with pytest.raises(AuthenticationFailed, match=r"Unexpected challenge in Sasl server state FAILED"):
        server.step(b"n,,n=user,r=abc")


@pytest.mark.req("SC-20")
def test_an_authentication_error_of_the_lookup_passes_untouched_and_ends_the_login():
    error = AuthenticationFailed("the token has expired")

    def refused(_):
        raise error

    server = ScramServer("SCRAM-SHA-256", refused)
    with pytest.raises(AuthenticationFailed) as caught:
        server.step(b"n,,n=user,r=abc")
    assert caught.value is error
    with pytest.raises(AuthenticationFailed, match=r"Unexpected challenge in Sasl server state FAILED"):
        server.step(b"n,,n=user,r=abc")


@pytest.mark.req("SC-20")
def test_a_failed_login_forgets_the_credential():
    server, client = scram_server(), ScramClient("SCRAM-SHA-256", "user", "wrong")
    answer = server.step(client.step(None))
    assert server._credential is not None
    with pytest.raises(AuthenticationFailed):
        server.step(client.step(answer))
    assert server._credential is None


def test_server_that_does_not_know_the_password_is_refused():
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", nonce=CLIENT_NONCE)
    client.step(None)
    client.step(SERVER_FIRST)
    with pytest.raises(AuthenticationFailed, match=r"server does not know the password"):
        client.step(b"v=" + base64.b64encode(bytes(32)))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"r=other,s=AAAA,i=4096", "server nonce"),
        (f"r={CLIENT_NONCE},s=AAAA,i=4096".encode(), "server nonce"),
        (f"r={CLIENT_NONCE}x,s=AAAA,i=4095".encode(), "4095 iterations"),
        (f"r={CLIENT_NONCE}x,s=AAAA,i=999999999".encode(), "999999999 iterations"),
        (f"r={CLIENT_NONCE}x,s=!!,i=4096".encode(), "invalid SCRAM server first message"),
        (f"r={CLIENT_NONCE}x,s=A,i=4096".encode(), "not base64"),
        (b"\xff", "not UTF-8"),
        (b"r=" + b"x" * 20_000, "too long"),
    ],
)
def test_hostile_server_first_messages(message, expected):
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", nonce=CLIENT_NONCE)
    client.step(None)
    with pytest.raises(AuthenticationFailed, match=expected):
        client.step(message)


@given(st.binary(max_size=200))
def test_any_bytes_end_in_an_authentication_error(token):
    for server in (scram_server(), PlainServer(lambda user, password: False)):
        with pytest.raises(AuthenticationFailed):
            server.step(token)


def test_plain_login():
    client = PlainClient("alice", "secret")
    token = client.step(None)
    assert token == b"\0alice\0secret"
    server = PlainServer(lambda user, password: (user, password) == ("alice", "secret"))
    assert server.step(token) == b""
    assert (server.username, server.done, client.step(b"")) == ("alice", True, None)


@pytest.mark.req("SASL-26", "SASL-28")
@pytest.mark.parametrize(
    ("token", "message"),
    [
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0\0x", "Authentication failed: username not specified"),
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0bob\0secret", "Authentication failed: Invalid username or password"),
        (b"bob\0alice\0secret", "Authentication failed: Client requested an authorization id that is different from"),
        (b"a\0b", "expected 3 tokens, got 2"),
        (b"\xff\0b\0c", "not UTF-8"),
    ],
)
def test_plain_refusals_read_like_kafka_s(token, message):
    with pytest.raises(AuthenticationFailed, match=message):
        PlainServer(lambda user, password: (user, password) == ("alice", "secret")).step(token)


@pytest.mark.req("SASL-27")
def test_plain_checks_the_password_before_the_authorization_id():
    with pytest.raises(AuthenticationFailed, match=r"Invalid username or password"):
        PlainServer(lambda user, password: False).step(b"bob\0alice\0x")


@pytest.mark.req("SASL-26")
def test_plain_with_a_verifier_that_fails():
    def broken(user, password):
        raise RuntimeError("store is down")

    with pytest.raises(AuthenticationFailed, match=r"credentials for user could not be verified"):
        PlainServer(broken).step(b"\0alice\0x")
