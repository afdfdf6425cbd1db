"""Completion of command lines, which the scripts in completions/ ask for when TAB is typed.

The scripts hold no names of commands or options; they call ``kafka-tools`` with the line so far in the environment
and print what comes back, so they never go stale. All ``kafka-*`` names (with or without ``.sh``) are answered here.
An error, a slow cluster or a missing one answers nothing, and nothing is ever written to the terminal.
"""

from __future__ import annotations

import os
import sys

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete, split_arg_string


def answer(instruction: str, asked: click.Command) -> int:
    """Print the completions for ``<shell>_complete``; the exit status is always 0 for a known shell.

    ``asked`` is completed where the line names no command of its own.
    """
    shell = instruction.removesuffix("_complete")
    completer = {"bash": _Bash, "zsh": ZshComplete, "fish": FishComplete}.get(shell)
    if completer is None:
        print(f"kafka-tools: unsupported shell '{shell}': completion supports bash, zsh and fish", file=sys.stderr)
        return 1
    # A remark on stderr would land in the middle of the line the operator is typing.
    with open(os.devnull, "w") as nowhere:
        sys.stderr, kept = nowhere, sys.stderr
        try:
            command, program = _asked_for(split_arg_string(os.environ.get("COMP_WORDS", "")), asked)
            print(completer(command, {}, program, "").complete())
        except Exception:  # noqa: BLE001 - silence is the answer; the command itself will say what is wrong
            pass
        finally:
            sys.stderr = kept
    return 0


def _asked_for(words: list[str], otherwise: click.Command) -> tuple[click.Command, str]:
    from kafka_tools.commands.registry import load, named_by, program

    name = named_by(words[0]) if words else None
    return (load(name), program(name)) if name else (otherwise, "kafka-tools")


class _Bash(BashComplete):
    """bash splits words at ':' and '=' too, so the script hands over the line, and we hand back what follows them."""

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
