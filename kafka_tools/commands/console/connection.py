"""Shared parts of the console producer and the console consumer: settings from options, connections, signals."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.connection import note_unknown, tracer
from kafka_tools.errors import UsageError

if TYPE_CHECKING:
    from kafka_tools.net.config import ClientConfig
    from kafka_tools.net.exchange import Exchange

TERMINATED = 128 + signal.SIGTERM


def pick_renamed(options: Mapping[str, Any], name: str, old_name: str, old_option: str) -> Any:
    """The value of an option or of its older name, with a warning. Both are a usage error, as in Kafka (KIP-1147)."""
    new_option = "--" + {"reader_properties": "reader-property", "formatter_properties": "formatter-property"}.get(
        name, name.replace("_", "-")
    )
    if not options[old_name]:
        return options[name]
    if options[name]:
        raise click.UsageError(f"Options {new_option} and {old_option} cannot be specified together.")
    running.note(
        f"Warning: {old_option} is deprecated and will be removed in a future version. Use {new_option} instead."
    )
    return options[old_name]


def client_config(
    bootstrap_server: str | None,
    file: str | None,
    properties: Mapping[str, str],
    given: Mapping[str, str],
    defaults: Mapping[str, str],
) -> ClientConfig:
    """Settings of a console tool, in ascending precedence: ``defaults``, file, ``properties``, ``given`` options."""
    from kafka_tools.net.config import ClientConfig

    config = ClientConfig.load(
        bootstrap_servers=bootstrap_server, command_config=file, properties={**properties, **given}
    )
    if not config.bootstrap:
        raise UsageError("--bootstrap-server is required", hint="for example --bootstrap-server localhost:9092")
    note_unknown(config)
    missing = {name: value for name, value in defaults.items() if name not in config.values}
    return ClientConfig({**config.values, **missing}, config.source) if missing else config


def formatter_settings(options: Mapping[str, Any], properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of the formatter, in ascending precedence: file, deserializer options, ``properties``."""
    from kafka_tools.commands.console.record_text import has_properties, refuse_unknown
    from kafka_tools.texts.properties import read_properties

    file = options["formatter_config"]
    settings = read_properties(file, "formatter config") if file else {}
    for name in ("key", "value"):
        if options[f"{name}_deserializer"]:
            settings[f"{name}.deserializer"] = options[f"{name}_deserializer"]
    settings |= properties
    if settings and not has_properties(options["formatter"]):
        refuse_unknown(settings)
        running.note(f"Warning: {options['formatter']} has no properties; ignored: {', '.join(sorted(settings))}")
    return settings


def open_exchange(config: ClientConfig, trace: bool) -> Exchange:
    """Connections for ``config``; with ``trace`` each request and response is a line on stderr."""
    from kafka_tools.net.exchange import Exchange

    return Exchange(config, trace=tracer(trace))


class Signals:
    """SIGINT and SIGTERM end the command by an exception (exit status 130 or 143), so that it can clean up.

    Inside ``with signals:`` the first signal waits for the end of the block, at most ``longest_s``. A second one does
    not.
    """

    def __init__(self, longest_s: float = 0) -> None:
        """``longest_s``: 0 means no limit."""
        self._longest_s = longest_s
        self._holding = False
        self._held: int | None = None

    def install(self) -> Signals:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._receive)
        if self._longest_s:
            signal.signal(signal.SIGALRM, self._has_waited)
        return self

    def __enter__(self) -> None:
        self._holding = True

    def __exit__(self, *_: object) -> None:
        self._holding = False
        if self._held is not None:
            _end(self._held)

    def _receive(self, number: int, _: FrameType | None) -> None:
        if not self._holding or self._held is not None:
            _end(number)
        self._held = number
        signal.setitimer(signal.ITIMER_REAL, self._longest_s)

    def _has_waited(self, *_: object) -> None:
        if self._holding and self._held is not None:
            _end(self._held)


def _end(number: int) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(TERMINATED)
