"""Making the archives of ``archives``: a broker and a JVM with tools are used a little, and end in order.

An archive costs some seconds of CPU once, and each of the JVMs that start in a run of the tests saves one or two.
"""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.against_kafka.archives import SERVER, TOOLS, archive, making, shared
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST, Unavailable
from tests.against_kafka.jvm import SERVER_OPTIONS, StartFailed
from tests.against_kafka.tool_server import Gone, ToolServer

END_TIMEOUT_S = 120.0
"""The JVM writes what it has loaded when it ends."""
OFTEN = ("3.9.2", NEWEST)
"""What a run of the tests starts dozens of times. Of the other releases there are five to ten JVMs in all: an archive
would cost what it saves.
"""


def make_archives(version: str) -> Iterator[str]:
    """Make those archives of a release that are not there yet; yields lines that say how that went."""
    try:
        missing = [kind for kind in (SERVER, TOOLS) if version in OFTEN and not archive(kind, version).exists()]
        if missing:
            _make(version, missing)
    except (Unavailable, StartFailed, Gone, OSError, subprocess.TimeoutExpired) as reason:
        yield f"its JVMs start without an archive of their classes: {reason}"
        return
    for kind in missing:
        path = archive(kind, version)
        if path.exists():
            yield f"archive of the classes of its {kind}, {path.stat().st_size >> 20} MiB"
        else:
            yield f"Java wrote no archive of the classes of its {kind}"


def _make(version: str, kinds: list[str]) -> None:
    # On the disk of the archives, where they are moved to when they are whole.
    with tempfile.TemporaryDirectory(dir=archive(SERVER, version).parent) as folder:
        made = {kind: Path(folder) / f"{kind}.jsa" for kind in kinds}
        _use_kafka(version, Path(folder), made)
        for kind, path in made.items():
            if path.exists():
                goal = archive(kind, version)
                for old in goal.parent.glob(f"{kind}-*.jsa"):
                    old.unlink()
                path.rename(goal)
    shared.cache_clear()


def _use_kafka(version: str, folder: Path, made: dict[str, Path]) -> None:
    options = making(made[SERVER]) if SERVER in made else []
    setup = Setup(version, java_options=(*SERVER_OPTIONS, *options))
    with RealKafka.start(setup, folder / "kafka") as kafka:
        tools = ToolServer(version, folder, making(made[TOOLS]) if TOOLS in made else ())
        try:
            _use_tools(tools, kafka)
            assert tools.process.stdin is not None
            tools.process.stdin.close()
            tools.process.wait(END_TIMEOUT_S)
        finally:
            tools.stop()
        (server,) = kafka.servers.values()
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(END_TIMEOUT_S)


def _use_tools(tools: ToolServer, kafka: RealKafka) -> None:
    """What nearly every test does. A name that a release does not know is an error of that run, and no harm."""
    topic = ("--topic", "archive")
    once = ("--from-beginning", "--max-messages", "1", "--group", "archive", "--timeout-ms", "20000")
    for names, words, stdin in (
        (("kafka.admin.TopicCommand", "org.apache.kafka.tools.TopicCommand"), ("--create", *topic), ""),
        (("kafka.admin.ConfigCommand",), ("--describe", "--all", "--entity-type", "topics"), ""),
        (("kafka.tools.ConsoleProducer", "org.apache.kafka.tools.ConsoleProducer"), topic, "record\n"),
        (("kafka.tools.ConsoleConsumer", "org.apache.kafka.tools.consumer.ConsoleConsumer"), (*topic, *once), ""),
        (
            ("kafka.admin.ConsumerGroupCommand", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"),
            ("--describe", "--group", "archive"),
            "",
        ),
    ):
        for name in names:
            tools.run(name, ["--bootstrap-server", kafka.bootstrap_servers, *words], stdin, END_TIMEOUT_S)
    tools.run("kafka.tools.StorageTool", ["random-uuid"], "", END_TIMEOUT_S)
