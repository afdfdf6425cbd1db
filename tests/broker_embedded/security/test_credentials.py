"""SCRAM credentials: what is stored, what is refused. The texts were taken from a Kafka broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_tools import scram_math
from kafka_tools.broker_embedded.configs.endpoints import Endpoint
from kafka_tools.errors import AuthenticationFailed
from kafka_tools.net.sasl.scram import ScramClient
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from tests.broker_embedded.disk_broker import DiskBroker, listener_security
from tests.broker_embedded.memory_broker import MemoryBroker

OK = error_codes.NONE
SHA_256, SHA_512 = 1, 2
TWICE = "A user credential cannot be altered twice in the same request"


@pytest.fixture
def broker() -> MemoryBroker:
    return MemoryBroker()


def upsert(user: str, mechanism: int = SHA_256, iterations: int = 4096, password: str = "secret") -> Any:
    kind = scram_math.BY_TYPE_ID.get(mechanism, scram_math.SHA_256)
    salted = scram_math.salted_password(kind, password, b"salt", iterations)
    Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    return Upsertion(name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=salted)


def delete(user: str, mechanism: int = SHA_256) -> Any:
    return AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(broker: MemoryBroker, *upsertions: Any, deletions: tuple[Any, ...] = ()) -> dict[str, tuple[int, str | None]]:
    request = AlterUserScramCredentialsRequest(upsertions=list(upsertions), deletions=list(deletions))
    return {result.user: (result.error_code, result.error_message) for result in broker.call(request).results}


def describe(broker: MemoryBroker, *users: str) -> dict[str, Any]:
    names = [DescribeUserScramCredentialsRequest.UserName(name=user) for user in users] or None
    response = broker.call(DescribeUserScramCredentialsRequest(users=names))
    return {
        result.user: (result.error_code, result.error_message)
        if result.error_code
        else {info.mechanism: info.iterations for info in result.credential_infos}
        for result in response.results
    }


def test_a_stored_credential_is_the_one_of_the_password_and_survives_a_restart(broker: MemoryBroker) -> None:
    assert alter(broker, upsert("alice", SHA_512, 8192)) == {"alice": (OK, None)}
    assert alter(broker, upsert("alice", SHA_256)) == {"alice": (OK, None)}
    broker.restart()
    assert describe(broker) == {"alice": {SHA_256: 4096, SHA_512: 8192}}
    expected = scram_math.credential(scram_math.SHA_512, "secret", 8192, b"salt")
    assert broker.core.credentials.lookup("SCRAM-SHA-512", "alice") == expected
    assert broker.core.credentials.lookup("SCRAM-SHA-512", "bob") is None


def test_a_deletion_takes_one_mechanism(broker: MemoryBroker) -> None:
    alter(broker, upsert("alice", SHA_512))
    alter(broker, upsert("alice", SHA_256))
    assert alter(broker, deletions=(delete("alice", SHA_512),)) == {"alice": (OK, None)}
    assert describe(broker) == {"alice": {SHA_256: 4096}}
    assert alter(broker, deletions=(delete("alice", SHA_256),)) == {"alice": (OK, None)}
    assert describe(broker) == {}


def test_each_user_fails_alone(broker: MemoryBroker) -> None:
    results = alter(
        broker,
        upsert("few", iterations=4095),
        upsert("many", iterations=16385),
        upsert(""),
        upsert("odd", mechanism=7),
        upsert("good"),
        upsert("twice"),
        upsert("twice", SHA_512),
        deletions=(delete("missing"), delete("nobody", 9)),
    )
    assert results == {
        "missing": (error_codes.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"),
        "nobody": (error_codes.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        "few": (error_codes.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        "many": (error_codes.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        "": (error_codes.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        "odd": (error_codes.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        "good": (OK, None),
        "twice": (error_codes.DUPLICATE_RESOURCE, TWICE),
    }
    assert describe(broker) == {"good": {SHA_256: 4096}}


def test_a_salted_password_that_is_empty_is_nobodys(broker: MemoryBroker) -> None:
    """Everybody knows its keys. Kafka answers UNKNOWN_SERVER_ERROR."""
    empty = upsert("eve")
    empty.salted_password = b""
    refused = (error_codes.UNACCEPTABLE_CREDENTIAL, "Salted password must not be empty")
    assert alter(broker, empty, upsert("bob")) == {"eve": refused, "bob": (OK, None)}
    assert describe(broker) == {"bob": {SHA_256: 4096}}


def test_a_description_reports_unknown_and_repeated_users(broker: MemoryBroker) -> None:
    alter(broker, upsert("alice"))
    unknown = "Attempt to describe a user credential that does not exist: bob"
    repeated = "Cannot describe SCRAM credentials for the same user twice in a single request: carol"
    assert describe(broker, "alice", "bob", "carol", "carol") == {
        "alice": {SHA_256: 4096},
        "bob": (error_codes.RESOURCE_NOT_FOUND, unknown),
        "carol": (error_codes.DUPLICATE_RESOURCE, repeated),
    }


@pytest.mark.req("SC-9")
def test_neither_the_password_nor_what_it_is_salted_to_is_stored(tmp_path: Path) -> None:
    """Who has the disk, with what is on it cannot log in."""
    broker = DiskBroker(tmp_path)
    secret = upsert("alice", password="planted secret")
    broker.call(AlterUserScramCredentialsRequest(upsertions=[secret]), 0)
    kept = scram_math.credential(scram_math.SHA_256, "planted secret", 4096, b"salt")
    broker.restart()
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert kept.stored_key in stored and kept.server_key in stored
    client_key = scram_math.client_key(scram_math.SHA_256, secret.salted_password)
    for each in (b"planted secret", secret.salted_password, client_key):
        assert each not in stored


@pytest.mark.req("SC-22")
def test_each_mechanism_has_its_own_credential_and_a_token_is_looked_up_among_tokens(broker: MemoryBroker) -> None:
    security = listener_security(
        broker.core, Endpoint("L", "SASL_PLAINTEXT", "", 0), {"sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512"}
    )
    alter(broker, upsert("alice", SHA_256, password="short"))
    alter(broker, upsert("alice", SHA_512, password="long"))
    alter(broker, upsert("bob", SHA_512, password="long"))

    def logs_in(mechanism: str, user: str, password: str, *, token_auth: bool = False) -> bool:
        server = security.server(mechanism, [])
        client = ScramClient(mechanism, user, password, token_auth=token_auth)
        try:
            answer = client.step(None)
            while answer is not None:
                answer = client.step(server.step(answer))
        except AuthenticationFailed:
            return False
        return client.done

    assert logs_in("SCRAM-SHA-256", "alice", "short") and logs_in("SCRAM-SHA-512", "alice", "long")
    assert not logs_in("SCRAM-SHA-256", "alice", "long") and not logs_in("SCRAM-SHA-512", "alice", "short")
    assert logs_in("SCRAM-SHA-512", "bob", "long") and not logs_in("SCRAM-SHA-256", "bob", "long")
    assert not logs_in("SCRAM-SHA-512", "bob", "long", token_auth=True), "a user is not a token"


def test_secrets_are_in_no_repr(broker: MemoryBroker) -> None:
    alter(broker, upsert("alice", password="hunter2"))
    shown = repr(broker.store.records) + repr(broker.core.credentials.lookup("SCRAM-SHA-256", "alice"))
    credential = broker.core.credentials.lookup("SCRAM-SHA-256", "alice")
    for secret in (credential.stored_key, credential.server_key, credential.salt):
        assert repr(secret) not in shown
