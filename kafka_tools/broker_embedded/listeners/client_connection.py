"""One accepted socket: requests in, one at a time, and answers out.

As Kafka mutes a channel: while a request of a connection is worked on, is parked or waits for its quota, or its
answer is not taken, nothing more of that connection is served, and no more than a little of it is read. Bytes that
are not a request close that connection only.
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
"""How long the requests that one connection has sent ahead are served before it is everybody else's turn."""
_READ_ON_S, _MOST_READS = 0.0005, 3
"""How long after the beginning of its turn, and how often, more is read of a connection: then the others are looked
at first."""
_TURN_PIECES = 2
"""How many pieces of an answer are handed to the system before it is everybody else's turn."""

_LOGIN_KEYS = frozenset((registry.key_of("sasl_handshake"), registry.key_of("sasl_authenticate")))


class ClientConnection(asyncio.BufferedProtocol):
    """One accepted socket."""

    def __init__(self, shared: Shared, endpoint: Endpoint, *, was_let_in: bool = False) -> None:
        """``was_let_in``: that it may come in was said before the TLS handshake."""
        self._shared = shared
        self._endpoint = endpoint
        self.listener = endpoint.name
        self.ip = ""
        self._was_let_in = was_let_in
        self._received = Receiver()
        self._large_bytes = 0
        """What this connection holds of the memory for large requests."""
        self._outgoing = Outgoing()
        self.unsent_bytes = 0
        """What is in memory of answers that the client has not taken."""
        self._parked: Parked | None = None
        self._working = False
        self._blocked = False
        self._muted = False
        self._waits_for_memory = False
        self._reading = True
        self.is_counted = False
        """Whether it was let in, and so counts towards the limits."""
        self._ended = False
        self._has_more = False
        """Whether a whole request may wait for this connection's turn."""
        self._penalty: Timer | None = None
        """Runs while the answer to a failed login is held back."""
        self._transport: Any = None
        self._fd = -1
        self._reads_on = False
        """Whether the system may be asked for more of what has come: it can, and nothing is encrypted here."""
        self._sends_files = False
        """Whether the system sends ranges of files: it can, and they are sent as they are."""
        self._comes_more = False
        """Whether all room was taken by what was read last: more may have come than that."""
        self.certificate_principal = "User:ANONYMOUS"
        """Who the client's certificate names, on listeners with TLS alone."""
        self.connection: Connection | None = None
        self.last_used_s = 0.0
        self.had_s = 0.0
        """What it was served (``turns``)."""
        self.took_s = 0.0
        """When the client last took something of an answer, or was first sent one."""

    # Coming and going

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._fd = self.fileno
        is_plain = not self._endpoint.has_tls
        self._reads_on = is_plain and hasattr(os, "readv")
        self._sends_files = is_plain and hasattr(os, "sendfile")
        transport.set_write_buffer_limits(high=0, low=0)  # the next piece goes when the one before is taken
        peer = transport.get_extra_info("peername") or ("", 0)
        local = transport.get_extra_info("sockname") or ("", 0)
        number = self._shared.arrived
        self._shared.arrived += 1
        id = f"{local[0]}:{local[1]}-{peer[0]}:{peer[1]}-{number}"
        self.connection = Connection(id, self.listener, peer[0])
        self.ip = self.connection.client_host
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
        """Whether nothing is done for the client; what it has sent of a request, or not taken, is not work.

        Nor does one that waits keep a connection for ever behind whose request so much was sent that its end, which
        comes behind all that, cannot be seen.
        """
        return (self._parked is None or self.is_deaf) and not self._muted

    @property
    def is_deaf(self) -> bool:
        """Whether nothing is read, so that the client's end would not be noticed."""
        return self.is_counted and not self._reading

    @property
    def is_waiting(self) -> bool:
        """Whether the client waits for an answer that is not there yet, and on which nobody works."""
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
        """The client's end: what it has sent whole before is served, what it waits for is forgotten."""
        if self._endpoint.has_tls:  # its transport closes in any case: what waits for its turn is served now or never
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
        """Whether something is to be done yet for a client that sends nothing more."""
        if self._penalty is not None:
            return False
        if self._parked is not None:
            return bool(self._parked.holds_request)  # it is worked on
        return bool(self._has_more or self._blocked or self._outgoing or (self.is_counted and self._received.has_news))

    def connection_lost(self, error: Exception | None) -> None:
        self._shared.connections.discard(self)
        self._shared.turns.left(self)
        if self.is_counted:
            self._shared.admission.left(self)
        self._drop()
        if self._parked is not None:
            self._parked.cancel()
            self._parked = None
        if self._penalty is not None:
            self._penalty.cancel()
        self.connection = None
        unlink(self._transport)
        self._transport, self._fd = Gone(), -1

    @property
    def is_closing(self) -> bool:
        """Whether it is closed as soon as the client has taken what was sent."""
        return bool(self._transport.is_closing())

    def close(self, *, abort: bool = False) -> None:
        if abort:
            self._transport.abort()
        else:
            self._transport.close()

    def give_up(self, reason: str) -> None:
        """Cut the connection off, since it takes what others need."""
        log.warning("aborting the connection from %s: %s", self._transport.get_extra_info("peername"), reason)
        self._drop()
        self._transport.abort()

    def _drop(self) -> None:
        """Forget what was received and what was to be sent."""
        self._received.clear()
        self._outgoing.clear()
        self._account_answers()
        self._free_request()

    def _reject(self, error: Exception) -> None:
        log.warning("closing the connection from %s: %s", self._transport.get_extra_info("peername"), error)
        self._end()

    def _end(self) -> None:
        """Close once the answers are out; nothing more is served."""
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
        """So many bytes have come, to where ``Receiver.room`` said."""
        received = self._received
        was_receiving = received.large is not None and received.is_receiving
        self._comes_more = received.received(self._shared.scratch, nbytes)
        if was_receiving:
            self._large_bytes += nbytes
            self._shared.requests.grew(self, nbytes)

    def _read_more(self) -> bool:
        """Whether something has come of what the system had no room for here: asking it costs less than waiting for it.

        What goes wrong, and the client's end, are left to the event loop, which finds them again.
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
        """Whether a large request is on its way."""
        return self._received.is_receiving

    @property
    def is_blocked(self) -> bool:
        """Whether a large request is there that is not served, because the client does not take its answers."""
        return self._blocked and self._received.received_bytes > 0 and not self._received.is_receiving

    @property
    def received_bytes(self) -> int:
        return self._received.received_bytes

    def hold(self) -> None:
        """Read nothing for now: until ``let_in``, or until there is memory for a large request."""
        self._waits_for_memory = self.is_counted
        self._read_on()

    def go_on(self) -> None:
        """There is memory for the rest of a large request."""
        self._waits_for_memory = False
        self._read_on()

    def _read_on(self) -> None:
        """Read, or stop reading, as things are now."""
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
        """Send what is to be sent, then serve what has come, for as long as a turn is or a request is not answered.

        Small answers to requests that have come together go together: handing one over costs as much as serving one.
        """
        self._has_more = False
        connection = self.connection
        if connection is None:
            return
        if self._outgoing or connection.close_after_reply or connection.login_failed:
            self._send()
        now_s = self._shared.clock.monotonic_s
        began_s, reads = now_s(), 0
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
                    self._send()  # the answer to a failed login is held back, and no other
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
        if request is None and not had_large and received.received_bytes:  # one that begins
            self._large_bytes += received.received_bytes
            self._shared.requests.grew(self, received.received_bytes)
        return request

    def _may_fail_login(self, login: Login, request: Request) -> bool:
        """Whether the answer may be one that is held back (``_is_punished``)."""
        return not login.done or int.from_bytes(request[:2], "big") in _LOGIN_KEYS

    def _work(self, request: Request) -> None:
        assert self.connection is not None
        self._working = True
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
        """Whether the next request may be served; a connection over its quota is looked at again in time."""
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
                self._send()  # it may come to nothing, as its file may
            if not self._working:  # a connection that waited for long is not idle before it has its answer
                self.last_used_s = self._shared.clock.monotonic_s()
            if not self._outgoing:
                self.took_s = self.last_used_s
            self._outgoing.add(payload)
        if not self._working:  # the answer of a parked call
            self._parked = None
            self._free_request()
            self._shared.turns.later(self)

    def _send(self) -> None:
        """Hand over pieces of answers until the client has enough for now."""
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
        """Have the system send what is next of a file, as long as the socket takes all that it is given."""
        if not self._outgoing.send_file(self.fileno) and self._outgoing:
            # The transport waits until the socket takes more, and says so (``resume_writing``).
            self._transport.write(self._outgoing.piece(READ_BYTES))

    def _is_punished(self, connection: Connection) -> bool:
        """Whether what is to be said to a failed login, if only the end, has to wait.

        As Kafka (KIP-306): guessing passwords takes ``connection.failed.authentication.delay.ms`` for each.
        """
        if self._penalty is None:
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
