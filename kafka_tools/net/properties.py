"""Java's ``.properties`` text, read as ``java.util.Properties.load`` reads it.

Comments (``#`` and ``!``), continuation lines, ``=``, ``:`` or blanks as separator, backslash escapes with
``\\uXXXX``. Knows nothing of what the keys mean. Kafka's tools read such files as UTF-8 since 0.10; so do we.
"""

from __future__ import annotations

import re

from kafka_tools.errors import ConfigError
from kafka_tools.given_files import read_given

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS = " \t\f"
_LINE_END = re.compile("\r\n|\r|\n")


def parse_properties(text: str, source: str = "properties") -> dict[str, str]:
    """Keys and values in file order; of a key that occurs twice the last value counts, as in Java.

    ``source`` names the text in errors. Raises ConfigError with the line for a broken ``\\u`` escape.
    """
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key, value = _split(line)
        name = _unescape(key, source, number)
        found.pop(name, None)
        found[name] = _unescape(value, source, number)
    return found


def read_properties(path: str, what: str = "properties file") -> dict[str, str]:
    """The properties of a file; ConfigError when it cannot be read or is not UTF-8."""
    try:
        text = read_given(path).decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{what} {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{what} {path}: not UTF-8 text at byte {error.start}") from error
    return parse_properties(text, path)


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """(number of the first line, text) with comments and blank lines gone and continuations joined."""
    lines: list[tuple[int, str]] = []
    start = 0
    joined = ""
    continues = False
    for number, raw in enumerate(_LINE_END.split(text), 1):
        line = raw.lstrip(_BLANKS)
        if not joined:  # so far a continued line is nothing but its backslash
            if not line or line[0] in "#!":
                continues = False
                continue
            start = number
        continues = _odd_backslashes(line)
        joined += line[:-1] if continues else line
        if not continues:
            lines.append((start, joined))
            joined = ""
    if continues:
        lines.append((start, joined))
    return lines


def _odd_backslashes(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    """Key and value, still escaped: the key ends at the first unescaped separator."""
    position = 0
    while position < len(line):
        char = line[position]
        if char == "\\":
            position += 2
            continue
        if char in "=:" or char in _BLANKS:
            break
        position += 1
    key = line[:position]
    rest = line[position:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return key, rest


def _unescape(text: str, source: str, line: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char != "\\":
            out.append(char)
            continue
        escaped = text[position : position + 1]
        position += 1
        if escaped == "u":
            digits = text[position : position + 4]
            if not re.fullmatch("[0-9A-Fa-f]{4}", digits):
                raise ConfigError(f"{source}, line {line}: \\u must be followed by four hexadecimal digits")
            out.append(chr(int(digits, 16)))
            position += 4
        else:
            out.append(_ESCAPES.get(escaped, escaped))
    joined = "".join(out)
    # Java chars are UTF-16 units: two escapes may be the halves of one character.
    return joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
