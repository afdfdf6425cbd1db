"""Clients and threads, over a real broker: who does the work, who may call what, and how everything ends."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer, ConsumerWokenUp
from kafka_tools.clients.producer import Producer
from kafka_tools.clients.producing.delivery import Delivery
from kafka_tools.clients.producing.reports import RecordsLost
from kafka_tools.clients.threads.background import Background
from kafka_tools.clients.threads.lock import ClientLock
from kafka_tools.clock import ManualClock, SystemClock
from kafka_tools.errors import KafkaToolsError
from kafka_tools.values import TopicPartition

T = TypeVar("T")
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def served() -> Iterator[EmbeddedBroker]:
    config = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}
    with EmbeddedBroker(config=config) as broker:
        yield broker


@pytest.fixture
def broker(served: EmbeddedBroker) -> Iterator[EmbeddedBroker]:
    yield served
    served.faults.clear()


@pytest.fixture
def address(broker: EmbeddedBroker) -> str:
    address = broker.bootstrap_servers
    return address


class Started:
    """A call in another thread."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self.found: object = None
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def _run(self, call: Callable[[], object]) -> None:
        try:
            self.found = call()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def join(self) -> BaseException | None:
        """Wait for its end, and return its error."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the call hangs"
        return self.error


def wait_until(happened: Callable[[], object], what: str) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < until_s, what
        time.sleep(0.002)


def background_of(client: Any) -> threading.Thread:
    thread = client._background._thread
    assert isinstance(thread, threading.Thread)
    return thread


# Who does the work


def test_a_record_leaves_and_its_callback_is_called_while_the_application_computes(address: str) -> None:
    told: list[tuple[object, str]] = []
    with Producer(address) as producer:
        producer.send(
            "t", b"1", on_delivery=lambda metadata, _: told.append((metadata, threading.current_thread().name))
        )
        wait_until(lambda: told, "nobody acknowledged the record")
    assert told[0][1] == "kafka-tools producer"


def test_heartbeats_go_on_while_the_application_computes(broker: EmbeddedBroker, address: str) -> None:
    settings = {"session_timeout_ms": 1000, "heartbeat_interval_ms": 20, "group_id": "g1"}
    with Consumer(address, auto_offset_reset="earliest", **settings) as consumer:
        consumer.subscribe(["t"])
        wait_until(lambda: consumer.poll(1.0) or consumer.assignment(), "no partition was assigned")
        with broker.faults.record("heartbeat", group="g1") as beats:
            wait_until(lambda: len(beats) >= 5, "no heartbeats come")


def test_a_client_at_rest_is_not_looked_at() -> None:
    """Its thread waits without a time limit: until somebody rings, nothing runs."""

    class Client:
        turns = 0
        wait_s = 0.0

        def keep_promises(self) -> float:
            self.turns += 1
            return background.sleeps_for(self.wait_s if self.turns == 1 else float("inf"))

    client = Client()
    lock = ClientLock("client")
    background = Background(client, lock, SystemClock(), enabled=True)
    background.expect(0.0)
    wait_until(lambda: client.turns == 2, "the thread does not work")
    background.expect(time.monotonic() + 1000.0)
    wait_until(lambda: client.turns == 3, "a promise does not wake the thread")
    background.end()
    wait_until(lambda: not background_of(type("C", (), {"_background": background})).is_alive(), "the thread goes on")
    assert client.turns == 3


def test_clients_with_nothing_to_do_have_no_thread_or_one_at_rest(address: str) -> None:
    with Consumer(address) as consumer, Producer(address) as producer:
        consumer.assign([TopicPartition("t", 0)])
        consumer.poll(0.01)
        assert consumer._background._thread is None
        assert producer._background._thread is None
        producer.send("t", b"1").result()
        wait_until(lambda: producer._background._wakes_at_s == float("inf"), "the thread does not rest")


def test_a_client_with_its_own_clock_has_no_thread(address: str) -> None:
    producer = Producer(address, clock=ManualClock())
    producer.send("t", b"1").result()
    assert producer._background._thread is None
    producer.close()


def test_an_unexpected_error_of_the_background_thread_fails_every_record_and_call(
    broker: EmbeddedBroker, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    producer = Producer(address)
    producer.send("t", b"1").result()
    held = broker.faults.hold("produce")
    told: list[tuple[object, object]] = []
    looked_at = producer.send("t", b"2")
    producer.send("t", b"3", on_delivery=lambda *about: told.append(about))
    producer.send("t", b"4")
    held.wait()

    def fail() -> float:
        raise ZeroDivisionError("nobody expected this")

    producer._upkeep.work = fail  # type: ignore[method-assign]
    wait_until(lambda: told, "the records do not fail")
    error = looked_at.error
    assert str(error) == "the background thread of the producer failed: ZeroDivisionError: nobody expected this"
    assert error is not None
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert told == [(None, error)]
    for call in (
        lambda: producer.send("t", b"5"),
        lambda: producer.send_many("t", [b"5"]),
        producer.flush,
        producer.poll,
    ):
        with pytest.raises(KafkaToolsError) as caught:
            call()
        assert caught.value is error
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]
    wait_until(lambda: not background_of(producer).is_alive(), "the thread goes on")
    producer.close()


def test_records_that_an_error_of_the_background_thread_lost_are_told_by_close(
    broker: EmbeddedBroker, address: str
) -> None:
    producer = Producer(address)
    producer.send("t", b"1").result()
    held = broker.faults.hold("produce")
    producer.send("t", b"2")
    held.wait()

    def leave() -> float:
        raise SystemExit("a callback wants to leave")

    producer._upkeep.work = leave  # type: ignore[method-assign]
    wait_until(lambda: not background_of(producer).is_alive(), "the thread goes on")
    with pytest.raises(RecordsLost, match=r"1 record was not delivered: the background thread .* failed: SystemExit"):
        producer.close()
    producer.close()


def test_an_unexpected_error_of_a_consumers_background_thread_is_raised_by_every_call(address: str) -> None:
    settings = {"session_timeout_ms": 1000, "heartbeat_interval_ms": 20, "group_id": "broken"}
    consumer = Consumer(address, **settings)
    consumer.subscribe(["t"])
    wait_until(lambda: consumer.poll(1.0) or consumer.assignment(), "no partition was assigned")

    def fail() -> float:
        raise ZeroDivisionError("nobody expected this")

    assert consumer._keep_alive is not None
    consumer._keep_alive.work = fail  # type: ignore[method-assign]
    wait_until(lambda: not background_of(consumer).is_alive(), "the thread goes on")
    for _ in range(2):
        with pytest.raises(KafkaToolsError, match="the background thread of the consumer failed: ZeroDivisionError"):
            consumer.poll(0.0)
    consumer.close()


# Callbacks


def test_one_callback_is_called_at_a_time(address: str) -> None:
    inside, leave = threading.Event(), threading.Event()
    order: list[str] = []

    def first(*_: object) -> None:
        inside.set()
        leave.wait(PATIENCE_S)
        order.append("first")

    with Producer(address) as producer:
        producer.send("t", b"1", on_delivery=first)
        assert inside.wait(PATIENCE_S), "the background thread does not call"
        producer.send("t", b"2", on_delivery=lambda *_: order.append("second")).result()
        assert order == [], "two callbacks at the same time"
        leave.set()
    assert order == ["first", "second"]


@pytest.mark.parametrize("name", ["flush", "close"])
def test_flush_and_close_wait_for_the_callbacks_of_another_thread(address: str, name: str) -> None:
    inside, ended = threading.Event(), threading.Event()
    order: list[str] = []

    def callback(*_: object) -> None:
        inside.set()
        ended.wait(0.2)  # a call that does not wait is over by then
        order.append("callback")

    def call() -> None:
        getattr(producer, name)()
        order.append(name)
        ended.set()

    with Producer(address) as producer:
        producer.send("t", b"1", on_delivery=callback)
        assert inside.wait(PATIENCE_S), "the background thread does not call"
        assert Started(call).join() is None
        assert order == ["callback", name]
        if name == "flush":
            assert producer.send("t", b"2").result().offset > 0  # the lock is free


# Several threads


def test_records_of_several_threads_arrive_once_and_in_their_order(address: str) -> None:
    count, names = 300, ("a", "b", "c", "d")
    with Producer(address, linger_ms=1, batch_size=500) as producer:

        def send(name: str) -> list[Delivery]:
            sent = []
            for number in range(count):
                sent.append(producer.send("many", f"{name}{number}".encode(), partition=0))
                if number % 100 == 0:
                    producer.flush()
                if number % 70 == 0:
                    sent[-1].result()
            return sent

        started = [Started(lambda name=name: send(name)) for name in names]  # type: ignore[misc]
        assert [each.join() for each in started] == [None] * len(names)
    with Consumer(address) as consumer:
        consumer.assign([TopicPartition("many", 0)])
        consumer.seek_to_beginning()
        found: list[str] = []
        while len(found) < count * len(names):
            found += [(record.value or b"").decode() for record in consumer.poll(PATIENCE_S)]
    for name in names:
        assert [value for value in found if value[0] == name] == [f"{name}{number}" for number in range(count)]


def test_a_second_thread_in_a_consumer_is_refused(address: str) -> None:
    with Consumer(address) as consumer:
        consumer.assign([TopicPartition("t", 0)])
        consumer.seek_to_end()
        polls = Started(lambda: consumer.poll(PATIENCE_S))
        wait_until(lambda: consumer.use.by_another_thread, "the thread does not poll")
        with pytest.raises(KafkaToolsError, match="another thread is in a call of it") as caught:
            consumer.position(TopicPartition("t", 0))
        assert caught.value.hint is not None
        consumer.wakeup()
        assert isinstance(polls.join(), ConsumerWokenUp)
        assert consumer.poll(0.0) == []


def test_wakeup_ends_a_poll_that_waits_for_nothing(address: str) -> None:
    with Consumer(address) as consumer:
        consumer.assign([TopicPartition("t", 0)])
        consumer.pause([TopicPartition("t", 0)])
        consumer.seek(TopicPartition("t", 0), 0)
        polls = Started(lambda: consumer.poll(10 * PATIENCE_S))
        wait_until(lambda: consumer.use.by_another_thread, "the thread does not poll")
        consumer.wakeup()
        assert isinstance(polls.join(), ConsumerWokenUp)


# Ends


def test_close_ends_in_time_though_a_flush_of_another_thread_waits(broker: EmbeddedBroker, address: str) -> None:
    producer = Producer(address)
    producer.send("t", b"1").result()
    held = broker.faults.hold("produce")
    delivery = producer.send("t", b"2")
    flushes, waits = Started(producer.flush), Started(delivery.result)
    held.wait()
    with pytest.raises(RecordsLost, match="1 record was not delivered: Producer is closed forcefully"):
        producer.close(0.05)
    assert [type(error) for error in (flushes.join(), waits.join())] == [KafkaToolsError] * 2
    assert "the producer was closed while this call was in progress" in {str(flushes.error), str(waits.error)}
    assert str(delivery.error) == "Producer is closed forcefully."
    wait_until(lambda: not background_of(producer).is_alive(), "the thread goes on")
    with pytest.raises(KafkaToolsError, match="after producer has been closed"):
        producer.send("t", b"3")


def test_a_send_that_waits_for_metadata_ends_when_another_thread_closes(broker: EmbeddedBroker, address: str) -> None:
    producer = Producer(address, max_block_ms=600_000)
    producer.send("t", b"1").result()
    never = broker.faults.error("metadata", "LEADER_NOT_AVAILABLE", topic="never", times=1_000_000)
    sends = Started(lambda: producer.send("never", b"1"))
    never.wait()
    producer.close()
    assert "closed" in str(sends.join())


def test_a_consumer_is_closed_while_another_thread_polls(address: str) -> None:
    consumer = Consumer(address, group_id="g2")
    consumer.subscribe(["t"])
    polls = Started(lambda: [consumer.poll(PATIENCE_S) for _ in range(100)])
    wait_until(lambda: consumer.use.by_another_thread, "the thread does not poll")
    consumer.close()
    assert "closed" in str(polls.join())
    with pytest.raises(KafkaToolsError, match="already been closed"):
        consumer.poll(0.0)


def test_a_consumer_is_closed_in_time_while_a_listener_of_another_thread_hangs(address: str) -> None:
    consumer = Consumer(address, group_id="g3")
    inside, leave = threading.Event(), threading.Event()

    def hang(_: object) -> None:
        inside.set()
        leave.wait(PATIENCE_S)

    consumer.subscribe(["t"], on_assigned=hang)
    polls = Started(lambda: [consumer.poll(PATIENCE_S) for _ in range(100)])
    assert inside.wait(PATIENCE_S)
    consumer.close(0.05)
    leave.set()
    assert isinstance(polls.join(), KafkaToolsError)


class Interrupted(Exception):
    """Raised by a signal handler, as Ctrl-C raises KeyboardInterrupt."""


def interrupted(call: Callable[[], object], ready: Callable[[], object], handler: Callable[[], object]) -> object:
    """Call ``call``, with a signal once ``ready()``."""

    def handle(*_: object) -> None:
        handler()

    def kill() -> None:
        ready()
        time.sleep(0.02)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handle)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        return call()
    finally:
        killer.join()
        signal.signal(signal.SIGUSR1, before)


def test_an_interrupted_flush_loses_nothing(broker: EmbeddedBroker, address: str) -> None:
    def interrupt() -> None:
        raise Interrupted

    with Producer(address) as producer:
        producer.send("t", b"1").result()
        held = broker.faults.hold("produce")
        delivery = producer.send("t", b"2")
        with pytest.raises(Interrupted):
            interrupted(producer.flush, held.wait, interrupt)
        assert not delivery.done
        held.release()
        assert delivery.result(PATIENCE_S).offset >= 0


def test_a_signal_handler_may_wake_a_consumer_up_and_close_a_client_that_waits(
    broker: EmbeddedBroker, address: str
) -> None:
    with Consumer(address) as consumer:
        consumer.assign([TopicPartition("t", 0)])
        consumer.seek_to_end()
        with pytest.raises(ConsumerWokenUp):
            interrupted(lambda: consumer.poll(PATIENCE_S), lambda: None, consumer.wakeup)
    producer = Producer(address, on_failure=lambda *_: None)
    producer.send("t", b"1").result()
    held = broker.faults.hold("produce")
    producer.send("t", b"2")
    with pytest.raises(KafkaToolsError, match="closed"):
        interrupted(producer.flush, held.wait, lambda: producer.close(0.0))


def test_a_call_in_the_middle_of_another_one_of_its_thread_is_refused(address: str) -> None:
    with Producer(address) as producer:
        with producer._lock, pytest.raises(KafkaToolsError, match="a signal handler or finalizer interrupted a call"):
            producer.send("t", b"1")
        producer.send("t", b"1").result()


@pytest.mark.parametrize("kind", ["producer", "consumer"])
def test_a_lost_reference_ends_the_thread_with_a_warning(address: str, kind: str) -> None:
    clients: list[Any] = []
    if kind == "producer":
        clients.append(Producer(address))
        clients[0].send("t", b"1").result()
    else:
        clients.append(Consumer(address, group_id="g4", heartbeat_interval_ms=20, session_timeout_ms=1000))
        clients[0].subscribe(["t"])
        wait_until(lambda: clients[0].poll(1.0) or clients[0].assignment(), "no partition was assigned")
        wait_until(lambda: clients[0]._background._thread, "there is no thread")
    thread = background_of(clients[0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clients.clear()
        wait_until(lambda: gc.collect() is not None and not thread.is_alive(), "the thread goes on")
    assert f"a {kind} was not closed before its last reference was lost" in [str(each.message) for each in caught]


def test_records_that_a_lost_producer_had_not_sent_are_counted(address: str) -> None:
    producer = Producer(address, linger_ms=600_000, delivery_timeout_ms=1_000_000)
    producer.send("t", b"1").result()
    for _ in range(3):
        producer.send("t", b"2")
    with pytest.warns(RuntimeWarning, match="its last reference was lost: 3 records were not acknowledged"):
        del producer
        gc.collect()


def test_a_program_that_closes_nothing_ends_and_says_what_it_lost(broker: EmbeddedBroker, address: str) -> None:
    with broker.faults.hold("produce", topic="held"):
        code = (
            "import sys\n"
            "from kafka_tools.clients import Consumer, Producer\n"
            "consumer = Consumer(sys.argv[1], group_id='g5')\n"
            "consumer.subscribe(['t'])\n"
            "consumer.poll(0.5)\n"
            "producer = Producer(sys.argv[1])\n"
            "producer.send('t', b'1').result()\n"
            "producer.send('held', b'1')\n"
            "producer.poll(0.1)\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", code, address], capture_output=True, encoding="utf-8", timeout=PATIENCE_S
        )
    assert ended.returncode == 0
    assert "a producer was not closed before the interpreter ended: 1 record was not acknowledged" in ended.stderr


def test_a_forked_child_refuses_its_copy_though_the_parent_held_the_lock(address: str) -> None:
    producer = Producer(address)
    producer.send("t", b"1").result()
    holds, release = threading.Event(), threading.Event()

    def hold() -> None:
        with producer._lock:
            holds.set()
            release.wait(PATIENCE_S)

    holder = Started(hold)
    assert holds.wait(PATIENCE_S)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            producer.send("t", b"2")
        except KafkaToolsError as error:
            status = 0 if "before it forked" in str(error) else 2
        os._exit(status)
    wait_until(lambda: os.waitpid(child, os.WNOHANG) != (0, 0), "the child hangs")
    release.set()
    holder.join()
    producer.send("t", b"3").result()
    producer.close()


def test_a_client_that_the_parent_never_used_works_in_a_child(address: str) -> None:
    producer = Producer(address)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        told: list[object] = []
        producer.send("t", b"2", on_delivery=lambda *_: told.append(1))
        until_s = time.monotonic() + PATIENCE_S
        while not told and time.monotonic() < until_s:
            time.sleep(0.002)
        os._exit(0 if told else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    producer.close()
