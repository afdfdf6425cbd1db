"""The checker: a load is recorded, power is cut at points of the trace, and a broker is started on what may be left."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kafka_tools.broker_embedded.core import Core
from kafka_tools.errors import KafkaToolsError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.storage.cleaner.rounds import CleaningAborted, MapSize
from tests.broker_embedded.cuts import load
from tests.broker_embedded.cuts.clients import Turns
from tests.broker_embedded.cuts.images import CutDisk
from tests.broker_embedded.cuts.load import COMPACTED, GROUP, IDEMPOTENT, NEW, OLD, PARTITIONS, PLAIN, TOPICS, History
from tests.broker_embedded.cuts.recording import Recorder
from tests.broker_embedded.cuts.refusals import RefusingDisk
from tests.broker_embedded.disk_broker import DiskBroker
from tests.broker_embedded.transactional_client import read_from
from tests.storage.dirty_logs import clean_once

SETTINGS = {
    "offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2", "log.index.interval.bytes": "256",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS", "log.cleaner.enable": "false",
}  # fmt: skip
KEPT = (0.0, 1.0, 0.5, 0.1, 0.9)
"""How likely a change that was not forced survives, in one image and the next."""


class Load:
    """A broker under the load, recorded. Its fsyncs happen when the dice say so, and others come meanwhile."""

    def __init__(self, folder: Path, seed: int, *, fsync: str = "always", disk: RefusingDisk | None = None) -> None:
        """``disk``: one that refuses something once the topics are made."""
        self._disk = disk
        self.unforced_at: int | None = None
        """The point of the trace at which an fsync failed."""
        self._dice = random.Random(seed)
        self._rounds: list[tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]]] = []
        folder.mkdir(parents=True)
        self.path = folder / "data"
        self.path.mkdir()
        self.recorder = Recorder(self.path)
        self.history = History(lambda: len(self.recorder.events))
        self._seed = seed
        self.fsync = fsync

    def run(self, steps: int) -> None:
        """Record so many steps. AssertionError if a client is answered what it must not be."""
        with self.recorder.recording():
            broker = DiskBroker(self.path, SETTINGS, fsync=self.fsync)
            self.history.add("started", True)
            core = broker.core
            for topic in TOPICS:
                self._make(broker, topic)
            if core.group_commit is not None:
                core.group_commit.offload = lambda function, done: self._rounds.append((function, done))
            clients = self._clients(broker)
            try:
                with self._disk.refusing() if self._disk is not None else contextlib.nullcontext():
                    for _ in range(steps):
                        self._step(broker, clients)
                        while any(client.take() for client in clients):
                            pass
            finally:
                for client in clients:
                    client.stop()
                core.close(clean=False)

    def _make(self, broker: DiskBroker, name: str) -> None:
        Topic = CreateTopicsRequest.CreatableTopic
        topic = Topic(name=name, num_partitions=PARTITIONS, replication_factor=1)
        if name == COMPACTED:
            topic.configs = [Topic.CreatableTopicConfig(name="cleanup.policy", value="compact")]
        assert broker.call(CreateTopicsRequest(topics=[topic]), 5).topics[0].error_code == 0
        self.history.add("made", name)

    def _clients(self, broker: DiskBroker) -> list[Turns]:
        history = self.history
        works = [
            load.plain(history, "a"), load.plain(history, "b"), load.idempotent(history, 1),
            load.idempotent(history, 2), load.compacted(history), load.transactional(history, OLD, bumps=False),
            load.transactional(history, NEW, bumps=True), load.committer(history), load.reader(history),
            load.changes(history),
        ]  # fmt: skip
        refused = self._disk is not None
        return [
            Turns(broker, f"{self._seed} client {number}", work, may_be_refused=refused)
            for number, work in enumerate(works)
        ]

    def _step(self, broker: DiskBroker, clients: list[Turns]) -> None:
        what = self._dice.random()
        if what < 0.70:
            ready = [client for client in clients if client.may_send]
            if ready:
                self._dice.choice(ready).send()
        elif what < 0.95:
            if self._rounds:
                function, done = self._rounds.pop(0)
                try:
                    function()
                except OSError as error:
                    self.unforced_at = len(self.recorder.events)
                    done(None, error)
                else:
                    done(None, None)
        else:
            with contextlib.suppress(OSError) if self._disk is not None else contextlib.nullcontext():
                self._upkeep(broker.core)
        broker.advance(0.05)

    def _upkeep(self, core: Core) -> None:
        """What the broker does to its logs by itself."""
        partition = self._dice.choice([each for each in core.partitions if not each.log.closed])
        what = self._dice.randrange(4)
        if what == 0:
            core.partitions.upkeep.write_checkpoints()
        elif what == 1:
            core.partitions.upkeep.enforce_retention()
        elif what == 2 and partition.log.log_end_offset:
            partition.log.roll()
        elif partition.log.config.compact and len(partition.log.segments) > 1:
            with contextlib.suppress(CleaningAborted):
                clean_once(partition.log, None, core.clock.now_ms(), MapSize(1 << 20))


class Cuts:
    """Images of a recorded load, and what is wrong on them."""

    def __init__(self, recorded: Load, folder: Path, seed: int) -> None:
        self._recorded = recorded
        self._folder = folder
        self._dice = random.Random(seed)
        self.images = 0

    def check(self, cuts: Iterable[int], images: int) -> list[str]:
        """Cut power at these points, and look at so many images of each.

        Stops at the first that is wrong, which stays in the folder.
        """
        wanted = sorted(set(cuts))
        disk, events = CutDisk(self._recorded.recorder), self._recorded.recorder.events
        done = 0
        for cut in wanted:
            for event in events[done:cut]:
                disk.happen(event)
            done = cut
            for number in range(images):
                path = self._folder / "image"
                shutil.rmtree(self._folder, ignore_errors=True)
                self._folder.mkdir(parents=True)
                kept = KEPT[(self.images if images < len(KEPT) else number) % len(KEPT)]
                disk.write(path, self._dice, kept)
                self.images += 1
                problems = self._look(path, cut, again=self._dice.random() < 0.2)
                if problems:
                    return [f"cut at {cut} of {len(events)}, kept {kept}: {each}" for each in problems]
        return []

    def _look(self, path: Path, cut: int, *, again: bool) -> list[str]:
        recorder = Recorder(path)
        with recorder.recording():  # whose fsyncs cost nothing
            try:
                broker = DiskBroker(path, SETTINGS, fsync=self._recorded.fsync if again else "kafka")
            except KafkaToolsError as error:
                return [f"the broker does not start: {error}"]
            if again:  # power fails once more, while it starts
                broker.core.close(clean=False)
                return self._look(self._cut_again(path, recorder), cut, again=False)
            try:
                return Found(broker, self._recorded.history, cut).problems()
            finally:
                broker.core.close(clean=False)

    def _cut_again(self, path: Path, recorder: Recorder) -> Path:
        disk = CutDisk(recorder)
        for event in recorder.events[: self._dice.randrange(len(recorder.events) + 1)]:
            disk.happen(event)
        second = path.with_name(path.name + "-again")
        disk.write(second, self._dice, self._dice.choice(KEPT))
        return second


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
            *self._cluster(), *self._records(), *self._idempotence(), *self._keys(), *self._offsets(),
            *(problem for topic in (OLD, NEW) for problem in self._transactions(topic)),
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
        found += [f"{name} came back" for name in self._until("deleted") if name in topics]
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
        for (topic, number, offset), value in self._until("record"):
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


def refused(folder: Path, seed: int, kind: str, number: int, steps: int) -> list[str]:
    """What is wrong after a disk has refused its ``number``-th call of a kind, and then lost power."""
    disk = RefusingDisk(kind, number)
    made = recorded(folder / "load", seed, steps, disk=disk)
    found = []
    if made.unforced_at is not None and any(fact.at > made.unforced_at for fact in made.history.facts):
        found.append("something was acknowledged after an fsync had failed")
    found += Cuts(made, folder / "images", seed).check([len(made.recorder.events)], len(KEPT))
    return [f"seed {seed}, call {number} {kind}: {each}" for each in found]


def recorded(folder: Path, seed: int, steps: int, **options: Any) -> Load:
    """A load, recorded."""
    made = Load(folder, seed, **options)
    made.run(steps)
    return made
