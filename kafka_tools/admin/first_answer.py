"""Questions about the cluster that any broker takes to the controller: where one is silent, the others are asked too.

A KRaft broker whose controller hangs waits ``controller.socket.timeout.ms`` (30 s) for the answer to the first request
that it has passed on, then turns to the next controller; another request meanwhile makes it wait as long again
(``NodeToControllerRequestThread``, 4.3). Brokers that are asked one after the other wait one after the other; asked
together, they are ready together, also for the changes that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from kafka_tools.admin.lookups import ClusterAccess
from kafka_tools.clock import Deadline
from kafka_tools.errors import DeadlineExceeded
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.connection import Pending
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.pool import MAX_WAIT_S
from kafka_tools.values import Node

OTHERS_AFTER_S = 5.0
"""How long a node may be silent before the others are asked as well."""
_LATE_S = 1.0
"""How much longer than the first the others may take that were asked at the same time."""
_CHANNEL = "question"
"""A further connection to each: what a broker is asked meanwhile does not wait behind the question."""
_HINT = (
    "a KRaft broker forwards this request to the controller; if the controller does not respond, it "
    "tries the next one after 30 s (controller.socket.timeout.ms): try again, or wait longer, for "
    "example with --timeout 90s"
)


_Waiting = tuple[Node, str, Pending]
"""Who was asked, on which channel, and what."""


def longest_wait_s(config: ClientConfig) -> float:
    """Seconds to wait for one broker's answer: longer than it waits for its controller, by default as long as we do."""
    return config.number("request.timeout.ms") / 1000 + OTHERS_AFTER_S


def answers(
    cluster: ClusterAccess, node: Node, pending: Pending, ask: Callable[[Node, str], Pending], deadline: Deadline
) -> Generator[tuple[Node, Pending]]:
    """The answers and failures as they come: of ``pending``, sent to ``node``, and of the others if that is silent.

    ``ask`` sends the question to a node on a channel. Who has what it needs closes the generator. That waits a moment
    for the brokers that are to answer as well; after that, others are asked before those that have not.
    """
    exchange = cluster.exchange
    waiting = [(node, "", pending)]
    exchange.poll([pending], Deadline(exchange.clock, min(OTHERS_AFTER_S, deadline.left_s())))
    if not pending.done:
        waiting += [(other, _CHANNEL, ask(other, _CHANNEL)) for other in _others(cluster, node)]
    late_s = 0.0
    try:
        while waiting:
            found = _next(exchange, waiting, MAX_WAIT_S)
            assert found is not None  # each ends at its own deadline
            answered_by, channel, answer = found
            late_s = _LATE_S if channel else OTHERS_AFTER_S + _LATE_S
            if isinstance(answer.error, DeadlineExceeded):
                answer.error.hint = _HINT
            yield answered_by, answer
    finally:
        late = Deadline(exchange.clock, min(late_s, deadline.left_s()))
        while waiting and _next(exchange, waiting, late.left_s()) is not None:
            pass
        for silent, channel, _ in waiting:
            exchange.give_up(silent, channel)


def _next(exchange: Exchange, waiting: list[_Waiting], most_s: float) -> _Waiting | None:
    """Take the next that is done out of ``waiting``; None if none is in time."""
    exchange.poll([each for _, _, each in waiting], Deadline(exchange.clock, most_s))
    found = next((each for each in waiting if each[2].done), None)
    if found is not None:
        waiting.remove(found)
    return found


def _others(cluster: ClusterAccess, node: Node) -> list[Node]:
    """The nodes beside this one, or while none is known the bootstrap servers."""
    metadata = cluster.metadata
    if metadata.nodes:
        metadata.request_update()  # what it said of the controller may be wrong by now
    bootstrap = [Node(-1 - number, *address) for number, address in enumerate(cluster.exchange.config.bootstrap)]
    return [other for other in list(metadata.nodes.values()) or bootstrap if other.address != node.address]
