"""Runs the agent and the coordinator until a signal or a request ends them."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Callable
from threading import Event
from typing import Protocol

import click

from kafka_tools.clock import SystemClock
from kafka_tools.commands.options.values import read_text
from kafka_tools.commands.toolkit.loading.read_document import read_document
from kafka_tools.load.web.agent import Agent
from kafka_tools.load.web.cluster_file import ClusterFile, NodeEntry, read_cluster_file
from kafka_tools.load.web.coordinator import Coordinator
from kafka_tools.load.web.rest import check_token
from kafka_tools.values import format_address

_LOOK_S = 0.2
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class _Daemon(Protocol):
    shutdown: Event

    @property
    def address(self) -> str: ...

    def close(self) -> None: ...


def read_token(file: str) -> str:
    """The token in a file (``-``: standard input). Raises InputError."""
    return check_token(read_text(file, "token"), "standard input" if file == "-" else file)


def run_agent(config: str, name: str, token_file: str, listen: str | None) -> None:
    """Run the agent of a node."""
    file, node = _node(config, name)
    token = read_token(token_file)
    host = node.listen if listen is None else listen
    _serve("agent", name, lambda: Agent(file.platform(name), token, host, node.agent_port, SystemClock()))


def run_coordinator(config: str, name: str, token_file: str, listen: str | None) -> None:
    """Run the coordinator on a node."""
    file, node = _node(config, name)
    token = read_token(token_file)
    agents = {each: format_address(entry.hostname, entry.agent_port) for each, entry in file.nodes.items()}
    host = node.listen if listen is None else listen
    _serve("coordinator", name, lambda: Coordinator(agents, token, host, node.coordinator_port, SystemClock()))


def _node(config: str, name: str) -> tuple[ClusterFile, NodeEntry]:
    file = read_cluster_file(*read_document(config, "file"))
    return file, file.node(name)


def _serve(role: str, node: str, start: Callable[[], _Daemon]) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    ended = Event()
    for number in _SIGNALS:
        signal.signal(number, lambda *_: ended.set())
    daemon = start()
    try:
        ready = {"role": role, "node": node, "address": daemon.address, "pid": os.getpid()}
        click.echo(json.dumps(ready))
        # Event.wait without a timeout would hold back the signal handlers on some systems.
        while not (ended.is_set() or daemon.shutdown.wait(_LOOK_S)):
            pass
    finally:
        daemon.close()
