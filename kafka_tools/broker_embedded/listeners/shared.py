"""State shared by all connections of a broker: turns, memory held together, admission."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kafka_tools.broker_embedded.listeners.admission import Admission, AdmittedConnection
from kafka_tools.broker_embedded.listeners.connection_limits import ConnectionLimits
from kafka_tools.broker_embedded.listeners.handshakes import Handshakes
from kafka_tools.broker_embedded.listeners.held_memory import AnswerMemory, RequestMemory
from kafka_tools.broker_embedded.listeners.receiving import Scratch
from kafka_tools.broker_embedded.listeners.settings import ListenerSettings
from kafka_tools.broker_embedded.listeners.turns import Turns
from kafka_tools.broker_embedded.security.login_sources import LoginSources
from kafka_tools.clock import SystemClock

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.configs.endpoints import Endpoint
    from kafka_tools.broker_embedded.core import Core
    from kafka_tools.broker_embedded.dispatch import Dispatcher


class OpenConnection(AdmittedConnection, Protocol):
    """A connection that is served, as the listeners see it."""

    @property
    def idle(self) -> bool: ...

    @property
    def is_deaf(self) -> bool: ...

    @property
    def is_waiting(self) -> bool: ...

    @property
    def is_closing(self) -> bool: ...

    @property
    def fileno(self) -> int: ...

    def close(self, *, abort: bool = False) -> None: ...


class Shared:
    """Created once by the server, and passed to each connection."""

    def __init__(
        self,
        core: Core,
        dispatcher: Dispatcher,
        endpoints: list[Endpoint],
        call_soon: Callable[[Callable[[], None]], object],
    ) -> None:
        """Raises ConfigError for invalid settings and files."""
        configs = core.configs
        self.clock = core.clock
        self.counts = core.counts
        self.telemetry = core.telemetry
        self.timers = core.timers
        self.configs = configs
        self.dispatcher = dispatcher
        self.settings = ListenerSettings(configs, LoginSources(core.credentials, core.tokens, core.timers), endpoints)
        self.connections: set[OpenConnection] = set()
        self.arrived = 0
        """The number of connections since the start."""
        self.on_many_ended: Callable[[], None] = lambda: None
        """Called when ``BrokerLimits.ended_connections`` connections have ended since the last call."""
        self.max_frame_bytes = configs.broker.integer("socket.request.max.bytes")
        self.max_login_frame_bytes = min(self.max_frame_bytes, configs.broker.integer("sasl.server.max.receive.size"))
        """Maximum size of a request before the SASL login is complete."""
        self.requests = RequestMemory(configs.broker.integer("queued.max.request.bytes"), core.timers)
        self.answers = AnswerMemory()
        self.call_soon = call_soon
        self.turns = Turns(core.timers, call_soon)
        self.handshakes = Handshakes(SystemClock().monotonic_s, call_soon, core.limits)
        self.scratch = Scratch()
        protocols = {endpoint.name: endpoint.protocol for endpoint in endpoints}
        limits = ConnectionLimits(core.quotas, configs, core.clock, protocols)
        self.admission = Admission(limits, core.timers, self.connections)
