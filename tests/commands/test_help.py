"""Help pages without slips: ranges stand once, nothing is escaped twice, no word is doubled."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from kafka_tools import cli


def options() -> Iterator[tuple[str, click.Option, click.Context]]:
    """Every option of every command and subcommand that its help page shows."""
    for name in sorted(cli.COMMANDS):
        waiting = [(f"kafka-tools {name}", cli.load(name))]
        while waiting:
            path, command = waiting.pop()
            context = click.Context(command, info_name=path)
            waiting += [(f"{path} {each}", sub) for each, sub in getattr(command, "commands", {}).items()]
            for parameter in command.params:
                if isinstance(parameter, click.Option) and not parameter.hidden:
                    yield path, parameter, context


SHOWN = [pytest.param(*each, id=f"{each[0]} {each[1].opts[-1]}") for each in options()]


def test_there_are_options() -> None:
    assert len(SHOWN) > 200


@pytest.mark.parametrize("path, option, context", SHOWN)
def test_an_options_help_has_no_slips(path: str, option: click.Option, context: click.Context) -> None:
    record = option.get_help_record(context)
    assert record is not None
    names, text = record
    assert option.help, f"{path} {names}: no help"
    assert "\\\\" not in text, "a backslash is doubled"
    ranges = re.findall(r"\[[^\]]*(?:<=?|>=?)x?[^\]]*\]", text)
    assert len(ranges) <= 1, f"the range stands {len(ranges)} times"
    assert len(re.findall(r"\[required\]", text)) <= 1
    assert not re.search(r"\b(\w+) \1\b", option.help), "a word stands twice"


@pytest.mark.parametrize("path, option, context", SHOWN)
def test_a_range_is_more_than_that_of_the_type(path: str, option: click.Option, context: click.Context) -> None:
    _, text = option.get_help_record(context) or ("", "")
    for end in (2**15 - 1, 2**15, 2**31 - 1, 2**31, 2**63 - 1, 2**63):
        assert str(end) not in text


def test_a_range_of_its_own_is_shown() -> None:
    (jobs,) = (each for _, each, _ in options() if "--jobs" in each.opts)
    _, text = jobs.get_help_record(click.Context(click.Command("kafka-dump-log"))) or ("", "")
    assert text.endswith("[1<=x<=64]")


def test_the_default_and_the_range_share_a_pair_of_brackets() -> None:
    (partitions,) = (each for path, each, _ in options() if path.endswith("topics") and "--partitions" in each.opts)
    _, text = partitions.get_help_record(click.Context(click.Command("kafka-topics"))) or ("", "")
    assert text.endswith("[default: the cluster's; x>=1]")
