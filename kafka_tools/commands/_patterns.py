"""Topic patterns as Kafka's tools read them (``org.apache.kafka.server.util.TopicFilter.IncludeList``).

``--topic`` of most actions is a regular expression in Java's dialect, where a comma separates alternatives, spaces
and surrounding quotes are dropped, and the whole name must match. So ``a.b`` also matches ``a_b``: commands that
change something say on stderr what else was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kafka_tools.commands import _run
from kafka_tools.errors import UsageError

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics that Kafka itself writes (org.apache.kafka.common.internals.Topic)."""

_NAME = re.compile(r"[a-zA-Z0-9._-]+")
# Java reads these, Python either refuses them or reads something else.
_JAVA_ONLY = re.compile(r"\\[pPhHRXkGzQE]|\[[^\]]*&&|\[[^\]\\]*\[|\(\?<[a-zA-Z]")


class TopicPattern:
    """A pattern over topic names. UsageError when it is no regular expression or needs Java's dialect."""

    def __init__(self, text: str) -> None:
        self.text = text
        cleaned = text.strip().replace(",", "|").replace(" ", "")
        cleaned = re.sub("^[\"']+|[\"']+$", "", cleaned)
        if _JAVA_ONLY.search(cleaned):
            raise UsageError(f"the pattern '{text}' uses a part of Java's regular expressions that is not supported")
        try:
            self._regex = re.compile(cleaned)
        except re.error as error:
            raise UsageError(f"'{text}' is an invalid regular expression: {error}") from error

    def matches(self, name: str) -> bool:
        """Whether the whole of ``name`` matches."""
        return self._regex.fullmatch(name) is not None

    def select(self, names: Iterable[str]) -> list[str]:
        """The matching ones of ``names``, sorted."""
        return sorted(name for name in names if self.matches(name))

    def warn_of_more(self, selected: Iterable[str], action: str) -> None:
        """Name on stderr every topic that a text which looks like one topic's name selected beyond that name.

        A text with the signs of a pattern in it (``orders.*``) says itself that it means several.
        """
        more = [name for name in selected if name != self.text]
        if more and _NAME.fullmatch(self.text):
            literal = self.text.replace(".", "\\.")
            _run.note(
                f"warning: --topic '{self.text}' is a regular expression, in which '.' is any character; "
                f"it also {action} {', '.join(more)}. Write '{literal}' for the one topic."
            )


def collides(name: str) -> bool:
    """Whether a topic's metric names could collide with another's (``.`` and ``_`` are the same there)."""
    return "." in name or "_" in name
