"""Kafka's bin folder, script by script, beside what there is here.

``docs/commands/README.md`` gets its table of this by ``python -m tests.regen bin``. Whether a script has a
counterpart is asked of the table of commands, so a row changes by itself when a command is added.
"""

from __future__ import annotations

from kafka_tools.commands.registry import COMMANDS, program

SCRIPTS = (
    "connect-distributed", "connect-mirror-maker", "connect-plugin-path", "connect-standalone", "kafka-acls",
    "kafka-broker-api-versions", "kafka-client-metrics", "kafka-cluster", "kafka-configs", "kafka-console-consumer",
    "kafka-console-producer", "kafka-console-share-consumer", "kafka-consumer-groups", "kafka-consumer-perf-test",
    "kafka-delegation-tokens", "kafka-delete-records", "kafka-dump-log", "kafka-e2e-latency", "kafka-features",
    "kafka-get-offsets", "kafka-groups", "kafka-jmx", "kafka-leader-election", "kafka-log-dirs",
    "kafka-metadata-quorum", "kafka-metadata-shell", "kafka-producer-perf-test", "kafka-reassign-partitions",
    "kafka-replica-verification", "kafka-run-class", "kafka-server-start", "kafka-server-stop",
    "kafka-share-consumer-perf-test", "kafka-share-groups", "kafka-storage", "kafka-streams-application-reset",
    "kafka-streams-groups", "kafka-topics", "kafka-transactions", "kafka-verifiable-consumer",
    "kafka-verifiable-producer", "kafka-verifiable-share-consumer", "trogdor",
)  # fmt: skip
"""Every script of the folder, without ``.sh``."""

_CONNECT = "Kafka Connect runs Java plugins, so it always needs a JVM"
_BROKER = "[`kafka-tools broker run`](broker.md) runs the bundled broker; start a Kafka broker with Kafka's script"
OUT_OF_SCOPE = {
    "connect-distributed": _CONNECT,
    "connect-mirror-maker": "MirrorMaker is a set of connectors: Kafka Connect runs them",
    "connect-plugin-path": "lists the Java plugins in Connect's plugin path",
    "connect-standalone": _CONNECT,
    "kafka-jmx": "reads the MBeans of a JVM over RMI, which only a JVM can",
    "kafka-run-class": "runs a Java class",
    "kafka-server-start": _BROKER,
    "kafka-server-stop": "stop the bundled broker with Ctrl-C or SIGTERM, and a Kafka broker with Kafka's script",
}
"""Why a script has no counterpart and gets none."""
OTHER_NAMES = {"trogdor": "load"}
"""Script -> the command with another name that does its work."""


def rows() -> list[tuple[str, str, str]]:
    """For each script: its name with ``.sh``, where it stands, and the command or the reason, in Markdown."""
    found = []
    for script in SCRIPTS:
        name = script.removeprefix("kafka-")
        name = OTHER_NAMES.get(name, name)
        if (script.startswith("kafka-") or script in OTHER_NAMES) and name in COMMANDS:
            found.append((f"{script}.sh", "here", f"[`{program(name)}`]({name}.md)"))
        elif script in OUT_OF_SCOPE:
            found.append((f"{script}.sh", "out of scope", OUT_OF_SCOPE[script]))
        else:
            found.append((f"{script}.sh", "not yet", ""))
    return found


def table() -> str:
    """The rows as a table of Markdown, in the order of the folder."""
    lines = [f"| `{script}` | {state} | {told} |" for script, state, told in rows()]
    return "\n".join(["| Kafka's script | state | command, or reason |", "| --- | --- | --- |", *lines])
