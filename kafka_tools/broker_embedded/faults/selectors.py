"""Selects the requests of a fault by API, by groups, topics and partitions, and by client."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pkgutil import iter_modules
from typing import Any, NamedTuple
from uuid import UUID

from kafka_tools.broker_embedded import handlers
from kafka_tools.broker_embedded.faults import entries
from kafka_tools.broker_embedded.faults.entries import GROUP, PARTITION, TOPIC
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.error_reply import entry_errors
from kafka_tools.protocol.messages.fetch import FetchRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.schema import Request, Response
from kafka_tools.texts.near_names import did_you_mean

ANY = "*"

_SAMPLE: dict[str, Any] = {GROUP: "a group", TOPIC: "a topic", PARTITION: 77}


class Selector:
    """The conditions for a request. Raises ValueError for unknown names, and for conditions that the API does not
    support.
    """

    def __init__(
        self,
        api: str = ANY,
        *,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        principal: str | None = None,
        client_id: str | None = None,
    ) -> None:
        """``api``: Kafka's name ("OffsetCommit") or the name of its module ("offset_commit"), "*" for every API.

        ``principal``: as Kafka writes it, "User:alice". None matches any value.
        """
        self.row = None if api == ANY else _row(api)
        given = {GROUP: group, TOPIC: topic, PARTITION: partition}
        self.wanted = {level: value for level, value in given.items() if value is not None}
        """The selected level -> value; empty selects the whole request."""
        self.transactional_id = transactional_id
        self.principal = principal
        self.client_id = client_id
        if principal is not None and ":" not in principal:
            raise ValueError(f"invalid principal '{principal}': expected User:{principal}")
        if partition is not None and (isinstance(partition, bool) or not isinstance(partition, int) or partition < 0):
            raise ValueError(f"invalid partition {partition!r}: expected a number of at least 0")
        if self.row is None:
            return
        message = registry.api(self.row.stem).request
        named = entries.levels_named(message)
        if message is MetadataRequest:  # its answers have partitions
            named.add(PARTITION)
        for level in self.wanted:
            if level not in named:
                raise ValueError(f"requests of {self.row.stem} do not contain a {level}")
        if transactional_id is not None and not any(field.name == "transactional_id" for field in message.FIELDS):
            raise ValueError(f"requests of {self.row.stem} do not contain a transactional id")

    def __str__(self) -> str:
        words = [ANY if self.row is None else self.row.stem]
        words += [f"{level}={value}" for level, value in self.wanted.items()]
        for name in ("transactional_id", "principal", "client_id"):
            value = getattr(self, name)
            words += [] if value is None else [f"{name}={value}"]
        return " ".join(words)

    def check_holds_error(self) -> None:
        """Raises ValueError if the API's answers have no error field for the selected part alone."""
        if self.row is None or not self.wanted:
            return
        message = registry.api(self.row.stem).request
        *_, level = self.wanted
        if message is MetadataRequest and level == PARTITION:
            return
        asked = entries.sample(message, _SAMPLE)
        meant = entries.divide(asked, {level: _SAMPLE[level] for level in self.wanted}, lambda id: _SAMPLE[TOPIC])[1]
        if meant is asked:  # selected by its only group: the whole request
            return
        for version in range(self.row.min_version, self.row.max_version + 1):
            answer = entry_errors(meant, version, error_codes.UNKNOWN_SERVER_ERROR) if meant is not None else None
            if answer is not None and any(_SAMPLE[level] in path for path in entries.paths_to_errors(answer, version)):
                return
        raise ValueError(f"responses of {self.row.stem} have no error per {level}: omit {level}")

    def fits(self, call: Any) -> bool:
        """Whether the API and the client match. Does not check groups, topics and partitions."""
        if self.row is not None and call.api.key != self.row.key:
            return False
        if self.principal is not None and call.principal != self.principal:
            return False
        if self.client_id is not None and call.client_id != self.client_id:
            return False
        if self.transactional_id is None:
            return True
        return bool(getattr(call.request, "transactional_id", None) == self.transactional_id)

    def meant(self, call: Any, asked: Request) -> Meant | None:
        """The selected part of ``asked`` (``what_is_asked``, or the rest of it), None if there is none.

        The caller has checked the API and the client (``fits``).
        """
        wanted = self.wanted
        if not wanted:
            return Meant(None, asked)
        if isinstance(asked, MetadataRequest) and PARTITION in wanted:
            return Meant(asked, None)
        if entries.names_all(asked, wanted):
            return Meant(asked, None)
        rest, found = entries.divide(asked, wanted, topic_names(call))
        return None if found is None else Meant(rest, found)

    def names(self, call: Any) -> bool:
        """Whether this selects a request or a part of it."""
        return self.fits(call) and (not self.wanted or self.meant(call, what_is_asked(call)) is not None)


class Meant(NamedTuple):
    """A divided request: ``found`` is the selected part, None if it depends on the answer; ``rest`` may be None."""

    rest: Request | None
    found: Request | None


def found_in(request: Request, response: Response, wanted: entries.Wanted, call: Any) -> Request | None:
    """The selected part of a request for everything, found with the names in its answer."""
    return entries.divide(entries.expanded(request, response), wanted, topic_names(call))[1]


def topic_names(call: Any) -> Callable[[UUID], str]:
    """Topic id -> name; empty for an unknown id."""
    by_id = call.broker.cluster.topics_by_id
    return lambda id: by_id[id].name if id in by_id else ""


def what_is_asked(call: Any) -> Request:
    """The request; for a fetch, with its own partitions and the partitions of its session."""
    request, Topic = call.request, FetchRequest.Topic
    if not isinstance(request, FetchRequest):
        return request  # type: ignore[no-any-return]
    topics = list(request.topics)
    named = {(topic.topic, topic.topic_id, p.partition) for topic in topics for p in topic.partitions}
    named |= {(topic.topic, topic.topic_id, n) for topic in request.forgotten_topics_data for n in topic.partitions}
    for key in call.broker.fetch_sessions.partitions_of(request.session_id) if call.version >= 7 else ():
        if key not in named:
            partition = Topic.Partition(partition=key.partition)
            topics.append(Topic(topic=key.topic, topic_id=key.topic_id, partitions=[partition]))
    return FetchRequest(topics=topics)


def _row(api: str) -> registry.Row:
    rows = registry.rows()
    for row in rows:
        if api in (row.stem, row.name):
            if row.stem not in {module.name for module in iter_modules(handlers.__path__)}:
                raise ValueError(f"cannot inject a fault into {api}: the bundled broker does not support it")
            return row
    raise ValueError(_unknown("API", api, [name for row in rows for name in (row.name, row.stem)]))


def error_code(error: str | int) -> error_codes.ErrorCode:
    """The error with a name or number. Raises ValueError for an unknown error, and for NONE."""
    names = {row.name: row for row in error_codes.all_codes() if row.code != error_codes.NONE}
    for row in names.values():
        if error in (row.code, row.name) and not isinstance(error, bool):
            return row
    raise ValueError(_unknown("error", str(error), names))


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    meant = did_you_mean([name], known, most=1, near=0.6)
    return f"unknown {what} '{name}'" + (f"; {meant}" if meant else "")
