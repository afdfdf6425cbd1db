"""SCRAM keys and the credential text: RFC vectors and Kafka's form."""

import base64

import pytest

from kafka_tools import scram_math
from kafka_tools.errors import InputError

SALT = b"saltsaltsalt"


@pytest.mark.req("SC-9")
def test_keys_of_rfc_7677():
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    made = scram_math.credential(scram_math.SHA_256, "pencil", 4096, salt)
    # The keys behind the proof and the signature of RFC 7677, section 3 (test_sasl checks those).
    assert base64.b64encode(made.stored_key) == b"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    assert base64.b64encode(made.server_key) == b"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="


@pytest.mark.req("SC-7", "SC-8")
@pytest.mark.parametrize("kind", scram_math.MECHANISMS.values())
def test_text_form_round_trips(kind):
    made = scram_math.credential(kind, "p=,w", 5000, SALT)
    text = scram_math.credential_to_text(made)
    assert text.startswith("salt=c2FsdHNhbHRzYWx0,stored_key=")
    assert text.endswith(",iterations=5000")
    assert [part.split("=")[0] for part in text.split(",")] == ["salt", "stored_key", "server_key", "iterations"]
    assert scram_math.credential_from_text(text) == made


@pytest.mark.req("SC-8", "SC-24")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "salt=AAAA,stored_key=c2VjcmV0,server_key=AAAA",
        "salt=AAAA,stored_key=c2VjcmV0,server_key=AAAA,iterations=many",
        "salt=AAAA,stored_key=c2VjcmV0,server_key=A,iterations=4096",
        "salt=AAAA,stored_key=c2VjcmV0,server_key=AAAA,iterations=4096,x=1",
        "salt=AAAA,stored_key=c2VjcmV0,stored_key=AAAA,iterations=4096",
    ],
)
def test_broken_text_is_refused_without_key_material(text):
    with pytest.raises(InputError, match=r"^Credentials not valid: ") as caught:
        scram_math.credential_from_text(text)
    assert "c2VjcmV0" not in str(caught.value)


@pytest.mark.req("SC-8")
@pytest.mark.parametrize("missing", ["salt", "stored_key", "server_key", "iterations"])
def test_each_of_the_four_keys_is_needed(missing):
    made = scram_math.credential(scram_math.SHA_256, "x", 4096, SALT)
    parts = scram_math.credential_to_text(made).split(",")
    text = ",".join(part for part in parts if not part.startswith(f"{missing}="))
    assert text.count(",") == 2
    with pytest.raises(InputError, match=r"^Credentials not valid: "):
        scram_math.credential_from_text(text)


@pytest.mark.req("SC-10")
def test_iteration_bounds_are_kafka_s():
    with pytest.raises(InputError, match=r"^Iterations 4095 is less than the minimum 4096 required for SCRAM-SHA-256$"):
        scram_math.credential(scram_math.SHA_256, "x", 4095)
    with pytest.raises(InputError, match=r"16385 is greater than the maximum 16384"):
        scram_math.credential(scram_math.SHA_512, "x", 16385)


@pytest.mark.req("SC-12")
def test_salt_is_random_per_credential():
    first, second = (scram_math.credential(scram_math.SHA_256, "x") for _ in range(2))
    assert first.salt != second.salt
    assert len(first.salt) == scram_math.SALT_BYTES
    assert first.stored_key != second.stored_key


def test_no_key_shows_in_repr():
    assert repr(scram_math.credential(scram_math.SHA_256, "x", 4096, SALT)) == "ScramCredential(iterations=4096)"


def test_unknown_mechanism():
    with pytest.raises(InputError, match=r"SCRAM-SHA-1.*SCRAM-SHA-256 or SCRAM-SHA-512"):
        scram_math.mechanism("SCRAM-SHA-1")
