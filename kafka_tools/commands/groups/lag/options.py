"""The options of ``--describe`` about lag, and the combinations that are possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import click

from kafka_tools.commands.groups.options import together
from kafka_tools.commands.looking_again import check_times, time_options
from kafka_tools.commands.options.command import is_given, section

BY = ("partition", "topic", "group", "member")
SORTED = ("lag", "age", "blocked", "name")
NAMES = ("lag_by", "sort", "only_with_lag", "rates", "min_lag", "max_age", "watch", "until_zero")
"""The Python names of the options: any of them selects the table of lag."""

_lag_option = section("Lag")


def _age_ms(text: str | int) -> int:
    """Milliseconds of an age, which may be longer than any time limit: ``5m``, ``30d``."""
    from kafka_tools.errors import InputError
    from kafka_tools.texts.moments import LONGEST_TEXT, span_ms

    try:
        found = text if isinstance(text, int) else span_ms(text.strip()[:LONGEST_TEXT])
    except InputError as error:
        raise click.BadParameter(str(error)) from None
    if found is None:
        raise click.BadParameter(f"invalid age '{text}': expected a number with a unit, such as 30s, 5m or 2d")
    return found


def lag_options() -> Callable[[Any], Any]:
    """The options of lag."""
    return together(
        _lag_option(
            "--lag-by",
            type=click.Choice(BY, case_sensitive=False),
            help="Show lag in records and in time, with a row for each partition, or with the sums of each topic, "
            "group or member.  [default: partition, if another option of this section is given]",
        ),
        _lag_option(
            "--sort",
            type=click.Choice(SORTED, case_sensitive=False),
            help="Sort by lag, by age of the oldest unread record, by records behind an open transaction (largest "
            "first), or by name.  [default: name]",
        ),
        _lag_option("--only-with-lag", is_flag=True, help="Omit rows that have no lag."),
        _lag_option(
            "--min-lag",
            metavar="N",
            type=click.IntRange(1, 2**63 - 1),
            help="Show only rows that lag by N records or more, and end with status 1 if there are any.",
        ),
        _lag_option(
            "--max-age",
            metavar="TIME",
            type=_age_ms,
            help="Show only rows whose oldest unread record is older than this (5m), or has an unknown age. End with "
            "status 1 if there are any.",
        ),
        *time_options(
            _lag_option,
            "Look again after this time, and show the rates of reading and writing, and the time to catch up.",
            "Print the table and its rates again and again, with this time in between, until you press Ctrl-C.",
        ),
        _lag_option(
            "--until-zero", is_flag=True, help="Wait until no row has lag. With --watch, show the table meanwhile."
        ),
    )


def is_about_lag(given: Mapping[str, Any], output_format: str | None) -> bool:
    """Whether the command line asks for the table of lag."""
    return output_format == "prometheus" or any(is_given(given[name]) for name in NAMES)


def check(given: Mapping[str, Any], output_format: str | None, fail: Callable[[str], NoReturn]) -> None:
    """Call ``fail`` with the reason if options cannot be combined."""
    for name in ("members", "state", "verbose"):
        if is_given(given[name]):
            fail(f"--{name} cannot be combined with options about lag and -o prometheus.")
    limits = [name for name in ("min_lag", "max_age") if is_given(given[name])]
    follows = [name for name in ("watch", "until_zero") if is_given(given[name])]
    if limits and follows:
        fail(f"--{limits[0].replace('_', '-')} cannot be combined with --{follows[0].replace('_', '-')}.")
    check_times(given, output_format)
    if output_format == "prometheus" and given["lag_by"] not in (None, "partition"):
        fail("-o prometheus has a sample for each partition. Omit --lag-by, and let Prometheus compute the sums.")
