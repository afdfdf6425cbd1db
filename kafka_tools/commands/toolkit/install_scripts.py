"""``kafka-tools install-scripts``: the commands as files of a folder, under Kafka's names with or without ``.sh``.

Installing the package makes ``kafka-topics`` and the rest beside its Python already; this is for another folder on PATH
and for the spelling ``kafka-topics.sh``, which runbooks and cron jobs have. A file is a few lines that start this
Python, as pip writes them; the command is found by the file's name (``scripts.py``).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Sequence

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, option
from kafka_tools.errors import ConfigError

ENTRY = "from kafka_tools.scripts import main"
"""The line that identifies our scripts, also those that pip wrote."""
_READ_BYTES = 4096
_LONGEST_SHEBANG = 127
"""In bytes; Linux cuts a longer first line (``BINPRM_BUF_SIZE``)."""


@click.command(name="install-scripts", cls=Command)
@click.argument("directory", metavar="DIR")
@option("--sh", "with_sh", is_flag=True, help="Add the suffix .sh: kafka-topics.sh instead of kafka-topics.")
def command(directory: str, with_sh: bool) -> None:
    """Install the commands in a folder, under the names of Kafka's scripts.

    The command creates the folder if it is missing. Repeat the command after an update: it replaces the scripts that it
    wrote before. If the folder contains other files with these names, for example Kafka's own scripts, nothing is
    written. The command also installs kafka-tools itself, always without .sh.

    \b
    Example:
      kafka-tools install-scripts --sh /opt/kafka-tools/bin
    """
    from kafka_tools.commands.registry import SCRIPTS
    from kafka_tools.shown_text import one_line

    if os.path.lexists(directory) and not os.path.isdir(directory):
        raise ConfigError(f"{directory} is not a directory: nothing was written")
    names = ["kafka-tools", *(f"kafka-{name}{'.sh' if with_sh else ''}" for name in SCRIPTS)]
    os.makedirs(directory, exist_ok=True)
    foreign = [name for name in names if _is_foreign(os.path.join(directory, name))]
    if foreign:
        others = f" (and {len(foreign) - 1} more)" if len(foreign) > 1 else ""
        raise ConfigError(
            f"cannot install scripts: kafka-tools did not write {os.path.join(directory, foreign[0])}{others}",
            hint="choose a separate folder, and put it on PATH before the other one",
        )
    text = launcher(sys.executable)
    for name in names:
        _write(os.path.join(directory, name), text)
    running.emit(f"Wrote {len(names)} scripts to {one_line(directory)}.\n")
    _tell_what_path_finds(directory, names)


def launcher(python: str) -> bytes:
    """The text of a script that runs the command of its own name with this Python interpreter."""
    path = os.fsencode(python)
    first = b"#!" + path
    if b" " in path or len(first) > _LONGEST_SHEBANG:
        # sh runs the first lines, to Python they are a text; a quote in the path ends neither.
        quoted = b'"' + b"".join(b"\\" + bytes([c]) if c in b'"$`\\' else bytes([c]) for c in path) + b'"'
        first = b"#!/bin/sh\n'''exec' " + quoted + b' "$0" "$@"\n' + b"' '''"
    return first + f"\nimport sys\n\n{ENTRY}\n\nsys.exit(main())\n".encode()


def _is_foreign(path: str) -> bool:
    """Whether there is a file at ``path`` that neither this command nor pip wrote."""
    if not os.path.lexists(path):
        return False
    if not os.path.isfile(path):
        return True
    with open(path, "rb") as file:
        return ENTRY.encode() not in file.read(_READ_BYTES)


def _write(path: str, text: bytes) -> None:
    """Write an executable file atomically: a process that starts it meanwhile gets the old file or the new one."""
    new_path = f"{path}.{os.getpid()}.tmp"
    try:
        # "x": what stands there already, such as a link to somewhere else, is left alone.
        with open(new_path, "xb", opener=lambda name, flags: os.open(name, flags, 0o777)) as file:
            file.write(text)
        os.replace(new_path, path)
    except FileExistsError:
        raise
    except OSError:
        with contextlib.suppress(OSError):  # the first failure is what counts
            os.remove(new_path)
        raise


def _tell_what_path_finds(directory: str, names: Sequence[str]) -> None:
    """Print a note if PATH has another program under one of the names."""
    folders = [os.path.realpath(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    if os.path.realpath(directory) not in folders:
        running.note(f"{directory} is not on PATH: add it before the folder of Kafka's own scripts")
        return
    for name in names:
        found = shutil.which(name)
        if found and os.path.realpath(os.path.dirname(found)) != os.path.realpath(directory):
            running.note(f"PATH finds another {name} first: {found}")
