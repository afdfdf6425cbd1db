"""Scripts: text files in which every command is followed by what happened then, as in etcd raft's test data.

::

    # What the story is about.
    # req: GC-1 GC-3

    join group=g member=a topics=t
    ----
    a: waits

A script is commands with their transcripts, apart by empty lines; lines with ``#`` are for the reader, but for
``# req:``, which names the requirements that the story proves. ``python -m tests.regen scripts`` runs every script and
writes the transcripts anew: what changed is read in review. Commands are the functions of ``commands``,
``group_commands``, ``consumer_group_commands``, ``transaction_commands`` and ``security_commands``, where their options
are told; the broker is the whole one over files, without sockets, and time is what ``advance`` says.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tests.broker_embedded.stories.broker import Broker

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "tests" / "scripts"
MARK = "----"
REQUIRES = "# req:"


class WrongLine(Exception):
    """A line of a script that cannot be run."""


class Line(NamedTuple):
    """One command: its verb, what stands without a name, and what has one."""

    verb: str
    words: list[str]
    options: dict[str, str]

    @classmethod
    def read(cls, text: str) -> Line:
        verb, *rest = shlex.split(text)
        words = [word for word in rest if "=" not in word]
        return cls(verb, words, dict(word.split("=", 1) for word in rest if "=" in word))


def paths() -> list[Path]:
    """Every script."""
    return sorted(FOLDER.glob("*.txt"))


def requirements(path: Path) -> list[str]:
    """What a script says that it proves."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [id for line in lines if line.startswith(REQUIRES) for id in line.removeprefix(REQUIRES).split()]


def played(path: Path) -> str:
    """The script with its transcripts as they are now. Raises WrongLine."""
    from tests.broker_embedded.stories.broker import Broker

    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder) / "data")
        try:
            blocks = path.read_text(encoding="utf-8").strip("\n").split("\n\n")
            return "\n\n".join(_played(broker, block, path) for block in blocks) + "\n"
        finally:
            broker.close()


def _played(broker: Broker, block: str, path: Path) -> str:
    lines = block.splitlines()
    kept = lines[: lines.index(MARK)] if MARK in lines else lines
    commands = [line for line in kept if line and not line.startswith("#")]
    if not commands:
        return block
    if len(commands) > 1:
        raise WrongLine(f"{path.name}: two commands without an empty line between them: {commands[0]}; {commands[1]}")
    line = Line.read(commands[0])
    options = {"as_" if key == "as" else key: value for key, value in line.options.items()}
    run = table().get(line.verb)
    if run is None:
        raise WrongLine(f"{path.name}: no command is called {line.verb}; there are {', '.join(sorted(table()))}")
    try:
        run(broker, *line.words, **options)
    except KeyError as error:
        raise WrongLine(f"{path.name}: {commands[0]}: nobody is called {error.args[0]}") from error
    except (TypeError, ValueError) as error:
        raise WrongLine(f"{path.name}: {commands[0]}: {error}") from error
    broker.settle()
    return "\n".join([*kept, MARK, *(broker.told() or ["ok"])])


def table() -> dict[str, Callable[..., None]]:
    """Verb -> the function that runs it: ``delete_records`` is ``delete-records``."""
    from tests.broker_embedded.stories import (
        commands,
        consumer_group_commands,
        group_commands,
        security_commands,
        transaction_commands,
    )

    found: dict[str, Any] = {}
    for module in (
        commands,
        group_commands,
        consumer_group_commands,
        transaction_commands,
        security_commands,
    ):
        found |= {name: getattr(module, name) for name in module.COMMANDS}
    return {name.replace("_", "-"): function for name, function in found.items()}
