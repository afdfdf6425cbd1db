"""Reads and writes Java's ``.properties`` text like ``java.util.Properties``.

It supports comments (``#`` and ``!``), continuation lines, ``=``, ``:`` or blanks as separator, and backslash escapes
with ``\\uXXXX``. It does not interpret the keys.

A file is ISO-8859-1: brokers and tools from 1.1 to 4.4 load it from a stream of bytes (``Utils.loadProps``,
``PropertiesUtils``). The only exception is ``FileConfigProvider``, which decodes UTF-8 and calls ``parse_properties``.
"""

from __future__ import annotations

import re

from kafka_tools.errors import ConfigError
from kafka_tools.given_files import read_given

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_NAMES = {char: name for name, char in _ESCAPES.items()} | {"\\": "\\"}
_SPECIAL = "=:#!"
_BLANKS = " \t\f"
_BYTE_ORDER_MARK = "\u00ef\u00bb\u00bf"
"""UTF-8's byte order mark, read as ISO-8859-1. It becomes part of the first key."""
_MOST_LINES = 5
"""Maximum number of lines that a warning names."""
_LINE_END = re.compile("\r\n|\r|\n")


def parse_properties(text: str, source: str = "properties") -> dict[str, str]:
    """Keys and values in file order. The last value of a repeated key wins, as in Java.

    ``source`` names the text in errors. Raises ConfigError with the line for an invalid ``\\u`` escape.
    """
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key, value = _split(line)
        name = _unescape(key, source, number)
        found.pop(name, None)
        found[name] = _unescape(value, source, number)
    return found


def load_properties(data: bytes, source: str = "properties") -> dict[str, str]:
    """The properties in the bytes of a file. Raises ConfigError as ``parse_properties``.

    A warning (``logging``; commands and brokers print it on stderr) names the lines that look like UTF-8. It does not
    contain their text, which may be a password.
    """
    text = data.decode("iso-8859-1")
    if not text.isascii():
        _warn_of_utf8(text, source)
    return parse_properties(text, source)


def read_properties(path: str, what: str = "properties file") -> dict[str, str]:
    """The properties of a file that a user names. Raises ConfigError if it cannot be read."""
    try:
        return load_properties(read_given(path), path)
    except OSError as error:
        raise ConfigError(f"{what} {path}: {error.strerror or error}") from error


def properties_line(key: str, value: str) -> str:
    """``key=value`` with its line end, in ASCII, as ``Properties.store`` writes it."""
    # Only the first blank of a value is escaped: a reader would remove it otherwise.
    space = "\\ " if value.startswith(" ") else ""
    return f"{_escape(key, _SPECIAL + ' ')}={space}{_escape(value.removeprefix(' '), _SPECIAL)}\n"


def _escape(text: str, special: str) -> str:
    out: list[str] = []
    for char in text:
        if char in _NAMES:
            out.append("\\" + _NAMES[char])
        elif char in special:
            out.append("\\" + char)
        elif " " <= char <= "~":
            out.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass")
            out += (f"\\u{unit:04X}" for unit in (units[i] << 8 | units[i + 1] for i in range(0, len(units), 2)))
    return "".join(out)


def _warn_of_utf8(text: str, source: str) -> None:
    suspects = [number for number, line in _logical_lines(text) if _looks_like_utf8(line)]
    if not suspects:
        return
    import logging

    from kafka_tools.shown_text import one_line

    place = f"{one_line(source)}, line {', '.join(map(str, suspects[:_MOST_LINES]))}"
    if len(suspects) > _MOST_LINES:
        place += f" and {len(suspects) - _MOST_LINES} more"
    if text.startswith(_BYTE_ORDER_MARK) and suspects[0] == 1:
        advice = "save the file without a byte order mark, and write other characters outside ASCII as \\uXXXX"
    else:
        advice = "write each character outside ASCII as \\uXXXX"
    logging.getLogger(__name__).warning(
        "warning: %s: this looks like UTF-8, but Kafka reads properties files as ISO-8859-1, and this file is read "
        "the same way: %s",
        place,
        advice,
    )


def _looks_like_utf8(line: str) -> bool:
    try:
        return not line.isascii() and bool(line.encode("iso-8859-1").decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """(number of the first line, text) without comments and blank lines, and with continuation lines joined."""
    lines: list[tuple[int, str]] = []
    start = 0
    joined = ""
    continues = False
    for number, raw in enumerate(_LINE_END.split(text), 1):
        line = raw.lstrip(_BLANKS)
        if not joined:  # so far the continued line is only its backslash
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
                raise ConfigError(f"{source}, line {line}: invalid escape: expected four hexadecimal digits after \\u")
            out.append(chr(int(digits, 16)))
            position += 4
        else:
            out.append(_ESCAPES.get(escaped, escaped))
    joined = "".join(out)
    # Java chars are UTF-16 units: two escapes may form one character.
    return joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
