"""Connections that come while the broker is busy with something else."""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import socket
from pathlib import Path

import pytest

from kafka_tools.broker_embedded.listeners.accepting import Acceptor, ended

MANY = 700
SYSTEM_ALLOWS = Path("/proc/sys/net/core/somaxconn")


@pytest.mark.skipif(
    not SYSTEM_ALLOWS.exists() or int(SYSTEM_ALLOWS.read_text()) <= MANY, reason="the system keeps fewer waiting"
)
def test_all_who_come_at_once_are_let_in_line_although_nobody_accepts() -> None:
    """One that the system has no place for is connected only when it tries again, a second later or more."""
    loop = asyncio.new_event_loop()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    acceptor = Acceptor(loop, listening, asyncio.Protocol, "PLAINTEXT")
    clients: list[socket.socket] = []
    with contextlib.ExitStack() as stack:
        stack.callback(loop.close)
        acceptor.start()
        stack.callback(acceptor.close)
        for _ in range(MANY):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listening.getsockname())
            clients.append(client)
        # On loopback connect() itself does all there is to do: who is not connected now has been turned away.
        with selectors.DefaultSelector() as selector:
            for client in clients:
                selector.register(client, selectors.EVENT_WRITE)
            assert len(selector.select(0)) == MANY


def test_nobody_is_taken_while_somebody_waits_at_the_door() -> None:
    loop = asyncio.new_event_loop()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    taken: list[asyncio.BaseProtocol] = []

    def make() -> asyncio.BaseProtocol:
        taken.append(asyncio.Protocol())
        return taken[-1]

    waits = True
    acceptor = Acceptor(loop, listening, make, "PLAINTEXT", lambda: not waits)
    with contextlib.ExitStack() as stack:
        stack.callback(loop.close)
        acceptor.start()
        stack.callback(acceptor.close)
        stack.enter_context(socket.create_connection(listening.getsockname()))
        loop.run_until_complete(asyncio.sleep(0.05))
        assert taken == []
        waits = False
        acceptor.go_on()
        while not taken:
            loop.run_until_complete(asyncio.sleep(0.01))


@pytest.mark.skipif(not SYSTEM_ALLOWS.exists(), reason="another system counts in its own way")
def test_few_wait_in_the_systems_line_while_nobody_is_taken() -> None:
    """In a long line everybody gives up before his turn, and for ever nobody is served."""
    loop = asyncio.new_event_loop()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    acceptor = Acceptor(loop, listening, asyncio.Protocol, "PLAINTEXT", lambda: False)
    with contextlib.ExitStack() as stack:
        stack.callback(loop.close)
        acceptor.start()
        stack.callback(acceptor.close)
        stack.enter_context(socket.create_connection(listening.getsockname()))
        loop.run_until_complete(asyncio.sleep(0.05))
        with selectors.DefaultSelector() as selector:
            for _ in range(200):
                client = stack.enter_context(socket.socket())
                client.setblocking(False)
                client.connect_ex(listening.getsockname())
                selector.register(client, selectors.EVENT_WRITE)
            assert len(selector.select(0)) < 100


def test_who_has_ended_a_connection_is_told_although_nothing_was_read() -> None:
    pairs = [socket.socketpair() for _ in range(3)]
    pairs[1][1].sendall(b"unread")
    pairs[1][1].close()
    descriptors = [mine.fileno() for mine, _ in pairs]
    assert ended(descriptors) == {descriptors[1]}
    for mine, theirs in pairs:
        mine.close()
        theirs.close()
