"""Requests that any broker forwards to the controller: if one broker does not answer, the others are asked too.

A KRaft broker whose controller hangs waits ``controller.socket.timeout.ms`` (30 s) for the answer to the first request
that it has forwarded, then turns to the next controller; another request meanwhile makes it wait as long again
(``NodeToControllerRequestThread``, 4.3). Brokers that are asked one after the other also wait one after the other.
Brokers that are asked concurrently are ready at the same time, also for the changes that follow.
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
"""If a node does not answer within this time, the other nodes are asked too."""
_LATE_S = 1.0
"""Time after the first response for the other nodes that were asked concurrently."""
_CHANNEL = "question"
"""A further connection to each broker, so that other requests do not wait behind this one."""
_HINT = (
    "a KRaft broker forwards this request to the controller; if the controller does not respond, it "
    "tries the next one after 30 s (controller.socket.timeout.ms): try again, or wait longer, for "
    "example with --timeout 90s"
)


_Waiting = tuple[Node, str, Pending]
"""The node, the channel and the request."""


def longest_wait_s(config: ClientConfig) -> float:
    """Seconds to wait for one broker's answer: longer than it waits for its controller, by default as long as we do."""
    return config.number("request.timeout.ms") / 1000 + OTHERS_AFTER_S


def answers(
    cluster: ClusterAccess, node: Node, pending: Pending, ask: Callable[[Node, str], Pending], deadline: Deadline
) -> Generator[tuple[Node, Pending]]:
    """The responses and failures as they come: of ``pending``, sent to ``node``, and of other nodes if it is silent.

    ``ask`` sends the request to a node on a channel. A caller that has enough closes the generator. It then waits
    briefly for the other responses. Nodes that are still silent are asked last from then on.
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
    """Remove the next completed request from ``waiting`` and return it; None after ``most_s``."""
    exchange.poll([each for _, _, each in waiting], Deadline(exchange.clock, most_s))
    found = next((each for each in waiting if each[2].done), None)
    if found is not None:
        waiting.remove(found)
    return found


def _others(cluster: ClusterAccess, node: Node) -> list[Node]:
    """The other nodes, or the bootstrap servers if no node is known."""
    metadata = cluster.metadata
    if metadata.nodes:
        metadata.request_update()  # its controller may be outdated
    bootstrap = [Node(-1 - number, *address) for number, address in enumerate(cluster.exchange.config.bootstrap)]
    return [other for other in list(metadata.nodes.values()) or bootstrap if other.address != node.address]
