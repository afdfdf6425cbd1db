"""The table of commands. Each command is registered only here.

A row gives the name, the module, one line of help and whether the command is also a script. ``scripts.py`` and
``cli.py`` find commands with this table. Completion, the README's table and the index of ``docs/commands`` are derived
from it (``python -m tests.regen commands``), and a test compares it with the console scripts in pyproject.toml. It
imports neither click nor commands, so that ``kafka-tools --help`` and TAB load only the table.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import click


class Registered(NamedTuple):
    """A row of COMMANDS."""

    module: str
    """The module below ``kafka_tools.commands`` whose ``command`` is the click command."""
    summary: str
    """The first line of the command's help."""
    is_script: bool = True
    """Whether the command is also a console script, ``kafka-<name>``. Kafka has a tool with that name."""

    @property
    def path(self) -> str:
        """The module's full name."""
        return f"kafka_tools.commands.{self.module}"


COMMANDS: dict[str, Registered] = {
    "topics": Registered("topics.topics", "Create, list, describe, alter and delete topics."),
    "configs": Registered("configs.configs", "Change configs for topics, clients, users, brokers dynamically."),
    "scram": Registered("security.scram", "Add, show and delete the SCRAM credentials of users."),
    "acls": Registered("security.acls", "Add, remove, list and evaluate access control entries."),
    "delegation-tokens": Registered(
        "security.delegation_tokens", "Create, renew, expire and describe delegation tokens."
    ),
    "consumer-groups": Registered(
        "groups.consumer_groups", "List, describe and delete consumer groups, and reset their offsets."
    ),
    "groups": Registered("groups.groups", "List the groups of all types."),
    "share-groups": Registered(
        "groups.share_groups", "List, describe and delete share groups, and reset their offsets."
    ),
    "streams-groups": Registered(
        "groups.streams_groups", "List, describe and delete streams groups, and reset their offsets."
    ),
    "streams-application-reset": Registered(
        "groups.streams_application_reset",
        "Reset a Kafka Streams application: reset its input offsets and delete its internal topics.",
    ),
    "delete-records": Registered("partitions.delete_records", "Delete the records of partitions before an offset."),
    "get-offsets": Registered(
        "partitions.get_offsets", "Show the offsets of partitions: latest, earliest, or at a given time."
    ),
    "leader-election": Registered("partitions.leader_election", "Elect the leaders of partitions."),
    "log-dirs": Registered("partitions.log_dirs", "Show the contents of brokers' log directories."),
    "reassign-partitions": Registered(
        "partitions.reassign_partitions", "Move partitions between brokers and log directories."
    ),
    "replica-verification": Registered("partitions.replica_verification", "Compare the replicas of partitions."),
    "dump-log": Registered("logs.dump_log", "Print the batches, records and index entries in a log directory's files."),
    "storage": Registered("logs.storage", "Format the log directories of a KRaft server and show their state."),
    "metadata-shell": Registered(
        "logs.metadata_shell", "Browse the metadata of a cluster in a snapshot or a metadata log."
    ),
    "broker-api-versions": Registered(
        "cluster.broker_api_versions", "Show the API versions that each broker supports."
    ),
    "cluster": Registered(
        "cluster.cluster", "Show a cluster's id, endpoints and API versions, and unregister brokers and controllers."
    ),
    "features": Registered("cluster.features", "Show and change the feature levels of a cluster."),
    "metadata-quorum": Registered("cluster.metadata_quorum", "Show and change the metadata quorum."),
    "transactions": Registered("cluster.transactions", "List, describe and end transactions, and find hanging ones."),
    "client-metrics": Registered("cluster.client_metrics", "Show and change subscriptions to client metrics."),
    "console-producer": Registered(
        "console.producer", "Write the lines of standard input to a topic, one record each."
    ),
    "console-consumer": Registered("console.consumer", "Print the records of topics."),
    "console-share-consumer": Registered(
        "console.share_consumer", "Print the records of a topic that a share group delivers."
    ),
    "messages": Registered(
        "console.messages",
        "Show messages of a topic: a range, the newest, or those that match.",
        is_script=False,
    ),
    "produce": Registered("console.produce", "Write a record to a topic, or the records of a file.", is_script=False),
    "producer-perf-test": Registered("performance.producer_perf_test", "Write records, and show rates and latencies."),
    "consumer-perf-test": Registered("performance.consumer_perf_test", "Read records, and show rates."),
    "share-consumer-perf-test": Registered(
        "performance.share_consumer_perf_test", "Read records in a share group, and show rates."
    ),
    "e2e-latency": Registered(
        "performance.e2e_latency", "Measure the time from writing a record until it has been read."
    ),
    "verifiable-producer": Registered(
        "verifiable.producer", "Send increasing numbers, and print a JSON line for each of them."
    ),
    "verifiable-consumer": Registered(
        "verifiable.consumer", "Read a topic in a group, and print a JSON line for everything that happens."
    ),
    "verifiable-share-consumer": Registered(
        "verifiable.share_consumer",
        "Read a topic in a share group, and print a JSON line for everything that happens.",
    ),
    "audit": Registered(
        "logs.audit",
        "Audit log directories: find damage and waste, and show which producers write what.",
        is_script=False,
    ),
    "broker": Registered(
        "toolkit.broker", "Run the bundled broker: real segment logs on disk, groups, configs, quotas.", is_script=False
    ),
    "load": Registered(
        "toolkit.load",
        "Measure a cluster under load and faults, with the tasks of Kafka's Trogdor.",
        is_script=False,
    ),
    "clients": Registered(
        "toolkit.clients", "List the clients of a cluster: members of groups, producers, transactions.", is_script=False
    ),
    "purge": Registered(
        "toolkit.purge",
        "Delete everything with a prefix: topics, groups, ACL entries, users and quotas.",
        is_script=False,
    ),
    "doctor": Registered(
        "toolkit.doctor",
        "Find what is wrong with a cluster: brokers, quorum, partitions, disks, groups, transactions, configs.",
        is_script=False,
    ),
    "explain": Registered(
        "toolkit.explain", "Explain an error code, an API, a config, or the text of an error.", is_script=False
    ),
    "request": Registered(
        "toolkit.request", "Send one request of any Kafka API, and print the response.", is_script=False
    ),
    "tour": Registered(
        "toolkit.tour", "Start the bundled broker, run commands of every family on it, and clean up.", is_script=False
    ),
    "completion": Registered(
        "toolkit.completion", "Print the completion script for bash, zsh or fish.", is_script=False
    ),
    "install-scripts": Registered(
        "toolkit.install_scripts",
        "Install the commands in a folder, under the names of Kafka's scripts.",
        is_script=False,
    ),
}
"""Commands by their name under ``kafka-tools``, in the order in which they are listed."""

_FAMILIES = {
    "look at a cluster": ("cluster",),
    "topics and configs": ("topics", "configs"),
    "partitions and replicas": ("partitions",),
    "records": ("console",),
    "groups and offsets": ("groups",),
    "users and rights": ("security",),
    "log files": ("logs",),
    "measure and test": ("performance", "verifiable"),
    "this toolkit": ("toolkit",),
}
"""What people want to do -> the folders of commands for it."""
_OTHER_FAMILIES = {
    "clients": "look at a cluster",
    "purge": "users and rights",
    "doctor": "look at a cluster",
    "explain": "look at a cluster",
    "request": "look at a cluster",
    "load": "measure and test",
    "broker": "measure and test",
    "tour": "measure and test",
}
"""Commands that do not belong to the family of their folder."""

SCRIPTS = tuple(name for name, row in COMMANDS.items() if row.is_script)
"""Commands that are also console scripts, ``kafka-<name>``."""


def families() -> dict[str, list[str]]:
    """What people want to do -> the commands for it."""
    of_folder = {folder: family for family, folders in _FAMILIES.items() for folder in folders}
    found: dict[str, list[str]] = {family: [] for family in _FAMILIES}
    for name, row in COMMANDS.items():
        found[_OTHER_FAMILIES.get(name) or of_folder[row.module.partition(".")[0]]].append(name)
    return found


def load(name: str) -> click.Command:
    """The click command of a row of COMMANDS."""
    command: click.Command = import_module(COMMANDS[name].path).command
    return command


def program(name: str) -> str:
    """The program name that the user types: ``kafka-topics``, ``kafka-tools audit``."""
    return f"kafka-{name}" if COMMANDS[name].is_script else f"kafka-tools {name}"


def named_by(called: str) -> str | None:
    """The command of a program's name or path: ``topics`` for ``bin/kafka-topics.sh``; None for other names."""
    name = called.rpartition("/")[2].removesuffix(".sh")
    command = name.removeprefix("kafka-")
    return command if name != command and command in SCRIPTS else None
