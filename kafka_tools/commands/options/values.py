"""Parsers of options' values: time spans, ``key=value``, addresses, the text of a file."""

from __future__ import annotations

import click

from kafka_tools.errors import InputError


def duration_ms(text: str | int) -> int:
    """Milliseconds of a time span: a plain number is milliseconds, as in Kafka's tools, or ``30s``, ``2m``, ``1h``."""
    if isinstance(text, int):
        return text
    from kafka_tools.texts.moments import LONGEST_TEXT, AmbiguousUnit, span_ms

    typed = text.strip()[:LONGEST_TEXT]
    try:
        milliseconds = span_ms(f"{typed}ms" if typed[-1:].isdigit() else typed) or 0
    except AmbiguousUnit as error:
        raise click.BadParameter(str(error)) from None
    except InputError:
        milliseconds = 0
    if not 0 < milliseconds < 2**31:
        raise click.BadParameter(f"invalid duration '{text}': expected 500ms, 30s, 2m, or a number of milliseconds")
    return milliseconds


def key_value(text: str | tuple[str, str]) -> tuple[str, str]:
    """Split ``key=value`` at the first ``=``. The value may contain more of them."""
    if isinstance(text, tuple):
        return text
    key, equals, rest = text.partition("=")
    if not equals or not key.strip():
        # The text may contain a password, so the message does not repeat it.
        raise click.BadParameter("invalid value: expected key=value")
    return key.strip(), rest


def broker_addresses(text: str) -> str:
    """``host:port,host:port``; a usage error for other texts. The port defaults to 9092, with a note on stderr."""
    from kafka_tools.commands import running
    from kafka_tools.values import BROKER_PORT, format_address, parse_address

    addresses(text, BROKER_PORT)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    bare = [part for part in parts if not part.rpartition(":")[2].isdigit()]
    if not bare:
        return text
    running.note(f"{', '.join(bare)}: no port given, using {BROKER_PORT}")
    return ",".join(format_address(*parse_address(part, BROKER_PORT)) for part in parts)


def addresses(text: str, default_port: int | None = None) -> str:
    """``host:port,host:port``, unchanged. Raises a usage error for other texts."""
    from kafka_tools.values import parse_addresses

    try:
        parse_addresses(text, default_port)
    except InputError as error:
        raise click.BadParameter(str(error)) from error
    return text


def read_text(path: str, what: str, keeps_line_ends: bool = False) -> str:
    """The text of a file that the user named (``-``: standard input). Raises InputError if it cannot be read.

    Every line end becomes ``\\n`` unless ``keeps_line_ends``. A byte order mark is removed.
    """
    try:
        text = read_bytes(path, what).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {path}: not UTF-8 text at byte {error.start}") from error
    return text if keeps_line_ends else text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: str, what: str) -> bytes:
    """The content of a file that the user named (``-``: standard input). Raises InputError if it cannot be read."""
    from kafka_tools.given_files import DOCUMENT_BYTES, read_given, read_standard_input

    try:
        return read_standard_input() if path == "-" else read_given(path, DOCUMENT_BYTES)
    except OSError as error:
        raise InputError(f"{what} {path}: {error.strerror or error}") from error
