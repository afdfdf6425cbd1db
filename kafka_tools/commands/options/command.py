"""The behaviour of options in every command: sections of the help page, rules for values, complaints.

An option with a value can be given once unless it is repeatable, and its value must not be empty. In Kafka's tools the
last one wins, which once extended a delete to all topics.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

CONNECTION = "Connection"
OUTPUT = "Output and diagnosis"
ARGUMENTS = "kafka_tools.arguments"
"""Key in ``click.Context.meta`` for the original arguments, for options whose order matters."""

_LIMITS_OF_TYPES = {0, *(-(2**bits) for bits in (15, 31, 63)), *(2**bits - 1 for bits in (15, 31, 63))}
"""Ends of ranges that a help page omits: those of Kafka's integer types, and of their positive half."""

_MAY_HOLD_SECRET = re.compile(r"password|passphrase|secret|jaas|scram|hmac|token\b", re.IGNORECASE)
"""Matches words of a command line that contain, or name, a secret."""


class Option(click.Option):
    """click's option, with a section of the help page and the rules about empty values and numbers."""

    def __init__(self, *names: Any, section: str = "Options", allow_empty: bool = False, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.allow_empty = allow_empty

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """click's names and help, whether the option can be repeated, and default and range in one pair of brackets."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        names, (text, bracket, extra) = record[0], record[1].replace("]  [", "; ").partition("  [")
        return names, f"{text}{' Can be repeated.' if self.multiple else ''}{bracket}{extra}"

    def get_help_extra(self, ctx: click.Context) -> Any:
        """click's additions to the help, without the ends of a range that are only those of the type."""
        extra = super().get_help_extra(ctx)
        if isinstance(self.type, click.IntRange):
            low, high = (None if end in _LIMITS_OF_TYPES else end for end in (self.type.min, self.type.max))
            extra.pop("range", None)
            if low is not None or high is not None:
                before, after = ("" if low is None else f"{low}<="), ("" if high is None else f"<={high}")
                extra["range"] = f"x>={low}" if high is None else f"{before}x{after}"
        return extra

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        # A file name may contain any bytes, but a name in Kafka may not.
        if not (self.metavar or "").startswith(("FILE", "DIR")):
            value = _as_utf8(ctx, self, value)
        values = value if isinstance(value, list | tuple) else (value,)
        if "" in values and not self.allow_empty:
            raise click.BadParameter("invalid value: it is empty", ctx=ctx, param=self)
        if isinstance(self.type, click.types.IntParamType):
            if isinstance(value, str) and value[-1:].isalpha():
                value = self._in_its_unit(ctx, value)
                values = (value,)
            self._check_integers(ctx, values)
        return super().type_cast_value(ctx, value)

    def _in_its_unit(self, ctx: click.Context, text: str) -> str:
        """Convert a number with a unit (``7d``, ``10MB``) to the option's unit, and print the result on stderr."""
        from kafka_tools.config_definitions.units import OF_METAVARS, in_unit
        from kafka_tools.errors import ConfigError

        unit = OF_METAVARS.get(self.metavar or "")
        try:
            number = None if unit is None else in_unit(text, unit)
        except ConfigError as error:
            raise click.BadParameter(str(error), ctx=ctx, param=self) from None
        if unit is None or number is None:
            return text
        if not ctx.resilient_parsing:
            from kafka_tools.commands import running

            running.note(f"{self.opts[0]} {text.strip()} is {number} {unit.word}")
        return str(number)

    def _check_integers(self, ctx: click.Context, values: Sequence[Any]) -> None:
        from kafka_tools.values import parse_integer

        for text in values:
            try:
                number = parse_integer(text) if isinstance(text, str) else 0
            except ValueError:
                raise click.BadParameter(
                    f"invalid number '{text}': expected a whole number", ctx=ctx, param=self
                ) from None
            if not -(2**63) <= number < 2**63:
                raise click.BadParameter(f"invalid number '{text}': it does not fit in 64 bits", ctx=ctx, param=self)


def _as_utf8(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """``value`` with each text in it as UTF-8. Kafka's names are UTF-8, whatever the locale of this process is.

    Bytes that the locale's encoding does not have arrive as lone surrogates: those of ``é`` in the C locale, and
    invalid bytes in UTF-8.
    """
    if isinstance(value, list | tuple):
        return type(value)(_as_utf8(ctx, parameter, each) for each in value)
    if not isinstance(value, str) or value.isascii():
        return value
    from kafka_tools.values import can_be_sent

    if can_be_sent(value):
        return value
    try:
        return os.fsencode(value).decode("utf-8")
    except UnicodeError:
        raise click.BadParameter("invalid value: it is not UTF-8 text", ctx=ctx, param=parameter) from None


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
            rest = super().parse_args(ctx, args)
            self._check_words(ctx)
            return rest
        except click.UsageError as error:
            # click repeats the word. A password without quotes becomes several words.
            strange = "unexpected extra argument" in error.message
            if isinstance(error, click.NoSuchOption):
                self._explain(error, ctx)
                strange = not error.possibilities  # a word similar to an option is a misspelt option
            if strange and any(_MAY_HOLD_SECRET.search(word) for word in ctx.meta[ARGUMENTS]):
                text = "unexpected argument (not shown, it may be a secret): check for missing quotes around a value"
                raise click.UsageError(text, ctx=ctx) from None
            raise

    def _check_words(self, ctx: click.Context) -> None:
        """Check the words that belong to no option: files, or the words of kafka-metadata-shell's command."""
        for parameter in self.params:
            if not isinstance(parameter, click.Argument):
                continue
            value = ctx.params.get(parameter.name or "")
            if parameter.name == "command":
                ctx.params["command"] = _as_utf8(ctx, parameter, value)
                continue  # an empty word means the current directory
            # An empty word comes from an unset shell variable between quotes. It is no file.
            if value == "" or (isinstance(value, tuple) and "" in value):
                raise click.BadParameter("invalid value: it is empty", ctx=ctx, param=parameter)

    def _explain(self, error: click.NoSuchOption, ctx: click.Context) -> None:
        """Raise a more detailed error than that there is no such option, if there is one."""
        from kafka_tools.commands.options.removed import explanation

        text = explanation(self.name or "", error.option_name)
        if text is not None:
            raise click.UsageError(text, ctx=ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                # --help is click's own option and belongs to the last section.
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
            if not name.startswith("--") and len(args[position]) > 2 and args[position][:2] in options:
                name, has_value = args[position][:2], "="  # -bHOST:PORT
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
    """A command with subcommands (``kafka-cluster cluster-id``). ``aliases``: other spellings -> their names."""

    command_class = Command

    def __init__(self, *arguments: Any, aliases: Mapping[str, str] | None = None, **attributes: Any) -> None:
        # A missing subcommand is an error like any other: one line on stderr, not the help page.
        super().__init__(*arguments, **{"no_args_is_help": False} | attributes)
        self.aliases = aliases or {}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, self.aliases.get(cmd_name, cmd_name))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Kafka documents ``kafka-metadata-quorum --bootstrap-server HOST:PORT describe``: options of the subcommand
        # may come before its name.
        names = self.commands.keys() | self.aliases.keys()
        at = next((at for at, word in enumerate(args) if word in names), 0)
        own = {name for parameter in self.params for name in parameter.opts} | {"-h", "--help"}
        if at and not own.intersection(args[:at]):
            args = [args[at], *args[:at], *args[at + 1 :]]
        return super().parse_args(ctx, args)

    def _explain(self, error: click.NoSuchOption, ctx: click.Context) -> None:
        from kafka_tools.commands.options.removed import explanation

        # If the command is missing, any word may be a former option that took its place.
        for word in (error.option_name, *ctx.meta[ARGUMENTS]):
            text = explanation(self.name or "", word.partition("=")[0])
            if text is not None:
                raise click.UsageError(text, ctx=ctx) from None
        words = (name for each in self.commands.values() for parameter in each.params for name in parameter.opts)
        if error.option_name in words:
            from kafka_tools.texts.near_names import near_names

            for word in ctx.meta[ARGUMENTS]:  # without the command it is unknown which of them are values
                for near in near_names(word, self.commands, most=1):
                    raise click.UsageError(f"No such command '{word}'. Did you mean '{near}'?", ctx=ctx) from None
            raise click.UsageError(f"Missing command: give one of {', '.join(self.commands)}.", ctx=ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        Command.format_options(self, ctx, formatter)
        click.Group.format_commands(self, ctx, formatter)


def option(*names: str, **attributes: Any) -> Callable[[Any], Any]:
    """``click.option`` with this module's behaviour; ``section`` and ``allow_empty`` as in Option."""
    return click.option(*names, **{"cls": Option} | attributes)


def section(name: str) -> Callable[..., Callable[[Any], Any]]:
    """``option`` for the options in one section of the help page."""
    return functools.partial(option, section=name)


action_option = section("Actions")
connection_option = section(CONNECTION)
output_option = section(OUTPUT)


def is_given(value: object) -> bool:
    """Whether an option with this value is on the command line. 0 is a value, although it equals False."""
    return value is not None and value is not False and value != ()


def one_of(context: click.Context, *names: str) -> str:
    """The one given option of ``names``. Raises a usage error if none or several are given."""
    spelled = {name: f"--{name.replace('_', '-')}" for name in names}
    given = [name for name in names if is_given(context.params.get(name))]
    if len(given) != 1:
        listed = f"{'exactly one of ' if len(names) > 1 else ''}{', '.join(spelled.values())}"
        found = f" {' and '.join(spelled[name] for name in given)} were given." if given else ""
        raise click.UsageError(f"Give {listed}.{found}", ctx=context)
    return given[0]


def only_with(context: click.Context, action: str, allowed: Mapping[str, Sequence[str]]) -> None:
    """Raise a usage error for an option that ``action`` does not take. ``allowed``: option -> actions that take it."""
    for name, actions in allowed.items():
        if is_given(context.params.get(name)) and action not in actions:
            spelled = " or ".join(f"--{each.replace('_', '-')}" for each in actions)
            raise click.UsageError(f"--{name.replace('_', '-')} can only be used with {spelled}.", ctx=context)
