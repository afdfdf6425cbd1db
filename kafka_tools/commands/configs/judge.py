"""The check whether a cluster takes the configs that ``--zookeeper`` is to store: by one of its brokers, and by the
tables of its release. ZooKeeper checks nothing: a config in ZooKeeper that brokers cannot read keeps them from
starting. A broker that runs is asked for its release (ApiVersions) and to judge configs of topics (AlterConfigs,
validate only: with what it was started with and with its policy); where none answers the registrations tell what
releases are possible, and where none is registered only what every release with ZooKeeper takes is stored.
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
"""How long brokers may take to answer, for each question."""
_FIRST_WITH_FORM_5 = "2.7"
"""The first release whose brokers may register in form 5."""


def stated_release(text: str) -> str:
    """The release that ``--zk-release`` names, its patch level aside. Raises UsageError."""
    release = ".".join(text.split(".")[:2])
    if release not in RELEASES:
        raise UsageError(
            f"invalid --zk-release '{text[:20]}': expected a release with ZooKeeper: {', '.join(RELEASES)}"
        )
    return release


class Judge:
    """Says what the cluster takes. ``releases``: those that its brokers may be of, oldest first."""

    def __init__(self, releases: Sequence[str], admin: AdminClient | None = None) -> None:
        self.releases = releases
        self._admin = admin

    def check_value(self, target: Target, name: str, value: str) -> None:
        """Raise InputError unless every release that is possible takes ``name=value`` for the target."""
        check_value(self.releases, kind_of(target), name, value)

    def check_whole(self, target: Target, values: Mapping[str, str]) -> None:
        """Raise InputError, BrokerError unless a topic can have these configs and no others."""
        if target[0].type != "topics":
            return
        judged = self._admin is not None and self._ask(target, values)
        check_together(self.releases, values, judged)

    def _ask(self, target: Target, values: Mapping[str, str]) -> bool:
        """Let a broker judge; whether it did. Raises its refusal."""
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
    """Which of Kafka's definitions a target's configs follow."""
    first = target[0]
    if len(target) > 1 or first.type == "clients" or (first.type == "users" and not first.name):
        return "client"
    if first.type == "brokers":
        return "broker" if first.name else "all brokers"
    kinds: dict[str, Kind] = {"topics": "topic", "users": "user", "ips": "ip"}
    return kinds[first.type]


@contextmanager
def judging(configs: ZooKeeperConfigs, connection: ConnectionOptions, release: str | None) -> Iterator[Judge]:
    """The judge of a cluster, for the ``with`` block; a line on stderr says who it is.

    ``release``: the brokers' release ("2.8"), where it is known and no broker tells it. Raises StoreError, ConfigError.
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
    """A client of the brokers that are registered, or why there is none."""
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
    """Broker -> its release, of those that answer; and why others do not."""
    try:
        versions = admin.api_versions()
    except KafkaToolsError as error:
        return {}, str(error)
    why = next((str(error) for error in versions.failures().values()), "")
    return {str(node.id): (_release_of(found),) for node, found in versions.succeeded().items()}, why


def _registered_releases(registration: Registration) -> tuple[str, ...]:
    """The releases that register in this form: an old form is a new release's too, while its IBP is old."""
    if registration.version >= 5:
        return RELEASES[RELEASES.index(_FIRST_WITH_FORM_5) :]
    return RELEASES


def _release_of(advertised: Mapping[int, tuple[int, int]]) -> str:
    """The release that these API versions are of, or the nearest one."""
    from kafka_tools.protocol.releases import guess_release, releases

    found = guess_release(dict(advertised))
    if found in RELEASES:
        return found
    order = releases()
    return RELEASES[-1] if found in order and order.index(found) > order.index(RELEASES[-1]) else RELEASES[0]
