"""Connections that come while the broker is busy with something else."""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import socket
from pathlib import Path

import pytest

from kafka_tools.broker_embedded.listeners.accepting import Acceptor

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
