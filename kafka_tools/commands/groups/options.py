"""Options that the commands about groups share: the group, the views of --describe, the modes of a reset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from kafka_tools.commands.live_names import group_names, topic_names
from kafka_tools.commands.options.command import is_given, option, section

ANY = "*"
"""Value of --state and --type when they are given without one."""

Decorator = Callable[[Any], Any]
_mode = section("New offsets")
view_option = section("Views")
_OFFSETS: dict[str, Decorator] = {
    "to_earliest": _mode("--to-earliest", is_flag=True, help="Reset to the log start offset."),
    "to_latest": _mode("--to-latest", is_flag=True, help="Reset to the log end offset."),
    "to_current": _mode(
        "--to-current",
        is_flag=True,
        help="Reset to the committed offset, or to the log end offset if there is none.",
    ),
    "to_offset": _mode("--to-offset", metavar="N", type=click.IntRange(0, 2**63 - 1), help="Reset to this offset."),
    "shift_by": _mode(
        "--shift-by",
        metavar="N",
        type=click.IntRange(-(2**63), 2**63 - 1),
        help="Move the committed offset forward by N, or back if N is negative.",
    ),
    "to_datetime": _mode(
        "--to-datetime",
        metavar="TIME",
        help="Reset to the first offset at or after this time: YYYY-MM-DDThh:mm:ss.sss (UTC unless a zone "
        "follows), a date, or '2 hours ago'.",
    ),
    "by_duration": _mode(
        "--by-duration",
        metavar="SPAN",
        help="Reset to the first offset within this duration before now: PnDTnHnMnS such as PT6H, or 6h.",
    ),
    "from_file": _mode("--from-file", metavar="FILE", help="Reset to the offsets in a file printed by --export."),
}

KAFKAS_MODES = tuple(_OFFSETS)
"""Modes of a reset that Kafka's tools have: the Python names of the options that select the new offsets."""
_OFFSETS["from_group"] = _mode(
    "--from-group",
    metavar="ID",
    shell_complete=group_names,
    help="Reset to the offsets that this group committed: for --topic, or for all its topics.",
)


def together(*decorators: Decorator) -> Decorator:
    """Several options as one decorator, in the order of the help page."""

    def decorated(command: Any) -> Any:
        for each in reversed(decorators):
            command = each(command)
        return command

    return decorated


def group_option() -> Decorator:
    """``--group``, which is repeatable. Its id may be empty, because brokers store offsets of such a group too."""
    return option(
        "--group",
        metavar="ID",
        multiple=True,
        allow_empty=True,
        shell_complete=group_names,
        help="Group to act on.",
    )


def topic_option(name: str, help: str) -> Decorator:
    """A topic or some of its partitions. The option is repeatable."""
    return option(name, metavar="NAME[:N,...]", multiple=True, shell_complete=topic_names, help=help)


def views(members: str = "Describe the members.", types: bool = False) -> Decorator:
    """The views of ``--describe``. ``members``: the help of ``--members``; ``types``: whether to add ``--type``."""
    state = view_option(
        "--state",
        metavar="[STATE,...]",
        is_flag=False,
        flag_value=ANY,
        help="Describe the state of the group (with --describe); show a state column or select these states (with "
        "--list).",
    )
    type_ = view_option(
        "--type",
        metavar="[TYPE,...]",
        is_flag=False,
        flag_value=ANY,
        help="Show a type column, or only groups of these types: classic, consumer (with --list).",
    )
    return together(
        view_option("--offsets", is_flag=True, help="Describe offsets and lag. This is the default."),
        view_option("--members", is_flag=True, help=members),
        state,
        *([type_] if types else []),
        view_option("--verbose", is_flag=True, help="Show more columns."),
    )


def new_offsets(*modes: str) -> Decorator:
    """The options of these modes of a reset, some of KAFKAS_MODES or ``from_group``."""
    return together(*(_OFFSETS[mode] for mode in modes))


def modes_given(given: Mapping[str, Any], modes: Iterable[str]) -> list[str]:
    """The modes of a reset that are on the command line."""
    return [name for name in modes if is_given(given[name])]
