"""What a producer owes its records while no thread is inside it: they leave, and responses are processed.

The background thread of the producer calls ``work``. An application that sends all the time does all of this itself,
so the thread then only looks whether that is still so.
"""

from __future__ import annotations

from kafka_tools.clients.calls import Interruptible
from kafka_tools.clients.producing.accumulator import Accumulator
from kafka_tools.clients.producing.sender import Sender
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.clients.threads.background import LOOK_AGAIN_S
from kafka_tools.clients.threads.lock import ClientLock
from kafka_tools.clock import Clock
from kafka_tools.errors import KafkaToolsError

QUIET_S = 0.005
"""For so long after a call that sent and received, the background thread leaves the work to the application."""
_REST_AFTER_S, _REST_CHECK_S = 0.1, 0.01
"""An application that sends again and again need not wake the background thread each time: it rests a little later."""
_LONGEST_TURN_S = 1.0
"""Longest wait inside the client, whose references the thread counts among meanwhile."""


class ProducerUpkeep:
    """See the module. Whoever calls it holds the lock."""

    def __init__(
        self, settings: ProducerSettings, clock: Clock, accumulator: Accumulator, sender: Sender, lock: ClientLock
    ) -> None:
        self.active_s = float("-inf")
        """When a call of the application last sent and received."""
        self._settings = settings
        self._clock = clock
        self._accumulator = accumulator
        self._sender = sender
        self._lock = lock
        self._failure: KafkaToolsError | None = None

    def work(self) -> float:
        """Do what is due. Returns the seconds until there is more to do, infinity at rest."""
        now_s = self._clock.monotonic_s()
        if not self._accumulator.unfinished:
            return _REST_CHECK_S if now_s < self.active_s + _REST_AFTER_S else float("inf")
        if self._lock.application_waits:
            return LOOK_AGAIN_S
        if now_s < self.active_s + QUIET_S:
            return self.active_s + QUIET_S - now_s
        turn_s = _LONGEST_TURN_S if self._sender.is_busy else 0.0
        try:
            wait_s = self._sender.pump(
                Interruptible(self._clock, turn_s, lambda: self._lock.application_waits), hurry=False
            )
        except KafkaToolsError as error:
            self._failure = error
            return self._settings.retry_backoff_ms / 1000
        return 0.0 if self._sender.is_busy else wait_s

    def raise_failure(self) -> None:
        """Raise the error that ``work`` met, once."""
        error, self._failure = self._failure, None
        if error is not None:
            raise error
