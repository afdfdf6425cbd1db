"""Regular expressions that clients send (KIP-848, KIP-1152): RE2's syntax, in linear time and bounded memory.

Kafka uses RE2/J, this package RE2 itself, by way of ``google-re2``: both are one language, without what makes other
engines go back. Where they differ, one refuses a pattern that the other takes, never is a name matched by one alone,
but for classes of characters that newer releases of Unicode added to:

- RE2 knows ``\\C`` (one byte) and groups of the same name, RE2/J refuses both; here they are refused too.
- RE2/J takes ``\\é`` for ``é``; RE2 refuses a backslash before a letter of any alphabet.
- RE2 refuses repetitions within each other that come to more than a thousand (``((a{100}){100}){100}``), and groups
  more than a thousand deep; RE2/J takes them for as much memory as they need.
- A pattern may take ``MOST_BYTES`` as a program and its states, some five thousand characters repeated one by one.

What is matched is the whole name. A pattern of this size takes at most some ten milliseconds for the name of a topic;
texts without that bound are for another thread (``slices.to_thread``): RE2 lets others have Python meanwhile.
"""

from __future__ import annotations

import re
from typing import Any

from kafka_tools.errors import ConfigError, InputError

MOST_BYTES = 256 * 1024
_TOKEN = re.compile(
    rb"\\Q.*?(?:\\E|\Z)"  # quoted
    rb"|\\(?P<escaped>.)"
    rb"|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\\\]])*+\]"  # a class
    rb"|\(\?P?<(?P<name>\w+)>"
    rb"|.",
    re.DOTALL,
)
_KAFKAS_WORDS = {
    b"invalid escape sequence": "invalid escape sequence",
    b"invalid character class": "invalid character class range",
    b"invalid character class range": "invalid character class range",
    b"missing ]": "missing closing ]",
    b"missing )": "missing closing )",
    b"unexpected )": "unexpected )",  # "regexp/syntax: internal error" there
    b"trailing \\": "trailing backslash at end of expression",
    b"no argument for repetition operator": "missing argument to repetition operator",
    b"invalid repetition size": "invalid repeat count",
    b"bad repetition operator": "invalid nested repetition operator",
    b"invalid perl operator": "invalid or unsupported Perl syntax",
    b"invalid named capture group": "invalid named capture",
}
"""RE2's message for a pattern -> RE2/J's message, which Kafka's clients are told."""


class InvalidPattern(InputError):
    """A pattern that is not a regular expression of RE2, or is too large; the text is the reason in RE2/J's words."""


class Pattern:
    """A compiled pattern. ``text`` is what it was made from."""

    __slots__ = ("_compiled", "text")

    def __init__(self, text: str, compiled: Any) -> None:
        self.text = text
        self._compiled = compiled

    def matches(self, name: str) -> bool:
        """Whether all of the name matches."""
        return self._compiled.fullmatch(name.encode("utf-8", "surrogatepass")) is not None


def compile_pattern(text: str) -> Pattern:
    """Raises InvalidPattern with the reason, and ConfigError where google-re2 is missing."""
    try:
        import re2
    except ImportError as error:
        raise ConfigError(
            "regular expressions of clients need the Python package google-re2",
            hint="pip install google-re2",
        ) from error
    options = re2.Options()
    options.max_mem = MOST_BYTES
    options.never_capture = True
    options.log_errors = False
    data = text.encode("utf-8", "surrogatepass")
    try:
        compiled = re2.compile(data, options)
    except re2.error as error:
        raise InvalidPattern(_reason(error.args[0])) from None
    re2.purge()  # its cache would keep 128 of them
    _refuse_what_only_re2_takes(data)
    return Pattern(text, compiled)


def _refuse_what_only_re2_takes(data: bytes) -> None:
    names = set()
    for token in _TOKEN.finditer(data):
        if token["escaped"] == b"C":
            raise InvalidPattern("invalid escape sequence")
        if token["name"] in names:
            raise InvalidPattern("duplicate capture group name")
        if token["name"] is not None:
            names.add(token["name"])


def _reason(said: bytes) -> str:
    """RE2 names the part of the pattern behind a colon."""
    found = max((words for words in _KAFKAS_WORDS if said.startswith(words)), key=len, default=None)
    return said.decode("utf-8", "replace") if found is None else _KAFKAS_WORDS[found]
