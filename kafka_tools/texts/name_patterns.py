"""Regular expressions over topic names that operators type: Java's dialect, as far as Python reads it the same.

``(a+)+b`` costs an engine that goes back a power of two of the name's length, as Java's does. Here RE2 matches whatever
repeats more than once (``regular_expressions.py``: linear time); what RE2 does not know, such as a lookahead, Python
matches, within ``MOST_S`` for a name.
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
"""How long a name may take, in seconds, where RE2 cannot match it: others take microseconds."""
_GOES_BACK_LITTLE = re.compile(r"[^*+{(\\]*(?:[*+][^*+{(\\]*)?")
# Python reads these, RE2 something else.
_NOT_AS_RE2 = re.compile(r"\{,|\[\[")


class NamePattern:
    """A pattern that whole names must match; ``re.error`` when it is not a regular expression."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._python = re.compile(text)
        self._re2: Any = None
        if not _GOES_BACK_LITTLE.fullmatch(text) and not _NOT_AS_RE2.search(text):
            from kafka_tools.texts.regular_expressions import InvalidPattern, compile_pattern

            with suppress(InvalidPattern, ConfigError):  # Python knows more than RE2
                self._re2 = compile_pattern(text)
        self._is_quick = self._re2 is None and _GOES_BACK_LITTLE.fullmatch(text) is not None

    def fullmatch(self, name: str) -> bool:
        """Whether the whole of ``name`` matches. InputError when that takes too long."""
        if self._re2 is not None:
            matches: bool = self._re2.matches(name)
            return matches
        if self._is_quick or threading.current_thread() is not threading.main_thread():
            return self._python.fullmatch(name) is not None
        with self._in_time():
            return self._python.fullmatch(name) is not None

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """InputError in the ``with`` block when its time is over; Python's engine looks for signals now and then."""
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
