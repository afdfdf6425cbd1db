"""Regular expressions for topic names from operators: the part of Java's dialect that Python reads in the same way.

A backtracking engine, such as Java's, needs exponential time for ``(a+)+b``. This module uses RE2 (linear time,
``regular_expressions.py``) for patterns with more than one repetition. Python matches patterns that RE2 does not
support, such as a lookahead, within ``MOST_S`` per name.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from kafka_tools.errors import ConfigError, InputError

MOST_S = 1.0
"""Timeout per name in seconds, if RE2 does not support the pattern. Other patterns take microseconds."""
_GOES_BACK_LITTLE = re.compile(r"[^*+{(\\]*(?:[*+][^*+{(\\]*)?")
# Python and RE2 read these differently.
_NOT_AS_RE2 = re.compile(r"\{,|\[\[")


class NamePattern:
    """A pattern that must match whole names. Raises ``re.error`` for an invalid regular expression."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._python = re.compile(text)
        self._re2: Any = None
        if not _GOES_BACK_LITTLE.fullmatch(text) and not _NOT_AS_RE2.search(text):
            from kafka_tools.texts.regular_expressions import InvalidPattern, compile_pattern

            with suppress(InvalidPattern, ConfigError):  # Python supports more than RE2
                self._re2 = compile_pattern(text)
        self._is_quick = self._re2 is None and _GOES_BACK_LITTLE.fullmatch(text) is not None

    def fullmatch(self, name: str) -> bool:
        """Whether the pattern matches the whole name. Raises InputError after the timeout."""
        if self._re2 is not None:
            matches: bool = self._re2.matches(name)
            return matches
        if self._is_quick or threading.current_thread() is not threading.main_thread():
            return self._python.fullmatch(name) is not None
        with self._in_time():
            return self._python.fullmatch(name) is not None

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Raise InputError in the ``with`` block after the timeout. Python's engine checks for signals now and then."""
        before = signal.signal(signal.SIGALRM, self._too_long)
        others = signal.setitimer(signal.ITIMER_REAL, MOST_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            signal.setitimer(signal.ITIMER_REAL, *others)

    def _too_long(self, *_: object) -> NoReturn:
        raise InputError(
            f"the pattern '{self.text}' takes longer than {MOST_S:g} s to match the name of a topic",
            hint="avoid nested repetitions together with a lookahead or a back reference: they try every combination",
        )
