"""The broker of a script: the whole core over files, without sockets, in time that only the script moves.

Everything that happens is told in a line that begins with whom it happened to: a member, a client, a partition.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafka_tools.broker_embedded.call import CloseConnection
from kafka_tools.broker_embedded.configs.endpoints import Endpoint
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.broker_embedded.listeners.sending import CutShort
from kafka_tools.errors import WireError
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.headers import decode_response, encode_request
from kafka_tools.protocol.schema import Request
from tests.broker_embedded.disk_broker import DiskBroker, listener_security
from tests.broker_embedded.stories.files import WrongLine

Told = list[str]
Show = Callable[[Any], "str | Told"]
"""Response -> what is told of it."""

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class NotConnected(Exception):
    """A client that has to log in has no connection."""


class Client:
    """Who sends requests: a name, which is the client id, and a connection that is made anew when it was closed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.principal = "User:ANONYMOUS"
        self.connection: Connection | None = None
        self.logs_in = False
        """Whether it has to log in for a connection."""


class Waiting:
    """A request that is not answered."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.is_over = False


class Broker:
    """``ask`` sends a request for a client; ``told`` is what has happened since it was called last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._disk: DiskBroker | None = None
        self.properties = {
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1",
        }
        self.clients: dict[str, Client] = {}
        self.names: dict[str, str] = {}
        """Ids that the broker makes up -> how the script calls them."""
        self.kept: dict[str, Any] = {}
        """What commands remember for later ones: members, producers, tokens, holds, by the script's names."""
        self._waiting: list[Waiting] = []
        self._told: Told = []
        self._began_s: float | None = None

    @property
    def disk(self) -> DiskBroker:
        """The broker itself, started by the first command that needs it."""
        if self._disk is None:
            self._disk = DiskBroker(self._path, self.properties)
        return self._disk

    @property
    def is_started(self) -> bool:
        return self._disk is not None

    def close(self) -> None:
        if self._disk is not None:
            self._disk.core.close(clean=False)

    # Telling

    def say(self, who: str, what: str | Told) -> None:
        since = "" if self._began_s is None else f"+{duration(self.disk.clock.monotonic_s() - self._began_s)} "
        self._told += [f"{since}{who}: {line}" for line in ([what] if isinstance(what, str) else what)]

    def told(self) -> Told:
        told, self._told = self._told, []
        return told

    def name(self, id: str) -> str:
        return self.names.get(id, id)

    # Asking

    def client(self, name: str) -> Client:
        if name not in self.clients:
            self.clients[name] = client = Client(name)
            if name != "client":
                client.principal = f"User:{name}"
        return self.clients[name]

    def connected(self, client: Client, *, login: bool = False) -> Connection:
        connection = client.connection
        if connection is None or connection.close_after_reply or login:
            if client.logs_in and not login:
                raise NotConnected
            client.logs_in = login
            connection = client.connection = Connection(client.name, "PLAINTEXT", "10.0.0.1")
            connection.principal = client.principal
            connection.protocol = "SASL_PLAINTEXT"
            if login:
                endpoint = Endpoint("PLAINTEXT", "SASL_PLAINTEXT", "", 0)
                connection.login = listener_security(self.disk.core, endpoint).login()
                connection.principal = "User:ANONYMOUS"
        return connection

    def ask(self, who: str, request: Request, show: Show, version: int | None = None) -> None:
        """Send a request of the client ``who``, and tell of its answer when there is one."""
        client = self.client(who)
        try:
            connection = self.connected(client)
        except NotConnected:
            self.say(who, "has no connection")
            return
        handler = self.disk.dispatcher.handlers[request.API_KEY]
        version = handler.max_version if version is None else version
        waiting = Waiting(client)

        def answer(payload: Any) -> None:
            if waiting.is_over:
                return
            waiting.is_over = True
            if isinstance(payload, CutShort):
                self.say(who, f"the answer ends after {len(payload[0])} bytes, the connection is closed")
            elif payload is None:
                self.say(who, "the connection is closed" if connection.close_after_reply else "no answer is wanted")
            else:
                data = b"".join(bytes(p) if not hasattr(p, "read") else p.read(len(p)) for p in _parts(payload))
                response = decode_response(registry.api(request.API_KEY).response, version, data)[1]
                self.say(who, show(response))
                if getattr(response, "throttle_time_ms", 0):
                    self.say(who, f"throttled for {duration(response.throttle_time_ms / 1000)}")

        frame = encode_request(request, version, 1, client.name)
        try:
            self.disk.dispatcher.handle_frame(connection, frame, answer)
        except (CloseConnection, WireError) as error:
            waiting.is_over = True
            connection.close_after_reply = True
            self.say(who, f"the connection is closed ({error})")
        self.settle()
        if not waiting.is_over:
            self._waiting.append(waiting)
            self.say(who, "waits")

    def answer(self, who: str, request: Request, version: int | None = None) -> Any:
        """The response to a request that is answered at once, of which nothing is told."""
        found: list[Any] = []

        def keep(response: Any) -> Told:
            found.append(response)
            return []

        self.ask(who, request, keep, version)
        if not found:
            raise WrongLine(f"{type(request).__name__} of {who} is not answered at once")
        return found[0]

    def settle(self) -> None:
        """Do what is due now."""
        timers = self.disk.core.timers if self.is_started else None
        while timers is not None and timers.run_due():
            pass
        self._waiting = [waiting for waiting in self._waiting if not waiting.is_over]

    # Time and restarts

    def advance(self, seconds: float) -> None:
        self._began_s = self.disk.clock.monotonic_s()
        for _ in self.disk.core.timers.advance(self.disk.clock, seconds):
            self.settle()
        self._began_s = None

    def restart(self, *, kill: bool) -> None:
        for waiting in self._waiting:
            waiting.is_over = True
            self.say(waiting.client.name, "the connection is lost")
        self._waiting.clear()
        for client in self.clients.values():
            client.connection = None
        self.disk.properties = dict(self.properties)
        self.disk.restart(kill=kill)


def _parts(payload: Any) -> list[Any]:
    return [payload] if isinstance(payload, bytes) else list(payload)


def error(code: int) -> str:
    """An error's name, "ok" for none."""
    return "ok" if code == error_codes.NONE else error_codes.error(code).name


def seconds(text: str) -> float:
    """A time such as 500ms, 10s, 5m, 3h, 7d."""
    for unit in sorted(_UNITS_S, key=len, reverse=True):
        number = text.removesuffix(unit)
        if number != text and number.replace(".", "", 1).isdigit():
            return float(number) * _UNITS_S[unit]
    raise ValueError(f"'{text}' is not a time such as 500ms, 10s, 5m, 3h or 7d")


def duration(seconds: float) -> str:
    """The same, as short as it is exact."""
    ms = round(seconds * 1000)
    if ms % 1000:
        return f"{ms}ms" if ms < 1000 else f"{ms / 1000:g}s"
    for unit in ("d", "h", "m"):
        if ms and ms % round(_UNITS_S[unit] * 1000) == 0:
            return f"{round(ms / 1000 / _UNITS_S[unit])}{unit}"
    return f"{ms // 1000}s"


def place(text: str) -> tuple[str, int]:
    """A partition such as t-0."""
    topic, dash, number = text.rpartition("-")
    if not dash or not number.isdigit():
        raise ValueError(f"'{text}' is not a partition such as t-0")
    return topic, int(number)
