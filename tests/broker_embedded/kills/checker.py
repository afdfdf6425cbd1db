"""The checker: loads of every kind at once, the broker killed under them again and again, and what must then hold."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.broker_embedded.kills import asked
from tests.broker_embedded.kills.cluster_state import ClusterChanges
from tests.broker_embedded.kills.killed_broker import KilledBroker
from tests.broker_embedded.kills.load import END_S, At, Load, Place
from tests.broker_embedded.kills.producers import Produced
from tests.broker_embedded.kills.readers import CommittedReader, GroupLedger, GroupMember
from tests.broker_embedded.kills.transactions import ForeignTransactions, Transactions, WireTransactions
from tests.broker_embedded.wire_client import WireClient

PARTITIONS = 3
SETTINGS = {
    "log.segment.bytes": "1048576", "log.index.interval.bytes": "512", "group.initial.rebalance.delay.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500", "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4", "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000", "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "100", "group.consumer.heartbeat.interval.ms": "300",
    "metadata.log.max.record.bytes.between.snapshots": "4000", "metadata.max.retention.bytes": "20000",
}  # fmt: skip
LONGEST_LIFE_S = 1.5
CALM, CALM_LIFE_S = 0.1, 6.0
"""So many of its lives are long, and begin once all is loaded: librdkafka's producers need seconds to find their
coordinator again."""
REPORTED_AFTER = 20
"""Kills between two reports; then the broker lives for a while."""
FORGOTTEN_AFTER_S = 8.0
"""Longer than a member's session, which begins anew with each start: who left while the broker was away is put out."""
KILLED_AT_START = 0.15
"""So many of the starts do not come to their end."""


class Checker:
    """A broker, the loads on it, and what it must hold. ``say`` gets a line now and then."""

    def __init__(
        self, folder: Path, seed: int, say: Callable[[str], None] = lambda _: None, *, fsync: str = "kafka"
    ) -> None:
        self._dice = random.Random(seed)
        self._say = say
        self.kills = 0
        self._last_producer_id = -1
        self.broker = KilledBroker(folder, SETTINGS, fsync)
        address = self.broker.address
        self.plain = Produced(address, f"{seed} plain", "plain", PARTITIONS, idempotent=False)
        self.idempotent = Produced(address, f"{seed} idempotent", "idempotent", PARTITIONS, idempotent=True)
        self.wire = [
            WireTransactions(address, f"{seed} version {at}", f"transactions-{at}", PARTITIONS, bumps=at == 2)
            for at in (1, 2)
        ]
        foreign = ForeignTransactions(address, f"{seed} foreign", "transactions-foreign", PARTITIONS)
        self.transactions: list[Transactions] = [*self.wire, foreign]
        topics = [self.plain.topic, self.idempotent.topic]
        self.groups = {protocol: GroupLedger(f"readers of {protocol}") for protocol in ("classic", "consumer")}
        members: list[Load] = [
            GroupMember(address, f"{seed} {protocol} member {at}", protocol, topics, ledger, instance)
            for protocol, ledger in self.groups.items()
            for at, instance in enumerate(("always the same", None))
        ]
        followed = [(each.topic, partition) for each in self.transactions for partition in range(PARTITIONS)]
        self.reader = CommittedReader(address, f"{seed} reader", followed)
        self.changes = ClusterChanges(address, f"{seed} changes")
        self.writers: list[Load] = [self.plain, self.idempotent, *self.transactions, self.changes]
        self.readers: list[Load] = [*members, self.reader]

    def __enter__(self) -> Checker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (*self.writers, *self.readers):
            each.stopping.set()
        self.broker.close()

    def run(self, kills: int) -> list[str]:
        """Every problem found after so many kills, and at each of them. AssertionError if a load or a start fails."""
        self.broker.spawn()
        self.broker.wait_until_ready()
        self._make_topics()
        for load in (*self.writers, *self.readers):
            load.start()
        reported = 0
        while self.kills < kills:
            longest_s = LONGEST_LIFE_S
            if self._dice.random() < CALM:
                longest_s = CALM_LIFE_S
                asked.until_loaded(self.broker.address)
            time.sleep(self._dice.random() ** 2 * longest_s)
            problems = self._kill()
            for load in (*self.writers, *self.readers):
                load.check_alive()
            if problems:
                return problems
            if self.kills >= reported + REPORTED_AFTER:
                reported = self.kills
                self._say(f"{self.kills} kills; " + "; ".join(self.lines()))
                time.sleep(FORGOTTEN_AFTER_S)
        return self._final()

    def lines(self) -> list[str]:
        """What was acknowledged."""
        return list(dict.fromkeys(load.counts() for load in (*self.writers, *self.readers)))

    def _make_topics(self) -> None:
        names = [
            self.plain.topic,
            self.idempotent.topic,
            *(each.topic for each in self.transactions),
            "static",
            "t",
        ]
        New = CreateTopicsRequest.CreatableTopic
        wanted = [New(name=name, num_partitions=PARTITIONS, replication_factor=1) for name in names]
        with WireClient(self.broker.address) as client:
            made = client.call(CreateTopicsRequest(topics=wanted), 5)
        assert not [topic for topic in made.topics if topic.error_code]

    def _kill(self) -> list[str]:
        self.broker.end()
        self.kills += 1
        while self._dice.random() < KILLED_AT_START:
            self.broker.spawn()
            time.sleep(self._dice.random() * 0.8)
            self.broker.end()
            self.kills += 1
        ends = {**self.plain.ends(), **self.idempotent.ends()}
        commits = {each.group: each.least_committed() for each in self.groups.values()}
        commits |= {each.group: {("t", 0): each.least_committed()} for each in self.wire}
        self.broker.spawn()
        self.broker.wait_until_ready()
        return self._after_start(ends, commits)

    def _after_start(self, ends: dict[At, int], commits: dict[str, dict[At, int]]) -> list[str]:
        """What must hold as soon as the broker serves."""
        problems = [
            f"kill {self.kills}: the end of {at} is {end}, and {ends[at]} was acknowledged"
            for at, end in asked.ends(self.broker.address, ends).items()
            if end < ends[at]
        ]
        for group, offsets in asked.committed(self.broker.address, commits).items():
            problems += [
                f"kill {self.kills}: {group} has {offsets.get(at, 0)} for {at}, and {least} was acknowledged"
                for at, least in (commits[group] if offsets is not None else {}).items()
                if offsets is not None and offsets.get(at, 0) < least
            ]
        with WireClient(self.broker.address) as client:
            given = client.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
        if given.error_code or given.producer_id <= self._last_producer_id:
            problems.append(f"kill {self.kills}: the producer id {given.producer_id} was given again: {given}")
        self._last_producer_id = given.producer_id
        return problems

    def _final(self) -> list[str]:
        """What must hold in the end: everything that stands in the logs, beside everything that was acknowledged."""
        for load in self.writers:
            load.stopping.set()
        for load in self.writers:
            load.finish()
        topics = [self.plain.topic, self.idempotent.topic]
        produced = {place: value for topic in topics for place, value in self._all(topic, "read_uncommitted").items()}
        visible = {each.topic: self._all(each.topic, "read_committed") for each in self.transactions}
        shown = {place: value for each in visible.values() for place, value in each.items()}
        for readers in self.groups.values():
            values = readers.seen.values
            self._until(
                lambda seen=values: produced.keys() <= seen.keys(),
                f"{readers.group} read everything",
                lambda seen=values: len(seen),
            )
        values = self.reader.seen.values
        self._until(lambda: shown.keys() <= values.keys(), "read_committed shows everything", lambda: len(values))
        for load in self.readers:
            load.finish()
        problems = self.plain.problems(produced) + self.idempotent.problems(produced) + self.reader.problems(shown)
        groups = [each.group for each in (*self.groups.values(), *self.wire)]
        self._until(lambda: None not in asked.committed(self.broker.address, groups).values(), "transactions end")
        committed = {group: offsets or {} for group, offsets in asked.committed(self.broker.address, groups).items()}
        for readers in self.groups.values():
            problems += readers.problems(committed[readers.group], produced)
        for each in self.transactions:
            problems += each.problems(visible[each.topic])
        for group_of in self.wire:
            offset = committed[group_of.group].get(("t", 0), 0)
            problems += group_of.offset_problems(visible[group_of.topic], offset)
        return problems + self.changes.problems()

    def _until(self, true: Callable[[], bool], what: str, progress: Callable[[], int] = lambda: 0) -> None:
        """``progress`` grows as long as it goes on: millions of records take as long as they take."""
        reached, end = progress(), time.monotonic() + END_S
        while not true():
            if progress() > reached:
                reached, end = progress(), time.monotonic() + END_S
            assert time.monotonic() < end, f"not within {END_S:.0f} s: {what}"
            time.sleep(0.1)

    def _all(self, topic: str, isolation: str) -> dict[Place, bytes]:
        """Every record of a topic that nobody writes to any more."""
        ends = asked.ends(self.broker.address, [(topic, partition) for partition in range(PARTITIONS)])
        client = Consumer(self.reader.settings(group_id="unused", isolation_level=isolation, enable_auto_commit=False))
        found: dict[Place, bytes] = {}
        client.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for _, partition in ends])

        def read_to_the_end() -> bool:
            for message in client.consume(20_000, 0.2):
                if message.error() is None:
                    found[message.topic(), message.partition(), message.offset()] = message.value()
            return all(at.offset >= ends[at.topic, at.partition] for at in client.position(client.assignment()))

        self._until(read_to_the_end, f"{isolation} shows {topic} to its end", lambda: len(found))
        client.close()
        return found
