"""A forked process leaves the broker and the clients of its parent alone, and holds nothing of theirs."""

from __future__ import annotations

import multiprocessing
import os
import select
import socket
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_tools.admin import AdminClient
from kafka_tools.admin.client import NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients import Consumer, Producer
from kafka_tools.errors import KafkaToolsError
from kafka_tools.values import TopicPartition

PATIENCE_S = 60.0


class Child:
    """A forked process that works when it is told to, and says what came of it."""

    def __init__(self, work: Callable[[], object]) -> None:
        said, to_say = os.pipe()
        waits, self._go = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads and fork: what this is about
            self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.read(waits, 1)
                os.write(to_say, repr(work()).encode())
                status = 0
            except BaseException:  # noqa: BLE001 - the parent shows it
                os.write(to_say, traceback.format_exc().encode())
            finally:
                os._exit(status)
        os.close(to_say)
        os.close(waits)
        self._said = said

    def go(self) -> str:
        """What it says before it ends."""
        os.write(self._go, b"g")
        poll = select.poll()  # select() knows no descriptors from 1024 on, and other tests may have many open
        poll.register(self._said, select.POLLIN)
        assert poll.poll(PATIENCE_S * 1000), "the child hangs"
        with open(self._said, "rb") as file:
            said = file.read().decode()
        os.close(self._go)
        _, status = os.waitpid(self.pid, 0)
        assert status == 0, said
        return said


def forked(work: Callable[[], object]) -> str:
    return Child(work).go()


def topics(broker: EmbeddedBroker) -> list[str]:
    with AdminClient(broker.bootstrap_servers) as admin:
        return [topic.name for topic in admin.list_topics()]


def create(broker: EmbeddedBroker, name: str) -> None:
    with AdminClient(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1)])


def error_of(call: Callable[[], object]) -> str:
    try:
        return f"no error: {call()!r}"
    except KafkaToolsError as error:
        return str(error)


@pytest.mark.parametrize("error", [SystemExit, ValueError], ids=["exit", "raise"])
def test_a_child_that_leaves_the_with_block_leaves_the_broker_running(error: type[BaseException]) -> None:
    with EmbeddedBroker() as broker:
        create(broker, "before")

        def leave() -> None:
            with pytest.raises(error):
                try:
                    raise error
                finally:
                    broker.__exit__(*sys.exc_info())

        forked(leave)
        data_dir = Path(broker.data_dir)
        assert data_dir.is_dir()
        create(broker, "after")
        assert topics(broker) == ["after", "before"]
    assert not data_dir.exists()


def test_a_child_that_lives_holds_neither_ports_nor_connections() -> None:
    broker = EmbeddedBroker().start()
    host, port = broker.bootstrap_servers.rsplit(":", 1)
    client = socket.create_connection((host, int(port)))
    create(broker, "kept")  # an answer: the connection before it was accepted
    child = Child(lambda: "lived")
    try:
        broker.restart(kill=True)
        client.settimeout(PATIENCE_S)
        assert client.recv(1) == b""
        assert topics(broker) == ["kept"]
        broker.stop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), PATIENCE_S)
    finally:
        child.go()
        client.close()
        broker.stop()


def test_the_copy_of_a_broker_in_a_child_says_whose_it_is() -> None:
    with EmbeddedBroker() as broker:
        calls = (
            broker.start,
            broker.restart,
            lambda: broker.call(lambda core: None),
            lambda: broker.advance(1.0),
            broker.faults.clear,
        )
        said = forked(lambda: sorted({error_of(call).replace(str(os.getpid()), "CHILD") for call in calls}))
        assert said == repr(
            [
                f"cannot use this broker in process CHILD: it belongs to process {os.getpid()}, which forked this one",
            ]
        )


def test_a_child_starts_what_the_parent_has_not_started_or_has_stopped(tmp_path: Path) -> None:
    unused = EmbeddedBroker()
    stopped = EmbeddedBroker(data_dir=tmp_path).start()
    create(stopped, "kept")
    child = Child(lambda: (topics(unused.start()), unused.stop(), topics(EmbeddedBroker(tmp_path).start())))
    stopped.stop()
    assert child.go() == "([], None, ['kept'])"


def test_a_process_of_multiprocessing_is_a_client_like_any_other() -> None:
    with EmbeddedBroker() as broker, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = multiprocessing.get_context("fork").Process(target=create, args=(broker, "theirs"))
        process.start()
        process.join(PATIENCE_S)
        assert (process.exitcode, topics(broker)) == (0, ["theirs"])


def test_clients_that_the_parent_connected_are_refused_in_a_child_and_work_on_in_the_parent() -> None:
    with EmbeddedBroker() as broker:
        create(broker, "t")
        address = broker.bootstrap_servers
        settings = {"bootstrap.servers": address, "group.id": "g", "auto.offset.reset": "earliest"}
        with AdminClient(address) as admin, Producer(address, linger_ms=600_000) as producer:
            consumer = Consumer(settings)
            consumer.subscribe(["t"])
            admin.list_topics()
            first = producer.send("t", b"once")
            while not consumer.assignment():
                consumer.poll(0.1)

            def use() -> list[str]:
                said = [
                    error_of(admin.list_topics),
                    error_of(lambda: producer.send("t", b"twice")),
                    error_of(producer.flush),
                    error_of(first.result),
                    error_of(lambda: producer.poll(0)),
                    error_of(lambda: producer.partitions_for("t")),
                    error_of(lambda: consumer.poll(0.1)),
                    error_of(consumer.commit),
                ]
                producer.close()
                consumer.close()
                admin.close()
                return sorted({each.replace(str(os.getpid()), "CHILD") for each in said})

            assert forked(use) == repr(
                [
                    f"cannot use this client in process CHILD: process {os.getpid()} opened its connections before it "
                    "forked"
                ]
            )
            producer.flush()
            assert first.result().offset == 0
            records = consumer.poll(PATIENCE_S)
            assert [record.value for record in records] == [b"once"]
            assert admin.describe_groups(["g"])["g"].get().state == "Stable"
            assert admin.list_offsets({TopicPartition("t", 0): -1})[TopicPartition("t", 0)].get().offset == 1
            consumer.close()


def test_clients_that_were_not_used_before_the_fork_are_the_childs() -> None:
    with EmbeddedBroker() as broker:
        create(broker, "t")
        with AdminClient(broker.bootstrap_servers) as admin, Producer(broker.bootstrap_servers) as producer:
            child = Child(
                lambda: (producer.send("t", b"childs").result().offset, [each.name for each in admin.list_topics()])
            )
            assert child.go() == "(0, ['t'])"
            assert producer.send("t", b"parents").result().offset == 1
