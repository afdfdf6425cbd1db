"""What a broker has that was started on what a loss of power left, beside what it had said before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.storage.check import check_partition
from tests.broker_embedded.cuts.load import COMPACTED, GROUP, IDEMPOTENT, NEW, OLD, PARTITIONS, PLAIN, History
from tests.broker_embedded.disk_broker import DiskBroker
from tests.broker_embedded.transactional_client import read_from

_HARMLESS = ("producer-snapshot", "offset-checkpoint-mismatch")
"""Snapshots that a start leaves out of account when they are torn, and high watermarks of what was not acknowledged."""


class Found:
    """What a broker has that was started on an image, beside what it had said before the cut."""

    def __init__(self, broker: DiskBroker, history: History, cut: int) -> None:
        self._broker = broker
        self._core = broker.core
        self._until: Callable[[str], list[Any]] = lambda kind: history.until(cut, kind)

    def problems(self) -> list[str]:
        """Everything that is not as it must be."""
        if not self._until("started"):
            return []
        found = self._settle()
        return found or [
            *self._cluster(), *self._records(), *self._made_again(), *self._idempotence(), *self._keys(),
            *self._offsets(), *(problem for topic in (OLD, NEW) for problem in self._transactions(topic)),
            *self._files(),
        ]  # fmt: skip

    def _settle(self) -> list[str]:
        """End what is open, as the next producers of the same ids do."""
        for _ in range(5):
            self._broker.advance(0.2)
        for transactional_id in self._until("transactional id"):
            for _ in range(50):
                request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
                pending = self._broker.send(request, 4)
                self._broker.advance(0.2)
                if pending.response is not None and not pending.response.error_code:
                    break
            else:
                return [f"{transactional_id} cannot begin again: {pending.response}"]
        return [
            f"{each.id}: a transaction is open for ever, from {each.last_stable_offset} to {each.high_watermark}"
            for each in self._core.partitions
            if each.last_stable_offset != each.high_watermark
        ]

    def _cluster(self) -> list[str]:
        found = []
        topics = self._core.cluster.topics
        deleting = set(self._until("deleting"))
        found += [f"{name} is lost" for name in self._until("made") if name not in topics and name not in deleting]
        again = {*self._until("making again")}
        found += [f"{name} came back" for name in self._until("deleted") if name in topics and name not in again]
        found += [f"{name} is lost, made again" for name in self._until("made again") if name not in topics]
        retention = int(self._core.configs.topic(PLAIN).integer("retention.ms")) if PLAIN in topics else -1
        least = max(self._until("set"), default=0)
        if least and not least <= retention <= max(self._until("setting")):
            found.append(f"retention.ms is {retention}, and {least} was acknowledged")
        lookup = self._core.credentials.lookup
        found += [f"{user} is lost" for user in self._until("user") if lookup("SCRAM-SHA-256", user) is None]
        for name in self._until("acl"):
            if not self._core.acls.authorize("User:a", "127.0.0.1", 3, 2, name):
                found.append(f"the ACL for {name} is lost")
        given = self._until("producer id")
        if given and (following := self._core.producer_ids.next_id()) <= max(given):
            found.append(f"the producer id {following} is given again")
        return found

    def _records(self) -> list[str]:
        found = []
        deleting = set(self._until("deleting"))
        stored: dict[tuple[str, int], dict[int, bytes | None]] = {}
        cutting = self._until("cutting")
        again = {*self._until("making again")}
        for (topic, number, offset), value in self._until("record"):
            if topic in again:
                continue
            partition = self._core.partitions.get(topic, number)
            if partition is None:
                if topic not in deleting:
                    found.append(f"{topic}-{number} is gone, with {value!r}")
                continue
            at = topic, number
            if at not in stored:
                stored[at] = {
                    record.offset: record.value
                    for view in partition.log.walk()
                    for record in (() if view.is_control else view.records())
                }
                most = max((to for which, to in cutting if topic == PLAIN and which == number), default=0)
                least = max((to for which, to in self._until("cut") if topic == PLAIN and which == number), default=0)
                if not least <= partition.log.log_start_offset <= most:
                    found.append(f"{topic}-{number} begins at {partition.log.log_start_offset}, not {least} to {most}")
            if topic in deleting and offset not in stored[at]:
                found.append(f"{topic}-{number} is half deleted: it is there, and {value!r} is not")
            elif offset >= partition.log.log_start_offset and stored[at].get(offset) != value:
                found.append(f"{topic}-{number} at {offset}: {stored[at].get(offset)!r} is there, {value!r} was said")
            elif offset >= partition.log.log_end_offset:
                found.append(f"{topic}-{number}: offset {offset} is given again")
        return found

    def _made_again(self) -> list[str]:
        """A topic that was deleted and made again holds what was written since, and nothing of before."""
        values = dict(self._until("again"))
        found = []
        for name in self._until("making again"):
            partition = self._core.partitions.get(name, 0)
            stored = (
                [] if partition is None else [each.value for view in partition.log.walk() for each in view.records()]
            )
            if name in values and stored != [values[name]]:
                found.append(f"{name}, made again, has {stored} instead of {values[name]!r}")
            elif stored not in ([], [b"again in %s" % name.encode()]):
                found.append(f"{name}, made again, has {stored}")
        return found

    def _idempotence(self) -> list[str]:
        """The producers send again what they know no answer to, and everything is there once."""
        last = {producer: (batch, values) for producer, batch, values in self._until("sending")}
        found = []
        for batch, values in last.values():
            answer = self._broker.produce(IDEMPOTENT, batch)
            if answer.error_code:
                found.append(f"{values} sent again: {error_codes.error(answer.error_code).name}")
        partition = self._core.partitions.get(IDEMPOTENT, 0)
        if partition is not None:
            stored = [record.value for view in partition.log.walk() for record in view.records()]
            found += [f"{value!r} is there twice" for value in set(stored) if stored.count(value) > 1]
        return found

    def _keys(self) -> list[str]:
        newest = dict(self._until("key"))
        partition = self._core.partitions.get(COMPACTED, 0)
        if partition is None or not newest:
            return []
        stored = {record.key: int(record.value or 0) for view in partition.log.walk() for record in view.records()}
        return [
            f"the newest value of {key!r} is {stored.get(key)}, and {number} was acknowledged"
            for key, number in newest.items()
            if stored.get(key, 0) < number
        ]

    def _files(self) -> list[str]:
        """What the checks find in logs of which a start trusts a part: indexes, aborted transactions, epochs."""
        found = []
        for partition in self._core.partitions:
            if len(partition.log.segments) > 1 or partition.log.recovery_point:
                partition.log.flush()
                damage = (each for each in check_partition(partition.log.directory) if each.is_damage)
                found += [f"{partition.id}: {each.kind}: {each}" for each in damage if each.kind not in _HARMLESS]
        return found

    def _offsets(self) -> list[str]:
        offsets = {at.topic: each.offset for at, each in self._core.groups.offsets.of(GROUP).items()}
        least, most = max(self._until("committed"), default=0), max(self._until("committing"), default=0)
        if not least <= offsets.get(PLAIN, 0) <= most:
            return [f"{GROUP} has {offsets.get(PLAIN)}, and {least} was acknowledged"]
        return []

    def _committed(self, topic: str, number: int) -> set[bytes | None]:
        """What read_committed shows of a partition."""
        values: set[bytes | None] = set()
        next_offset, end = 0, self._core.partitions.led(topic, number).last_stable_offset
        while next_offset < end:
            shown, next_offset = read_from(self._broker, topic, number, next_offset)
            values.update(shown)
        return values

    def _transactions(self, topic: str) -> list[str]:
        if self._core.partitions.get(topic, 0) is None:
            return []
        shown = [self._committed(topic, partition) for partition in range(PARTITIONS)]
        ended = {number: commits for of, number, commits in self._until("ended") if of == topic}
        wanted = {number: commits for of, number, commits in self._until("ends") if of == topic}
        found, last = [], 0
        for of, number, values in self._until("begins"):
            if of != topic:
                continue
            seen = [value in of_partition for value, of_partition in zip(values, shown, strict=True)]
            if any(seen) and not all(seen):
                found.append(f"{topic}: of transaction {number} {seen} is there")
            if ended.get(number) is True and not all(seen):
                found.append(f"{topic}: transaction {number} was committed, and {seen} is there")
            if any(seen) and not wanted.get(number, False):
                found.append(f"{topic}: transaction {number} was not committed, and {seen} is there")
            last = number if all(seen) else last
        offsets = [each.offset for each in self._core.groups.offsets.of(f"group of {topic}").values()]
        if max(offsets, default=0) != last:
            found.append(f"{topic}: the group's offset is {offsets}, and {last} is the last committed transaction")
        return found
