"""The names, types and defaults of a client's settings: plain data, from Kafka's ``AdminClientConfig``,
``ProducerConfig`` and ``ConsumerConfig``.

It has no code for files or connections. It lists the keys of producers and consumers, so that a file that Java clients
share causes no warnings. The code that uses these keys checks their values.
"""

from __future__ import annotations

from typing import NamedTuple

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class Number(NamedTuple):
    """A whole number with its default and bounds."""

    default: int
    low: int = 0
    high: int = INT64_MAX


NUMBERS: dict[str, Number] = {
    "connections.max.idle.ms": Number(300_000, -1),
    "default.api.timeout.ms": Number(60_000, 0, INT32_MAX),
    "metadata.max.age.ms": Number(300_000),
    "receive.buffer.bytes": Number(65_536, -1, INT32_MAX),
    "reconnect.backoff.max.ms": Number(1_000),
    "reconnect.backoff.ms": Number(50),
    "request.timeout.ms": Number(30_000, 0, INT32_MAX),
    "retries": Number(INT32_MAX, 0, INT32_MAX),
    "retry.backoff.max.ms": Number(1_000),
    "retry.backoff.ms": Number(100),
    "sasl.login.read.timeout.ms": Number(10_000),
    "sasl.login.refresh.buffer.seconds": Number(300, 0, 3600),
    "sasl.login.refresh.min.period.seconds": Number(60, 0, 900),
    "sasl.login.retry.backoff.max.ms": Number(10_000),
    "sasl.login.retry.backoff.ms": Number(100),
    "send.buffer.bytes": Number(131_072, -1, INT32_MAX),
    "socket.connection.setup.timeout.max.ms": Number(30_000),
    "socket.connection.setup.timeout.ms": Number(10_000),
}


class Fraction(NamedTuple):
    """A fraction of 1 with its default and bounds."""

    default: float
    low: float
    high: float


FRACTIONS: dict[str, Fraction] = {
    "sasl.login.refresh.window.factor": Fraction(0.8, 0.5, 1.0),
    "sasl.login.refresh.window.jitter": Fraction(0.05, 0.0, 0.25),
}

TEXTS: dict[str, str] = {
    "bootstrap.controllers": "",
    "bootstrap.servers": "",
    "client.dns.lookup": "use_all_dns_ips",
    "client.id": "kafka-tools",
    "config.providers": "",
    "metadata.cluster.check.enable": "true",
    "metadata.recovery.strategy": "rebootstrap",
    "metrics.prometheus.port": "",
    "sasl.jaas.config": "",
    "sasl.kerberos.service.name": "",
    "sasl.mechanism": "GSSAPI",
    "sasl.oauthbearer.client.credentials.client.id": "",
    "sasl.oauthbearer.client.credentials.client.secret": "",
    "sasl.oauthbearer.header.urlencode": "",
    "sasl.oauthbearer.scope": "",
    "sasl.oauthbearer.token.command": "",
    "sasl.oauthbearer.token.endpoint.url": "",
    "security.protocol": "PLAINTEXT",
    "ssl.cipher.suites": "",
    "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    "ssl.endpoint.identification.algorithm": "https",
    "ssl.key.password": "",
    "ssl.keystore.certificate.chain": "",
    "ssl.keystore.key": "",
    "ssl.keystore.location": "",
    "ssl.keystore.password": "",
    "ssl.keystore.type": "JKS",
    "ssl.truststore.certificates": "",
    "ssl.truststore.location": "",
    "ssl.truststore.password": "",
    "ssl.truststore.type": "JKS",
}

CHOICES: dict[str, tuple[str, ...]] = {
    "client.dns.lookup": ("default", "use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "metadata.cluster.check.enable": ("true", "false"),
    "metadata.recovery.strategy": ("rebootstrap", "none"),
    "security.protocol": ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
}

IN_ANY_CASE = ("metadata.cluster.check.enable", "metadata.recovery.strategy")
"""Settings whose values Kafka also accepts in upper case."""

JAVA_CLASSES = (
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "security.providers",
    "ssl.engine.factory.class",
)
"""Settings that name Java code, which cannot run here. A connection that needs it is refused."""

KAFKA_S_OWN = "org.apache.kafka.common.security."
"""The package of Kafka's own classes. These settings may name them: this client does the same work."""

RETRIEVER = "sasl.oauthbearer.jwt.retriever.class"
RETRIEVERS = ("DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever")
"""Kafka's classes for getting a token. This client does their work; the URL decides which class applies."""

KNOWN_ELSEWHERE: frozenset[str] = frozenset(
    # Settings of Java clients only: metrics, providers of the JVM, ticket renewal, parts of OAUTHBEARER, and the time
    # until a client that lost all brokers bootstraps again. Our clients ask the bootstrap servers immediately.
    [
        "auto.include.jmx.reporter",
        "bootstrap.resolve.timeout.ms",
        "enable.metrics.push",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.connect.timeout.ms",
        "sasl.oauthbearer.allow.unverified.audience",
        "sasl.oauthbearer.allow.unverified.issuer",
        "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.claim.aud",
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.template.file",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    ]
)

CONSUMER: frozenset[str] = frozenset(
    [
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "auto.offset.reset",
        "check.crcs",
        "client.rack",
        "enable.auto.commit",
        "exclude.internal.topics",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "interceptor.classes",
        "internal.throw.on.fetch.stable.offset.unsupported",
        "isolation.level",
        "key.deserializer",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "max.poll.records",
        "partition.assignment.strategy",
        "session.timeout.ms",
        "share.acknowledgement.mode",
        "share.acquire.mode",
        "value.deserializer",
    ]
)

PRODUCER: frozenset[str] = frozenset(
    [
        "acks",
        "batch.size",
        "buffer.memory",
        "buffer.memory.allocation.strategy",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "delivery.timeout.ms",
        "enable.idempotence",
        "interceptor.classes",
        "key.serializer",
        "linger.ms",
        "max.block.ms",
        "max.in.flight.requests.per.connection",
        "max.request.size",
        "metadata.max.idle.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "partitioner.ignore.keys",
        "partitioner.rack.aware",
        "transaction.timeout.ms",
        "transaction.two.phase.commit.enable",
        "transactional.id",
        "value.serializer",
    ]
)

KNOWN: frozenset[str] = (
    frozenset(NUMBERS)
    | frozenset(FRACTIONS)
    | frozenset(TEXTS)
    | frozenset(JAVA_CLASSES)
    | KNOWN_ELSEWHERE
    | CONSUMER
    | PRODUCER
)

SECRETS: frozenset[str] = frozenset(
    [
        "sasl.jaas.config",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.token.command",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.certificates",
        "ssl.truststore.password",
    ]
)
"""Settings of Kafka's type PASSWORD, and a command whose arguments may be secret."""


def is_known(key: str) -> bool:
    """Whether Kafka's clients have a setting of this name."""
    return key in KNOWN or key.startswith("config.providers.")


def may_be_secret(key: str) -> bool:
    """Whether the value must not be shown: Kafka's secrets, and settings that are not known here."""
    return key in SECRETS or not is_known(key) or key.startswith("config.providers.")
