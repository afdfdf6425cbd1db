"""Regular expressions that clients send (KIP-848, KIP-1152): RE2's syntax, in linear time and bounded memory.

Kafka uses RE2/J. This package uses RE2 itself, through ``google-re2``. Both have the same syntax, without features
that need backtracking. In some cases only one of the two refuses a pattern. A pattern that both accept matches the
same names, except for classes of characters that newer releases of Unicode extended:

- RE2 supports ``\\C`` (one byte) and duplicate group names. RE2/J refuses both, and so does this module.
- RE2/J accepts ``\\é`` for ``é``. RE2 refuses a backslash before a letter of any alphabet.
- RE2 refuses nested repetitions of more than a thousand in total (``((a{100}){100}){100}``), and groups
  more than a thousand deep. RE2/J accepts them and uses as much memory as they need.
- The program of a pattern and its states may take ``MOST_BYTES``: some five thousand characters repeated one by one.

A pattern must match the whole name. A pattern of this size takes at most some ten milliseconds for a topic name.
For longer texts use another thread (``slices.to_thread``): RE2 releases Python's lock while it runs.
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
"""RE2's message for a pattern -> RE2/J's message, which Kafka returns to clients."""


class InvalidPattern(InputError):
    """A pattern that is not a regular expression of RE2, or is too large. The message is in RE2/J's words."""


class Pattern:
    """A compiled pattern. ``text`` is its source."""

    __slots__ = ("_compiled", "text")

    def __init__(self, text: str, compiled: Any) -> None:
        self.text = text
        self._compiled = compiled

    def matches(self, name: str) -> bool:
        """Whether the pattern matches the whole name."""
        return self._compiled.fullmatch(name.encode("utf-8", "surrogatepass")) is not None

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches a part of the text."""
        return self._compiled.search(text.encode("utf-8", "surrogatepass")) is not None


def compile_pattern(text: str) -> Pattern:
    """Compile a pattern. Raises InvalidPattern with the reason, and ConfigError if google-re2 is missing."""
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
    re2.purge()  # its cache would keep 128 patterns
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
    """RE2/J's message for RE2's, which has the part of the pattern after a colon."""
    found = max((words for words in _KAFKAS_WORDS if said.startswith(words)), key=len, default=None)
    return said.decode("utf-8", "replace") if found is None else _KAFKAS_WORDS[found]
