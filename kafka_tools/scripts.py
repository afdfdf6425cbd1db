"""The one entry of all console scripts: the command is found by the name under which the script was called.

``--version`` is recognised anywhere on the command line before anything is parsed (KIP-278), so it is answered here,
before click is imported.
"""

from __future__ import annotations

import gc
import os
import sys

from kafka_tools import VERSION_LINE

INTERRUPTED = 130
"""As in ``commands.running``, which is not loaded by then."""
OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Python's own 700 would have it look through all modules, and all partitions of a large cluster, again and again."""


def main() -> None:
    """``kafka-topics``, ``kafka-configs`` and so on, with ``.sh`` too; under any other name it is ``kafka-tools``.

    Python looks seldom for circles of objects: what a command makes of answers has none and stays to the end. There
    everything goes with the process, and is not looked through once more.
    """
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        _run()
    except KeyboardInterrupt:  # Ctrl-C while modules are loaded, before there is a command to stop
        sys.exit(INTERRUPTED)
    finally:
        gc.freeze()


def _run() -> None:
    if "--version" in sys.argv[1:] and _print_version():
        return
    from kafka_tools.commands.registry import load, named_by, program

    # A link of another name means the script that it leads to.
    name = named_by(sys.argv[0]) or named_by(os.path.realpath(sys.argv[0]))
    if name is None:
        from kafka_tools.cli import main as tools

        tools()
    else:
        from kafka_tools.commands import running

        running.main(load(name), program(name))


def _print_version() -> bool:
    """Whether it is out; if not, ``running.main`` says why."""
    try:
        print(VERSION_LINE, flush=True)
    except OSError:
        return False
    return sys.stdout is not None
