"""A coordinator's partitions, read after a start: the small ones before clients are served, the others beside them.

A partition is loading, served or failed. What its log says is gathered aside, in slices, and taken over when all of it
is there: until then requests for its groups or transactional ids get COORDINATOR_LOAD_IN_PROGRESS, and
everybody else is served. Nobody writes to the log of a partition that is loading but the markers of transactions; they
are read like the rest. A record that no broker writes is left out and named, and the others of its partition hold. For
a partition whose bytes have changed the answer is NOT_COORDINATOR from then on, as in Kafka (``CoordinatorRuntime``).
The others are loaded all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from kafka_tools.broker_embedded.coordinators.replaying import KeyTypes, LeftOut, Reader, named, replay_batch
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorLog, partition_for
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, sleep, whole
from kafka_tools.errors import LogError
from kafka_tools.protocol import error_codes
from kafka_tools.shown_text import counted

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.slices import Slices
    from kafka_tools.records.batches import BatchView

log = logging.getLogger(__name__)

_MEND = "Stop the broker and run kafka-tools broker mend to remove it"


class LoadedPart(Reader, Protocol):
    """What one partition says. It is kept aside until ``adopt``; what is read after that goes to what is served."""

    def adopt(self) -> Work[None]:
        """Take over what was read, in slices. Requests are refused until it is over and the rest of the log read."""

    def served(self) -> Work[None]:
        """Requests are answered from now on: what follows from it."""


class Loading:
    """The states of the partitions of one coordinator's log, and the work of reading them, one after another."""

    def __init__(self, state: CoordinatorLog, keys: KeyTypes, values: KeyTypes, slices: Slices, advice: str) -> None:
        """``slices``: where partitions that are loaded beside requests take turns. ``advice`` says what is not served
        where a partition cannot be read, and what to do; ``%s`` is the partition.
        """
        self._log = state
        self._keys = keys
        self._values = values
        self._slices = slices
        self._advice = advice
        self._unserved: dict[int, int] = {}
        """Partition -> the error code of requests for it: it is loading, or it could not be read."""
        self._partitions = 0
        """How many there were at the start: that is where a group's records are, though the topic grows meanwhile."""
        self._waiting: list[int] = []
        self._held: list[int] = []
        """Those that somebody wants to stay unread."""
        self._part: Callable[[int], LoadedPart] | None = None
        """What makes of a partition the part that is loaded, once loading has begun."""
        self._is_at_work = False

    def check(self, key: str) -> None:
        """BrokerError COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR unless the partition of this id is served."""
        if self._unserved and (code := self._code(key)):
            partition = f"{self._log.topic}-{partition_for(key, self._partitions)}"
            is_loading = code == error_codes.COORDINATOR_LOAD_IN_PROGRESS
            raise error_for(code, f"{partition} is being loaded" if is_loading else f"{partition} is damaged")

    def serves(self, key: str) -> bool:
        """Whether the partition of this id is served."""
        return not self._unserved or not self._code(key)

    def is_loading(self, key: str) -> bool:
        """Whether the partition of this id is being loaded."""
        return bool(self._unserved) and self._code(key) == error_codes.COORDINATOR_LOAD_IN_PROGRESS

    def check_all(self) -> None:
        """BrokerError COORDINATOR_LOAD_IN_PROGRESS while any partition is loading, for what asks for all of them."""
        if self.under_way:
            raise error_for(error_codes.COORDINATOR_LOAD_IN_PROGRESS)

    @property
    def under_way(self) -> bool:
        """Whether any partition is loading."""
        return bool(self._unserved) and error_codes.COORDINATOR_LOAD_IN_PROGRESS in self._unserved.values()

    def _code(self, key: str) -> int:
        return self._unserved.get(partition_for(key, self._partitions), error_codes.NONE)

    def begin(self, part: Callable[[int], LoadedPart], spare_bytes: int) -> int:
        """Load logs of ``spare_bytes`` in all now, the smallest first, and the others in slices from now on.

        Returns how many bytes are left to spare.
        """
        self._partitions = self._log.partitions
        sizes = {number: self._log.size_bytes(number) for number in range(self._partitions)}
        self._waiting = sorted(sizes, key=lambda number: (sizes[number], number))
        self._part = part
        for number in self._waiting:
            self._unserved[number] = error_codes.COORDINATOR_LOAD_IN_PROGRESS
            self._log.keep_whole(number, True)
        self._held = [number for number in self._waiting if self._log.is_held(number)]
        self._waiting = [number for number in self._waiting if number not in self._held]
        while self._waiting and sizes[self._waiting[0]] <= spare_bytes:
            number = self._waiting.pop(0)
            spare_bytes -= sizes[number]
            whole(self._load(number, part(number)))
        if self._waiting:
            log.info(
                "loading %d partitions of %s, %d bytes, in the background",
                len(self._waiting), self._log.topic, sum(sizes[number] for number in self._waiting),
            )  # fmt: skip
            self._work()
        return spare_bytes

    def go_on(self) -> None:
        """Read what is not held any longer."""
        released = [number for number in self._held if not self._log.is_held(number)]
        self._held = [number for number in self._held if number not in released]
        self._waiting += released
        if released and not self._is_at_work:
            self._work()

    def stop(self) -> None:
        """The log is gone: there is nothing to be loaded, and what is being read is forgotten."""
        self._waiting.clear()
        self._held.clear()
        self._unserved.clear()

    def _work(self) -> None:
        self._is_at_work = True
        self._slices.later(self._load_rest(), self._over)

    def _load_rest(self) -> Work[None]:
        assert self._part is not None
        while self._waiting:
            number = self._waiting.pop(0)
            yield from self._load(number, self._part(number))
            yield from sleep(0)  # another coordinator's partitions take turns with these

    def _over(self, _: None, error: BaseException | None) -> None:
        self._is_at_work = False
        if error is None:
            return
        for number, code in self._unserved.items():
            if code == error_codes.COORDINATOR_LOAD_IN_PROGRESS:
                self._failed(number, error)
        log.error("cannot load %s", self._log.topic, exc_info=error)

    def _load(self, number: int, part: LoadedPart) -> Work[None]:
        tail, left_out = self._log.tail(number), _LeftOutOf(f"{self._log.topic}-{number}")
        try:
            yield from self._read(number, tail, part, left_out)
            for _ in part.adopt() if self._is_begun(number) else ():
                yield
                if not self._is_begun(number):
                    return
            yield from self._read(number, tail, part, left_out)  # markers that were written meanwhile
        except (LogError, OSError) as error:
            if self._is_begun(number):
                self._failed(number, error)
            return
        except Exception:  # the other partitions are read all the same
            self._unserved[number] = error_codes.NOT_COORDINATOR
            log.error("%s-%d is not served because of a bug in this broker", self._log.topic, number, exc_info=True)
            return
        if self._is_begun(number):
            left_out.log_rest()
            del self._unserved[number]
            self._log.keep_whole(number, False)
            log.debug("loaded %s-%d", self._log.topic, number)
            yield from part.served()

    def _read(
        self, number: int, tail: Iterator[BatchView | None], part: LoadedPart, left_out: _LeftOutOf
    ) -> Work[None]:
        """Everything up to the end of the log as it is then: nothing is written between that and what comes next."""
        while self._is_begun(number) and (batch := next(tail)) is not None:
            left_out.add((yield from replay_batch(batch, self._keys, self._values, part)))
            yield

    def _is_begun(self, number: int) -> bool:
        """Whether it is still loading: its topic may have been deleted."""
        return self._unserved.get(number) == error_codes.COORDINATOR_LOAD_IN_PROGRESS

    def _failed(self, number: int, error: BaseException) -> None:
        self._unserved[number] = error_codes.NOT_COORDINATOR
        self._log.keep_whole(number, False)
        log.error("%s. %s", error, self._advice % f"{self._log.topic}-{number}")


class _LeftOutOf:
    """Tells the log what is left out of one partition: the first ones by name, then how many more."""

    def __init__(self, partition: str) -> None:
        self._partition = partition
        self._named = self._others = 0

    def add(self, found: list[LeftOut]) -> None:
        shown, others = named(found, self._named)
        for each in shown:
            log.error("%s: %s. %s", self._partition, each, _MEND)
        self._named += len(shown)
        self._others += others

    def log_rest(self) -> None:
        if self._others:
            others = counted(self._others, "more record was", "more records were")
            log.error("%s: %s skipped. %s", self._partition, others, _MEND)
