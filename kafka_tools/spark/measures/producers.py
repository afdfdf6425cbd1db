"""Producers by id: how much they wrote, whether their sequence numbers follow, which transactions stay open.

Each range gives one row per producer: what it begins with, what it ends with, what it wrote between. Rows of ranges in
the order of the log fold into one row per producer. Rules: KIP-98, KIP-360, KIP-890; ``ProducerAppendInfo`` of Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafka_tools.protocol.enums import CONTROL_BIT, TRANSACTIONAL_BIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafka_tools.spark.headers import Headers

FOLLOWED = 500
"""Producers of one range that are followed, the first ones; the others are only counted."""

FOLLOWED_IN_ALL = 20_000
"""The same for a whole partition directory."""

EXPIRATION_MS = 24 * 3_600_000
"""Kafka's producer.id.expiration.ms: after so long a broker forgets a producer and takes any sequence from it."""

ANOMALIES_KEPT = 50
_SEQUENCES = 1 << 31

GAP, DUPLICATE, OLD_EPOCH = "gap", "duplicate", "old-epoch"


class Anomaly(NamedTuple):
    """A batch whose sequence or epoch does not follow what its producer wrote before."""

    way: str
    producer_id: int
    file: str
    position: int
    offset: int
    expected: int
    found: int


class Mark(NamedTuple):
    """A data batch of a producer: epoch, sequence numbers, time, and place."""

    epoch: int
    first_sequence: int
    last_sequence: int
    time_ms: int
    file: str
    position: int
    offset: int


class Opening(NamedTuple):
    """The first batch of a transaction that has no marker yet.

    ``time_ms`` is its timestamp, or that of a marker before it where that is later: the broker's clock writes markers,
    the producer's may be anything.
    """

    offset: int
    file: str
    position: int
    time_ms: int


class ProducerSpan(NamedTuple):
    """One producer in one or several consecutive ranges.

    ``first`` and ``last`` are its first and last batch with sequence numbers, None without any. ``marked``: whether a
    transaction marker is among them; ``opening``: the transaction that is open at their end.
    """

    producer_id: int
    batches: int
    records: int
    size_bytes: int
    epochs: tuple[int, int]
    transactional: bool
    markers: int
    first: Mark | None
    last: Mark | None
    marked: bool
    opening: Opening | None
    last_offset: int

    def then(self, after: ProducerSpan) -> ProducerSpan:
        """This one and what it wrote in the ranges after."""
        opening = after.opening if after.marked else self.opening or after.opening
        return ProducerSpan(
            self.producer_id,
            self.batches + after.batches,
            self.records + after.records,
            self.size_bytes + after.size_bytes,
            (min(self.epochs[0], after.epochs[0]), max(self.epochs[1], after.epochs[1])),
            self.transactional or after.transactional,
            self.markers + after.markers,
            self.first or after.first,
            after.last or self.last,
            self.marked or after.marked,
            opening,
            after.last_offset,
        )


class RangeProducers:
    """Collects the producers of one range, run by run."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.producers: dict[int, ProducerSpan] = {}
        self.anomalies: list[Anomaly] = []
        self.anomaly_count = 0
        self.unfollowed = 0
        self.newest_marker_ms = -1

    def add_all(self, headers: Headers) -> None:
        """Add sound magic 2 batches in the order of the log."""
        ids = headers.column("producer_id")
        chosen = np.flatnonzero(ids >= 0)
        if not len(chosen):
            return
        order = chosen[np.argsort(ids[chosen], kind="stable")]
        control = (headers.fields["attributes"] & CONTROL_BIT) != 0
        markers = np.where(control, headers.column("max_timestamp"), -1)
        markers = np.maximum(np.maximum.accumulate(markers), self.newest_marker_ms)
        self.newest_marker_ms = int(markers[-1])
        rows = _Rows(headers.take(order), markers[order], self.file)
        begins = np.flatnonzero(np.concatenate(([True], rows.ids[1:] != rows.ids[:-1])))
        ends = np.append(begins[1:], len(order))
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            found = rows.producer(begin, end)
            before = self.producers.get(found.producer_id)
            if before is not None:
                self.note(follows(before, found))
                found = before.then(found)
            elif len(self.producers) >= FOLLOWED:
                self.unfollowed += 1
                continue
            self.producers[found.producer_id] = found
        self.note(rows.anomalies())

    def note(self, anomalies: Iterable[Anomaly]) -> None:
        """Count anomalies, and keep some."""
        for anomaly in anomalies:
            self.anomaly_count += 1
            if len(self.anomalies) < ANOMALIES_KEPT:
                self.anomalies.append(anomaly)


class ProducerPiece(NamedTuple):
    """The producers of one range, by where the range lies in the log; ``lost``: not all of it could be read."""

    base_offset: int
    start: int
    found: RangeProducers
    lost: bool = False


class _Rows:
    """Batches sorted by producer, in the order of the log within each, as columns."""

    def __init__(self, headers: Headers, markers: NDArray[np.int64], file: str) -> None:
        self.file = file
        self.markers = markers
        self.ids = headers.column("producer_id")
        self.positions = headers.positions
        self.offsets = headers.column("base_offset")
        self.lasts = headers.last_offsets
        self.epochs = headers.column("producer_epoch")
        self.sequences = headers.column("base_sequence")
        self.last_sequences = (self.sequences + self.lasts - self.offsets) % _SEQUENCES
        self.times = headers.column("max_timestamp")
        self.records = headers.column("record_count")
        self.sizes = headers.sizes
        attributes = headers.fields["attributes"]
        self.control = (attributes & CONTROL_BIT) != 0
        self.transactional = (attributes & TRANSACTIONAL_BIT) != 0
        self.numbered = ~self.control & (self.sequences >= 0)

    def producer(self, begin: int, end: int) -> ProducerSpan:
        """The one whose batches are ``begin`` to ``end``."""
        at = slice(begin, end)
        numbered = np.flatnonzero(self.numbered[at])
        markers = np.flatnonzero(self.control[at])
        after_marker = begin + int(markers[-1]) + 1 if len(markers) else begin
        open_at = np.flatnonzero(self.transactional[after_marker:end] & ~self.control[after_marker:end])
        data = ~self.control[at]
        return ProducerSpan(
            int(self.ids[begin]),
            int(np.count_nonzero(data)),
            int(self.records[at][data].sum()),
            int(self.sizes[at][data].sum()),
            (int(self.epochs[at].min()), int(self.epochs[at].max())),
            bool(self.transactional[at].any()),
            len(markers),
            self._mark(begin + int(numbered[0])) if len(numbered) else None,
            self._mark(begin + int(numbered[-1])) if len(numbered) else None,
            bool(len(markers)),
            self._opening(after_marker + int(open_at[0])) if len(open_at) else None,
            int(self.lasts[end - 1]),
        )

    def anomalies(self) -> Iterable[Anomaly]:
        """Batches that do not follow the one before of the same producer."""
        at = np.flatnonzero(self.numbered)
        before, after = at[:-1], at[1:]
        same = self.ids[before] == self.ids[after]
        expected = (self.last_sequences[before] + 1) % _SEQUENCES
        fits = (self.epochs[before] == self.epochs[after]) & (self.sequences[after] == expected)
        for number in np.flatnonzero(same & ~fits).tolist():
            anomaly = _compare(
                int(self.ids[after[number]]), self._mark(int(before[number])), self._mark(int(after[number]))
            )
            if anomaly:
                yield anomaly

    def _mark(self, at: int) -> Mark:
        epoch, first, last = int(self.epochs[at]), int(self.sequences[at]), int(self.last_sequences[at])
        return Mark(epoch, first, last, int(self.times[at]), self.file, int(self.positions[at]), int(self.offsets[at]))

    def _opening(self, at: int) -> Opening:
        time_ms = max(int(self.times[at]), int(self.markers[at]))
        return Opening(int(self.offsets[at]), self.file, int(self.positions[at]), time_ms)


def follows(before: ProducerSpan, after: ProducerSpan) -> Iterable[Anomaly]:
    """The anomaly between the end of one range and the beginning of the next."""
    if before.last is not None and after.first is not None:
        anomaly = _compare(before.producer_id, before.last, after.first)
        if anomaly:
            yield anomaly


def _compare(producer_id: int, before: Mark, after: Mark) -> Anomaly | None:
    place = producer_id, after.file, after.position, after.offset
    if after.epoch < before.epoch:
        return Anomaly(OLD_EPOCH, *place, before.epoch, after.epoch)
    if after.epoch > before.epoch:
        return None  # a new epoch may begin with any sequence where the broker did not know the producer any more
    expected = (before.last_sequence + 1) % _SEQUENCES
    if after.first_sequence == expected or after.time_ms - before.time_ms > EXPIRATION_MS:
        return None
    # Half of the circle of sequences is behind, half ahead.
    ahead = (after.first_sequence - expected) % _SEQUENCES < _SEQUENCES // 2
    if not ahead and after.first_sequence == 0:
        return None  # brokers before 2.5 forget producers whose records are deleted; these begin anew in their epoch
    return Anomaly(GAP if ahead else DUPLICATE, *place, expected, after.first_sequence)


def fold(pieces: Sequence[ProducerPiece]) -> RangeProducers:
    """The producers of a whole partition directory, from its ranges in any order.

    A range that was lost during the read may have contained batches and the markers of transactions. So the range after
    it is not compared with the ranges before it.
    """
    whole = RangeProducers("")
    unsure: set[int] = set()
    for piece in sorted(pieces, key=lambda piece: (piece.base_offset, piece.start)):
        whole.unfollowed += piece.found.unfollowed
        for producer_id, found in piece.found.producers.items():
            if found.opening is not None and found.opening.time_ms < whole.newest_marker_ms:
                found = found._replace(opening=found.opening._replace(time_ms=whole.newest_marker_ms))
            before = whole.producers.get(producer_id)
            if before is not None:
                if producer_id not in unsure:
                    whole.note(follows(before, found))
                unsure.discard(producer_id)
            elif len(whole.producers) >= FOLLOWED_IN_ALL:
                whole.unfollowed += 1
                continue
            whole.producers[producer_id] = before.then(found) if before else found
        whole.anomalies += piece.found.anomalies[: max(0, ANOMALIES_KEPT - len(whole.anomalies))]
        whole.anomaly_count += piece.found.anomaly_count
        whole.newest_marker_ms = max(whole.newest_marker_ms, piece.found.newest_marker_ms)
        if piece.lost:
            unsure = set(whole.producers)
            for producer_id, found in whole.producers.items():
                whole.producers[producer_id] = found._replace(opening=None)
    whole.anomalies.sort(key=lambda anomaly: anomaly.offset)
    return whole
