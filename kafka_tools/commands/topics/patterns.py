"""Topic patterns as Kafka's tools read them (``org.apache.kafka.server.util.TopicFilter.IncludeList``).

``--topic`` of most actions is a regular expression in Java's dialect, where a comma separates alternatives, spaces
and surrounding quotes are dropped, and the whole name must match. So ``a.b`` also matches ``a_b``, and ``.*`` matches
Kafka's own topics: ``to_change`` is stricter where topics are changed or deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.errors import InputError, UsageError
from kafka_tools.protocol.enums import CLUSTER_METADATA, INTERNAL_TOPICS, REMOTE_LOG_METADATA
from kafka_tools.texts.name_patterns import NamePattern

if TYPE_CHECKING:
    from kafka_tools.admin.calls.topics import TopicKey
    from kafka_tools.admin.client import AdminClient, TopicDescription, TopicListing
    from kafka_tools.admin.outcomes import Outcome

_KEPT_FROM_PATTERNS = {*INTERNAL_TOPICS, REMOTE_LOG_METADATA, CLUSTER_METADATA}
"""Internal topics, and topics that Kafka writes without calling them internal."""

_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_PLAIN = re.compile(r"[a-zA-Z0-9_-]+")
# Java's syntax that Python refuses or reads differently.
_JAVA_ONLY = re.compile(r"\\[pPhHRXkGzQE]|\[[^\]]*&&|\[[^\]\\]*\[|\(\?<[a-zA-Z]")


def is_plain(text: str) -> bool:
    """Whether a pattern matches only its own name: it must not contain ``.``, which matches any character."""
    return _PLAIN.fullmatch(text) is not None


class TopicPattern:
    """A pattern for topic names. Raises UsageError for an invalid regular expression, and for Java's dialect."""

    def __init__(self, text: str) -> None:
        self.text = text
        cleaned = text.strip().replace(",", "|").replace(" ", "")
        cleaned = re.sub("^[\"']+|[\"']+$", "", cleaned)
        if _JAVA_ONLY.search(cleaned):
            raise UsageError(
                f"unsupported regular expression '{text}': it uses a part of Java's syntax that is not supported"
            )
        try:
            self._pattern = NamePattern(cleaned)
        except re.error as error:
            raise UsageError(f"invalid regular expression '{text}': {error}") from error

    def matches(self, name: str) -> bool:
        """Whether the pattern matches the whole name."""
        return self._pattern.fullmatch(name)

    def select(self, names: Iterable[str]) -> list[str]:
        """The matching ones of ``names``, sorted."""
        return sorted(name for name in names if self.matches(name))


def described_at_once(
    admin: AdminClient, name: str, page_size: int | None = None
) -> Mapping[TopicKey, Outcome[TopicDescription]] | None:
    """The one topic of a plain name, described without a list of all topics, which is slow on a large cluster. None if
    a broker refuses: then a list shows whether the topic exists and may be described."""
    from kafka_tools.errors import BrokerError

    described = admin.describe_topics([name], page_size=page_size)
    return None if isinstance(described[name].error, BrokerError) else described


def to_change(text: str, topics: Iterable[TopicListing], action: str) -> list[str]:
    """The names of the existing topics that ``--topic text`` may change or delete, sorted.

    Stricter than Kafka's tool, whose ``logs.a`` takes ``logs-a`` along, or instead when ``logs.a`` has gone already. A
    text that is a topic's name, or several with commas or ``|`` between them, means just those. Any other text is a
    pattern: what it matches is named before anything happens to it (``action``: "delete"), and topics of Kafka's own
    are left out. Raises InputError when all that a pattern matches is left out, or names are not there but a pattern
    of this text would match others.
    """
    pattern = TopicPattern(text)
    internal = {topic.name: topic.is_internal or topic.name in _KEPT_FROM_PATTERNS for topic in topics}
    matched = pattern.select(internal)
    names = _names(text)
    if names:
        meant = sorted(internal.keys() & names)
        if matched and not meant:
            raise InputError(
                f"Topic '{text}' does not exist as expected; as a pattern it would {action} {', '.join(matched)}",
                hint=f"to select these, write --topic '({text})'",
            )
        return meant
    kept = [name for name in matched if internal[name]]
    meant = [name for name in matched if not internal[name]]
    if kept and not meant:
        raise InputError(
            f"the pattern '{text}' matches only internal topics of Kafka: {', '.join(kept)}",
            hint=f"to {action} an internal topic, give its name instead of a pattern",
        )
    if meant:
        count = "1 topic" if len(meant) == 1 else f"{len(meant)} topics"
        running.note(f"the pattern '{text}' matches {count} to {action}: {', '.join(meant)}")
    if kept:
        running.note(f"left out internal topics, which a pattern cannot {action}: {', '.join(kept)}")
    return meant


def missing(text: str, topics: Iterable[TopicListing]) -> list[str]:
    """The missing names of ``--topic orders,invoices``, sorted; empty for a pattern."""
    return sorted(set(_names(text)) - {topic.name for topic in topics})


def _names(text: str) -> list[str]:
    """The names of a text, which is one name or several with commas or ``|`` between them; empty for a pattern."""
    names = re.split("[,|]", text.strip().replace(" ", "").strip("\"'"))
    return names if all(map(_NAME.fullmatch, names)) else []


def collides(name: str) -> bool:
    """Whether a topic's metric names could collide with another's, in which ``.`` and ``_`` are equal."""
    return "." in name or "_" in name
