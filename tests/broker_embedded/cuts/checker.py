"""The checker: a load is recorded, power is cut at points of the trace, and a broker is started on what may be left."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.slices import at_once
from kafka_tools.errors import KafkaToolsError
from kafka_tools.protocol.enums import INTERNAL_TOPICS
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.storage.cleaner.rounds import CleaningAborted, MapSize
from tests.broker_embedded.cuts import load
from tests.broker_embedded.cuts.clients import Turns
from tests.broker_embedded.cuts.found import Found
from tests.broker_embedded.cuts.images import CutDisk
from tests.broker_embedded.cuts.load import COMPACTED, NEW, OLD, PARTITIONS, TOPICS, History
from tests.broker_embedded.cuts.recording import Recorder
from tests.broker_embedded.cuts.refusals import RefusingDisk
from tests.broker_embedded.disk_broker import DiskBroker
from tests.storage.dirty_logs import clean_once

SETTINGS = {
    "offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2", "log.index.interval.bytes": "256",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS", "log.cleaner.enable": "false",
    # The cluster's state gets a snapshot after some changes, and what lies before it goes.
    "metadata.log.max.record.bytes.between.snapshots": "1500", "metadata.max.retention.bytes": "5000",
}  # fmt: skip
KEPT = (0.0, 1.0, 0.5, 0.1, 0.9)
"""How likely a change that was not forced survives, in one image and the next."""


class Load:
    """A broker under the load, recorded. Its fsyncs happen when the dice say so, and others come meanwhile.

    Where the disk refuses nothing it is started again twice, once after a kill and once after a regular stop.
    """

    def __init__(self, folder: Path, seed: int, *, fsync: str = "always", disk: RefusingDisk | None = None) -> None:
        """``disk``: one that refuses something once the topics are made."""
        self._disk = disk
        self.unforced_at: int | None = None
        """The point of the trace at which an fsync failed."""
        self._dice = random.Random(seed)
        self._rounds: list[tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]]] = []
        self._writes: list[tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]]] = []
        """Files that are to be replaced beside the broker's thread."""
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
            self._hold_rounds(core)
            clients = self._clients(broker, 0)
            starts = self._starts(steps) if self._disk is None else {}
            try:
                with self._disk.refusing() if self._disk is not None else contextlib.nullcontext():
                    for step in range(steps):
                        if step in starts:
                            self._start_again(broker, clients, kill=starts[step])
                            clients = self._clients(broker, step)
                        self._step(broker, clients)
                        while any(client.take() for client in clients):
                            pass
            finally:
                for client in clients:
                    client.stop()
                broker.core.close(clean=False)

    def _hold_rounds(self, core: Core) -> None:
        core.slices.disk = lambda function, done: self._writes.append((function, done))
        if core.group_commit is not None:
            core.group_commit.offload = lambda function, done: self._rounds.append((function, done))

    def _starts(self, steps: int) -> dict[int, bool]:
        """The steps before which the broker is started again, and whether it is killed then."""
        kills = self._dice.choice((True, False))
        return dict(zip(self._dice.sample(range(1, steps), 2), (kills, not kills), strict=True))

    def _start_again(self, broker: DiskBroker, clients: list[Turns], *, kill: bool) -> None:
        """What clients wait for stays in doubt. A regular stop lets the disk end its round, a kill does not."""
        for client in clients:
            client.stop()
        for function, _ in () if kill else (*self._rounds, *self._writes[:1]):
            function()
        self._rounds.clear()
        self._writes.clear()
        broker.core.slices.disk = at_once
        broker.restart(kill=kill)
        self._hold_rounds(broker.core)

    def _make(self, broker: DiskBroker, name: str) -> None:
        Topic = CreateTopicsRequest.CreatableTopic
        topic = Topic(name=name, num_partitions=PARTITIONS, replication_factor=1)
        if name == COMPACTED:
            topic.configs = [Topic.CreatableTopicConfig(name="cleanup.policy", value="compact")]
        assert broker.call(CreateTopicsRequest(topics=[topic]), 5).topics[0].error_code == 0
        self.history.add("made", name)

    def _clients(self, broker: DiskBroker, step: int) -> list[Turns]:
        """Clients that number what they do from ``step`` on: nothing is called as it was before a start."""
        history, first = self.history, step * 10_000
        works = [
            load.plain(history, "a", first), load.plain(history, "b", first), load.idempotent(history, first + 1),
            load.idempotent(history, first + 2), load.compacted(history, first),
            load.transactional(history, OLD, first, bumps=False), load.transactional(history, NEW, first, bumps=True),
            load.committer(history, first), load.reader(history), load.changes(history, first),
        ]  # fmt: skip
        refused = self._disk is not None
        return [
            Turns(broker, f"{self._seed} client {number}", work, may_be_refused=refused)
            for number, work in enumerate(works)
        ]

    def _step(self, broker: DiskBroker, clients: list[Turns]) -> None:
        what = self._dice.random()
        if what < 0.65:
            ready = [client for client in clients if client.may_send]
            if ready:
                self._dice.choice(ready).send()
        elif what < 0.90:
            if self._writes and (not self._rounds or self._dice.random() < 0.5):
                at_once(*self._writes.pop(0))
            elif self._rounds:
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
        there = [each for each in core.partitions if not each.log.closed]
        written = [each for each in there if each.log.log_end_offset and each.id.topic in {*TOPICS, *INTERNAL_TOPICS}]
        partition = self._dice.choice(written if written and self._dice.random() < 0.8 else there)
        what = self._dice.randrange(4)
        if what == 0:
            core.slices.later(core.partitions.upkeep.write_checkpoints(), _over)
        elif what == 1:
            core.slices.later(core.partitions.upkeep.enforce_retention(), _over)
        elif what == 2 and partition.log.log_end_offset:
            partition.log.roll()
        elif partition.log.config.compact and len(partition.log.segments) > 1:
            with contextlib.suppress(CleaningAborted):
                clean_once(partition.log, None, core.clock.now_ms(), MapSize(1 << 20))


def _over(_: object, error: BaseException | None) -> None:
    assert error is None


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
