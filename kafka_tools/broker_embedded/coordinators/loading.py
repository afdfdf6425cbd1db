"""Loads a coordinator's partitions after a start: small ones before clients are served, the others in the background.

A partition is loading, served or failed. Its state is built apart, in slices, and takes effect once all of the log is
read. Until then, requests for its groups or transactional ids get COORDINATOR_LOAD_IN_PROGRESS. Only markers of
transactions are written to a partition that is loading; they are read like other records. A record that no broker
writes is skipped and logged. A damaged partition fails: requests for it get NOT_COORDINATOR, as in Kafka
(``CoordinatorRuntime``). The other partitions are still loaded.
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
    """The state of one partition, kept apart until ``adopt``. Later records change the served state directly."""

    def adopt(self) -> Work[None]:
        """Add the state to the served state, in slices. Requests are refused until the rest of the log is read."""

    def served(self) -> Work[None]:
        """Called when the broker starts to serve requests for the partition."""


class Loading:
    """Loads the partitions of one coordinator's log, one after another, and knows the state of each."""

    def __init__(self, state: CoordinatorLog, keys: KeyTypes, values: KeyTypes, slices: Slices, advice: str) -> None:
        """``slices``: runs the background work. ``advice``: the end of the log line about a partition (``%s``) that
        cannot be read. It says which requests fail, and how to repair the partition.
        """
        self._log = state
        self._keys = keys
        self._values = values
        self._slices = slices
        self._advice = advice
        self._unserved: dict[int, int] = {}
        """Partition that is loading or failed -> the error code of requests for it."""
        self._partitions = 0
        """The number of partitions at the start. It determines where a group's records are, even if the topic grows."""
        self._waiting: list[int] = []
        self._held: list[int] = []
        """The partitions that are not read yet because ``CoordinatorLog.is_held`` says so."""
        self._part: Callable[[int], LoadedPart] | None = None
        """Creates the empty state of a partition. None until ``begin``."""
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
        """Whether the partition of this id is loading."""
        return bool(self._unserved) and self._code(key) == error_codes.COORDINATOR_LOAD_IN_PROGRESS

    def check_all(self) -> None:
        """BrokerError COORDINATOR_LOAD_IN_PROGRESS while any partition is loading."""
        if self.under_way:
            raise error_for(error_codes.COORDINATOR_LOAD_IN_PROGRESS)

    @property
    def under_way(self) -> bool:
        """Whether any partition is loading."""
        return bool(self._unserved) and error_codes.COORDINATOR_LOAD_IN_PROGRESS in self._unserved.values()

    def unserved(self) -> tuple[int, int]:
        """The number of partitions that are loading, and of partitions that could not be loaded."""
        loading = list(self._unserved.values()).count(error_codes.COORDINATOR_LOAD_IN_PROGRESS)
        return loading, len(self._unserved) - loading

    def _code(self, key: str) -> int:
        return self._unserved.get(partition_for(key, self._partitions), error_codes.NONE)

    def begin(self, part: Callable[[int], LoadedPart], spare_bytes: int) -> int:
        """Load logs of ``spare_bytes`` in total now, the smallest first, and the others in the background.

        Returns the number of bytes that are left of ``spare_bytes``.
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
        """Load the partitions that are no longer held."""
        released = [number for number in self._held if not self._log.is_held(number)]
        self._held = [number for number in self._held if number not in released]
        self._waiting += released
        if released and not self._is_at_work:
            self._work()

    def stop(self) -> None:
        """Cancel all loading: the log is deleted."""
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
        except Exception:  # the other partitions are still loaded
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
        """Read up to the current end of the log. Nothing is written between its end and the caller's next step."""
        while self._is_begun(number) and (batch := next(tail)) is not None:
            left_out.add((yield from replay_batch(batch, self._keys, self._values, part)))
            yield

    def _is_begun(self, number: int) -> bool:
        """Whether the partition is still loading; its topic may have been deleted."""
        return self._unserved.get(number) == error_codes.COORDINATOR_LOAD_IN_PROGRESS

    def _failed(self, number: int, error: BaseException) -> None:
        self._unserved[number] = error_codes.NOT_COORDINATOR
        self._log.keep_whole(number, False)
        log.error("%s. %s", error, self._advice % f"{self._log.topic}-{number}")


class _LeftOutOf:
    """Logs the records that are skipped in one partition: the first ones each, then the number of the others."""

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
