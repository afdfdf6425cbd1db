"""Runs a call over its keys: look up nodes, group, build, send to all nodes concurrently, interpret, retry.

An ``AdminCall`` defines one operation without the network; the driver uses the network for any operation. Everything
ends at one Deadline. The driver retries keys with a retriable error, keys of an unreachable node, and keys whose
leader, controller or coordinator has moved. It retries an unknown topic for a short time, because a broker may not know
it yet. Source of the scheme: Kafka's ``AdminApiDriver``; the calls define the rules of single errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar, dataclass_transform

from kafka_tools.admin.attempts import Graces, WrongNodes, brokers_deadline, may_stem_from_success, pause_s, with_reason
from kafka_tools.admin.first_answer import answers, longest_wait_s
from kafka_tools.admin.lookups import ClusterAccess, Lookup
from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.clock import Deadline
from kafka_tools.errors import (
    BrokerError,
    ConfigError,
    ConnectFailed,
    DeadlineExceeded,
    KafkaToolsError,
    LoginWanted,
    NetworkError,
    SecurityError,
    WireError,
)
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.net.connection import ClosedAtFirstRequest, Pending
from kafka_tools.net.rights import name_what_is_missing
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

UNKNOWN_GRACE_S = 1.0
"""How long to retry a topic, partition or id that a broker does not know yet."""
NO_GRACE: Mapping[Any, float] = MappingProxyType({})
UNREACHABLE_TRIES = 3
"""Attempts at a node if no other node can answer for its keys."""

_MAY_BE_DONE = "the change may have been made, or may still be made: check before you try again"


class KeysRefused(KafkaToolsError):
    """Raised by ``build`` for keys that this node's versions cannot express; the other keys are built again."""

    def __init__(self, errors: dict[Any, KafkaToolsError]) -> None:
        super().__init__("; ".join(dict.fromkeys(str(error) for error in errors.values())))
        self.errors = errors


class Progress(Generic[K, V]):
    """A value, an error or a reason to retry for each key of a request."""

    def __init__(self) -> None:
        self.completed: dict[K, V] = {}
        self.failed: dict[K, KafkaToolsError] = {}
        self.again: dict[K, KafkaToolsError] = {}
        """Keys to retry, with the reason."""

    def take(self, key: K, code: int, message: str | None, value: V) -> None:
        """The usual rule: code 0 completes the key with ``value``, retriable codes are retried, other codes fail."""
        if code == error_codes.NONE:
            self.completed[key] = value
        else:
            self.add_error(key, broker_error(code, message or None))

    def settle(self, key: K, code: int, message: str | None, value: V, retry_on_quota_violation: bool = True) -> None:
        """The rule for changes: retry only if the controller or coordinator has certainly not made the change.

        A change that timed out on the broker may still happen. A retry would report that it already exists.
        """
        if code == error_codes.NONE:
            self.completed[key] = value
            return
        wanted = retry_on_quota_violation or code != error_codes.THROTTLING_QUOTA_EXCEEDED
        hint = _MAY_BE_DONE if code == error_codes.REQUEST_TIMED_OUT else None
        error = broker_error(code, message or None, hint=hint)
        (self.again if wanted and error.code.not_begun else self.failed)[key] = error

    def add_error(self, key: K, error: BrokerError) -> None:
        """Add a key with an error: retried if the error is retriable."""
        (self.again if error.code.retriable else self.failed)[key] = error


class Reply(Progress[K, V], Generic[K, V, R_co]):
    """The response of a node to a request about ``keys``, and the result of ``interpret`` for each key."""

    def __init__(self, keys: list[K], response: R_co, version: int, node: Node) -> None:
        super().__init__()
        self.keys = keys
        self.response = response
        self.version = version
        self.node = node

    def forget_others(self) -> None:
        """Drop results for keys that were not in the request."""
        asked = set(self.keys)
        for part in (self.completed, self.failed, self.again):
            for key in part.keys() - asked:
                del part[key]


@dataclass_transform()
class AdminCall(ABC, Generic[K, V, R]):
    """One operation over keys of type K, with a value of type V for each, answered by responses of type R.

    Messages contain ``name``; ``lookup`` finds the node of a key. A subclass declares its arguments as a
    dataclass does (the module ``dataclasses`` would cost every start a millisecond).
    """

    name = "call"
    lookup: Lookup[K]
    per_request = 0
    """Keys that fit into one request; 0 for any number."""
    any_may_answer = False
    """Whether every broker can answer by asking the controller, without changing anything. For calls of one key."""

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._fields = tuple(dict.fromkeys((*cls._fields, *cls.__annotations__)))

    def __init__(self, *values: Any, **named: Any) -> None:
        self.__dict__.update(zip(self._fields, values, strict=False), **named)

    @abstractmethod
    def build(self, keys: list[K], versions: NodeVersions, deadline: Deadline) -> Request | tuple[Request, int]:
        """The request for these keys to a node of these versions. Raises UnsupportedVersion, KeysRefused.

        ``deadline`` is the broker's: it ends shortly before the caller stops waiting for the response.
        """

    @abstractmethod
    def interpret(self, reply: Reply[K, V, R]) -> None:
        """Put every key of the request into ``reply``."""


def run(call: AdminCall[K, V, Any], keys: Iterable[K], cluster: ClusterAccess, deadline: Deadline) -> Outcomes[K, V]:
    """The outcome of every key, in order; keys that occur twice share one.

    Raises errors of all keys: no bootstrap server, failed authentication, wrong settings. After a broker's first
    response it raises nothing: a refused login or certificate of one broker is an error of its keys.
    """
    return _Run(call, list(dict.fromkeys(keys)), cluster, deadline).run()


ALL = "all"
"""The key of calls that have one answer."""


def ask(call: AdminCall[str, V, Any], cluster: ClusterAccess, deadline: Deadline) -> V:
    """The value of a call that has one answer; raises its error."""
    return run(call, [ALL], cluster, deadline)[ALL].get()


class _Run(Generic[K, V]):
    def __init__(self, call: AdminCall[K, V, Any], keys: list[K], cluster: ClusterAccess, deadline: Deadline) -> None:
        self._call = call
        self._keys = keys
        self._cluster = cluster
        self._deadline = deadline
        self._clock = cluster.exchange.clock
        self._open: dict[K, KafkaToolsError | None] = dict.fromkeys(keys)
        """Keys without an outcome, with the reason of their last retry."""
        self._nodes: dict[K, Node] = {}
        """Keys whose node is known; the others are looked up."""
        self._outcomes: dict[K, Outcome[V]] = {}
        self._tries: dict[K, int] = {}
        self._unreachable: dict[K, int] = {}
        self._graces = Graces(self._clock)
        self._lookup_failures = 0
        self._rebuild = False
        """Some keys were refused before anything was sent: the other keys need no pause."""
        self._maybe_done: set[K] = set()
        """Keys of a request without a response: the broker may have processed it."""
        self._wrong_nodes = WrongNodes(cluster.metadata)
        self._answered = False
        """Whether a broker has answered a request of the call: from then on errors belong to keys."""

    def run(self) -> Outcomes[K, V]:
        attempt = 0
        while self._open:
            if attempt and not self._rebuild:
                self._pause(attempt)
            self._rebuild = False
            if self._deadline.expired:
                self._give_up()
                break
            attempt += 1
            self._look_up([key for key in self._open if key not in self._nodes])
            self._send([key for key in self._open if key in self._nodes])
        return Outcomes((key, self._outcomes[key]) for key in self._keys)

    def _pause(self, attempt: int) -> None:
        delay_s = pause_s(attempt, self._cluster.exchange.config)
        self._clock.sleep(min(delay_s, self._deadline.left_s(), self._graces.least_left_s(self._open)))

    def _look_up(self, keys: Sequence[K]) -> None:
        if not keys:
            return
        try:
            found = self._call.lookup.find(self._cluster, keys, self._deadline)
        except (SecurityError, ConfigError, WireError, LoginWanted) as error:
            self._refused(keys, error)
            return
        except DeadlineExceeded:
            if not self._outcomes and not any(self._open.values()):
                raise
            self._give_up()  # the reason of the last retry explains more than the timeout
            return
        except NetworkError as error:
            self._lookup_failures += 1
            if not self._is_worth_another_try(error):
                raise
            self._again(dict.fromkeys(keys, error))
            return
        except BrokerError as error:
            if not error.code.retriable:
                self._refused(keys, error)
                return
            self._again(dict.fromkeys(keys, error))
            return
        found.keep_only(keys)
        self._nodes.update(found.nodes)
        for key, failure in found.failed.items():
            self._fail(key, failure)
        self._again(found.later, found.grace_s)
        for key in keys:
            if key in self._open and key not in self._nodes and key not in found.later:
                self._fail(key, WireError(f"{self._call.name}: no node responsible for {key} was found"))

    def _is_worth_another_try(self, error: NetworkError) -> bool:
        """A cluster that answered before may return soon; without any response the address is probably wrong."""
        if self._tries or isinstance(error, ClosedAtFirstRequest):
            return True  # the pool counts these connections: the error of the last one says that a login is required
        return not isinstance(error, ConnectFailed) and self._lookup_failures < UNREACHABLE_TRIES

    def _send(self, keys: Sequence[K]) -> None:
        groups: dict[Node, list[K]] = {}
        for key in keys:
            groups.setdefault(self._nodes[key], []).append(key)
        sent: list[tuple[Node, list[K], Pending]] = []
        for node, members in groups.items():
            size = self._call.per_request or len(members)
            for start in range(0, len(members), size):
                some = members[start : start + size]
                sent.append((node, some, self._send_one(some, node)))
        if sent and self._call.any_may_answer:
            self._take_first_answer(*sent[0])
        else:
            self._cluster.exchange.wait([pending for _, _, pending in sent])
            # Responses first: the refusal of one node must not hide the results of the others.
            for node, members, pending in sorted(sent, key=lambda item: item[2].error is not None):
                self._take(node, members, pending)
        self._wrong_nodes.end_of_attempt()

    def _take_first_answer(self, node: Node, keys: list[K], pending: Pending) -> None:
        with closing(answers(self._cluster, node, pending, partial(self._send_one, keys), self._deadline)) as found:
            while self._open and (one := next(found, None)) is not None:
                self._take(one[0], keys, one[1])

    def _send_one(self, keys: list[K], node: Node, channel: str = "") -> Pending:
        for key in keys:
            self._tries[key] = self._tries.get(key, 0) + 1
        config = self._cluster.exchange.config
        return self._cluster.exchange.send(
            node,
            lambda versions: self._call.build(keys, versions, brokers_deadline(self._deadline, config)),
            self._deadline,
            channel=channel,
            timeout_s=longest_wait_s(config) if self._call.any_may_answer else None,
        )

    def _take(self, node: Node, keys: list[K], pending: Pending) -> None:
        error = pending.error
        if error is None:
            self._interpret(node, keys, pending)
        elif isinstance(error, KeysRefused):
            self._rebuild = True
            for key, reason in error.errors.items():
                self._fail(key, reason)
        elif isinstance(error, SecurityError | ConfigError | LoginWanted):
            self._refused(keys, error)
        elif isinstance(error, NetworkError) and not isinstance(error, DeadlineExceeded):
            self._unreached(node, keys, error, was_sent=pending.request is not None)
        else:
            for key in keys:
                self._fail(key, with_reason(error, self._open.get(key)))

    def _refused(self, keys: Iterable[K], error: KafkaToolsError) -> None:
        """Raise an error of all keys, unless a response was received before: its results must not be lost."""
        if not self._answered:
            raise error
        for key in keys:
            self._fail(key, error)

    def _interpret(self, node: Node, keys: list[K], pending: Pending) -> None:
        self._answered = True
        assert pending.request is not None  # it was sent: here is the answer
        reply: Reply[K, V, Any] = Reply(keys, pending.response, pending.version, node)
        self._call.interpret(reply)
        reply.forget_others()
        for key, value in reply.completed.items():
            self._finish(key, Outcome(value))
        for key, error in reply.failed.items():
            name_what_is_missing(error, pending.request)
            self._fail(key, error)
        self._wrong_nodes.look_at(reply.again.values())
        self._again(reply.again)
        for key in keys:
            if key in self._open and key not in reply.again:
                text = f"{node} did not report a result for {key} in its response to {pending.name}"
                self._fail(key, WireError(text, api=pending.name, version=pending.version))

    def _unreached(self, node: Node, keys: list[K], error: NetworkError, was_sent: bool) -> None:
        self._cluster.metadata.request_update()
        if was_sent:
            self._maybe_done.update(keys)
        for key in keys:
            count = self._unreachable[key] = self._unreachable.get(key, 0) + 1
            if not self._call.lookup.is_patient(key) and count >= UNREACHABLE_TRIES:
                self._fail(key, error)
            else:
                self._nodes.pop(key, None)
                self._open[key] = error

    def _again(self, reasons: dict[K, KafkaToolsError], grace_s: Mapping[K, float] = NO_GRACE) -> None:
        """Retry keys. ``grace_s``: limits for the retries of single keys, if known."""
        retries = self._cluster.exchange.config.number("retries")
        for key, reason in reasons.items():
            code = reason.code if isinstance(reason, BrokerError) else None
            limit_s = grace_s.get(key, UNKNOWN_GRACE_S if code is not None and code.topic_not_found else None)
            if self._tries.get(key, 0) > retries or self._graces.is_over(key, limit_s):
                self._fail(key, reason)
                continue
            if code is None or code.node_is_stale:
                self._nodes.pop(key, None)
                self._cluster.metadata.request_update()
            self._open[key] = reason

    def _give_up(self) -> None:
        for key, reason in list(self._open.items()):
            cause = f"; last: {reason}" if reason is not None else ""
            text = f"timed out after {self._deadline.timeout_s:g} s: {self._call.name}{cause}"
            hint = reason.hint if reason is not None else None
            self._fail(key, DeadlineExceeded(text, hint=hint))

    def _fail(self, key: K, error: KafkaToolsError) -> None:
        if key in self._maybe_done and may_stem_from_success(error):
            error.hint = "the connection broke during an earlier attempt of this call, which may have succeeded"
        self._finish(key, Outcome(None, error))

    def _finish(self, key: K, outcome: Outcome[V]) -> None:
        if self._open.pop(key, _ABSENT) is not _ABSENT:
            self._outcomes[key] = outcome


_ABSENT: Any = object()
