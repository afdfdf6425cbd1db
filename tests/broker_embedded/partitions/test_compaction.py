"""The log cleaner in a whole broker: which log comes next, how far each is clean, and what happens meanwhile."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.partitions import compaction
from kafka_tools.clock import ManualClock
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.records.build import build_batch
from kafka_tools.storage.check import check_partition
from kafka_tools.storage.checkpoints import read_offset_checkpoint
from kafka_tools.storage.cleaner.rounds import MapSize
from kafka_tools.storage.log.partition_log import PartitionLog
from kafka_tools.values import TopicPartition
from tests.broker_embedded import disk_broker
from tests.broker_embedded.disk_broker import DiskBroker, fetch_request
from tests.broker_embedded.transactional_client import Client, read

COMPACT = {"cleanup_policy": "compact", "segment_bytes": "1048576", "index_interval_bytes": "4096"}
BACKOFF_S = 15.0


def log_of(broker: DiskBroker, topic: str = "t") -> PartitionLog:
    return broker.core.partitions.led(topic, 0).log


def fill(broker: DiskBroker, topic: str = "t", *, segments: int = 3, keys: int = 5) -> None:
    """Values of a hundred kilobytes for a few keys, over so many closed segments."""
    wanted = len(log_of(broker, topic).segments) + segments
    number = 0
    while len(log_of(broker, topic).segments) < wanted:
        rows = [(broker.clock.now_ms(), b"k%d" % (number % keys), b"%d " % number * 20_000, ())]
        assert broker.produce(topic, build_batch(rows)).error_code == 0
        number += 1


def let_clean(broker: DiskBroker, seconds: float = BACKOFF_S) -> None:
    """Let so much time pass, and the cleaner come to an end."""
    broker.advance(seconds)
    while broker.core.partitions.cleaner.busy:
        broker.advance(0.01)


def cleaned_to(broker: DiskBroker, topic: str = "t") -> int | None:
    path = broker.path / "cleaner-offset-checkpoint"
    return read_offset_checkpoint(str(path)).get(TopicPartition(topic, 0)) if path.exists() else None


def keys_and_offsets(broker: DiskBroker, topic: str = "t") -> dict[bytes | None, int]:
    return {record.key: record.offset for view in log_of(broker, topic).walk() for record in view.records()}


@pytest.mark.req("DESIGN-27")
def test_a_compacted_topic_is_cleaned_while_the_broker_runs_and_stays_so(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data")
    broker.create("t", **COMPACT)
    fill(broker)
    log = log_of(broker)
    before, active = keys_and_offsets(broker), log.active.base_offset
    size = log.size_bytes
    let_clean(broker)
    assert log.size_bytes < size / 2
    assert keys_and_offsets(broker) == before
    assert log.active.base_offset == active == cleaned_to(broker)
    directory = tmp_path / "data" / "t-0"
    assert list(directory.glob("*.log.deleted"))
    broker.advance(61)
    assert not list(directory.glob("*.deleted"))
    for kill in (False, True):
        broker.restart(kill=kill)
        assert keys_and_offsets(broker) == before
        assert broker.core.partitions.cleaner.cleaned_to(TopicPartition("t", 0), str(tmp_path / "data")) == active
    let_clean(broker)
    assert cleaned_to(broker) == active
    broker.core.close()
    assert [each for each in check_partition(directory, records=True) if each.is_damage] == []


def test_a_start_does_not_tell_of_offsets_that_compaction_took(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broker = DiskBroker(tmp_path / "data")
    broker.create("t", **COMPACT)
    fill(broker, keys=1)
    let_clean(broker)
    for kill in (False, True):
        broker.restart(kill=kill)
    assert "are missing" not in caplog.text


def test_the_dirtiest_log_comes_first(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    broker = DiskBroker(tmp_path / "data")
    for topic in ("a", "b", "c"):
        broker.create(topic, **COMPACT)
        fill(broker, topic, segments=4, keys=30)
    let_clean(broker)
    caplog.clear()
    for topic, segments in (("a", 1), ("b", 30), ("c", 12)):
        fill(broker, topic, segments=segments, keys=30)
    let_clean(broker)
    told = [record.getMessage().split(":")[0] for record in caplog.records if "cleaned offsets" in record.getMessage()]
    assert told == ["b-0", "c-0"]  # of a less than half is dirty


def test_nothing_is_cleaned_where_the_cleaner_is_off_or_the_topic_deletes(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "off", {"log.cleaner.enable": "false"})
    broker.create("t", **COMPACT)
    fill(broker)
    let_clean(broker, 60)
    assert cleaned_to(broker) is None
    broker.core.close()
    broker = DiskBroker(tmp_path / "delete")
    broker.create("t", segment_bytes="1048576")
    fill(broker)
    let_clean(broker, 60)
    assert cleaned_to(broker) is None


def test_a_new_topic_of_an_old_name_is_cleaned_from_its_start(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data")
    broker.create("t", **COMPACT)
    fill(broker)
    let_clean(broker)
    assert cleaned_to(broker)
    broker.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1), 5)
    broker.create("t", **COMPACT)
    assert cleaned_to(broker) is None
    fill(broker, segments=1)
    let_clean(broker)
    assert cleaned_to(broker) == log_of(broker).active.base_offset


def test_a_log_that_a_start_cut_is_cleaned_from_its_start_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Where it was clean others records stand now, of which those that are replaced were once kept for ever."""
    broker = DiskBroker(tmp_path / "data")
    broker.create("t", **COMPACT)
    fill(broker)
    let_clean(broker)
    clean_to = cleaned_to(broker)
    *_, cleaned, active = log_of(broker).segments
    broker.core.close(clean=False)
    os.truncate(cleaned.path, cleaned.size // 4)
    os.remove(active.path)
    broker.open()
    assert cleaned_to(broker) == 0
    for value in (b"1", b"2"):
        assert broker.produce("t", build_batch([(broker.clock.now_ms(), b"twice", value, ())])).error_code == 0
    assert clean_to is not None and log_of(broker).log_end_offset <= clean_to
    fill(broker)
    assert log_of(broker).log_end_offset > clean_to
    broker.restart(kill=True)
    let_clean(broker)
    found = [record.value for view in log_of(broker).walk() for record in view.records() if record.key == b"twice"]
    assert found == [b"2"]
    told = [
        record.getMessage() for record in caplog.records if "cleaning it again from offset 0" in record.getMessage()
    ]
    assert len(told) == 1 and told[0].startswith(f"t-0 was cleaned up to offset {clean_to} but ends at ")


def test_a_topic_may_be_deleted_while_it_is_cleaned(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", {"log.cleaner.io.max.bytes.per.second": "1000000"})
    broker.create("t", **COMPACT)
    fill(broker, segments=8)
    broker.core.partitions.cleaner.clean_all()
    broker.step()
    assert broker.core.partitions.cleaner.busy
    broker.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1), 5)
    let_clean(broker, 1)
    broker.create("t", **COMPACT)
    fill(broker, segments=1)
    let_clean(broker)
    assert cleaned_to(broker) == log_of(broker).active.base_offset


class Ticking(ManualClock):
    """A clock that goes on whenever it is asked by ``tick_s``: each piece of work takes a slice then."""

    tick_s = 0.0

    def monotonic_s(self) -> float:
        self.advance(self.tick_s)
        return super().monotonic_s()


@pytest.mark.parametrize("topics", ["at", "ta"])
def test_a_topic_may_be_deleted_and_made_anew_at_any_moment_of_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, topics: str
) -> None:
    """A pass that went on with the old log once took the files of the new one for its own."""
    monkeypatch.setattr(disk_broker, "ManualClock", Ticking)
    config = {**COMPACT, "cleanup_policy": "compact,delete"}
    pieces, over = 0, False
    while not over:
        broker = DiskBroker(tmp_path / str(pieces))
        for topic in topics:
            broker.create(topic, **config, retention_ms="1000")
            log = log_of(broker, topic)
            log.config = log.config._replace(segment_bytes=100)  # a topic may not have less than a megabyte
            for number in range(3):
                rows = [(broker.clock.now_ms(), b"k%d" % number, b"old", ())]
                assert broker.produce(topic, build_batch(rows)).error_code == 0
        broker.restart()  # nothing of the files is known now
        broker.clock.advance(2)
        broker.core.partitions.cleaner.clean_all()
        broker.clock.tick_s = 0.005  # type: ignore[attr-defined]
        for _ in range(pieces):
            broker.advance(0.01)
        over = not broker.core.partitions.cleaner.busy
        broker.clock.tick_s = 0.0  # type: ignore[attr-defined]
        broker.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1), 5)
        broker.create("t", **config)
        for _ in range(2):
            assert broker.produce("t", broker.batch(b"new")).error_code == 0
        let_clean(broker, 0.01)
        broker.restart(kill=True)
        assert [view.base_offset for view in log_of(broker).walk()] == [0, 1], pieces
        broker.core.close()
        pieces += 1
    assert pieces > 15
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_damaged_log_is_told_once_and_the_others_are_cleaned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broker = DiskBroker(tmp_path / "data")
    for topic in ("bad", "good"):
        broker.create(topic, **COMPACT)
        fill(broker, topic)
    path = Path(log_of(broker, "bad").segments[0].path)
    data = bytearray(path.read_bytes())
    data[-7] ^= 1
    path.write_bytes(data)
    for _ in range(3):
        let_clean(broker)
    told = [record.getMessage() for record in caplog.records if "cannot compact " in record.getMessage()]
    assert len(told) == 1 and told[0].startswith("cannot compact bad-0") and "CRC" in told[0]
    assert cleaned_to(broker, "bad") is None
    assert cleaned_to(broker, "good") == log_of(broker, "good").active.base_offset
    assert path.read_bytes() == data


def test_what_nobody_foresaw_in_one_log_keeps_no_other_from_being_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker = DiskBroker(tmp_path / "data")
    for topic in ("bad", "good", "odd"):
        broker.create(topic, **COMPACT)
        fill(broker, topic)
    real = compaction.cleanable, compaction.clean

    def failing(number: int) -> Callable[..., Any]:
        def call(log: PartitionLog, *arguments: Any) -> Any:
            if log is log_of(broker, ("odd", "bad")[number]):
                raise ValueError("what nobody foresaw")
            return real[number](log, *arguments)

        return call

    monkeypatch.setattr(compaction, "cleanable", failing(0))
    monkeypatch.setattr(compaction, "clean", failing(1))
    for _ in range(3):
        let_clean(broker)
    told = [record.getMessage() for record in caplog.records if "cannot compact " in record.getMessage()]
    assert sorted(line.split(" ")[2].rstrip(",") for line in told) == ["bad-0", "odd-0"]
    assert all("ValueError('what nobody foresaw')" in line for line in told)
    assert cleaned_to(broker, "good") == log_of(broker, "good").active.base_offset
    assert (cleaned_to(broker, "bad"), cleaned_to(broker, "odd")) == (None, None)


def test_a_full_disk_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker = DiskBroker(tmp_path / "data")
    broker.create("t", **COMPACT)
    fill(broker)
    before = keys_and_offsets(broker)

    def full(fd: int, *_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        broker.advance(BACKOFF_S)
        for _ in range(3000):
            broker.advance(0.02)
    assert len([record for record in caplog.records if "trying again later" in record.getMessage()]) == 1
    assert not list((tmp_path / "data" / "t-0").glob("*.cleaned"))
    assert log_of(broker).offline is None and keys_and_offsets(broker) == before
    let_clean(broker)
    assert cleaned_to(broker) == log_of(broker).active.base_offset
    assert keys_and_offsets(broker) == before


def test_a_log_that_cannot_be_looked_at_for_want_of_descriptors_is_cleaned_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker = DiskBroker(tmp_path / "data")
    broker.create("t", **COMPACT)
    fill(broker)

    def refused(*_: Any) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(compaction, "cleanable", refused)
        for _ in range(3):
            let_clean(broker)
    told = [record.getMessage() for record in caplog.records]
    assert len([line for line in told if "cannot compact t-0, trying again later" in line]) == 1
    let_clean(broker)
    assert cleaned_to(broker) == log_of(broker).active.base_offset


def test_compact_and_delete_does_both(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data")
    broker.create("t", **{**COMPACT, "cleanup_policy": "compact,delete", "retention_ms": "3600000"})
    fill(broker)
    let_clean(broker)
    active = log_of(broker).active.base_offset
    assert cleaned_to(broker) == active and log_of(broker).log_start_offset == 0
    for segment in log_of(broker).segments:  # of one that is empty now only the file tells how old it is
        segment.set_modified(broker.clock.now_ms() * 1_000_000)
    let_clean(broker, 3601)
    assert log_of(broker).log_start_offset > active
    assert keys_and_offsets(broker) == {}


def test_reading_and_writing_keep_to_their_rate(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", {"log.cleaner.io.max.bytes.per.second": "100000"})
    broker.create("t", **COMPACT)
    fill(broker)
    size = sum(segment.size for segment in log_of(broker).segments[:-1])
    broker.advance(BACKOFF_S)
    passed = 0.0
    while broker.core.partitions.cleaner.busy:
        broker.advance(0.1)
        passed += 0.1
    assert cleaned_to(broker)
    assert passed > 2 * size / 100_000 - 1  # each batch is read twice; in virtual time nothing else takes any


def test_at_a_rate_of_0_the_cleaner_stands_still_until_there_is_another_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broker = DiskBroker(tmp_path / "data", {"log.cleaner.io.max.bytes.per.second": "0"})
    broker.create("t", **COMPACT)
    fill(broker)
    broker.advance(BACKOFF_S)
    for _ in range(100):
        broker.advance(1)
    assert cleaned_to(broker) is None and broker.core.partitions.cleaner.busy
    change = IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type=4, resource_name="")
    change.configs = [change.AlterableConfig(name="log.cleaner.io.max.bytes.per.second", value="1e9")]
    broker.call(IncrementalAlterConfigsRequest(resources=[change]), 0)
    let_clean(broker, 1)
    assert cleaned_to(broker) == log_of(broker).active.base_offset
    assert "the log cleaner failed" not in caplog.text


def test_a_log_with_more_keys_than_there_is_memory_for_is_told_and_the_others_are_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compaction, "MapSize", lambda memory_bytes, load_factor: MapSize(24 * 4, load_factor))
    broker = DiskBroker(tmp_path / "data", {"log.cleaner.io.buffer.load.factor": "2.0"})
    for topic, keys in (("many", 5), ("few", 3)):
        broker.create(topic, **COMPACT)
        fill(broker, topic, keys=keys, segments=1)
    let_clean(broker)
    assert "cannot compact many-0, so it keeps growing: it has more keys than" in caplog.text
    assert cleaned_to(broker, "many") is None
    assert cleaned_to(broker, "few") == log_of(broker, "few").active.base_offset


def test_the_offsets_of_groups_are_compacted_and_survive(tmp_path: Path) -> None:
    properties = {"offsets.topic.num.partitions": "1", "offsets.topic.segment.bytes": "1048576"}
    broker = DiskBroker(tmp_path / "data", properties)
    broker.create("t")
    broker.call(FindCoordinatorRequest(key="g"), 0)
    Topic = OffsetCommitRequest.RequestTopic
    for number in range(60):
        partition = Topic.RequestPartition(partition_index=0, committed_offset=number, committed_metadata="x" * 4000)
        request = OffsetCommitRequest(group_id="g", topics=[Topic(name="t", partitions=[partition])])
        for _ in range(10):
            assert broker.call(request, 2).topics[0].partitions[0].error_code == 0
    log = log_of(broker, "__consumer_offsets")
    assert len(log.segments) > 2
    size = log.size_bytes
    let_clean(broker)
    assert log.size_bytes < size / 2
    for kill in (False, True):
        broker.restart(kill=kill)
        wanted = OffsetFetchRequest.RequestTopic(name="t", partition_indexes=[0])
        answer = broker.call(OffsetFetchRequest(group_id="g", topics=[wanted]), 3)
        assert answer.topics[0].partitions[0].committed_offset == 59


def test_the_log_of_transactions_is_compacted_and_its_ids_survive(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data", {"transaction.state.log.num.partitions": "1"})
    broker.create("t")
    client = Client(broker)
    assert client.init() == 0
    log = log_of(broker, "__transaction_state")
    log.config = log.config._replace(segment_bytes=10_000)  # a topic may not have less than a megabyte
    while len(log.segments) < 3:
        assert client.add(0) == [0]
        assert client.produce(b"x").error_code == 0
        assert client.end(True) == 0
    size = log.size_bytes
    let_clean(broker)
    assert log.size_bytes < size / 2
    for kill in (False, True):
        broker.restart(kill=kill)
        state = client.state()
        assert (state.error_code, state.transaction_state, state.producer_id) == (
            0,
            "CompleteCommit",
            client.producer_id,
        )
    assert client.add(0) == [0]
    assert client.produce(b"y").error_code == 0
    assert client.end(False) == 0
    assert read(broker)[-1] == b"x"


def test_what_was_aborted_stays_hidden_in_a_compacted_topic(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data")
    broker.create("t", **COMPACT)
    client = Client(broker)
    assert client.init() == 0
    for value, committed in ((b"1", True), (b"2", False), (b"3", True), (b"4", False)):
        assert client.add(0) == [0]
        assert client.produce(value).error_code == 0
        assert client.end(committed) == 0
    log = log_of(broker)
    log.roll()
    let_clean(broker)
    assert cleaned_to(broker) == log.log_end_offset
    assert read(broker) == read(broker, committed=False) == [b"3"]
    for kill in (False, True):
        broker.restart(kill=kill)
        assert read(broker) == [b"3"]


def test_records_without_a_key_of_a_topic_that_is_compacted_later_go_and_it_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broker = DiskBroker(tmp_path / "data")
    broker.create("t", segment_bytes="1048576")
    for key in (None, b"a", None):
        assert broker.produce("t", build_batch([(broker.clock.now_ms(), key, b"v", ())])).error_code == 0
    change = IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type=2, resource_name="t")
    change.configs = [change.AlterableConfig(name="cleanup.policy", value="compact")]
    broker.call(IncrementalAlterConfigsRequest(resources=[change]), 0)
    fill(broker, segments=1)
    let_clean(broker)
    assert None not in keys_and_offsets(broker) and keys_and_offsets(broker)[b"a"] == 1
    told = [record.getMessage() for record in caplog.records if "without a key" in record.getMessage()]
    assert told == ["t-0: compaction removed 2 records without a key, written before the topic was compacted"]


def test_a_record_without_a_key_is_refused_by_a_compacted_topic(tmp_path: Path) -> None:
    broker = DiskBroker(tmp_path / "data")
    broker.create("t", **COMPACT)
    answer = broker.produce("t", build_batch([(broker.clock.now_ms(), None, b"v", ())]))
    assert answer.error_code == codes.INVALID_RECORD
    assert broker.call(fetch_request("t", 0, max_wait_ms=0), 11).responses[0].partitions[0].high_watermark == 0
