"""Transactional producers: a transaction is there whole or not at all, as it was said to have ended."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException, Producer

from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_tools.protocol.schema import Request, Struct
from kafka_tools.records.build import build_batch
from tests.broker_embedded.kills.load import END_S, Load, Place, in_order
from tests.broker_embedded.transactional_client import Client
from tests.broker_embedded.wire_client import WireClient

COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"
TIMEOUT_MS = 15_000
"""Of transactions: those of a producer that is gone are aborted by the broker after this."""
CALL_S = 10.0
"""Of one call of librdkafka, which is repeated while the client says that it may be."""
MOST_IN_ONE_PARTITION = 6


class Transactions(Load):
    """One producer at a time. Each of its transactions writes some records to every partition of a topic."""

    def __init__(self, address: str, seed: str, topic: str, partitions: int) -> None:
        super().__init__(address, seed)
        self.topic = topic
        self.outcomes: list[str] = []
        self.sizes: list[list[int]] = []
        self._partitions = partitions
        self._ids = 0

    @property
    def id(self) -> str:
        """Of the producer at work; one that dies can leave its id behind for good."""
        return f"id-of-{self.topic}-{self._ids}"

    def counts(self) -> str:
        ended = Counter(self.outcomes)
        return f"{self.topic}: " + ", ".join(f"{ended[each]} {each}" for each in (COMMITTED, ABORTED, UNKNOWN))

    def work(self) -> None:
        while not self.stopping.is_set():
            number = len(self.outcomes)
            sizes = [self.dice.randrange(1, MOST_IN_ONE_PARTITION) for _ in range(self._partitions)]
            with self.lock:
                self.outcomes.append(UNKNOWN)
                self.sizes.append(sizes)
            wanted = self.dice.choices([COMMITTED, ABORTED, UNKNOWN], [80, 17, 3])[0]
            outcome = self.transact(number, sizes, wanted)
            with self.lock:
                self.outcomes[number] = outcome
            if outcome == UNKNOWN:  # the next producer of its id ends it, or in time the broker
                self.forget()
                self._ids += wanted == UNKNOWN and self.dice.random() < 0.1
        self.end_open()

    @abstractmethod
    def transact(self, number: int, sizes: list[int], wanted: str) -> str:
        """Write one transaction and end it as ``wanted``, or not at all. What was acknowledged of its end."""

    @abstractmethod
    def forget(self) -> None:
        """Go on as a new producer."""

    @abstractmethod
    def end_open(self) -> None:
        """End what the last producer has left open."""

    def problems(self, visible: dict[Place, bytes]) -> list[str]:
        """What is wrong with what read_committed shows at the end."""
        found: list[str] = []
        seen: list[dict[int, list[int]]] = [{} for _ in range(self._partitions)]
        for (topic, partition), records in in_order(visible).items():
            order: list[int] = []
            for _, value in records:
                number, at = map(int, value.split())
                seen[partition].setdefault(number, []).append(at)
                order.append(number)
            if order != sorted(order):
                found.append(f"{topic}-{partition}: transactions are out of order")
        for number, (outcome, sizes) in enumerate(zip(self.outcomes, self.sizes, strict=True)):
            shown = [of.get(number, []) for of in seen]
            whole = [list(range(size)) for size in sizes]
            if outcome == COMMITTED and shown != whole:
                found.append(f"{self.topic}: transaction {number} was committed as {whole}, and {shown} is there")
            if outcome == ABORTED and any(shown):
                found.append(f"{self.topic}: transaction {number} was aborted, and {shown} is there")
            if outcome == UNKNOWN and any(shown) and shown != whole:
                found.append(f"{self.topic}: of transaction {number} {shown} is there, of {whole}")
        return found


class LastWords(logging.Handler):
    """The last lines that a client has logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=150)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{time.monotonic():.1f} s: {record.getMessage()}")


class ForeignTransactions(Transactions):
    """With librdkafka."""

    _producer: Producer | None = None

    def __init__(self, address: str, seed: str, topic: str, partitions: int) -> None:
        super().__init__(address, seed, topic, partitions)
        self._last_words = LastWords()
        self._logger = logging.getLogger(f"kills of {topic}")
        self._logger.propagate = False
        self._logger.setLevel(logging.DEBUG)
        self._logger.addHandler(self._last_words)

    def forget(self) -> None:
        self._producer = None

    def end_open(self) -> None:
        self.forget()
        self._ready()

    def transact(self, number: int, sizes: list[int], wanted: str) -> str:
        try:
            producer = self._ready()
            producer.begin_transaction()
        except KafkaException:
            return UNKNOWN
        try:
            for partition, size in enumerate(sizes):
                for at in range(size):
                    producer.produce(self.topic, b"%d %d" % (number, at), partition=partition)
                producer.poll(self.dice.random() * 0.005)
            if wanted == UNKNOWN:
                producer.flush(0.05)
            elif wanted == COMMITTED:
                self._again(lambda: producer.commit_transaction(CALL_S))
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                return UNKNOWN
            wanted = ABORTED
        if wanted == ABORTED:
            try:
                self._again(lambda: producer.abort_transaction(CALL_S))
            except KafkaException:
                return UNKNOWN
        return wanted

    def _ready(self) -> Producer:
        if self._producer is None:
            settings = self.settings(transactional_id=self.id, transaction_timeout_ms=TIMEOUT_MS, linger_ms=1)
            logged = {"debug": "eos", "logger": self._logger}
            made = Producer({**settings, **logged, "message.timeout.ms": TIMEOUT_MS})
            self._again(lambda: made.init_transactions(CALL_S))
            self._producer = made
        return self._producer

    def _again(self, call: Callable[[], object]) -> None:
        """Until it is done: whether it can be said again is librdkafka's word."""
        said = []
        for _ in range(20):
            try:
                call()
                return
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise
                said.append(f"{time.monotonic():.1f} s: {error.args[0].str()}")
        said += ["The broker:", self._described(), "librdkafka:", *self._last_words.lines]
        raise AssertionError("\n".join([f"{self.id} is asked to try again for ever:", *said]))

    def _described(self) -> str:
        """What the broker knows of the producer, if it is there."""
        try:
            with WireClient(self._address) as client:
                return repr(client.call(DescribeTransactionsRequest(transactional_ids=[self.id]), 0))
        except OSError as error:
            return str(error)


class Refused(Exception):
    """The broker has said that this producer cannot go on."""


class Wire:
    """Requests that are repeated, as clients do, until they are answered."""

    AGAIN = frozenset(
        {
            error_codes.CONCURRENT_TRANSACTIONS,
            error_codes.COORDINATOR_NOT_AVAILABLE,
            error_codes.COORDINATOR_LOAD_IN_PROGRESS,
            error_codes.NOT_COORDINATOR,
            error_codes.NOT_LEADER_OR_FOLLOWER,
        }
    )

    def __init__(self, address: str) -> None:
        self._address = address
        self._client: WireClient | None = None

    def batch(self, *values: bytes, **fields: Any) -> bytes:
        """A batch of records with these values."""
        now_ms = int(time.time() * 1000)
        return build_batch([(now_ms, b"key", value, ()) for value in values], **fields)

    def call(self, request: Request, version: int) -> Any:
        """The answer. Refused for an error that repeating does not mend; AssertionError if none comes at all."""
        end = time.monotonic() + END_S
        said: Counter[str] = Counter()
        while time.monotonic() < end:
            try:
                self._client = self._client or WireClient(self._address)
                answer = self._client.call(request, version)
            except OSError as error:
                said[type(error).__name__] += 1
                self._client = None
                time.sleep(0.01)
                continue
            codes = set(_codes(answer)) - {error_codes.NONE, error_codes.DUPLICATE_SEQUENCE_NUMBER}
            if not codes:
                return answer
            if not codes <= self.AGAIN:
                raise Refused(f"{type(request).__name__}: {[error_codes.error(code).name for code in codes]}")
            said.update(error_codes.error(code).name for code in codes)
            time.sleep(0.02)
        raise AssertionError(f"no answer within {END_S:.0f} s but {dict(said)}: {request}")


def _codes(answer: Struct) -> list[int]:
    """Every error code in an answer."""
    found: list[int] = []
    for field in answer.FIELDS:
        value = getattr(answer, field.name)
        if field.name.endswith("error_code"):
            found.append(value)
        for each in value if isinstance(value, list) else ():
            if isinstance(each, Struct):
                found += _codes(each)
    return found


class WireTransactions(Transactions):
    """Request by request, as clients of either version of transactions; the offsets of a group are part of each."""

    def __init__(self, address: str, seed: str, topic: str, partitions: int, *, bumps: bool) -> None:
        super().__init__(address, seed, topic, partitions)
        self.group = f"group-of-{topic}"
        self._wire = Wire(address)
        self._bumps = bumps
        self._client: Client | None = None
        self.refusals: list[str] = []

    def forget(self) -> None:
        self._client = None

    def end_open(self) -> None:
        self.forget()
        self._ready()

    def transact(self, number: int, sizes: list[int], wanted: str) -> str:
        try:
            client = self._ready()
            if not self._bumps:
                client.add(*range(self._partitions), topic=self.topic)
                client.add_offsets(self.group)
            for partition, size in enumerate(sizes):
                values = [b"%d %d" % (number, at) for at in range(size)]
                client.produce(*values, partition=partition, topic=self.topic)
            client.commit_offset(number + 1, version=5 if self._bumps else 3, group=self.group)
            if wanted != UNKNOWN:
                client.end(wanted == COMMITTED)
        except Refused as refusal:
            self.refusals.append(str(refusal))
            return UNKNOWN
        return wanted

    def _ready(self) -> Client:
        if self._client is None:
            made = Client(self._wire, self.id, bumps=self._bumps, timeout_ms=TIMEOUT_MS)
            made.init()
            self._client = made
        return self._client

    def least_committed(self) -> int:
        """The offset that the group must have committed at least, from what was acknowledged so far."""
        with self.lock:
            return max((at + 1 for at, outcome in enumerate(self.outcomes) if outcome == COMMITTED), default=0)

    def offset_problems(self, visible: dict[Place, bytes], committed: int) -> list[str]:
        """What is wrong with the offset that the group has, beside the transactions that are there."""
        last = max((int(value.split()[0]) for value in visible.values()), default=-1)
        if committed == last + 1:
            return []
        return [f"{self.group}: the offset is {committed}, and {last} is the last committed transaction"]
