"""Reaching nobody: what is known at once is said at once. These tests would take an hour, were it waited for."""

from __future__ import annotations

import socket

import pytest

from kafka_tools.errors import StoreError
from kafka_tools.zookeeper.store import ZooKeeperSettings, open_store

HOUR_S = 3600.0


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def refused(connect: str, **settings: object) -> str:
    with pytest.raises(StoreError) as caught, open_store(ZooKeeperSettings(connect, HOUR_S)._replace(**settings)):
        pytest.fail("there is nobody")
    return str(caught.value)


def test_a_refused_connection_is_told_at_once() -> None:
    port = closed_port()
    assert refused(f"127.0.0.1:{port}/kafka") == (
        f"cannot reach a ZooKeeper server at 127.0.0.1:{port}: 127.0.0.1:{port}: connection refused"
    )


def test_every_server_is_tried_and_each_reason_told() -> None:
    first, second = closed_port(), closed_port()
    said = refused(f"127.0.0.1:{first},127.0.0.1:{second}")
    assert f"127.0.0.1:{first}: connection refused" in said and f"127.0.0.1:{second}: connection refused" in said


def test_a_name_without_an_address_is_told_at_once() -> None:
    assert "no.such.host.invalid: " in refused("no.such.host.invalid:2181,other.host.invalid:2181")


def test_a_server_that_does_not_speak_tls_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        from threading import Thread

        def answer() -> None:
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                peer.sendall(b"this is not TLS at all\n")
                peer.close()

        Thread(target=answer, daemon=True).start()
        said = refused(f"127.0.0.1:{listener.getsockname()[1]}", tls=True)
    assert "cannot reach a ZooKeeper server" in said


def test_a_server_that_says_nothing_is_given_up_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        said = refused(f"127.0.0.1:{listener.getsockname()[1]}", timeout_s=1.0)
    assert "no ZooKeeper server answered at" in said and "in 1 s" in said
