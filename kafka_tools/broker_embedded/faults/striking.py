"""Applies faults to one request: serves a part of it, delays it, and changes its answer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.broker_embedded.answers import Payload
from kafka_tools.broker_embedded.call import NO_REPLY, CloseConnection
from kafka_tools.broker_embedded.faults import entries
from kafka_tools.broker_embedded.faults.fault import Answer, Delay, Disconnect, ErrorFault, Fault, Hold, ShortWrite
from kafka_tools.broker_embedded.faults.recording import recorded
from kafka_tools.broker_embedded.faults.selectors import found_in, topic_names, what_is_asked
from kafka_tools.broker_embedded.listeners.sending import cut_short
from kafka_tools.broker_embedded.purgatory import LATER, Later, Parked
from kafka_tools.broker_embedded.serving import failure
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.error_reply import entry_errors, error_reply
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.schema import Request, Response

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.call import Call

Serve = Callable[[Any], Any]
"""Call -> the result of its handler: a response, NO_REPLY, a Parked, or work in slices."""

_NO_LEADER = -1


class Struck:
    """One request. ``result`` has the types of a handler's result."""

    def __init__(self, call: Call, serve: Serve, faults: Sequence[Fault]) -> None:
        """Select from ``faults``, in their order: one that waits, one for the whole answer, any number for parts.

        Faults for parts do not apply after an error for the whole request, a disconnection or a scripted answer.
        """
        self._call = call
        self._serve = serve
        self._wait: Delay | Hold | None = None
        self._end: Fault | None = None
        self._parts: list[tuple[ErrorFault, Request | None]] = []
        self._rest: Request | None = call.request
        """The part of the request that is served; None if there is none."""
        asked = what_is_asked(call)
        for fault in faults:
            if not fault.selector.fits(call) or fault.is_over:
                continue
            if isinstance(fault, Delay | Hold):
                if self._wait is None and fault.selector.meant(call, asked) is not None and fault.strikes():
                    self._wait = fault
            elif self._end is None and self._is_whole(fault, asked) and fault.strikes():
                self._end = fault
        if self._end is None or self._end.served or isinstance(self._end, ShortWrite):
            self._choose_parts(faults, asked)

    @property
    def is_struck(self) -> bool:
        return bool(self._wait or self._end or self._parts)

    def result(self) -> Any:
        if self._wait is not None and not self._wait.served:
            return self._waiting(self._wait, self._begin)
        return self._begin()

    # Choosing

    def _is_whole(self, fault: Fault, asked: Request) -> bool:
        meant = fault.selector.meant(self._call, asked)
        if meant is None:
            return False
        if not isinstance(fault, ErrorFault) or meant.found is asked:
            return True
        # If an answer has no error field for a part (a fault for any API), the whole request is refused.
        return meant.found is not None and not self._holds(fault, meant.found)

    def _holds(self, fault: ErrorFault, found: Request) -> bool:
        version = self._call.version
        return any(True for _ in entries.paths_to_errors(entry_errors(found, version, fault.code.code), version))

    def _choose_parts(self, faults: Sequence[Fault], asked: Request) -> None:
        call = self._call
        open_to: Request | None = asked
        taken: list[Any] = []
        for fault in faults:
            if open_to is None or not isinstance(fault, ErrorFault) or fault.is_over or not fault.selector.fits(call):
                continue
            wanted = fault.selector.wanted
            meant = fault.selector.meant(call, open_to)
            if meant is None or meant.found is asked or wanted in taken:
                continue
            if (meant.found is not None and not self._holds(fault, meant.found)) or not fault.strikes():
                continue
            self._parts.append((fault, meant.found))
            if meant.found is None:
                taken.append(wanted)
                continue
            open_to = meant.rest
            if not fault.served and self._rest is not None and asked is call.request:
                self._rest, _ = entries.divide(self._rest, wanted, topic_names(call))
        if self._parts and asked is not call.request:  # a fetch with an error does not wait, as in Kafka
            self._rest = entries.with_values(call.request, {"max_wait_ms": 0})

    # Serving

    def _begin(self) -> Any:
        call, end = self._call, self._end
        if end is not None and not end.served and not isinstance(end, ShortWrite):
            instead = self._instead(end, None)
            if instead is not None:
                return instead
        if self._rest is None:
            result: Any = self._call.api.response()
        else:
            call.request = self._rest
            try:
                result = self._serve(call)
            except CloseConnection:
                raise
            except Exception as error:  # noqa: BLE001 - as serving.run: a refusal is an answer, and struck as one
                result = self._failed(error)
        return self._then(result)

    def _then(self, result: Any) -> Any:
        """The changed result, now or when it is available."""
        if isinstance(result, Generator):
            return self._after(result)
        if isinstance(result, Parked):
            outer = Parked(None, on_cancel=result.cancel)
            self._call.broker.purgatory.park(
                result, lambda response: self._settle(outer, self._spoil(response)), self._failed
            )
            return outer
        return self._spoil(result)

    def _after(self, work: Work[Any]) -> Work[Any]:
        try:
            result = yield from work
        except (CloseConnection, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001 - as serving.run: a refusal is an answer, and struck as one
            result = self._failed(error)
        return self._then(result)

    def _spoil(self, result: Any) -> Any:
        call = self._call
        for fault, found in self._parts:
            result = self._with_errors(result, fault, found) if isinstance(result, Response) else _disconnect(call)
        if self._end is not None and (self._end.served or isinstance(self._end, ShortWrite)):
            result = self._instead(self._end, result)
        if self._wait is not None and self._wait.served:
            return self._waiting(self._wait, lambda: result)
        return result

    def _with_errors(self, answer: Response, fault: ErrorFault, found: Request | None) -> Response:
        call, wanted = self._call, fault.selector.wanted
        if isinstance(call.request, MetadataRequest) and entries.PARTITION in wanted:
            return _metadata_partition(answer, wanted, fault.code.code)
        found = found_in(call.request, answer, wanted, call) if found is None else found
        if found is None:
            return answer
        return entries.merge(answer, entry_errors(found, call.version, fault.code.code, fault.message), call.version)

    def _instead(self, end: Fault, result: Any) -> Any:
        """The replacement for ``result``, which is None if the request was not served."""
        call = self._call
        if isinstance(end, Disconnect) or result is NO_REPLY or getattr(call.request, "acks", None) == 0:
            return _disconnect(call)  # without an answer there is no other way to report an error
        if isinstance(end, ShortWrite):
            call.encode = _cutting(call, end.sent_bytes)
            return result
        if isinstance(end, ErrorFault):
            return error_reply(call.request, call.version, end.code.code, end.message)
        assert isinstance(end, Answer)
        answer = end.make(recorded(call))
        if answer is not None and not isinstance(answer, call.api.response):
            raise TypeError(f"invalid answer {type(answer).__name__}: expected {call.api.response.__name__}")
        return answer if answer is not None else result

    # Waiting

    def _waiting(self, fault: Delay | Hold, go_on: Callable[[], Any]) -> Parked:
        def try_complete(expired: bool) -> Response | Later | None:
            if not expired:
                return None
            forget()
            try:
                value = go_on()
            except Exception as error:  # noqa: BLE001 - as serving.run: whoever waited gets the refusal as its answer
                value = self._result(None, error)
            if isinstance(value, Response):
                return value
            self._settle(parked, value)
            return LATER

        def forget() -> None:
            if isinstance(fault, Hold):
                fault.drop(parked)

        parked = Parked(fault.delay_ms if isinstance(fault, Delay) else None, try_complete, on_cancel=forget)
        if isinstance(fault, Hold):
            fault.add(parked)
        return parked

    def _settle(self, outer: Parked, value: Any) -> None:
        """Answer a parked call with its result, now or when it is available."""
        core = self._call.broker
        if isinstance(value, Generator):
            sliced = core.slices.begin(value, lambda result, error: self._settle(outer, self._result(result, error)))
            if sliced is not None:
                outer.on_cancel(lambda: core.slices.cancel(sliced))
        elif isinstance(value, Parked):
            outer.on_cancel(value.cancel)
            core.purgatory.park(value, outer.complete, self._failed)
        else:
            outer.complete(value if isinstance(value, Response) else None)

    def _failed(self, error: BaseException) -> Response:
        return failure(self._call, error)

    def _result(self, result: Any, error: BaseException | None) -> Any:
        if error is None:
            return result
        return _disconnect(self._call) if isinstance(error, CloseConnection) else self._failed(error)


def _cutting(call: Call, sent_bytes: int | None) -> Callable[[Any, int, int], Payload]:
    """An encoder that returns only the first bytes of a call's answer."""
    encode = call.encode

    def encode_cut(response: Any, version: int, correlation_id: int) -> Payload:
        cut = cut_short(encode(response, version, correlation_id), sent_bytes)
        call.connection.close_after_reply = True
        return cut

    return encode_cut


def _disconnect(call: Call) -> Any:
    call.connection.close_after_reply = True
    return NO_REPLY


def _metadata_partition(answer: Any, wanted: entries.Wanted, code: int) -> Response:
    """Set the error of a partition in a Metadata answer; the partition then has no leader."""
    for topic in answer.topics:
        for partition in topic.partitions:
            if (
                wanted.get(entries.TOPIC, topic.name) == topic.name
                and wanted[entries.PARTITION] == partition.partition_index
            ):
                partition.error_code, partition.leader_id = code, _NO_LEADER
    return answer  # type: ignore[no-any-return]
