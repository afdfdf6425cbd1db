"""Validates configs for ``--zookeeper`` with one of the cluster's brokers, and with the tables of its release.

ZooKeeper validates nothing, and brokers do not start with a config that they cannot read. A running broker reports its
release (ApiVersions) and validates configs of topics (AlterConfigs, validate only) with its own settings and policy.
If no broker responds, the registrations show the possible releases. Without a registration, only configs that every
release with ZooKeeper accepts are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.commands.configs.entities import Target
from kafka_tools.config_definitions.zookeeper.releases import (
    RELEASES,
    Kind,
    check_together,
    check_value,
    releases_text,
)
from kafka_tools.errors import BrokerError, KafkaToolsError, UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.options.connection import ConnectionOptions
    from kafka_tools.zookeeper.configs import ZooKeeperConfigs
    from kafka_tools.zookeeper.nodes import Registration

ASK_S = 5.0
"""Timeout of each request to brokers."""
_FIRST_WITH_FORM_5 = "2.7"
"""The first release whose brokers may register in form 5."""


def stated_release(text: str) -> str:
    """The release of ``--zk-release`` without its patch level. Raises UsageError."""
    release = ".".join(text.split(".")[:2])
    if release not in RELEASES:
        raise UsageError(
            f"invalid --zk-release '{text[:20]}': expected a release with ZooKeeper: {', '.join(RELEASES)}"
        )
    return release


class Judge:
    """Validates configs for a cluster. ``releases``: the possible releases of its brokers, oldest first."""

    def __init__(self, releases: Sequence[str], admin: AdminClient | None = None) -> None:
        self.releases = releases
        self._admin = admin

    def check_value(self, target: Target, name: str, value: str) -> None:
        """Raise InputError unless every possible release accepts ``name=value`` for the target."""
        check_value(self.releases, kind_of(target), name, value)

    def check_whole(self, target: Target, values: Mapping[str, str]) -> None:
        """Raise InputError or BrokerError unless a topic can have exactly these configs."""
        if target[0].type != "topics":
            return
        judged = self._admin is not None and self._ask(target, values)
        check_together(self.releases, values, judged)

    def _ask(self, target: Target, values: Mapping[str, str]) -> bool:
        """Let a broker validate. Returns whether it did. Raises the broker's error."""
        from kafka_tools.admin.client import ConfigResource
        from kafka_tools.protocol import error_codes

        assert self._admin is not None
        refusals = (error_codes.INVALID_CONFIG, error_codes.INVALID_REQUEST, error_codes.POLICY_VIOLATION)
        resource = ConfigResource("topic", target[0].name or "")
        try:
            self._admin.replace_configs({resource: values}, validate_only=True).raise_any()
            return True
        except KafkaToolsError as error:
            if isinstance(error, BrokerError) and error.code.code in refusals:
                raise
            reason = error
        running.note(
            f"warning: no broker validated topic '{resource.name}': {reason}; the values were checked against "
            "its release"
        )
        self._admin = None
        return False


def kind_of(target: Target) -> Kind:
    """The kind of Kafka's definitions for a target's configs."""
    first = target[0]
    if len(target) > 1 or first.type == "clients" or (first.type == "users" and not first.name):
        return "client"
    if first.type == "brokers":
        return "broker" if first.name else "all brokers"
    kinds: dict[str, Kind] = {"topics": "topic", "users": "user", "ips": "ip"}
    return kinds[first.type]


@contextmanager
def judging(configs: ZooKeeperConfigs, connection: ConnectionOptions, release: str | None) -> Iterator[Judge]:
    """The judge of a cluster, for the ``with`` block. A line on stderr names the source of the release.

    ``release``: the brokers' release ("2.8"), if it is known and no broker reports it. Raises StoreError, ConfigError.
    """
    stated = (release,) if release else ()
    registered = configs.registrations()
    if not registered:
        taken = (
            f"{releases_text(stated)}, as --zk-release says"
            if stated
            else f"every release of {releases_text(RELEASES)}"
        )
        running.note(f"no broker is registered: validated against {taken}")
        yield Judge(stated or RELEASES)
        return
    possible = {each.broker: stated or _registered_releases(each) for each in registered}
    with ExitStack() as stack:
        admin, why = _connected(stack, connection, registered)
        if admin is not None:
            told, why = _told_releases(admin)
            possible |= told
            admin = admin if told else None
        releases = [each for each in RELEASES if any(each in several for several in possible.values())]
        if admin is None:
            running.note(f"no broker can be reached ({why}): validated against {releases_text(releases)}")
        else:
            running.note(f"validated by running brokers ({releases_text(releases)}, validate only)")
        yield Judge(releases, admin)


def _connected(
    stack: ExitStack, connection: ConnectionOptions, registered: Sequence[Registration]
) -> tuple[AdminClient | None, str]:
    """A client of the registered brokers, or the reason why there is none."""
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.options.connection import tracer
    from kafka_tools.values import format_address

    protocol = connection.config_of("")["security.protocol"]
    endpoints = (each for broker in registered for each in broker.endpoints if each.protocol == protocol)
    addresses = ",".join(format_address(each.host, each.port) for each in endpoints)
    if not addresses:
        return None, f"no broker has a listener for security.protocol={protocol}: set another in --command-config"
    timeout_s = min(ASK_S, connection.timeout_s)
    client = AdminClient(connection.config_of(addresses), timeout_s=timeout_s, trace=tracer(connection.trace))
    return stack.enter_context(client), ""


def _told_releases(admin: AdminClient) -> tuple[dict[str, tuple[str, ...]], str]:
    """Broker -> its release, for brokers that respond; and the error of others."""
    try:
        versions = admin.api_versions()
    except KafkaToolsError as error:
        return {}, str(error)
    why = next((str(error) for error in versions.failures().values()), "")
    return {str(node.id): (_release_of(found),) for node, found in versions.succeeded().items()}, why


def _registered_releases(registration: Registration) -> tuple[str, ...]:
    """The releases that register in this format. A new release also uses an old format if its IBP is old."""
    if registration.version >= 5:
        return RELEASES[RELEASES.index(_FIRST_WITH_FORM_5) :]
    return RELEASES


def _release_of(advertised: Mapping[int, tuple[int, int]]) -> str:
    """The release with these API versions, or the nearest one."""
    from kafka_tools.protocol.releases import guess_release, releases

    found = guess_release(dict(advertised))
    if found in RELEASES:
        return found
    order = releases()
    return RELEASES[-1] if found in order and order.index(found) > order.index(RELEASES[-1]) else RELEASES[0]
