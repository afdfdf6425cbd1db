"""Options that commands share, and how an option behaves in all of them.

Names are Kafka 4.3.1's (KIP-1147 spells them ``--command-config`` and ``--command-property``); spellings that older
tools or KIP-248 used are accepted beside them. An option that takes a value is given once unless it may repeat, and
its value is never empty: Kafka's tools let the last one win, which once widened a delete to all topics elsewhere.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.errors import InputError, UsageError

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.clock import Deadline
    from kafka_tools.net.config import ClientConfig
    from kafka_tools.net.trace import Trace

DEFAULT_TIMEOUT_MS = 30_000
CONNECTION = "Connection"
OUTPUT = "Output and diagnosis"
ARGUMENTS = "kafka_tools.arguments"
"""Key in ``click.Context.meta`` of the arguments as they were given, for options whose order matters."""
FORMATS = ("table", "wide", "json", "jsonl", "yaml", "csv", "tsv", "name")
"""The forms of ``-o``; what each is stands in ``output/rows.py``."""


_MAY_HOLD_SECRET = re.compile(r"password|passphrase|secret|jaas|scram|hmac|token\b", re.IGNORECASE)
"""Words of a command line that holds, or names, something secret."""


class Option(click.Option):
    """click's option, with a section of the help page and the rule about empty values."""

    def __init__(self, *names: Any, section: str = "Options", allow_empty: bool = False, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.allow_empty = allow_empty

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        values = value if isinstance(value, list | tuple) else (value,)
        if "" in values and not self.allow_empty:
            raise click.BadParameter("the value is empty", ctx=ctx, param=self)
        # Bytes that are no UTF-8 arrive as lone surrogates: a file may be called that, nothing in Kafka can be.
        if not (self.metavar or "").startswith(("FILE", "DIR")) and any(
            "\ud800" <= character <= "\udfff" for text in values if isinstance(text, str) for character in text
        ):
            raise click.BadParameter("the value is not UTF-8 text", ctx=ctx, param=self)
        return super().type_cast_value(ctx, value)


class Command(click.Command):
    """click's command, with options in sections and a complaint about an option that is given twice."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        settings = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
        attributes["context_settings"] = settings | (attributes.get("context_settings") or {})
        super().__init__(*arguments, **attributes)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[ARGUMENTS] = list(args)
        if not ctx.resilient_parsing:
            repeated = self._given_twice(args)
            if repeated:
                raise click.UsageError(f"Option '{repeated}' is given more than once.", ctx=ctx)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if isinstance(error, click.NoSuchOption):
                self._explain(error, ctx)
            # click repeats the word; a password whose quotes are missing falls into several.
            if isinstance(error, click.NoSuchOption):
                strange = not error.possibilities  # what is nearly an option is a misspelt one
            else:
                strange = "unexpected extra argument" in error.message
            if strange and any(_MAY_HOLD_SECRET.search(word) for word in ctx.meta[ARGUMENTS]):
                text = "a word belongs to no option (not shown, it may be a secret): are quotes missing around a value?"
                raise click.UsageError(text, ctx=ctx) from None
            raise

    def _explain(self, error: click.NoSuchOption, ctx: click.Context) -> None:
        """Raise what tells more than that there is no such option, if anything does."""
        from kafka_tools.commands.removed_options import explanation

        text = explanation(self.name or "", error.option_name)
        if text is not None:
            raise click.UsageError(text, ctx=ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                # --help itself is click's own option and belongs with the last section.
                sections.setdefault(getattr(parameter, "section", OUTPUT), []).append(record)
        order = [name for name in sections if name not in (CONNECTION, OUTPUT)] + [CONNECTION, OUTPUT]
        for name in order:
            if name in sections:
                with formatter.section(name):
                    formatter.write_dl(sections[name])

    def _given_twice(self, args: Sequence[str]) -> str | None:
        options = {name: option for option in self.params for name in (*option.opts, *option.secondary_opts)}
        seen = set()
        position = 0
        while position < len(args) and args[position] != "--":
            name, has_value, _ = args[position].partition("=")
            option = options.get(name)
            position += 1
            if not isinstance(option, click.Option) or option.is_flag or option.count:
                continue
            if option.name in seen and not option.multiple:
                return name
            seen.add(option.name)
            optional_value = option.flag_value is not None and not isinstance(option.flag_value, bool)
            follows = position < len(args) and not (optional_value and args[position].startswith("-"))
            if not has_value and follows:
                position += 1
        return None


class CommandGroup(Command, click.Group):
    """A command with subcommands (``kafka-cluster cluster-id``)."""

    command_class = Command

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        # A group without its command is a mistake like any other: one line on stderr, not the help page there.
        super().__init__(*arguments, **{"no_args_is_help": False} | attributes)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Kafka documents ``kafka-metadata-quorum --bootstrap-server HOST:PORT describe``: options of the subcommand
        # may stand before its name.
        at = next((at for at, word in enumerate(args) if word in self.commands), 0)
        own = {name for parameter in self.params for name in parameter.opts} | {"-h", "--help"}
        if at and not own.intersection(args[:at]):
            args = [args[at], *args[:at], *args[at + 1 :]]
        return super().parse_args(ctx, args)

    def _explain(self, error: click.NoSuchOption, ctx: click.Context) -> None:
        from kafka_tools.commands.removed_options import explanation

        # Where the command is missing, any of its words may be an option that stood in its place once.
        for word in (error.option_name, *ctx.meta[ARGUMENTS]):
            text = explanation(self.name or "", word.partition("=")[0])
            if text is not None:
                raise click.UsageError(text, ctx=ctx) from None
        words = (name for each in self.commands.values() for parameter in each.params for name in parameter.opts)
        if error.option_name in words:
            raise click.UsageError(f"Missing command: give one of {', '.join(self.commands)}.", ctx=ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        Command.format_options(self, ctx, formatter)
        click.Group.format_commands(self, ctx, formatter)


def option(*names: str, **attributes: Any) -> Callable[[Any], Any]:
    """``click.option`` with this module's manners; ``section`` and ``allow_empty`` as in Option."""
    return click.option(*names, **{"cls": Option} | attributes)


_UNITS_MS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


def duration_ms(text: str | int) -> int:
    """Milliseconds of a time span: a bare number is milliseconds, as in Kafka's tools; ``30s``, ``2m``, ``1h`` also."""
    if isinstance(text, int):
        return text
    digits = text.strip().rstrip("mshMSH")
    unit_ms = _UNITS_MS.get(text.strip()[len(digits) :].lower())
    number = float(digits) if len(digits) < 20 and digits.replace(".", "", 1).isdecimal() else 0.0
    milliseconds = round(number * (unit_ms or 0))
    if not 0 < milliseconds < 2**31:
        raise click.BadParameter(f"'{text}' is no time span: 500ms, 30s, 2m, or a number of milliseconds is expected")
    return milliseconds


def key_value(text: str | tuple[str, str]) -> tuple[str, str]:
    """``key=value`` split at the first ``=``; the value may hold more of them."""
    if isinstance(text, tuple):
        return text
    key, equals, rest = text.partition("=")
    if not equals or not key.strip():
        # The text itself may hold a password, so it is not repeated.
        raise click.BadParameter("key=value is expected")
    return key.strip(), rest


def addresses(text: str) -> str:
    """``host:port,host:port``, as it is; a usage error for anything else."""
    from kafka_tools.values import parse_addresses

    try:
        parse_addresses(text)
    except InputError as error:
        raise click.BadParameter(str(error)) from error
    return text


class ConnectionOptions:
    """Where and how a command connects: the connection options of one call, loaded only when it does connect."""

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
        """Seconds that the whole command may spend waiting for brokers."""
        return self.timeout_ms / 1000

    @property
    def is_given(self) -> bool:
        """Whether any option says where brokers are."""
        return self.names_brokers or bool(self.command_config)

    @property
    def names_brokers(self) -> bool:
        """Whether an option names brokers or controllers; a file that may do so does not count."""
        named = self.properties.keys() & {"bootstrap.servers", "bootstrap.controllers"}
        return bool(self.bootstrap_server or self.bootstrap_controller or named)

    def client_config(self) -> ClientConfig:
        """The settings of all connection options together; the later of file, property, address wins per key."""
        self.check()
        from kafka_tools.net.config import ClientConfig

        config = ClientConfig.load(
            bootstrap_servers=self.bootstrap_server,
            bootstrap_controllers=self.bootstrap_controller,
            command_config=self.command_config,
            properties=self.properties,
        )
        if config.unknown:
            names = shown_names(config.unknown)
            running.note(f"warning: {config.source}: no client setting of Kafka has the name {names}")
        return config

    def config_of(self, addresses: str) -> ClientConfig:
        """The settings of all connection options for brokers that something else named."""
        from kafka_tools.net.config import ClientConfig

        return ClientConfig.load(
            bootstrap_servers=addresses, command_config=self.command_config, properties=self.properties
        )

    def check(self) -> None:
        """UsageError unless something says where to connect."""
        if self.bootstrap_server and self.bootstrap_controller:
            raise UsageError("--bootstrap-server and --bootstrap-controller exclude each other: give one of them")
        if not self.is_given:
            raise UsageError("--bootstrap-server is required", hint="for example --bootstrap-server localhost:9092")

    @functools.cached_property
    def deadline(self) -> Deadline:
        """The end of all waiting of the command, for files and for brokers: ``--timeout`` after it was first asked."""
        from kafka_tools.clock import Deadline, SystemClock

        return Deadline(SystemClock(), self.timeout_s)

    def admin(self) -> AdminClient:
        """An admin client whose calls share one deadline; it connects on the first. Use it as a context manager."""
        config = self.client_config()
        from kafka_tools.admin.client import AdminClient

        return AdminClient(
            config, timeout_s=self.timeout_s, trace=self.tracer(), warn=running.note, one_deadline=self.deadline
        )

    def tracer(self) -> Trace | None:
        """What writes requests and responses to stderr when ``--trace`` is given, else None."""
        if not self.trace:
            return None
        from kafka_tools.clock import SystemClock
        from kafka_tools.net.trace import Trace

        return Trace(sys.stderr.write, SystemClock())


def connection_options(*, controllers: bool = False, short: bool = False) -> Callable[[Any], Any]:
    """Add the connection options; the command's function gets them as one ``connection: ConnectionOptions``.

    ``controllers``: also ``--bootstrap-controller``, for commands whose requests a KRaft controller answers.
    ``short``: also ``-C``, ``-c`` and ``--config``, which only kafka-cluster has.
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
            values.pop("debug")  # running looks at it, also when the command line cannot be parsed
            from kafka_tools.given_files import within

            with within(lambda: connection.deadline):
                return function(*arguments, connection=connection, **values)

        return _add(_connection_parameters(controllers, short), functools.update_wrapper(fold, function))

    return decorate


class OutputOption(Option):
    """``-o``. ``kinds``: options of the command, joined by blanks -> the kind of rows that it prints with them."""

    def __init__(self, *names: Any, kinds: Mapping[str, str], **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.kinds = kinds

    def kind(self, given: Mapping[str, Any]) -> str:
        """The kind for the options that were given; of several that fit, the one that names the most options."""
        fitting = [
            options
            for options in self.kinds
            if all(given.get(each) not in (None, False, ()) for each in options.split())
        ]
        return self.kinds[max(fitting or self.kinds, key=lambda options: len(options.split()))]


def output_options(kinds: str | Mapping[str, str]) -> Callable[[Any], Any]:
    """Add ``-o``; the command's function gets ``output_format: str | None``, None meaning Kafka's own text.

    ``kinds``: what the command prints, a key of ``output.kinds.KINDS``; or, when that depends on its options, names of
    parameters, joined by blanks, -> kind: ``{"list": "topic-names", "describe": "topics"}``. The function ends with
    ``running.finish``; when it raises instead, a document that holds the error is printed.
    """
    by_options = {"": kinds} if isinstance(kinds, str) else dict(kinds)

    def decorate(function: Any) -> Any:
        def guarded(*arguments: Any, **values: Any) -> Any:
            try:
                return function(*arguments, **values)
            except Exception as error:
                running.show_failure(error, _kind(click.get_current_context()), values["output_format"])
                raise

        add = option(
            "-o",
            "--output",
            "output_format",
            type=click.Choice(list(FORMATS)),
            section=OUTPUT,
            help="Form of the result; without it the text is that of Kafka's own tool.",
            cls=OutputOption,
            kinds=by_options,
        )
        return add(functools.update_wrapper(guarded, function))

    return decorate


def _kind(context: click.Context) -> str:
    """The kind of rows that the command line asks for."""
    (output,) = (each for each in context.command.params if isinstance(each, OutputOption))
    return output.kind(context.params)


def one_of(context: click.Context, *names: str) -> str:
    """The one option of ``names`` that was given; a usage error for none or several."""
    spelled = {name: f"--{name.replace('_', '-')}" for name in names}
    given = [name for name in names if context.params.get(name) not in (None, False, ())]
    if len(given) != 1:
        listed = ", ".join(spelled.values())
        found = f" {' and '.join(spelled[name] for name in given)} were given." if given else ""
        raise click.UsageError(f"Give exactly one of {listed}.{found}", ctx=context)
    return given[0]


def only_with(context: click.Context, action: str, allowed: Mapping[str, Sequence[str]]) -> None:
    """A usage error for an option that ``action`` does not take. ``allowed``: option -> actions that take it."""
    for name, actions in allowed.items():
        if context.params.get(name) not in (None, False, ()) and action not in actions:
            spelled = " or ".join(f"--{each.replace('_', '-')}" for each in actions)
            raise click.UsageError(f"--{name.replace('_', '-')} only goes with {spelled}.", ctx=context)


def read_text(path: str, what: str) -> str:
    """The text of a file the user named (``-``: standard input); InputError when it cannot be read."""
    from kafka_tools.given_files import DOCUMENT_BYTES, read_given, read_standard_input

    try:
        data = read_standard_input() if path == "-" else read_given(path, DOCUMENT_BYTES)
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise InputError(f"{what} {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {path}: not UTF-8 text at byte {error.start}") from error


def _connection_parameters(controllers: bool, short: bool) -> list[Callable[[Any], Any]]:
    parameters = [
        option(
            "-b",
            "--bootstrap-server",
            "--bootstrap-servers",
            "bootstrap_server",
            metavar="HOST:PORT,...",
            type=addresses,
            section=CONNECTION,
            help="Brokers to connect to first, for example localhost:9092.",
        ),
        option(
            *(("-c", "--config") if short else ()),
            "--command-config",
            "--adminclient.config",
            "command_config",
            metavar="FILE",
            section=CONNECTION,
            help="Properties file with the client's settings, as for Kafka's own tools.",
        ),
        option(
            "--command-property",
            "--adminclient-property",
            "command_property",
            metavar="KEY=VALUE",
            type=key_value,
            multiple=True,
            section=CONNECTION,
            help="One setting of the client; wins over the file. May be repeated.",
        ),
        option(
            "--timeout",
            "timeout",
            metavar="TIME",
            type=duration_ms,
            default=DEFAULT_TIMEOUT_MS,
            section=CONNECTION,
            help="Longest wait for the brokers, all retries included: 500ms, 30s, 2m, or milliseconds. Default 30s.",
        ),
        option("--trace", "trace", is_flag=True, section=OUTPUT, help="Show each request and response on stderr."),
        option("--debug", "debug", is_flag=True, section=OUTPUT, help="Show the traceback of an error on stderr."),
    ]
    if controllers:
        controller = option(
            *(("-C",) if short else ()),
            "--bootstrap-controller",
            "bootstrap_controller",
            metavar="HOST:PORT,...",
            type=addresses,
            section=CONNECTION,
            help="KRaft controllers to connect to instead of brokers.",
        )
        parameters.insert(1, controller)
    return parameters


def _add(parameters: list[Callable[[Any], Any]], function: Any) -> Any:
    for add in reversed(parameters):
        function = add(function)
    return function


def shown_names(names: Sequence[str]) -> str:
    """Unknown setting names for a remark; what does not look like one may be a password, so it is not repeated."""
    dotted = [name for name in names if "." in name and name.replace(".", "").replace("_", "").isalnum()]
    others = len(names) - len(dotted)
    return ", ".join(dotted + ([f"of {others} line(s) that look like no setting (not shown)"] if others else []))
