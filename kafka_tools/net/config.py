"""The settings of a client: ``client.properties`` and options together, checked, secrets masked.

Reads what Java clients read, so that one file serves both. It uses no sockets; ``net.tls`` turns the ``ssl.*``
settings into a context, ``credentials`` the JAAS line into user and password. No message here repeats a value that
may be secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.config_definitions import client as client_settings
from kafka_tools.errors import ConfigError, InputError
from kafka_tools.shown_text import MASK
from kafka_tools.texts.properties import read_properties
from kafka_tools.values import can_be_sent, parse_addresses, parse_integer

if TYPE_CHECKING:
    from kafka_tools.net.jaas import JaasEntry

SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")


class SaslCredentials(NamedTuple):
    """A login. ``token_auth``: user and password are the id and HMAC of a delegation token."""

    username: str
    password: str
    token_auth: bool = False

    def __repr__(self) -> str:
        return f"SaslCredentials(username={self.username!r}, password={MASK})"


class ClientConfig:
    """Settings by Kafka's names. ``values`` contains the given settings, with variables replaced.

    ``unknown`` lists, in order, the names that Kafka's clients do not have: a misspelt setting is reported, not
    ignored. ``is_controllers``: the bootstrap addresses are KRaft controllers (KIP-919).
    """

    def __init__(self, values: Mapping[str, str], source: str = "client settings") -> None:
        """Check ``values`` (variables already replaced); ConfigError names the setting that is wrong."""
        self.values = dict(values)
        self.source = source
        self.unknown = tuple(key for key in self.values if not client_settings.is_known(key))
        self._numbers = {key: self.bounded(key, number) for key, number in client_settings.NUMBERS.items()}
        self._fractions = {key: self._fraction(key, part) for key, part in client_settings.FRACTIONS.items()}
        for key, choices in client_settings.CHOICES.items():
            given = self[key].lower() if key in client_settings.IN_ANY_CASE else self[key]
            if given not in choices:
                raise ConfigError(f"invalid {key} '{self[key]}': expected one of {', '.join(choices)}")
        servers, controllers = self["bootstrap.servers"].strip(), self["bootstrap.controllers"].strip()
        if servers and controllers:
            raise ConfigError("bootstrap.servers and bootstrap.controllers cannot be combined: set one of them")
        self.is_controllers = bool(controllers)
        try:
            self.bootstrap = tuple(parse_addresses(controllers or servers)) if controllers or servers else ()
        except InputError as error:
            name = "bootstrap.controllers" if controllers else "bootstrap.servers"
            raise ConfigError(f"{name}: {error}") from error
        self._check_security()

    @classmethod
    def load(
        cls,
        bootstrap_servers: str | None = None,
        bootstrap_controllers: str | None = None,
        command_config: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> ClientConfig:
        """Settings of a file, of single properties and of the address options. The later source overrides per key.

        Raises ConfigError for a file that cannot be read and for a setting that cannot be used.
        """
        values: dict[str, str] = {}
        if command_config is not None:
            values.update(read_properties(command_config, "command config"))
        values.update(properties or {})
        if bootstrap_servers is not None:
            values["bootstrap.servers"] = bootstrap_servers
            values.pop("bootstrap.controllers", None)
        if bootstrap_controllers is not None:
            values["bootstrap.controllers"] = bootstrap_controllers
            values.pop("bootstrap.servers", None)
        return cls.of(values, command_config or "client settings")

    @classmethod
    def of(cls, values: Mapping[str, str], source: str, base: Mapping[str, str] | None = None) -> ClientConfig:
        """Settings whose ``${provider:path:key}`` are replaced first, by the providers that they declare.

        ``base``: settings with their variables already replaced, to which ``values`` are added.
        """
        from kafka_tools.net.config_providers import declared_providers, transform

        base = base or {}
        providers = declared_providers({**base, **values})
        if providers:
            values = {key: value or "" for key, value in transform(values, providers).values.items()}
        return cls({**base, **values}, source)

    def __getitem__(self, key: str) -> str:
        """The text of a setting, or its default; KeyError for a name without default that is not set."""
        value = self.values.get(key)
        return client_settings.TEXTS[key] if value is None else value

    def get(self, key: str, default: str | None = None) -> str | None:
        """The text of any setting, as given; ``default`` when it is not set and has no default of its own."""
        value = self.values.get(key)
        return client_settings.TEXTS.get(key, default) if value is None else value

    def number(self, key: str) -> int:
        """A setting that is a whole number (unit as in its name)."""
        return self._numbers[key]

    def bounded(self, key: str, number: client_settings.Number) -> int:
        """A setting that is a whole number of these bounds, or its default. Raises ConfigError."""
        text = self.values.get(key)
        if text is None:
            return number.default
        try:
            value = parse_integer(text)
        except ValueError:
            raise ConfigError(f"invalid {key} '{text}': expected a whole number") from None
        if not number.low <= value <= number.high:
            raise ConfigError(f"invalid {key} {value}: expected {number.low} to {number.high}")
        return value

    def fraction(self, key: str) -> float:
        """A setting that is a fraction from 0 to 1."""
        return self._fractions[key]

    @property
    def client_id(self) -> str:
        return self["client.id"]

    @property
    def security_protocol(self) -> str:
        return self["security.protocol"]

    @property
    def uses_tls(self) -> bool:
        return self.security_protocol in ("SSL", "SASL_SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    @property
    def sasl_mechanism(self) -> str:
        return self["sasl.mechanism"].strip()

    def require_bootstrap(self) -> tuple[tuple[str, int], ...]:
        """The addresses to connect to first; ConfigError when none is set."""
        if not self.bootstrap:
            raise ConfigError(
                f"{self.source}: bootstrap.servers is not set",
                hint="pass --bootstrap-server HOST:PORT, or set bootstrap.servers in the file",
            )
        return self.bootstrap

    def credentials(self) -> SaslCredentials:
        """User and password of ``sasl.jaas.config``; ConfigError, without any value, when they are missing."""
        module = "plain.PlainLoginModule" if self.sasl_mechanism == "PLAIN" else "scram.ScramLoginModule"
        entry = self._login_module(
            f"for example sasl.jaas.config=org.apache.kafka.common.security.{module} required "
            'username="..." password="...";'
        )
        options = entry.options
        for name in ("username", "password"):
            if name not in options:
                raise ConfigError(f"sasl.jaas.config: {entry.simple_name} has no option '{name}'")
            if not can_be_sent(options[name]):
                raise ConfigError(f"sasl.jaas.config: the {name} is not UTF-8 text")
        if "${" in options["password"] and "config.providers" not in self.values:
            hint = "declare the provider with config.providers and config.providers.<name>.class"
            raise ConfigError("sasl.jaas.config: no config provider resolves the ${...} in the password", hint=hint)
        token_auth = options.get("tokenauth", "false").lower() == "true"
        return SaslCredentials(options["username"], options["password"], token_auth)

    def oauth_options(self) -> dict[str, str]:
        """The options of the OAUTHBEARER login module; ConfigError when there is no such module."""
        return self._login_module(
            "set sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
        ).options

    def _login_module(self, hint: str) -> JaasEntry:
        """The one login module of ``sasl.jaas.config``; ``hint``: the hint of the error when it is not set."""
        from kafka_tools.net.jaas import parse_jaas

        text = self["sasl.jaas.config"]
        if not text.strip():
            raise ConfigError(f"sasl.mechanism is {self.sasl_mechanism}, but sasl.jaas.config is not set", hint=hint)
        entries = parse_jaas(text)
        if len(entries) > 1:
            raise ConfigError("invalid sasl.jaas.config: expected exactly one login module")
        if entries[0].simple_name == "Krb5LoginModule":
            raise ConfigError(
                "sasl.jaas.config: Kerberos callback handler should only be used with GSSAPI",
                hint=f"set sasl.mechanism=GSSAPI, or sasl.jaas.config to the module of {self.sasl_mechanism}",
            )
        return entries[0]

    def __repr__(self) -> str:
        shown = {key: MASK if client_settings.may_be_secret(key) else value for key, value in self.values.items()}
        return f"ClientConfig({shown})"

    def _fraction(self, key: str, part: client_settings.Fraction) -> float:
        text = self.values.get(key)
        if text is None:
            return part.default
        try:
            value = float(text.strip())
        except ValueError:
            raise ConfigError(f"invalid {key} '{text}': expected a number") from None
        if not part.low <= value <= part.high:
            raise ConfigError(f"invalid {key} {text.strip()}: expected {part.low:g} to {part.high:g}")
        return value

    def _check_security(self) -> None:
        for key in client_settings.JAVA_CLASSES:
            needed = self.uses_sasl if key.startswith("sasl") else self.uses_tls
            name = self.values.get(key, "").strip()
            # This module does the work of Kafka's own classes. Before 4.0, a file for OAUTHBEARER had to name one.
            if needed and name and not name.startswith(client_settings.KAFKA_S_OWN):
                raise ConfigError(f"{key} names Java code, which only Java clients can run: remove it")
        if self.uses_sasl:
            if self.sasl_mechanism not in SASL_MECHANISMS:
                raise ConfigError(
                    f"unsupported sasl.mechanism '{self.sasl_mechanism}': expected one of {', '.join(SASL_MECHANISMS)}"
                )
            if self.sasl_mechanism == "OAUTHBEARER":
                self.oauth_options()
                retriever = self.values.get(client_settings.RETRIEVER, "").strip()
                if retriever and retriever.rpartition(".")[2] not in client_settings.RETRIEVERS:
                    names = ", ".join(client_settings.RETRIEVERS)
                    raise ConfigError(f"unsupported {client_settings.RETRIEVER} '{retriever}': expected one of {names}")
            elif self.sasl_mechanism == "GSSAPI":
                from kafka_tools.net.sasl.kerberos import kerberos_login

                kerberos_login(self)
            else:
                self.credentials()
