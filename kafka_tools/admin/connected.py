"""The base of all operations of the admin client: settings, connections made on first use, deadlines."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_tools.admin import driver
from kafka_tools.admin.driver import AdminCall
from kafka_tools.admin.lookups import ClusterAccess
from kafka_tools.admin.outcomes import Outcomes
from kafka_tools.clock import Clock, Deadline, SystemClock
from kafka_tools.closing import Closing
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.net.metadata import ClusterMetadata

if TYPE_CHECKING:
    from kafka_tools.net.given_settings import Given
    from kafka_tools.net.trace import Trace

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Connected(Closing):
    """Connects on the first call. ``warn`` gets warnings for the operator, for example that a change is not atomic.

    ``config``: the addresses, a mapping of Kafka's client settings, or a ClientConfig; further settings are keywords
    with ``_`` for ``.``: ``AdminClient("localhost:9092", security_protocol="SSL")``. Raises TypeError for an argument
    of another type, ConfigError for settings that cannot be used and when there is no address.
    """

    def __init__(
        self,
        config: Given = None,
        *,
        timeout_s: float | None = None,
        clock: Clock | None = None,
        trace: Trace | None = None,
        warn: Callable[[str], object] | None = None,
        one_deadline: bool | Deadline = False,
        **settings: Any,
    ) -> None:
        """``one_deadline``: True if ``timeout_s`` limits all calls together, from now on; or a deadline for them."""
        if isinstance(config, ClientConfig) and not settings:
            config.require_bootstrap()
        else:
            from kafka_tools.net.given_settings import client_config

            config = client_config(config, settings, type(self).__name__)
        self.config = config
        self._clock: Clock = clock or SystemClock()
        self._timeout_s = config.number("default.api.timeout.ms") / 1000 if timeout_s is None else timeout_s
        self._trace = trace
        self.warn = warn
        self._cluster: ClusterAccess | None = None
        self._whole = Deadline(self._clock, self._timeout_s) if one_deadline is True else one_deadline or None

    def close(self) -> None:
        """Close all connections."""
        if self._cluster is not None:
            self._cluster.exchange.close()
            self._cluster = None

    @property
    def cluster(self) -> ClusterAccess:
        """The connections and the metadata of the cluster; created on first use."""
        if self._cluster is None:
            exchange = Exchange(self.config, clock=self._clock, trace=self._trace)
            self._cluster = ClusterAccess(exchange, ClusterMetadata(exchange))
        return self._cluster

    def deadline(self, timeout_s: float | None = None) -> Deadline:
        """A deadline for several calls together."""
        if self._whole is not None and timeout_s is None:
            return self._whole
        return Deadline(self._clock, self._timeout_s if timeout_s is None else timeout_s)

    def run(
        self,
        call: AdminCall[K, V, Any],
        keys: Iterable[K],
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[K, V]:
        """Run any call over keys."""
        return driver.run(call, keys, self.cluster, deadline or self.deadline(timeout_s))

    def ask(self, call: AdminCall[str, V, Any], timeout_s: float | None = None, deadline: Deadline | None = None) -> V:
        """Run a call that has one answer; raises its error."""
        return driver.ask(call, self.cluster, deadline or self.deadline(timeout_s))
