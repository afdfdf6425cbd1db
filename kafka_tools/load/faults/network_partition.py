"""NetworkPartition: drops this node's packets to the nodes of other groups. Source: ``NetworkPartitionFaultWorker``.

The rules are iptables rules for outbound TCP traffic, so the node remains reachable for others. Without iptables,
blackhole routes do the same for all outbound traffic. Both need the right to administer the network, in the machine's
network namespace or in one of its own.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from kafka_tools.clock import Clock
from kafka_tools.errors import InputError, KafkaToolsError
from kafka_tools.load.platform import Platform
from kafka_tools.load.specs.fault_specs import NetworkPartitionSpec
from kafka_tools.load.workloads.task_worker import TaskWorker
from kafka_tools.shown_text import one_line

_TIMEOUT_S = 30.0
Run = Callable[[Sequence[str]], str]
"""Runs a command and returns its error; empty if it succeeded."""


def run_command(command: Sequence[str]) -> str:
    """Run a command of the system."""
    try:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    if ended.returncode == 0:
        return ""
    return one_line(ended.stderr.strip().partition("\n")[0] or f"exit status {ended.returncode}")


class NetworkPartitionWorker(TaskWorker):
    """See the module."""

    def __init__(
        self, task_id: str, platform: Platform, clock: Clock, spec: NetworkPartitionSpec, run: Run = run_command
    ) -> None:
        super().__init__(task_id, platform, clock)
        self._partitions = spec.partitions
        self._run = run
        self._status: str | None = None

    def run(self) -> None:
        commands = self._commands(self._blocked())
        done: list[tuple[list[str], list[str]]] = []
        try:
            for add, remove in commands:
                problem = self._run(add)
                if problem:
                    raise KafkaToolsError(
                        f"cannot create the network partition: {problem}",
                        hint="run the agent with the right to administer the network, for example as root",
                    )
                done.append((add, remove))
            self._status = f"created network partition {self.task_id}"
            self.stopping.wait()
        finally:
            problems = [problem for _, remove in reversed(done) if (problem := self._run(remove))]
        if problems:
            raise KafkaToolsError(
                f"cannot remove the network partition: {problems[0]}", hint="remove the rules by hand"
            )
        self._status = f"removed network partition {self.task_id}"

    def _blocked(self) -> list[str]:
        """The addresses of the nodes in other groups. Raises KafkaToolsError."""
        own_address = self._address(self.platform.node)
        found = []
        for partition in self._partitions:
            for node in () if self.platform.node in partition else partition:
                address = self._address(node)
                if address == own_address or ipaddress.ip_address(address).is_loopback:
                    raise InputError(
                        f"cannot separate {self.platform.node} from {node}: {address} is an address of the same machine"
                    )
                found.append(address)
        return found

    def _address(self, node: str) -> str:
        host = self.platform.addresses.get(node)
        if host is None:
            raise InputError(
                f"unknown node '{node}': the file's nodes are {', '.join(self.platform.addresses) or 'none'}"
            )
        try:
            return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
        except OSError as error:
            raise KafkaToolsError(f"cannot resolve {host} of node {node}: {error.strerror}") from error

    def _commands(self, addresses: Sequence[str]) -> list[tuple[list[str], list[str]]]:
        """For each address, the command that blocks it and the one that undoes this."""
        prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
        found = []
        for address in addresses:
            is_v6 = ":" in address
            tables = "ip6tables" if is_v6 else "iptables"
            if shutil.which(tables) is not None:
                rule = ["OUTPUT", "-p", "tcp", "-d", address, "-j", "DROP", "-m", "comment", "--comment",
                        f"kafka-tools-load {self.task_id}"[:200]]  # fmt: skip
                found.append(([*prefix, tables, "-A", *rule], [*prefix, tables, "-D", *rule]))
            elif shutil.which("ip") is not None:
                route = ["blackhole", f"{address}/{128 if is_v6 else 32}"]
                ip = [*prefix, "ip", *(["-6"] if is_v6 else []), "route"]
                found.append(([*ip, "add", *route], [*ip, "del", *route]))
            else:
                raise KafkaToolsError(
                    f"cannot create the network partition: neither {tables} nor ip is installed",
                    hint="install iptables, or iproute2",
                )
        return found

    def status(self) -> Any:
        return self._status
