"""The console scripts: one function per command, named as the script without ``kafka-``.

``--version`` is recognised anywhere on the command line before anything is parsed (KIP-278), so it is answered here,
before click is imported; every other command line goes to the ``main`` of the command's module.
"""

from __future__ import annotations

import sys

from kafka_tools import VERSION_LINE


def _start(module: str) -> None:
    if "--version" in sys.argv[1:] and _print_version():
        return
    __import__(module)
    sys.modules[module].main()


def _print_version() -> bool:
    """Whether it is out; if not, the command's own ``main`` says why."""
    try:
        print(VERSION_LINE, flush=True)
    except OSError:
        return False
    return sys.stdout is not None


def tools() -> None:
    """``kafka-tools``"""
    _start("kafka_tools.cli")


def topics() -> None:
    """``kafka-topics``"""
    _start("kafka_tools.commands.topics.topics")


def configs() -> None:
    """``kafka-configs``"""
    _start("kafka_tools.commands.configs.configs")


def scram() -> None:
    """``kafka-scram``"""
    _start("kafka_tools.commands.security.scram")


def acls() -> None:
    """``kafka-acls``"""
    _start("kafka_tools.commands.security.acls")


def delegation_tokens() -> None:
    """``kafka-delegation-tokens``"""
    _start("kafka_tools.commands.security.delegation_tokens")


def consumer_groups() -> None:
    """``kafka-consumer-groups``"""
    _start("kafka_tools.commands.groups.consumer_groups")


def delete_records() -> None:
    """``kafka-delete-records``"""
    _start("kafka_tools.commands.partitions.delete_records")


def dump_log() -> None:
    """``kafka-dump-log``"""
    _start("kafka_tools.commands.logs.dump_log")


def broker_api_versions() -> None:
    """``kafka-broker-api-versions``"""
    _start("kafka_tools.commands.cluster.broker_api_versions")


def cluster() -> None:
    """``kafka-cluster``"""
    _start("kafka_tools.commands.cluster.cluster")


def features() -> None:
    """``kafka-features``"""
    _start("kafka_tools.commands.cluster.features")


def metadata_quorum() -> None:
    """``kafka-metadata-quorum``"""
    _start("kafka_tools.commands.cluster.metadata_quorum")


def client_metrics() -> None:
    """``kafka-client-metrics``"""
    _start("kafka_tools.commands.cluster.client_metrics")


def console_producer() -> None:
    """``kafka-console-producer``"""
    _start("kafka_tools.commands.console.producer")


def console_consumer() -> None:
    """``kafka-console-consumer``"""
    _start("kafka_tools.commands.console.consumer")
