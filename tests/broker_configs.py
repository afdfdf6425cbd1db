"""Which configs of Kafka are in force in the bundled broker, and why the others are not.

In force is what the broker's code reads: every name of a config that stands there is found here, but for the code that
handles all configs alike. Of every other one ``REASONS`` says why nothing reads it. ``docs/broker-configs.md`` is made
of this by ``python -m tests.regen configs``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from kafka_tools.config_definitions import broker, topic

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "kafka_tools"
BESIDE = ("net/tls.py", "net/sasl/kerberos.py", "net/config_providers.py")
"""Code outside of the broker's folder that reads configs of its listeners."""
OF_ALL_CONFIGS = (
    "configs/validation.py", "configs/together.py", "configs/describe.py", "configs/store.py", "configs/alter.py",
    "directories/state_mending.py", "directories/formatted.py",
)  # fmt: skip
"""Code that judges, stores or describes configs, or makes them: it does nothing of what they ask for."""
_OF_CONSUMER_GROUPS = {
    "assignment.interval.ms": "coordinators/consumer/targets.py",
    "heartbeat.interval.ms": "coordinators/consumer/coordinator.py",
    "session.timeout.ms": "coordinators/consumer/coordinator.py",
}
COMPOSED = {
    "offsets.topic.num.partitions": "partitions/topic_changes.py",
    "offsets.topic.segment.bytes": "partitions/topic_changes.py",
    "sasl.oauthbearer.allow.unverified.audience": "security/token_validators.py",
    "sasl.oauthbearer.allow.unverified.issuer": "security/token_validators.py",
    "sasl.oauthbearer.clock.skew.seconds": "security/token_validators.py",
    "sasl.oauthbearer.expected.audience": "security/token_validators.py",
    "sasl.oauthbearer.expected.issuer": "security/token_validators.py",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "security/token_validators.py",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "security/token_validators.py",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "security/token_validators.py",
    "sasl.oauthbearer.jwks.endpoint.url": "security/token_validators.py",
    "sasl.oauthbearer.scope.claim.name": "security/token_validators.py",
    "sasl.oauthbearer.sub.claim.name": "security/token_validators.py",
    "sasl.server.callback.handler.class": "security/authentication.py",
    "transaction.state.log.num.partitions": "partitions/topic_changes.py",
    "transaction.state.log.segment.bytes": "partitions/topic_changes.py",
} | {
    f"group.consumer.{bound}{name}": module
    for bound in ("", "min.", "max.")
    for name, module in _OF_CONSUMER_GROUPS.items()
}
"""Names that are put together where they are read; the end of each stands there."""
SYNONYMS = {
    "log.retention.hours": "log.retention.ms",
    "log.retention.minutes": "log.retention.ms",
    "log.roll.hours": "log.roll.ms",
    "log.roll.jitter.hours": "log.roll.jitter.ms",
}
"""Other units of the same config."""

REASONS = (
    (r"remote\.log\.storage\.system\.enable", "tiered storage is not supported: the broker does not start with `true`"),
    (r"remote\..*|log\.local\..*|local\.retention\..*|follower\.fetch\.last\.tiered.*",
     "tiered storage is not supported: the broker refuses topics with `remote.storage.enable=true`"),
    (r"group\.share\..*|share\..*", "share groups are not served"),
    (r"group\.streams\..*", "streams groups are not served"),
    (r"group\.coordinator\..*|offsets\.load\.buffer\.size|transaction\.state\.log\.load\.buffer\.size"
     r"|offsets\.commit\.timeout\.ms",
     "a coordinator writes immediately, on the broker's thread, and reads its log batch by batch"),
    (r"controller\.(quorum|socket|performance)\..*|metadata\.(log|max)\..*|internal\.metadata\..*"
     r"|broker\.(heartbeat|session)\..*|initial\.broker\.registration\..*|process\.roles|early\.start\.listeners"
     r"|server\.max\.startup\.time\.ms|controlled\.shutdown\.enable",
     "one process is broker and controller: there is no quorum and no registration"),
    (r"replica\..*|(leader|follower)\.replication\..*|replication\.quota\..*|num\.replica\..*|.*replication\.factor"
     r"|alter\.log\.dirs\..*|min\.insync\.replicas|transaction\.state\.log\.min\.isr|unclean\..*|auto\.leader\..*"
     r"|leader\.imbalance\..*",
     "one broker: a partition has one replica, which is always in sync"),
    (r"num\.(io|network)\.threads|background\.threads|num\.recovery\..*|queued\.max\.requests|log\.cleaner\.io\.buffer\.size"
     r"|log\.initial\.task\.delay\.ms",
     "one thread serves all requests; other limits bound the memory"),
    (r".*purgatory\.purge\..*|producer\.id\.expiration\.check\..*|log\.flush\.(start\.)?offset\.checkpoint\..*",
     "it is done immediately, or together with other periodic work"),
    (r"metric\.reporters|metrics\..*|kafka\.metrics\..*", "metrics need no config; see metrics.md"),
    (r"socket\.(send|receive)\..*|socket\.listen\..*|socket\.connection\.setup\..*",
     "the operating system's sizes and times apply"),
    (r".*\.class(\.name|\.path)?|security\.providers|ssl\.(engine|keymanager|provider|protocol|secure|trustmanager)\b.*",
     "there is no JVM to load a class or a provider"),
    (r"sasl\.(login|kerberos)\..*|sasl\.mechanism\..*|sasl\.oauthbearer\..*|request\.timeout\.ms|inter\.broker\..*|security\.inter\..*",
     "it applies only to connections to other brokers"),
    (r"transaction\.two\.phase\.commit\.enable", "two-phase commit (KIP-939) is refused"),
    (r"errors\.deadletterqueue\..*", "share groups are not served, so there are no dead letter queues"),
    (r"group\.consumer\.assignor\.offload\.enable", "assignors run on the broker's thread, with pauses"),
    (r"log\.remote\.copy\.lag\..*", "tiered storage is not supported"),
    (r"unstable\..*", "APIs that are unstable in Kafka are not served"),
    (r"(cordoned\.log\.dirs|log\.dir\.failure\.timeout\.ms)",
     "new partitions go to the emptiest directory, and do not move"),
    (r"internal\.segment\.bytes", "only Kafka's own tests use it"),
)  # fmt: skip
"""(names, why nothing reads them), the first that matches counts."""


@cache
def literals(path: Path) -> frozenset[str]:
    """The strings of a module, without those that are documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return frozenset(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts
    )


def readers() -> Iterator[tuple[str, Path]]:
    """The modules that may read a config, by their names from the broker's folder on."""
    folder = PACKAGE / "broker_embedded"
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if name not in OF_ALL_CONFIGS:
            yield name, path
    for name in BESIDE:
        yield name, PACKAGE / name


@cache
def read() -> Mapping[str, str]:
    """Config -> the module that reads it, of every config in force."""
    known = broker.TABLE.keys() | topic.TABLE.keys()
    found: dict[str, str] = {}
    for module, path in readers():
        for name in sorted(literals(path) & known):
            if name not in WITHOUT_EFFECT:
                found.setdefault(name, module)
    for name, module in COMPOSED.items():
        found.setdefault(name, module)
    for name, default in topic.BROKER_NAME.items():
        if name in found:
            found.setdefault(default, found[name])
    for name, other in SYNONYMS.items():
        if other in found:
            found[name] = found[other]
    return found


WITHOUT_EFFECT = {"min.insync.replicas", "default.replication.factor"}
"""Names that stand in the code of what the broker says, and that change nothing of what it does."""


def reason(name: str) -> str | None:
    """Why nothing reads a config; None if nobody has said."""
    return next((why for pattern, why in REASONS if re.fullmatch(pattern, name)), None)


def page() -> dict[Path, str]:
    """``docs/broker-configs.md``."""
    lines = [
        "# Configs of the bundled broker",
        "",
        "The bundled broker accepts, validates, stores and describes every broker and topic config of Kafka. These",
        "tables say which of them have an effect, and why the others have none. `python -m tests.regen configs` writes",
        "them from the names that the broker's code reads.",
        "",
    ]
    for title, table in (("Topics", topic.TABLE), ("Brokers", broker.TABLE)):
        lines += [f"## {title}", "", "| config | default | effect |", "| --- | --- | --- |"]
        for name, row in sorted(table.items()):
            default = "" if row[1] is None else f"`{row[1]}`" if row[1] else ""
            said = "yes" if name in read() else f"no: {reason(name)}"
            lines.append(f"| `{name}` | {default} | {said} |")
        lines.append("")
    return {ROOT / "docs" / "broker-configs.md": "\n".join(lines)}
