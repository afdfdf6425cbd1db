"""Kafka's own generated message classes, asked through a pipe: one JVM per release for thousands of messages."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.against_kafka.jars import class_path
from tests.against_kafka.java_programs import compiled, pipes, running

PACKAGES = re.compile(r"org/apache/kafka/(?:[a-z]+/)*(?:message|generated|metadata)/([A-Za-z]+)\.class")
ANSWER_TIMEOUT_S = 120.0


class KafkaRefused(Exception):
    """Kafka's class threw; the text is its exception."""


class KafkaClasses:
    """The generated classes of one release. Names are simple ones: "FetchRequestData", "OffsetCommitKey"."""

    def __init__(self, release: str, process: subprocess.Popen[bytes], names: dict[str, str]) -> None:
        self.release = release
        self.names = names
        self._process = process

    @classmethod
    @contextmanager
    def start(cls, release: str, folder: Path) -> Iterator[KafkaClasses]:
        """Compile the Java side against that release and run it. Raises Unavailable."""
        with running(compiled("KafkaClasses", release), folder) as process:
            yield cls(release, process, generated(class_path(release)))

    def versions(self, name: str) -> range:
        """The versions that Kafka's class of this name reads and writes; none when there is no such class."""
        if name not in self.names:
            return range(0)
        low, high = self._ask(b"V", name).decode().split()
        return range(int(low), int(high) + 1)

    def transcode(self, name: str, from_version: int, to_version: int, data: bytes) -> bytes:
        """What Kafka writes in one version of what it read, whole, in the other. Raises KafkaRefused."""
        return self._ask(b"T", name, struct.pack(">hh", from_version, to_version), data)

    def as_json(self, name: str, version: int, data: bytes) -> Any:
        """The JSON value of Kafka's converter; record batches are given by their size. Raises KafkaRefused."""
        return json.loads(self._ask(b"W", name, struct.pack(">h", version), data))

    def from_json(self, name: str, version: int, document: Any) -> bytes:
        """What Kafka writes of what its converter reads from this JSON value. Raises KafkaRefused."""
        return self._ask(b"J", name, struct.pack(">h", version), json.dumps(document).encode())

    def has_json(self, name: str) -> bool:
        return f"{name}JsonConverter" in self.names

    def headers(self) -> dict[tuple[int, int], tuple[int, int]]:
        """(API key, version) -> (request header version, response header version)."""
        rows = (tuple(map(int, line.split())) for line in self._ask(b"H").decode().splitlines())
        return {(key, version): (request, response) for key, version, request, response in rows}

    def errors(self) -> set[tuple[int, str, bool, bool]]:
        """(code, name, retriable, refreshes metadata) of every error."""
        rows = (line.split() for line in self._ask(b"E").decode().splitlines())
        return {(int(code), name, retriable == "true", refresh == "true") for code, name, retriable, refresh in rows}

    def _ask(self, letter: bytes, name: str = "", numbers: bytes = b"", body: bytes | None = None) -> bytes:
        question = letter
        if letter not in (b"H", b"E"):
            full = self.names[name].encode()
            question += struct.pack(">i", len(full)) + full + numbers
        if body is not None:
            question += struct.pack(">i", len(body)) + body
        writer, reader = pipes(self._process)
        # A JVM that hangs is killed, and reading from it ends.
        watchdog = threading.Timer(ANSWER_TIMEOUT_S, self._process.kill)
        watchdog.start()
        try:
            writer.write(question)
            writer.flush()
            status, size = struct.unpack(">bi", reader.read(5))
            answer = reader.read(size)
        finally:
            watchdog.cancel()
        if status:
            raise KafkaRefused(answer.decode())
        return answer


def generated(jars: list[Path]) -> dict[str, str]:
    """Simple name -> full name of the message classes and JSON converters in these jars."""
    found: dict[str, str] = {}
    for jar in jars:
        if not jar.name.startswith("kafka"):
            continue
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                match = PACKAGES.fullmatch(entry)
                if match:
                    found.setdefault(match[1], entry.removesuffix(".class").replace("/", "."))
    return found
