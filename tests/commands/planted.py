"""Planted secrets: what they are, through which settings they come in, and how a trace of one is recognised.

``Plants`` holds a value for each kind of secret and finds them in a text as they are, in base64 (whatever stands before
them) and in hex. ``good_ways`` and ``bad_ways`` are client settings that carry them.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import NamedTuple

from kafka_tools.clock import SystemClock
from kafka_tools.net.sasl.unsecured_jws import make_token
from tests.net import stores

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"

WORDS = {
    name: f"Zq7-{name}-9Kx"
    for name in (
        "password", "scram", "wrong", "new", "client-secret", "argument", "printed", "master-key", "option", "variable",
        "config-value", "digest", "url", "typed", "stdin",
    )
}  # fmt: skip


def prints_of(secret: bytes) -> set[str]:
    """What shows a secret: itself, hex, and base64 at each of the three places it may have in a group of bytes."""
    found = {secret.decode("utf-8", "replace"), secret.hex(), secret.hex().upper()}
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + secret).decode().rstrip("=")
        # The first characters hold bits of what stands before, the last one of what follows.
        core = whole[-(-before * 8 // 6) : len(whole) - (1 if (before + len(secret)) % 3 else 0)]
        found |= {core, core.replace("+", "-").replace("/", "_")}
    return found


class Plants:
    """The secrets of one test run, by what they are."""

    def __init__(self) -> None:
        self._secrets: dict[str, set[str]] = {}
        for name, value in WORDS.items():
            self.add(name, value)

    def add(self, name: str, value: str | bytes) -> None:
        self._secrets[name] = prints_of(value.encode() if isinstance(value, str) else value)

    def found_in(self, text: str) -> list[str]:
        """Names of the secrets that a text shows."""
        joined = re.sub(r"\\n|\s", "", text)  # a key may be wrapped
        return sorted(
            name for name, prints in self._secrets.items() if any(each in text or each in joined for each in prints)
        )


class Place(NamedTuple):
    """A broker's listeners (name -> host:port), the folder of stores and files, and a delegation token."""

    folder: Path
    addresses: dict[str, str]
    token: tuple[str, str]
    dead: str


class Way(NamedTuple):
    """Client settings, and the listener that they are for."""

    name: str
    listener: str
    settings: dict[str, str]


def jaas(module: str, **options: str) -> str:
    return f"{module} {' '.join(f'{name}={chr(34)}{value}{chr(34)}' for name, value in options.items())};"


def _sasl(listener: str, mechanism: str, line: str, **more: str) -> dict[str, str]:
    values = {"security.protocol": listener, "sasl.mechanism": mechanism, "sasl.jaas.config": line}
    return values | {name.replace("_", "."): value for name, value in more.items()}


def login_token() -> str:
    return make_token({"unsecuredLoginStringClaim_sub": "alice"}, SystemClock().now_ms())


def good_ways(place: Place, plants: Plants) -> list[Way]:
    """Ways in that work; each must leave no trace either."""
    trust = {"ssl.truststore.location": str(place.folder / "trust.jks"), "ssl.truststore.password": stores.PASSWORD}
    token = login_token()
    plants.add("OAUTHBEARER token", token)
    plants.add("its claims", token.split(".")[1])
    token_id, hmac = place.token
    scram = jaas(SCRAM, username="lisa", password=WORDS["scram"])
    provided = jaas(PLAIN, username="lisa", password="${env:PLANTED_PASSWORD}")
    env = {
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    }
    return [
        Way("SCRAM over TLS", "SASL_SSL", _sasl("SASL_SSL", "SCRAM-SHA-512", scram) | trust),
        Way("PLAIN", "SASL_PLAINTEXT", _sasl("SASL_PLAINTEXT", "PLAIN", provided) | env),
        *(Way(f"client certificate, {form}", "SSL", stores.client(place.folder, form)) for form in stores.FORMS),
        Way(
            "token by command",
            "SASL_PLAINTEXT",
            _sasl("SASL_PLAINTEXT", "OAUTHBEARER", f"{OAUTH};") | {"sasl.oauthbearer.token.command": f"echo {token}"},
        ),
        Way(
            "delegation token",
            "SASL_PLAINTEXT",
            _sasl("SASL_PLAINTEXT", "SCRAM-SHA-256", jaas(SCRAM, username=token_id, password=hmac, tokenauth="true")),
        ),
    ]


def bad_ways(place: Place) -> list[Way]:
    """Ways in that fail: at the settings, at the login, at TLS, at the source of a token."""
    secret, option, wrong = WORDS["password"], WORDS["option"], WORDS["wrong"]
    client = stores.client(place.folder, "pkcs12")
    key = (place.folder / "operator.pem").read_text()
    properties = (place.folder / "client.properties").as_uri()
    krb5 = f'Krb5LoginModule required password="{secret}";'
    oauth = _sasl("SASL_PLAINTEXT", "OAUTHBEARER", f'{OAUTH} clientId="{option}" clientSecret="{secret}";')
    endpoint, command = "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.token.command"
    provider = {endpoint: f"http://user:{WORDS['url']}@{place.dead}/token?key={WORDS['url']}"}
    provider |= {"sasl.oauthbearer.client.credentials.client.secret": WORDS["client-secret"]}
    provider |= {"sasl.oauthbearer.client.credentials.client.id": option, "sasl.login.retry.backoff.max.ms": "0"}
    lines = {
        "wrong password": jaas(PLAIN, username="lisa", password=wrong),
        "no semicolon": jaas(PLAIN, username="lisa", password=secret)[:-1],
        "no flag": f'PlainLoginModule password="{secret}";',
        "no closing quote": f'{PLAIN} username="lisa" password="{secret};',
        "no value": f'{PLAIN} username="lisa" {secret};',
        "no user": jaas(PLAIN, password=secret),
        "two modules": 2 * jaas(PLAIN, username="lisa", password=secret),
        "unknown variable": f'{PLAIN} username="lisa" password="${{nowhere:{secret}:{secret}}}";',
        "only a secret": secret,
        "NUL": jaas(PLAIN, username="lisa", password=f"{secret}\\000"),
    }
    script = place.folder / "fails"
    login = jaas(PLAIN, username="lisa", password=secret)
    as_operator = {"security.protocol": "SSL"}

    def scram(mechanism: str, **options: str) -> dict[str, str]:
        return _sasl("SASL_PLAINTEXT", mechanism, jaas(SCRAM, **options))

    return [
        *(Way(name, "SASL_PLAINTEXT", _sasl("SASL_PLAINTEXT", "PLAIN", line)) for name, line in lines.items()),
        Way("unknown user", "SASL_PLAINTEXT", scram("SCRAM-SHA-256", username="x", password=secret)),
        Way("wrong SCRAM password", "SASL_PLAINTEXT", scram("SCRAM-SHA-512", username="lisa", password=wrong)),
        Way(
            "wrong token",
            "SASL_PLAINTEXT",
            scram("SCRAM-SHA-256", username="x", password=place.token[1], tokenauth="true"),
        ),
        Way("mechanism that is not offered", "SASL_SSL", _sasl("SASL_SSL", "GSSAPI", login)),
        Way("no such mechanism", "SASL_SSL", _sasl("SASL_SSL", "DIGEST-MD5", login)),
        Way("no SASL there", "PLAINTEXT", _sasl("SASL_PLAINTEXT", "PLAIN", login)),
        Way("no broker there", "dead", _sasl("SASL_PLAINTEXT", "PLAIN", login)),
        Way("no TLS there", "PLAINTEXT", client),
        Way("wrong store password", "SSL", client | {"ssl.keystore.password": wrong}),
        Way("wrong trust password", "SSL", client | {"ssl.truststore.password": wrong}),
        Way("wrong key password", "SSL", stores.client(place.folder, "encrypted pem") | {"ssl.key.password": wrong}),
        Way("wrong JKS key password", "SSL", stores.client(place.folder, "jks") | {"ssl.key.password": wrong}),
        Way("a key as trust store", "SSL", client | {"ssl.truststore.location": f"{place.folder}/operator-key.pem"}),
        Way(
            "a key as certificates", "SSL", as_operator | {"ssl.truststore.certificates": key.split("-----BEGIN C")[0]}
        ),
        Way(
            "a key cut short",
            "SSL",
            as_operator | {"ssl.keystore.key": key[:200], "ssl.keystore.certificate.chain": key},
        ),
        Way("misspelt names", "PLAINTEXT", {"sasl.jaas.confg": secret, "ssl.key.pasword": option, "password": wrong}),
        Way("provider that is away", "SASL_PLAINTEXT", oauth | provider),
        Way("token file that holds something else", "SASL_PLAINTEXT", oauth | {endpoint: properties}),
        Way("no port", "SASL_PLAINTEXT", oauth | {endpoint: f"https://host:{WORDS['url']}/"}),
        Way("no such URL", "SASL_PLAINTEXT", oauth | {endpoint: f"ftp://user:{WORDS['url']}@host/"}),
        Way("command that fails", "SASL_PLAINTEXT", oauth | {command: f"{script} {WORDS['argument']}"}),
        Way("command that cannot be run", "SASL_PLAINTEXT", oauth | {command: f"/no/such/command {WORDS['argument']}"}),
        Way("token of somebody else", "SASL_PLAINTEXT", oauth | {command: f"echo {secret}"}),
        Way("Kerberos without a service", "SASL_PLAINTEXT", _sasl("SASL_PLAINTEXT", "GSSAPI", krb5)),
    ]


def as_file(settings: dict[str, str]) -> str:
    """Settings as the text of a properties file."""

    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace("\n", "\\n")

    return "".join(f"{name}={escaped(value)}\n" for name, value in settings.items())
