"""The entry point of all console scripts. The name of the called script selects the command.

``--version`` has effect anywhere on the command line, before any parsing (KIP-278). This module handles it before it
imports click.
"""

from __future__ import annotations

import gc
import os
import sys

from kafka_tools import VERSION_LINE

INTERRUPTED = 130
"""As in ``commands.running``, which may not be imported yet."""
OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""With Python's default of 700, the collector would scan all modules and partitions of a large cluster repeatedly."""


def main() -> None:
    """Run the command of the script's name, with or without ``.sh``. Any other name runs ``kafka-tools``.

    The garbage collector runs seldom, because the objects of a command have no cycles and live until its end.
    ``gc.freeze`` avoids a last collection when the process ends.
    """
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        _run()
    except KeyboardInterrupt:  # Ctrl-C during imports, before a command runs
        sys.exit(INTERRUPTED)
    finally:
        gc.freeze()


def _run() -> None:
    if "--version" in sys.argv[1:] and _print_version():
        return
    from kafka_tools.commands.registry import load, named_by, program

    # A link with another name runs the script of its target.
    name = named_by(sys.argv[0]) or named_by(os.path.realpath(sys.argv[0]))
    if name is None:
        from kafka_tools.cli import main as tools

        tools()
    else:
        from kafka_tools.commands import running

        running.main(load(name), program(name))


def _print_version() -> bool:
    """Print the version. Returns whether that succeeded; if not, ``running.main`` reports the reason."""
    try:
        print(VERSION_LINE, flush=True)
    except OSError:
        return False
    return sys.stdout is not None
