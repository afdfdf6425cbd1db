"""One accepted socket: requests in, one at a time, and answers out.

As Kafka mutes a channel, a connection serves no other request while its request is in progress, is parked, waits for
its quota, or its answer is not sent. Meanwhile the broker reads only a little from it. Bytes that are not a request
close that connection only.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any

from kafka_tools.broker_embedded.answers import Payload
from kafka_tools.broker_embedded.call import CloseConnection
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.listeners.accepting import ended
from kafka_tools.broker_embedded.listeners.lost import Gone, unlink
from kafka_tools.broker_embedded.listeners.receiving import Receiver, Request
from kafka_tools.broker_embedded.listeners.sending import READ_BYTES, Outgoing
from kafka_tools.errors import LogError, WireError
from kafka_tools.protocol import registry
from kafka_tools.storage.log.file_range import FileRange

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.endpoints import Endpoint
    from kafka_tools.broker_embedded.listeners.shared import Shared
    from kafka_tools.broker_embedded.purgatory import Parked
    from kafka_tools.broker_embedded.security.authentication import Login
    from kafka_tools.broker_embedded.timers import Timer

log = logging.getLogger(__name__)

_TURN_S = 0.002
"""How long pipelined requests of one connection are served before the turns of other connections."""
_READ_ON_S, _MOST_READS = 0.0005, 3
"""How long after the start of a turn, and how often, the broker reads more from the connection."""
_TURN_PIECES = 2
"""The number of pieces of an answer that are written to the socket before the turns of other connections."""

_LOGIN_KEYS = frozenset((registry.key_of("sasl_handshake"), registry.key_of("sasl_authenticate")))


class ClientConnection(asyncio.BufferedProtocol):
    """One accepted socket."""

    def __init__(self, shared: Shared, endpoint: Endpoint, *, was_let_in: bool = False) -> None:
        """``was_let_in``: whether the connection was admitted before its TLS handshake."""
        self._shared = shared
        self._counts = shared.counts.listener(endpoint.name)
        self._endpoint = endpoint
        self.ip = ""
        self._was_let_in = was_let_in
        self._received = Receiver()
        self._large_bytes = 0
        """The bytes that this connection uses of the memory for large requests."""
        self._outgoing = Outgoing()
        self.unsent_bytes = 0
        """The bytes in memory of answers that the client has not read."""
        self._parked: Parked | None = None
        self._working = False
        self._blocked = False
        self._muted = False
        self._waits_for_memory = False
        self._reading = True
        self.is_counted = False
        """Whether the connection is admitted, and so counts in the limits."""
        self._ended = False
        self._has_more = False
        """Whether a complete request may wait for this connection's turn."""
        self._penalty: Timer | None = None
        """The timer that delays the answer to a failed login."""
        self._transport: Any = None
        self._fd = -1
        self._reads_on = False
        """Whether the broker can read directly from the socket: the system has ``readv``, and there is no TLS."""
        self._sends_files = False
        """Whether ``sendfile`` sends ranges of files: the system has it, and there is no TLS."""
        self._comes_more = False
        """Whether the last read filled its buffer, so that more bytes may be available."""
        self.certificate_principal = "User:ANONYMOUS"
        """The principal of the client's certificate, on listeners with TLS and without SASL."""
        self.connection: Connection | None = None
        self.last_used_s = 0.0
        self.had_s = 0.0
        """How long this connection was served (``turns``)."""
        self.took_s = 0.0
        """When the client last read a part of an answer, or when its first answer was queued."""

    # Start and end

    @property
    def listener(self) -> str:
        """The listener's name. A property: with 30 attributes or more, CPython reads each a third slower."""
        return str(self._endpoint.name)

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._fd = self.fileno
        is_plain = not self._endpoint.has_tls
        self._reads_on = is_plain and hasattr(os, "readv")
        self._sends_files = is_plain and hasattr(os, "sendfile")
        transport.set_write_buffer_limits(high=0, low=0)  # write the next piece only after the one before
        peer = transport.get_extra_info("peername") or ("", 0)
        local = transport.get_extra_info("sockname") or ("", 0)
        number = self._shared.arrived
        self._shared.arrived += 1
        self._counts.created += 1
        id = f"{local[0]}:{local[1]}-{peer[0]}:{peer[1]}-{number}"
        self.connection = Connection(id, self.listener, peer[0])
        self.ip = self.connection.client_host
        self.connection.client_port = peer[1]
        self.connection.local_host = local[0]
        self.connection.protocol = self._endpoint.protocol
        security = self._shared.settings.security.get(self._endpoint.name)
        if security is not None:
            self.connection.login = security.login()
        else:
            self.connection.principal = self.certificate_principal
        self.last_used_s = self._shared.clock.monotonic_s()
        self._shared.connections.add(self)
        self._shared.turns.arrived(self)
        if self._was_let_in:
            self.let_in()
        else:
            self._shared.admission.arrived(self)

    @property
    def is_open(self) -> bool:
        if self.connection is None or self._transport.is_closing():
            return False
        return self._reading or self.is_counted or not ended([self.fileno])

    @property
    def idle(self) -> bool:
        """Whether no work is in progress for the client. Incomplete requests and unread answers are not work.

        A parked request is not work if the connection is not read (``is_deaf``): the broker could not notice its end.
        """
        return (self._parked is None or self.is_deaf) and not self._muted

    @property
    def is_deaf(self) -> bool:
        """Whether reading is paused, so that the broker would not notice that the client disconnects."""
        return self.is_counted and not self._reading

    @property
    def is_waiting(self) -> bool:
        """Whether a request of the client is parked and no work on it is in progress."""
        return self._parked is not None and not self._parked.holds_request

    @property
    def fileno(self) -> int:
        """The socket's descriptor, -1 if it is closed."""
        found = self._transport.get_extra_info("socket")
        return -1 if found is None else int(found.fileno())

    def let_in(self) -> None:
        self.is_counted = True
        self._shared.turns.ready(self)

    def eof_received(self) -> bool:
        """The client has closed: serve its complete requests, and forget its parked request."""
        if self._endpoint.has_tls:  # its transport closes in any case: serve waiting requests now
            while self._received.has_news and self._may_serve():
                self.turn()
            return False
        self._ended = True
        if self._parked is None and self._penalty is None and self.is_counted and self._received.has_news:
            self._shared.turns.later(self)
            return True
        return self._is_unfinished

    @property
    def _is_unfinished(self) -> bool:
        """Whether work is left for a client that sends no more requests."""
        if self._penalty is not None:
            return False
        if self._parked is not None:
            return bool(self._parked.holds_request)  # work is in progress
        return bool(self._has_more or self._blocked or self._outgoing or (self.is_counted and self._received.has_news))

    def connection_lost(self, error: Exception | None) -> None:
        self._shared.connections.discard(self)
        self._counts.closed += 1
        self._shared.turns.left(self)
        if self.is_counted:
            self._shared.admission.left(self)
        self._drop()
        if self._parked is not None:
            self._parked.cancel()
            self._parked = None
        if self._penalty is not None:
            self._penalty.cancel()
        if self.connection is not None:
            self._shared.telemetry.disconnected(self.connection.id)
        self.connection = None
        unlink(self._transport)
        self._transport, self._fd = Gone(), -1

    @property
    def is_closing(self) -> bool:
        """Whether the connection closes as soon as the client has read its answers."""
        return bool(self._transport.is_closing())

    def close(self, *, abort: bool = False) -> None:
        if abort:
            self._transport.abort()
        else:
            self._transport.close()

    def give_up(self, reason: str) -> None:
        """Abort the connection, because it uses resources that others need."""
        log.warning("aborting the connection from %s: %s", self._transport.get_extra_info("peername"), reason)
        self._drop()
        self._transport.abort()

    def _drop(self) -> None:
        """Forget received requests and unsent answers."""
        self._received.clear()
        self._outgoing.clear()
        self._account_answers()
        self._free_request()

    def _reject(self, error: Exception) -> None:
        log.warning("closing the connection from %s: %s", self._transport.get_extra_info("peername"), error)
        self._end()

    def _end(self) -> None:
        """Close once the answers are sent; serve no more requests."""
        assert self.connection is not None
        self.connection.close_after_reply = True
        self._received.clear()
        self._free_request()
        self._send()

    # Requests

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._received.room(self._shared.scratch)

    def buffer_updated(self, nbytes: int) -> None:
        self._take(nbytes)
        if not self.is_counted:
            return
        self.last_used_s = self._shared.clock.monotonic_s()
        received = self._received
        if received.has_news and self._parked is None and not self._muted and not self._blocked:
            self._shared.turns.ready(self)
        if received.is_full:
            self._read_on()

    def _take(self, nbytes: int) -> None:
        """``nbytes`` bytes were read into the buffer of ``Receiver.room``."""
        received = self._received
        self._counts.bytes_in += nbytes
        was_receiving = received.large is not None and received.is_receiving
        self._comes_more = received.received(self._shared.scratch, nbytes)
        if was_receiving:
            self._large_bytes += nbytes
            self._shared.requests.grew(self, nbytes)

    def _read_more(self) -> bool:
        """Read more bytes if any are available; returns whether there were any. Costs less than a round of the loop.

        The event loop finds errors and the client's end again.
        """
        if not self._reads_on or self._ended or self._waits_for_memory:
            return False
        try:
            nbytes = os.readv(self._fd, [self._received.room(self._shared.scratch)])
        except OSError:
            nbytes = 0
        self._comes_more = False
        if nbytes:
            self._take(nbytes)
        return nbytes > 0

    @property
    def is_receiving(self) -> bool:
        """Whether a large request is being received."""
        return self._received.is_receiving

    @property
    def is_blocked(self) -> bool:
        """Whether a complete large request waits because the client does not read its answers."""
        return self._blocked and self._received.received_bytes > 0 and not self._received.is_receiving

    @property
    def received_bytes(self) -> int:
        return self._received.received_bytes

    def hold(self) -> None:
        """Pause reading until ``let_in``, or until there is memory for a large request."""
        self._waits_for_memory = self.is_counted
        self._read_on()

    def go_on(self) -> None:
        """Continue reading: there is memory for the rest of a large request."""
        self._waits_for_memory = False
        self._read_on()

    def _read_on(self) -> None:
        """Resume or pause reading according to the current state."""
        if self._transport is None or self._transport.is_closing():
            return
        reading = self.is_counted and not self._waits_for_memory and not self._received.is_full
        if reading != self._reading:
            self._reading = reading
            if reading:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def turn(self) -> None:
        """Send waiting answers, then serve requests until the turn is over or a request is parked.

        Small answers to pipelined requests are sent together: one write costs as much as one request.
        """
        self._has_more = False
        connection = self.connection
        if connection is None:
            return
        if self._outgoing or connection.close_after_reply or connection.login_failed:
            self._send()
        now_s = self._shared.clock.monotonic_s
        began_s, reads = now_s(), 0
        if began_s >= self._shared.counts.periods.due_s:
            self._shared.counts.look(began_s)
        try:
            while self._may_serve():
                request = self._next_request()
                while request is None and self._comes_more and reads < _MOST_READS:
                    if now_s() - began_s >= _READ_ON_S or not self._read_more():
                        break
                    reads += 1
                    request = self._next_request()
                if request is None:
                    break
                if self._outgoing and connection.login is not None and self._may_fail_login(connection.login, request):
                    self._send()  # only the answer to a failed login is delayed
                memory = request.obj if isinstance(request, memoryview) else None
                self._work(request)
                del request
                if memory is not None:
                    self._shared.scratch.give_back(memory)
                if not self._outgoing.is_little:
                    self._send()
                if self._received.is_empty and not self._comes_more:
                    break
                if now_s() - began_s >= _TURN_S:
                    self._has_more = True
                    break
            if self._outgoing or connection.close_after_reply or connection.login_failed:
                self._send()
        except (WireError, CloseConnection, OSError) as error:
            self._reject(error)
            return
        except Exception:  # one connection's bug must not stop the others, nor leave this one without an answer
            log.exception("serving %s failed", connection.id)
            self._end()
            return
        if self._has_more:
            self._shared.turns.later(self)
        elif self._ended and not self._is_unfinished:
            self._transport.close()
            return
        if not self._reading:
            self._read_on()

    def _next_request(self) -> Request | None:
        connection, received = self.connection, self._received
        assert connection is not None
        login = connection.login
        logged_in = login is None or login.done
        had_large = received.received_bytes
        request = received.next(self._shared.max_frame_bytes if logged_in else self._shared.max_login_frame_bytes)
        if request is None and not had_large and received.received_bytes:  # a large request begins
            self._large_bytes += received.received_bytes
            self._shared.requests.grew(self, received.received_bytes)
        return request

    def _may_fail_login(self, login: Login, request: Request) -> bool:
        """Whether the answer may be delayed (``_is_punished``)."""
        return not login.done or int.from_bytes(request[:2], "big") in _LOGIN_KEYS

    def _work(self, request: Request) -> None:
        assert self.connection is not None
        self._working = True
        self._counts.requests += 1
        try:
            parked = self._shared.dispatcher.handle_frame(self.connection, request, self._answer)
        finally:
            self._working = False
        self._parked = parked
        if parked is None or not parked.holds_request:
            if self._large_bytes:
                del request
                self._free_request()
        else:
            parked.on_release = self._free_request

    def _free_request(self) -> None:
        freed, self._large_bytes = self._large_bytes, 0
        if freed:
            self._shared.requests.freed(self, freed)

    def _may_serve(self) -> bool:
        """Whether the next request may be served. For a connection over its quota, sets a timer that unmutes it."""
        connection, outgoing = self.connection, self._outgoing
        if connection is None or self._muted or self._parked is not None or self._blocked:
            return False
        if connection.close_after_reply or connection.login_failed or (outgoing and not outgoing.is_little):
            return False
        if self._transport.is_closing() or not self.is_counted:
            return False
        if connection.muted_until_s:
            left_s = connection.muted_until_s - self._shared.clock.monotonic_s()
            if left_s > 0:
                self._muted = True
                self._shared.timers.call_later(left_s * 1000, self._unmute)
                return False
            connection.muted_until_s = 0.0
        return True

    def _unmute(self) -> None:
        self._muted = False
        if self.connection is not None:
            self._shared.turns.ready(self)

    # Answers

    def _answer(self, payload: Payload | None) -> None:
        if self.connection is None:
            return
        if payload is not None:
            if self._outgoing and self._working and not isinstance(payload, bytes):
                self._send()  # send earlier answers first: this answer's file may fail
            if not self._working:  # a connection that waited long for its answer is not idle
                self.last_used_s = self._shared.clock.monotonic_s()
            if not self._outgoing:
                self.took_s = self.last_used_s
            self._outgoing.add(payload)
            self._counts.responses += 1
            self._counts.bytes_out += len(payload) if isinstance(payload, bytes) else sum(map(len, payload))
        if not self._working:  # the answer of a parked call
            self._parked = None
            self._free_request()
            self._shared.turns.later(self)

    def _send(self) -> None:
        """Write pieces of answers until the socket is full or the turn is over."""
        connection = self.connection
        if connection is None or self._transport.is_closing():
            return
        if connection.login_failed and self._is_punished(connection):
            return
        try:
            for _ in range(_TURN_PIECES):
                if self._blocked or not self._outgoing:
                    break
                if self._sends_files and isinstance(self._outgoing[0], FileRange):
                    self._send_range()
                else:
                    self._transport.write(self._outgoing.piece())
                self.took_s = self.last_used_s = self._shared.clock.monotonic_s()
        except ConnectionError:  # the client is gone
            self.close(abort=True)
            return
        except (OSError, LogError) as error:
            log.error("cannot complete a response to %s: %s", connection.id, error)
            self.give_up("its response cannot be completed")
            return
        if self._outgoing.held_bytes != self.unsent_bytes:
            self._account_answers()
        if self._outgoing:
            if not self._blocked:
                self._shared.turns.later(self)
        elif connection.close_after_reply and self._parked is None:
            self._received.clear()
            self._transport.close()

    def _send_range(self) -> None:
        """Send the next part of a file with ``sendfile``, as long as the socket accepts all of it."""
        if not self._outgoing.send_file(self.fileno) and self._outgoing:
            # The transport calls ``resume_writing`` when the socket accepts more.
            self._transport.write(self._outgoing.piece(READ_BYTES))

    def _is_punished(self, connection: Connection) -> bool:
        """Whether the answer to a failed login, or the close, has to wait.

        As in Kafka (KIP-306), each password guess takes ``connection.failed.authentication.delay.ms``.
        """
        if self._penalty is None:
            self._counts.failed_logins += 1
            delay_ms = self._shared.configs.broker.integer("connection.failed.authentication.delay.ms")
            self._penalty = self._shared.timers.call_later(delay_ms, self._send)
        return self._penalty.active

    def _account_answers(self) -> None:
        now_bytes = self._outgoing.held_bytes
        difference, self.unsent_bytes = now_bytes - self.unsent_bytes, now_bytes
        if difference:
            self._shared.answers.changed(self, difference)

    def pause_writing(self) -> None:
        self._blocked = True

    def resume_writing(self) -> None:
        self._blocked = False
        self.took_s = self.last_used_s = self._shared.clock.monotonic_s()
        self._shared.turns.ready(self)
