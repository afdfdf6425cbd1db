"""A crash at every single change of a file: what was acknowledged before it is there after it.

The scenario is run once to count its file operations, then once for each of them, ending there as a killed
process ends; a second crash strikes during the recovery.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.delete_records import DeleteRecordsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request

CHANGES = ("pwrite", "replace", "rename", "remove", "ftruncate", "mkdir", "open")


class Crash(BaseException):
    """The process ends here."""


@contextmanager
def crash_at(number: int | None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """The file change with this number does not happen, and nothing after it; yields a count of changes."""
    count = 0

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            if name == "open" and not arguments[1] & os.O_CREAT:
                return real(*arguments, **options)
            count += 1
            if number is not None and count >= number:
                raise Crash
            return real(*arguments, **options)

        return change

    with monkeypatch.context() as patch:
        for name in CHANGES:
            patch.setattr(os, name, watched(name, getattr(os, name)))
        yield lambda: count


class Story:
    """A broker's life, and what it acknowledged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topics: set[str] = set()
        self.deleted: set[str] = set()
        self.acknowledged: list[bytes] = []
        self.start_offset = 0
        self.broker: DiskBroker | None = None

    def run(self) -> None:
        self.broker = broker = DiskBroker(self.path)
        for name in ("kept", "gone"):
            topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            topic.configs = [topic.CreatableTopicConfig(name="segment.bytes", value="1048576")]
            assert broker.call(CreateTopicsRequest(topics=[topic]), 5).topics[0].error_code == 0
            self.topics.add(name)
        for number in range(4):
            value = b"%d" % number * 400_000
            batch = broker.batch(value, producer_id=1, producer_epoch=0, base_sequence=number)
            assert broker.produce("kept", batch).error_code == 0
            self.acknowledged.append(value)
        Topic = DeleteRecordsRequest.Topic
        wanted = Topic(name="kept", partitions=[Topic.Partition(partition_index=0, offset=2)])
        broker.call(DeleteRecordsRequest(topics=[wanted], timeout_ms=1), 2)
        self.start_offset = 2
        broker.call(DeleteTopicsRequest(topic_names=["gone"], timeout_ms=1), 5)
        self.deleted.add("gone")
        broker.restart()

    def abandon(self) -> None:
        """Let go of locks and descriptors without touching a file."""
        if self.broker is not None and hasattr(self.broker, "core"):
            self.broker.core.close(clean=False)

    def check(self) -> None:
        broker = DiskBroker(self.path)
        for name in self.topics - {"gone"}:
            assert broker.core.cluster.topic(name), f"{name} is lost"
        for name in self.deleted:
            assert not broker.core.cluster.topic(name), f"{name} came back"
        if "kept" in self.topics:
            log = broker.core.partitions.led("kept", 0).log
            assert self.start_offset <= log.log_start_offset <= 2
            assert len(self.acknowledged) <= log.log_end_offset <= len(self.acknowledged) + 1
            for offset in range(log.log_start_offset, len(self.acknowledged)):
                response = broker.call(fetch_request("kept", offset, max_wait_ms=0, max_bytes=1), 11)
                assert self.acknowledged[offset][:1] * 1000 in bytes(response.responses[0].partitions[0].records)
            sequence = log.log_end_offset
            for number in range(max(sequence - 3, log.log_start_offset), sequence):  # repeated batches are recognised
                again = broker.batch(b"again", producer_id=1, producer_epoch=0, base_sequence=number)
                assert broker.produce("kept", again).base_offset == number
            following = broker.batch(b"x", producer_id=1, producer_epoch=0, base_sequence=sequence)
            assert broker.produce("kept", following).base_offset == sequence
        broker.core.close()
        assert not [name for name in os.listdir(self.path) if name.endswith("-stray")]


def ended_at(number: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> Story:
    """The story up to its file change ``number``, and the directory as it is then."""
    story = Story(path)
    with crash_at(number, monkeypatch), pytest.raises(Crash):
        story.run()
    story.abandon()
    return story


def count_changes(path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    story = Story(path)
    with crash_at(None, monkeypatch) as count:
        story.run()
        changes = count()
    story.abandon()
    story.check()
    return changes


def test_a_crash_at_any_change_of_a_file_loses_nothing_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = count_changes(tmp_path / "whole", monkeypatch)
    assert changes > 40
    for number in range(1, changes + 1):
        ended_at(number, tmp_path / str(number), monkeypatch).check()


def test_a_second_crash_during_the_recovery_loses_nothing_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = count_changes(tmp_path / "whole", monkeypatch)
    for number in range(changes // 2, changes, 7):
        for again in range(1, 12, 3):
            story = ended_at(number, tmp_path / f"{number}-{again}", monkeypatch)
            with crash_at(again, monkeypatch):
                try:
                    story.broker = DiskBroker(story.path)
                except Crash:
                    story.broker = None
            story.abandon()
            story.check()
