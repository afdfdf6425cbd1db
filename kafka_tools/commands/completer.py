"""Completes command lines for the scripts in completions/, when the user types TAB.

The scripts contain no names of commands or options, so they never become outdated. They call ``kafka-tools`` with the
line so far in the environment and print the result. This module completes all ``kafka-*`` names, with or without
``.sh``. An error or a slow cluster gives no completions, and no message is ever written to the terminal.
"""

from __future__ import annotations

import os
import sys

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete, split_arg_string


def answer(instruction: str, asked: click.Command) -> int:
    """Print the completions for ``<shell>_complete``. Returns the exit status, which is 0 for a known shell.

    ``asked`` is completed if the line names no command of its own.
    """
    shell = instruction.removesuffix("_complete")
    completer = {"bash": _Bash, "zsh": ZshComplete, "fish": FishComplete}.get(shell)
    if completer is None:
        print(f"kafka-tools: unsupported shell '{shell}': completion supports bash, zsh and fish", file=sys.stderr)
        return 1
    # A remark on stderr would appear in the middle of the line that the operator types.
    with open(os.devnull, "w") as nowhere:
        sys.stderr, kept = nowhere, sys.stderr
        try:
            command, program = _asked_for(split_arg_string(os.environ.get("COMP_WORDS", "")), asked)
            print(completer(command, {}, program, "").complete())
        except Exception:  # noqa: BLE001 - no completions; the command itself reports the error
            pass
        finally:
            sys.stderr = kept
    return 0


def _asked_for(words: list[str], otherwise: click.Command) -> tuple[click.Command, str]:
    from kafka_tools.commands.registry import load, named_by, program

    name = named_by(words[0]) if words else None
    return (load(name), program(name)) if name else (otherwise, "kafka-tools")


class _Bash(BashComplete):
    """bash also splits words at ':' and '='. So the script passes the whole line, and the result follows them."""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        incomplete = words.pop() if words and not line[-1:].isspace() else ""
        return words[1:], incomplete

    def complete(self) -> str:
        args, incomplete = self.get_completion_args()
        kept = max(incomplete.rfind(":"), incomplete.rfind("=")) + 1
        completions = self.get_completions(args, incomplete)
        return "\n".join(
            self.format_completion(
                CompletionItem(item.value[kept:] if item.value.startswith(incomplete) else item.value, item.type)
            )
            for item in completions
        )
