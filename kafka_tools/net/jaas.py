"""The value of ``sasl.jaas.config``: ``LoginModuleClass controlFlag (option=value)*;``, one or more entries.

Read as Java's ``StreamTokenizer`` set-up in Kafka's ``JaasConfig`` reads it: words, single or double quotes with
backslash escapes, ``//`` and ``/* */`` comments. Values are often passwords, so no message repeats one.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_tools.errors import ConfigError

CONTROL_FLAGS = ("required", "requisite", "sufficient", "optional")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class JaasEntry(NamedTuple):
    """One login module with its options; ``repr`` never contains option values."""

    login_module: str
    control_flag: str
    options: dict[str, str]

    @property
    def simple_name(self) -> str:
        """The class without its package, such as ScramLoginModule."""
        return self.login_module.rsplit(".", 1)[-1]

    def __repr__(self) -> str:
        return f"JaasEntry({self.login_module} {self.control_flag}, options: {', '.join(self.options) or 'none'})"


class _Token(NamedTuple):
    text: str
    quoted: bool


def parse_jaas(text: str, source: str = "sasl.jaas.config") -> list[JaasEntry]:
    """All entries. Raises ConfigError for another form of text; it names the missing part, but no value."""
    tokens = _tokens(text, source)
    entries: list[JaasEntry] = []
    position = 0
    while position < len(tokens):
        entry, position = _entry(tokens, position, source)
        entries.append(entry)
    if not entries:
        raise ConfigError(f"invalid {source}: expected a login module class")
    return entries


def _entry(tokens: list[_Token], position: int, source: str) -> tuple[JaasEntry, int]:
    module = tokens[position].text
    if position + 1 >= len(tokens) or _is(tokens[position + 1], ";"):
        raise ConfigError(f"{source}: Login module control flag is not available in the JAAS config")
    flag = tokens[position + 1].text
    if flag.lower() not in CONTROL_FLAGS:
        raise ConfigError(
            f"{source}: the control flag after the login module class must be one of {', '.join(CONTROL_FLAGS)}"
        )
    position += 2
    options: dict[str, str] = {}
    while position < len(tokens) and not _is(tokens[position], ";"):
        name = tokens[position].text
        if position + 2 >= len(tokens) or not _is(tokens[position + 1], "=") or _is(tokens[position + 2], ";"):
            # The word itself may be part of a password whose quotes are missing.
            raise ConfigError(
                f'invalid {source}: expected name="value" as option {len(options) + 1}',
                hint="put values in double quotes; write a backslash before a quote or backslash in a value",
            )
        options[name] = tokens[position + 2].text
        position += 3
    if position == len(tokens):
        raise ConfigError(f"invalid {source}: expected a semicolon at the end of an entry")
    return JaasEntry(module, flag.lower(), options), position + 1


def _is(token: _Token, char: str) -> bool:
    return not token.quoted and token.text == char


def _tokens(text: str, source: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char <= " ":
            position += 1
        elif text.startswith("//", position):
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif text.startswith("/*", position):
            end = text.find("*/", position + 2)
            if end < 0:
                raise ConfigError(f"invalid {source}: unterminated comment")
            position = end + 2
        elif char in "\"'":
            value, position = _quoted(text, position, source)
            tokens.append(_Token(value, True))
        elif char in "=;{}":
            tokens.append(_Token(char, False))
            position += 1
        else:
            start = position
            while position < len(text) and text[position] > " " and text[position] not in "\"'=;{}":
                position += 1
            tokens.append(_Token(text[start:position], False))
    return tokens


def _quoted(text: str, start: int, source: str) -> tuple[str, int]:
    quote = text[start]
    out: list[str] = []
    position = start + 1
    while position < len(text):
        char = text[position]
        if char == quote:
            return "".join(out), position + 1
        if char == "\n":
            break
        if char == "\\":
            position += 1
            octal = position
            while octal < len(text) and octal - position < 3 and text[octal] in "01234567":
                octal += 1
            if octal > position:
                # Java accepts a third digit only while the value fits in a byte.
                if octal - position == 3 and text[position] > "3":
                    octal -= 1
                out.append(chr(int(text[position:octal], 8)))
                position = octal
                continue
            char = text[position : position + 1]
            out.append(_ESCAPES.get(char, char))
        else:
            out.append(char)
        position += 1
    raise ConfigError(f"invalid {source}: unterminated quoted value")
