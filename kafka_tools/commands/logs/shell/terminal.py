"""The shell on a terminal, with prompt, history and completion; from a pipe, lines without them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from kafka_tools.commands import running
from kafka_tools.commands.logs.shell.lines import VERBS, parse, split
from kafka_tools.commands.logs.shell.nodes import TreeDirectory
from kafka_tools.commands.logs.shell.paths import continuations
from kafka_tools.commands.logs.shell.session import ShellSession
from kafka_tools.errors import InputError, UsageError

PROMPT = ">> "
_LONGEST_LINE = 1 << 20
"""Maximum number of characters of a line from a pipe: a line from /dev/zero would never end."""


def talk(root: TreeDirectory) -> None:
    """Read and run lines until ``exit`` or the end of the input. Ctrl-C drops the current line.

    Raises InputError for a line from a pipe that is too long.
    """
    # Invalid bytes are the name of a missing node, and do not end the session.
    getattr(sys.stdin, "reconfigure", lambda **_: None)(errors="surrogateescape")
    typed: list[str] = []
    session = ShellSession(
        root,
        running.emit,
        lambda text: running.emit(f"{running.shown(text)}\n"),
        width=_width,
        history=lambda: [*enumerate(typed)],
    )
    running.emit("Starting...\n[ Kafka Metadata Shell ]\n")
    read = _reader(session)
    while True:
        try:
            text = read()
        except KeyboardInterrupt:
            running.emit("^C\n")
            continue
        if text is None:
            return
        if text.strip() and not text.startswith(" ") and text != (typed[-1] if typed else None):
            typed.append(text)
            _remember(text)
        try:
            line = parse(split(text), interactive=True)
            if line is not None and not session.run(line):
                return
        except UsageError as error:
            running.emit(f"{running.shown(str(error))}\n")
        except KeyboardInterrupt:  # a long listing was stopped
            running.emit("^C\n")
        sys.stdout.flush()


def candidates(session: ShellSession, before: str, word: str) -> list[str]:
    """The completions of ``word``, which follows ``before`` on the line.

    A complete word ends with a blank.
    """
    words = split(before)
    takes_command = not words or words == ["man"]
    if takes_command:
        return [f"{name} " for name in VERBS if name.startswith(word)]
    takes = VERBS[words[0]].takes if words[0] in VERBS else None
    if takes is None or words[0] in ("man", "history") or (takes[1] == "?" and len(words) > 1):
        return []
    found = continuations(session.root, word, session.working_directory)
    return [each if each.endswith("/") else f"{each} " for each in found]


def _width() -> int | None:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return None


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _reader(session: ShellSession) -> Callable[[], str | None]:
    if _is_terminal():
        _set_up_completion(session)
        return _typed_line
    return _piped_line


def _typed_line() -> str | None:
    try:
        return input(PROMPT)
    except EOFError:
        running.emit("\n")
        return None


def _piped_line() -> str | None:
    running.emit(PROMPT)
    sys.stdout.flush()
    text = sys.stdin.readline(_LONGEST_LINE + 1)
    if len(text) > _LONGEST_LINE:
        raise InputError(f"a line of the input is longer than {_LONGEST_LINE} characters")
    return text.removesuffix("\n").removesuffix("\r") if text else None


def _set_up_completion(session: ShellSession) -> None:
    try:
        import readline
    except ImportError:  # a Python built without it: lines are typed without history and completion
        return

    def complete(word: str, number: int) -> str | None:
        found = candidates(session, readline.get_line_buffer()[: readline.get_begidx()], word)
        return found[number] if number < len(found) else None

    readline.set_auto_history(False)
    readline.set_completer_delims(" \t\n")
    readline.set_completer(complete)
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")


def _remember(text: str) -> None:
    if _is_terminal():
        with suppress(ImportError):
            import readline

            readline.add_history(text)
