"""Parses a line of the shell: its words, its command and the command's arguments, or its error.

Texts and rules are those of Kafka's shell, which uses argparse4j 0.7. Words are split as in JLine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kafka_tools.errors import UsageError


class Verb(NamedTuple):
    """A command. ``takes``: the name of its arguments, their number (``*``, ``+``, ``?``, ``1``), their help."""

    summary: str
    takes: tuple[str, str, str] | None = None
    shell_only: bool = False


_NODES = "The metadata {} to {}."
VERBS = {
    "cat": Verb("Show the contents of metadata files.", ("targets", "+", _NODES.format("files", "display"))),
    "cd": Verb("Set the current working directory.", ("target", "?", "The directory to change to."), True),
    "exit": Verb("Exit the metadata shell.", None, True),
    "find": Verb("Search for nodes in the directory hierarchy.", ("paths", "*", "The paths to start at.")),
    "help": Verb("Display this help message.", None, True),
    "history": Verb("Print command history.", ("numEntriesToShow", "?", "The number of entries to show."), True),
    "ls": Verb("List metadata nodes.", ("targets", "*", _NODES.format("node paths", "list"))),
    "man": Verb("Show the help text for a specific command.", ("cmd", "1", "The command to get help text for."), True),
    "pwd": Verb("Print the current working directory.", None, True),
    "tree": Verb(
        "Show the contents of metadata nodes in a tree structure.", ("targets", "+", _NODES.format("nodes", "display"))
    ),
}
_NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
_JAVA_INTEGER = re.compile(r"[+-]?\d+")
_INTEGERS = range(-(2**31), 2**31)


class Line(NamedTuple):
    """A command and its arguments, unchanged."""

    verb: str
    arguments: list[str]


def parse(words: Sequence[str], *, interactive: bool) -> Line | None:
    """The command of a line; None for an empty line. Raises UsageError in Kafka's words."""
    words = list(words)
    while words and not words[-1]:
        del words[-1]
    if not words:
        return None
    verbs = [name for name, verb in VERBS.items() if interactive or not verb.shell_only]
    given = words[0]
    if given.startswith("-") and given != "--" and not _NEGATIVE_NUMBER.fullmatch(given):
        raise _unrecognized(given)
    if given == "--":
        raise _unrecognized(" ".join(words[1:])) if words[1:] else UsageError("too few arguments")
    name = _verb(given, verbs)
    arguments = _arguments(words[1:], VERBS[name].takes)
    if name != given:
        raise UsageError(f"invalid choice: '{given}': did you mean '{name}'?")
    return Line(name, arguments)


def _verb(given: str, verbs: Sequence[str]) -> str:
    if given in verbs:
        return given
    beginning = [name for name in verbs if given and name.startswith(given)]
    if len(beginning) > 1:
        raise UsageError(f"ambiguous command: {given} could match {', '.join(beginning)}")
    if not beginning:
        listed = ", ".join(f"'{name}'" for name in verbs)
        raise UsageError(f"invalid choice: '{given}' (choose from {listed})")
    return beginning[0]


def _arguments(words: list[str], takes: tuple[str, str, str] | None) -> list[str]:
    name, many, _ = takes or ("", "0", "")
    most = {"0": 0, "1": 1, "?": 1}.get(many, len(words))
    found: list[str] = []
    separated = False
    for at, word in enumerate(words):
        if word == "--" and not separated:
            separated = True
        elif not separated and word.startswith("-") and not _NEGATIVE_NUMBER.fullmatch(word):
            raise _unrecognized(word)
        elif len(found) == most:
            raise _unrecognized(" ".join(words[at:]))
        else:
            found.append(word)
    if many in "1+" and not found:
        raise UsageError("too few arguments")
    if name == "numEntriesToShow" and found and not _is_integer(found[0]):
        raise UsageError(
            f"argument {name}: could not convert '{found[0]}' to Integer (For input string: \"{found[0]}\")"
        )
    return found


def _is_integer(text: str) -> bool:
    return bool(_JAVA_INTEGER.fullmatch(text)) and len(text) < 20 and int(text) in _INTEGERS


def _unrecognized(text: str) -> UsageError:
    return UsageError(f"unrecognized arguments: '{text}'")


def split(text: str) -> list[str]:
    """The words of a line: ``'`` and ``"`` quote, and ``\\`` quotes the next character.

    An open quote ends with the line.
    """
    words: list[str] = []
    word: list[str] = []
    begun, quote = False, ""
    at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "\\" and at < len(text):
            word.append(text[at])
            begun = True
            at += 1
        elif character == quote:
            quote = ""
        elif quote:
            word.append(character)
        elif character in "'\"":
            quote, begun = character, True
        elif character.isspace():
            if begun:
                words.append("".join(word))
            word, begun = [], False
        else:
            word.append(character)
            begun = True
    return [*words, "".join(word)] if begun else words


def manual(name: str) -> str:
    """The text of ``man``."""
    verb = VERBS.get(name)
    if verb is None:
        return f"man: unknown command {name}. Type help to get a list of commands.\n"
    text = f"{name}: {verb.summary}\n\nusage: {name}"
    if verb.takes is None:
        return f"{text}\n"
    argument, many, told = verb.takes
    forms = {"*": "[{0} [{0} ...]]", "+": "{0} [{0} ...]", "?": "[{0}]", "1": "{0}"}
    return f"{text} {forms[many].format(argument)}\n\npositional arguments:\n  {argument:<21}  {told}\n"


def overview() -> str:
    """The text of ``help``."""
    names = ",".join(VERBS)
    rows = [f"    {name:<19}  {verb.summary}" for name, verb in VERBS.items() if name != "tree"]
    # argparse4j wraps at 75 columns and justifies a line that it wraps.
    last = "    tree                 Show the contents  of  metadata  nodes  in  a tree\n" + " " * 25 + "structure."
    listed = "\n".join([*rows, last])
    return (
        "Welcome to the Apache Kafka metadata shell.\n\n"
        f"usage:  {{{names}}} ...\n\npositional arguments:\n  {{{names}}}\n{listed}\n"
    )
