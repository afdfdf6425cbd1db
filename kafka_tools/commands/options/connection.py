"""The connection of a command: its options, and the settings and clients that they define.

Names are Kafka's (KIP-1147 introduced ``--command-config`` and ``--command-property``). The spellings of older tools
and KIP-248 are accepted as well.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.commands import running
from kafka_tools.commands.options.command import connection_option, output_option
from kafka_tools.commands.options.values import addresses, broker_addresses, duration_ms, key_value
from kafka_tools.errors import UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.clock import Deadline
    from kafka_tools.net.config import ClientConfig
    from kafka_tools.net.trace import Trace

DEFAULT_TIMEOUT_MS = 30_000
Decorator = Callable[[Any], Any]
"""A function that adds one option to a command's function."""


class ConnectionOptions:
    """The connection options of one call. Modules for connections are imported only when the command connects."""

    def __init__(
        self,
        bootstrap_server: str | None,
        bootstrap_controller: str | None,
        command_config: str | None,
        properties: dict[str, str],
        timeout_ms: int,
        trace: bool,
    ) -> None:
        self.bootstrap_server = bootstrap_server
        self.bootstrap_controller = bootstrap_controller
        self.command_config = command_config
        self.properties = properties
        self.timeout_ms = timeout_ms
        self.trace = trace

    @property
    def timeout_s(self) -> float:
        """Maximum time in seconds that the whole command waits for brokers."""
        return self.timeout_ms / 1000

    @property
    def is_given(self) -> bool:
        """Whether any option names brokers or a file of settings."""
        return self.names_brokers or bool(self.command_config)

    @property
    def names_brokers(self) -> bool:
        """Whether an option names brokers or controllers. A file of settings, which may name them, does not count."""
        named = self.properties.keys() & {"bootstrap.servers", "bootstrap.controllers"}
        return bool(self.bootstrap_server or self.bootstrap_controller or named)

    def client_config(self, *, is_for_clients: bool = True) -> ClientConfig:
        """The combined settings of all options. For each key, properties override the file, addresses override both.

        ``is_for_clients``: name unknown settings on stderr, because they are typing mistakes.
        """
        self.check()
        from kafka_tools.net.config import ClientConfig

        config = ClientConfig.load(
            bootstrap_servers=self.bootstrap_server,
            bootstrap_controllers=self.bootstrap_controller,
            command_config=self.command_config,
            properties=self.properties,
        )
        if is_for_clients:
            note_unknown(config)
        return config

    def config_of(self, addresses: str) -> ClientConfig:
        """The settings of all connection options for brokers from another source."""
        from kafka_tools.net.config import ClientConfig

        return ClientConfig.load(
            bootstrap_servers=addresses, command_config=self.command_config, properties=self.properties
        )

    def check(self) -> None:
        """Raise UsageError if no option says where to connect."""
        if self.bootstrap_server and self.bootstrap_controller:
            raise UsageError("--bootstrap-server and --bootstrap-controller cannot be combined: give one of them")
        if not self.is_given:
            raise UsageError("--bootstrap-server is required", hint="for example --bootstrap-server localhost:9092")

    @functools.cached_property
    def deadline(self) -> Deadline:
        """The deadline of the command for files and brokers: ``--timeout`` after its first use."""
        from kafka_tools.clock import Deadline, SystemClock

        return Deadline(SystemClock(), self.timeout_s)

    def admin(self, *, is_lasting: bool = False, is_for_clients: bool = True) -> AdminClient:
        """An admin client whose calls share one deadline. It connects on the first call. Use it as a context manager.

        ``is_lasting``: each call has its own deadline, for a command without a time limit.
        ``is_for_clients``: False if ``--command-config`` is the configuration file of a server.
        """
        config = self.client_config(is_for_clients=is_for_clients)
        from kafka_tools.admin.client import AdminClient

        return AdminClient(
            config,
            timeout_s=self.timeout_s,
            trace=tracer(self.trace),
            warn=running.note,
            one_deadline=False if is_lasting else self.deadline,
        )


def tracer(wanted: bool) -> Trace | None:
    """The function that writes requests and responses to stderr for ``--trace``; None if not ``wanted``."""
    if not wanted:
        return None
    from kafka_tools.clock import SystemClock
    from kafka_tools.net.trace import Trace

    return Trace(sys.stderr.write, SystemClock())


def note_unknown(config: ClientConfig) -> None:
    """Print a line on stderr about unknown settings. Texts that do not look like names may be passwords: the line
    contains only their number."""
    dotted = [name for name in config.unknown if "." in name and name.replace(".", "").replace("_", "").isalnum()]
    others = len(config.unknown) - len(dotted)
    if config.unknown:
        unknown = [f"Kafka's clients have no setting with the name {', '.join(dotted)}"] if dotted else []
        unknown += [f"{others} line(s) are not valid settings (not shown)"] if others else []
        running.note(f"warning: {config.source}: {'; '.join(unknown)}")


def connection_options(
    *,
    controllers: bool = False,
    short: bool = False,
    more_names: Sequence[str] = (),
    more_config_names: Sequence[str] = (),
) -> Callable[[Any], Any]:
    """Add the connection options. The command's function gets them as one ``connection: ConnectionOptions``.

    ``controllers``: also ``--bootstrap-controller``, for commands whose requests a KRaft controller supports.
    ``short``: also ``-C``, ``-c`` and ``--config``, which only kafka-cluster has.
    ``more_names``, ``more_config_names``: older names of ``--bootstrap-server`` and of ``--command-config``.
    """

    def decorate(function: Any) -> Any:
        def fold(*arguments: Any, **values: Any) -> Any:
            connection = ConnectionOptions(
                values.pop("bootstrap_server"),
                values.pop("bootstrap_controller", None),
                values.pop("command_config"),
                dict(values.pop("command_property")),
                values.pop("timeout"),
                values.pop("trace"),
            )
            values.pop("debug")  # running reads it, even if the command line cannot be parsed
            from kafka_tools.given_files import within

            with within(lambda: connection.deadline):
                return function(*arguments, connection=connection, **values)

        controller = connection_option(
            *(("-C",) if short else ()),
            "--bootstrap-controller",
            "bootstrap_controller",
            metavar="HOST:PORT,...",
            type=addresses,
            help="KRaft controllers to connect to instead of brokers.",
        )
        adders = (
            _bootstrap_server(*more_names),
            *((controller,) if controllers else ()),
            _config_file(
                *(("-c", "--config") if short else ()),
                "--command-config",
                "--adminclient.config",
                *more_config_names,
                text="Properties file with the client's settings, as in Kafka's own tools.",
            ),
            _property("--command-property", "--adminclient-property", text=_PROPERTY),
            connection_option(
                "--timeout",
                "timeout",
                metavar="TIME",
                type=duration_ms,
                default=DEFAULT_TIMEOUT_MS,
                help="Overall time limit, including retries: 500ms, 30s, 2m, or a number of milliseconds.  "
                "[default: 30s]",
            ),
            *_DIAGNOSIS,
        )
        return _add(adders, functools.update_wrapper(fold, function))

    return decorate


def console_connection_options(client: str, *more_names: str) -> Callable[[Any], Any]:
    """Add the connection options of the console ``producer`` or ``consumer``, which have their own names.

    As ``client_connection_options``, with the names before KIP-1147. ``more_names``: older names of
    ``--bootstrap-server``.
    """
    return client_connection_options(
        client, *more_names, old_config=f"--{client}.config", old_property=f"--{client}-property"
    )


def client_connection_options(
    client: str,
    *more_names: str,
    old_config: str | None = None,
    old_property: str | None = None,
    config_text: str = "Properties file with the {client}'s settings.",
) -> Callable[[Any], Any]:
    """Add the connection options of a program that runs a ``client``: a producer, a consumer.

    The function gets ``bootstrap_server``, ``command_config``, ``command_property``, ``trace`` and ``debug``, and
    ``old_config`` and ``old_properties`` for older names of the options. ``more_names``: older names of
    ``--bootstrap-server``.
    """
    adders = (
        _bootstrap_server(*more_names),
        _config_file("--command-config", text=config_text.format(client=client)),
        _property("--command-property", text=_PROPERTY.replace("client", client)),
        *((_config_file(old_config, name="old_config", text="Older name of --command-config."),) if old_config else ()),
        *(
            (_property(old_property, name="old_properties", text="Older name of --command-property."),)
            if old_property
            else ()
        ),
        *_DIAGNOSIS,
    )
    return functools.partial(_add, adders)


_PROPERTY = "Set one client property; overrides the file."
_DIAGNOSIS = (
    output_option("--trace", "trace", is_flag=True, help="Show each request and response on stderr."),
    output_option("--debug", "debug", is_flag=True, help="Show the traceback of an error on stderr."),
)


def _bootstrap_server(*more_names: str) -> Decorator:
    return connection_option(
        "-b",
        "--bootstrap-server",
        "--bootstrap-servers",
        *more_names,
        "bootstrap_server",
        metavar="HOST:PORT,...",
        type=broker_addresses,
        help="Brokers to connect to first, for example localhost:9092. The port defaults to 9092.",
    )


def _config_file(*names: str, text: str, name: str = "command_config") -> Decorator:
    return connection_option(*names, name, metavar="FILE", help=text)


def _property(*names: str, text: str, name: str = "command_property") -> Decorator:
    return connection_option(*names, name, metavar="KEY=VALUE", type=key_value, multiple=True, help=text)


def _add(adders: Sequence[Decorator], function: Any) -> Any:
    for add in reversed(adders):
        function = add(function)
    return function
