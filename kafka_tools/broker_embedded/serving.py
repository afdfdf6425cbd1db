"""One request from its decoding to its answer: served immediately, parked, or in slices if it is long."""

from __future__ import annotations

import logging
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from kafka_tools.broker_embedded.answers import Payload
from kafka_tools.broker_embedded.call import Answer, Call, CloseConnection, NoReply, RequestBytes
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.handlers._table import Handler
from kafka_tools.broker_embedded.purgatory import Parked
from kafka_tools.broker_embedded.refusals import default_error
from kafka_tools.broker_embedded.slices import Sliced, Work, advance, to_thread
from kafka_tools.errors import BrokerError, EncodeError, LogError, WireError
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.codec import decode_counted
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.headers import RequestHeader, encode_response
from kafka_tools.protocol.schema import Response

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core

log = logging.getLogger(__name__)

_PRODUCE = registry.key_of("produce")
MOST_ELEMENTS = 400_000
"""Limit of array elements in one request. A request with more closes its connection, like one that is too long."""
MOST_ELEMENTS_AT_ONCE = 10_000
"""The same for APIs whose handler does not work in slices: APIs with small requests,
and APIs that commit a whole request in one change (``ONE_CHANGE``)."""


class ServedRequest:
    """One request. ``begin`` or ``begin_large`` is called once, and ``answer`` at most once."""

    __slots__ = (
        "_answer",
        "_began_s",
        "_connection",
        "_core",
        "_handler",
        "_header",
        "_request_bytes",
        "_sliced",
        "_underway",
        "call",
    )

    def __init__(
        self,
        core: Core,
        handler: Handler,
        connection: Connection,
        header: RequestHeader,
        request_bytes: int,
        answer: Answer,
    ) -> None:
        self._core = core
        self._handler = handler
        self._connection = connection
        self._header = header
        self._request_bytes = request_bytes
        self._answer = answer
        self._began_s = core.clock.monotonic_s()
        self._underway: Parked | None = None
        self._sliced: Sliced | None = None
        self.call: Any = None

    def begin(self, request: Any) -> Parked | None:
        """Serve the request. Returns a Parked if the answer comes later. Raises CloseConnection."""
        call = self._call(request)
        clock = self._core.clock
        began_s = self._began_s
        result = run(self._handler, call)
        if isinstance(result, GeneratorType):
            # Most work is done within its first slice and needs no ``Sliced``.
            try:
                wait = advance(result, clock.monotonic_s, began_s + self._core.slices.slice_s)
            except StopIteration as over:
                result = over.value
            except CloseConnection:
                raise
            except Exception as error:  # noqa: BLE001 - one request's bug must not stop the broker
                result = failure(call, error)
            else:
                return self._wait(Sliced(result, self._handled, wait, clock.monotonic_s() - began_s))
        return self._take(result, clock.monotonic_s() - began_s)

    def begin_large(self, frame: RequestBytes, position: int) -> Parked:
        """Serve a request of many elements when its turn comes."""
        most = MOST_ELEMENTS if self._handler.in_slices else MOST_ELEMENTS_AT_ONCE
        kind = self._handler.api.request
        decoding = to_thread(
            lambda: decode_counted(kind, self._header.request_api_version, frame, position, most=most)[0]
        )
        return self._wait(Sliced(self._large_work(decoding), self._handled))

    def _call(self, request: Any) -> Call:
        header = self._header
        self.call = Call(
            self._core, self._connection, self._handler.api, header.request_api_version, header.client_id, request
        )
        return self.call  # type: ignore[no-any-return]

    def _take(self, result: Any, spent_s: float) -> Parked | None:
        """Answer with the handler's result, now or when it is available."""
        if isinstance(result, Parked):
            given: list[Parked | None] = []
            call = self.call
            result.api_key = self._handler.api.key
            self._core.purgatory.park(
                result,
                lambda response: given.append(self._finish(response, spent_s)),
                lambda error: failure(call, error),
            )
            return given[0] if given else result
        return self._finish(None if isinstance(result, NoReply) else result, spent_s)

    def _finish(self, response: Response | None, spent_s: float) -> Parked | None:
        response = self._throttled(response, spent_s)
        return self._give(None if response is None else self._encode(response))

    def _throttled(self, response: Response | None, spent_s: float) -> Response | None:
        """The response after the quotas were applied, counted. A bug in either must not suppress the answer."""
        try:
            response = self._core.throttling.finish(self.call, response, self._request_bytes, spent_s)
            self._count(response, spent_s)
        except Exception:
            log.exception("cannot apply the quotas of %s", self._connection.id)
        return response

    def _count(self, response: Response | None, spent_s: float) -> None:
        now_s = self._core.clock.monotonic_s()
        self._core.counts.look(now_s)
        counts = self._core.counts.requests[self._handler.api.key]
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        counts.served(
            self._header.request_api_version, self._request_bytes, spent_s, now_s - self._began_s, throttle_ms, response
        )

    def _give(self, payload: Payload | None) -> Parked | None:
        """Answer now, or once all earlier writes are on the disk. Returns a Parked if the answer waits."""
        commit = self._core.group_commit
        if payload is None or commit is None or commit.is_synced:
            self._answer(payload)
            return None
        waiting = Parked()

        def answer() -> None:
            if not waiting.done:
                waiting.done = True
                self._answer(payload)

        def cut() -> None:
            """Close without the answer, whose data may be lost: the client retries on another connection."""
            if not waiting.done:
                waiting.done = True
                self._connection.close_after_reply = True
                self._answer(None)

        commit.when_synced(answer, cut)
        return None if waiting.done else waiting

    def _encode(self, response: Response) -> Payload:
        version, correlation_id = self._header.request_api_version, self._header.correlation_id
        try:
            return self.call.encode(response, version, correlation_id)  # type: ignore[no-any-return]
        except EncodeError:  # a handler's mistake; the client must not take it for its own
            log.exception("cannot write the response to %s v%d", self.call.api.name, version)
            failed = error_reply(self.call.request, version, error_codes.UNKNOWN_SERVER_ERROR)
            return encode_response(failed, version, correlation_id)

    # In slices

    def _wait(self, sliced: Sliced) -> Parked:
        self._sliced = self._core.slices.add(sliced)
        self._underway = Parked(None, on_cancel=self._cancel)
        self._underway.holds_request = True
        return self._underway

    def _cancel(self) -> None:
        if self._sliced is not None:
            self._core.slices.cancel(self._sliced)
        self._let_go()

    def _let_go(self) -> None:
        """Break the reference cycle: otherwise a large request would stay in memory until a garbage collection."""
        self._underway = self._sliced = None

    def _large_work(self, decoding: Work[Any]) -> Work[Any]:
        request = yield from decoding  # the finished decoding no longer references the bytes of the request
        if self._underway is not None and self._handler.api.key != _PRODUCE:  # its records are views of these bytes
            self._underway.release_request()
        result = run(self._handler, self._call(request))
        return (yield from result) if isinstance(result, GeneratorType) else result

    def _handled(self, value: Any, error: BaseException | None) -> None:
        """Take the result or error of a handler that needed more than a slice. Another thread encodes the answer."""
        underway, sliced = self._underway, self._sliced
        assert underway is not None and sliced is not None
        if isinstance(error, CloseConnection) or (error is not None and self.call is None):  # it cannot be decoded
            unforeseen = None if isinstance(error, CloseConnection | WireError) else error
            log.warning("closing the connection %s: %s", self._connection.id, error, exc_info=unforeseen)
            self._connection.close_after_reply = True
            self._encoded(None, None)
            return
        if error is not None:
            value = failure(self.call, error)
        if isinstance(value, Parked):
            self._let_go()
            underway.on_cancel(value.cancel)
            underway.release_request()
            self._take(value, sliced.spent_s)
            return
        response = self._throttled(None if isinstance(value, NoReply) else value, sliced.spent_s)
        if response is None:
            self._encoded(None, None)
            return
        sliced.go_on_with(to_thread(lambda: self._encode(response)), self._encoded)

    def _encoded(self, payload: Payload | None, error: BaseException | None) -> None:
        assert self._underway is not None
        self._underway.done = True
        self._let_go()
        self._give(payload if error is None else self._encode(failure(self.call, error)))


def run(handler: Handler, call: Call) -> Any:
    """The handler's result: a response, NO_REPLY, a Parked, or work in slices. Its errors become responses."""
    try:
        for operation in handler.authorize:
            if not call.allowed_on_cluster(operation):
                raise default_error(error_codes.CLUSTER_AUTHORIZATION_FAILED)
        return handler.handle(call)
    except CloseConnection:
        raise
    except Exception as error:  # noqa: BLE001 - one request's bug must not stop the broker
        return failure(call, error)


def failure(call: Call, error: BaseException) -> Response:
    """The response to a request that a handler did not serve."""
    if isinstance(error, BrokerError):
        return error_reply(call.request, call.version, error.code.code, error.broker_message)
    if isinstance(error, LogError | OSError):
        log.error("%s from %s: %s", call.api.name, call.connection_id, error)
        return error_reply(call.request, call.version, error_codes.KAFKA_STORAGE_ERROR, None)
    log.error("%s v%d from %s failed", call.api.name, call.version, call.connection_id, exc_info=error)
    return error_reply(call.request, call.version, error_codes.UNKNOWN_SERVER_ERROR, None)
