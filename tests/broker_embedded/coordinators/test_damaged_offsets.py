"""Damage in ``__consumer_offsets``: its groups are not served until it is mended, and no commit is lost unseen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.coordinators import mending
from kafka_tools.broker_embedded.coordinators.runtime import CoordinatorRecord, partition_for
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.clock import ManualClock
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.stored.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_tools.records.batches import batches
from tests.broker_embedded.disk_broker import DiskBroker

HURT, WHOLE = "hurt", next(f"g{at}" for at in range(9) if partition_for(f"g{at}", 2) != partition_for("hurt", 2))


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    broker = DiskBroker(tmp_path / "data", {"offsets.topic.num.partitions": "2"})
    broker.create("t", 2)
    whole(broker.core.groups.log.ensured())
    for group in (HURT, WHOLE):
        for partition in (0, 1):
            for offset in (5, 7):
                assert commit(broker, group, partition, offset) == 0
    return broker


def commit(broker: DiskBroker, group: str, partition: int, offset: int) -> int:
    Topic = OffsetCommitRequest.RequestTopic
    topic = Topic(name="t", partitions=[Topic.RequestPartition(partition_index=partition, committed_offset=offset)])
    request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=[topic])
    return int(broker.call(request, 8).topics[0].partitions[0].error_code)


def committed(broker: DiskBroker, group: str) -> Any:
    """Offset by partition, or the group's error code."""
    request = OffsetFetchRequest(groups=[OffsetFetchRequest.RequestGroup(group_id=group, topics=None)])
    (answer,) = broker.call(request, 8).groups
    if answer.error_code:
        return answer.error_code
    return {found.partition_index: found.committed_offset for topic in answer.topics for found in topic.partitions}


def damage(broker: DiskBroker, at: int) -> Path:
    """A byte of the batch with this offset flips, while the broker is down."""
    broker.core.close()
    number = partition_for(HURT, 2)
    path = broker.path / f"__consumer_offsets-{number}" / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    position = 0
    for _ in range(at):
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    size_bytes = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    data[position + size_bytes - 3] ^= 0x10
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("at", [0, 2])
def test_damaged_offsets_are_named_and_their_groups_are_not_served(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture, at: int
) -> None:
    path = damage(broker, at)
    before = path.read_bytes()
    broker.open()
    assert f"{path} at " in caplog.text and f"the CRC of the batch at offset {at} does not match" in caplog.text
    assert "kafka-tools broker mend" in caplog.text
    assert committed(broker, HURT) == codes.NOT_COORDINATOR
    assert commit(broker, HURT, 0, 8) == codes.NOT_COORDINATOR
    join = JoinGroupRequest(group_id=HURT, session_timeout_ms=30_000, rebalance_timeout_ms=1, protocol_type="consumer")
    assert broker.call(join, 4).error_code == codes.NOT_COORDINATOR
    heartbeat = HeartbeatRequest(group_id=HURT, generation_id=1, member_id="m")
    assert broker.call(heartbeat, 3).error_code == codes.NOT_COORDINATOR
    assert broker.call(DescribeGroupsRequest(groups=[HURT]), 5).groups[0].error_code == codes.NOT_COORDINATOR
    assert broker.call(DeleteGroupsRequest(groups_names=[HURT]), 2).results[0].error_code == codes.NOT_COORDINATOR
    assert [group.group_id for group in broker.call(ListGroupsRequest(), 4).groups] == [WHOLE]
    assert committed(broker, WHOLE) == {0: 7, 1: 7}
    assert commit(broker, WHOLE, 0, 9) == 0
    broker.advance(3600)
    assert path.read_bytes() == before, "nothing is written to what is damaged"
    broker.restart(kill=True)
    assert committed(broker, WHOLE) == {0: 9, 1: 7}


def test_a_damaged_last_batch_is_cut_off_and_the_offset_that_is_gone_is_named(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing sound is behind it: what is left is whole, and served."""
    path = damage(broker, 3)
    before = path.read_bytes()
    broker.open()
    assert f"{path} at " in caplog.text and "the CRC of the last batch does not match" in caplog.text
    assert f"{path.parent.name}: offsets 3 to 3 are missing" in caplog.text
    left = path.read_bytes()
    assert [view.base_offset for view in batches(left)] == [0, 1, 2] and before.startswith(left)
    assert committed(broker, HURT) == {0: 7, 1: 5}
    assert commit(broker, HURT, 1, 8) == 0
    broker.restart(kill=True)
    assert committed(broker, HURT) == {0: 7, 1: 8}
    assert committed(broker, WHOLE) == {0: 7, 1: 7}


def test_damaged_offsets_are_mended_with_what_is_whole(broker: DiskBroker) -> None:
    path = damage(broker, 3)
    before = path.read_bytes()
    (mended,) = mending.mend([str(broker.path)], ManualClock()).logs
    assert (mended.directory, mended.kept, mended.damaged_spans, mended.left_out) == (str(path.parent), 3, 1, [])
    assert (Path(mended.moved_to) / path.name).read_bytes() == before
    broker.open()
    assert committed(broker, HURT) == {0: 7, 1: 5}
    assert commit(broker, HURT, 1, 8) == 0
    broker.restart(kill=True)
    assert committed(broker, HURT) == {0: 7, 1: 8}
    assert committed(broker, WHOLE) == {0: 7, 1: 7}


@pytest.mark.parametrize("at_once", [True, False])
def test_a_record_that_contradicts_itself_costs_no_group_beside_it(
    broker: DiskBroker, caplog: pytest.LogCaptureFixture, at_once: bool
) -> None:
    """Two members with one instance id: no broker writes that, and it once kept a whole partition from its groups."""
    twins = [MemberMetadata(member_id=each, group_instance_id="i") for each in ("a", "b")]
    value = GroupMetadataValue(protocol_type="consumer", generation=1, protocol="range", leader="a", members=twins)
    broker.core.groups.store.write(HURT, [CoordinatorRecord(GroupMetadataKey(group=HURT), value, 3)])
    if not at_once:
        broker.limits = BrokerLimits(loaded_first_bytes=0)
    broker.restart()
    broker.step()
    number = partition_for(HURT, 2)
    reason = "two members, a and b, have the instance id i"
    line = f"__consumer_offsets-{number}: the record at offset 4 was skipped: {reason}"
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == [
        f"{line}. Stop the broker and run kafka-tools broker mend to remove it"
    ]
    assert committed(broker, HURT) == {0: 7, 1: 7} == committed(broker, WHOLE)
    assert commit(broker, HURT, 0, 9) == 0
    broker.core.close()
    done = mending.mend([str(broker.path)], ManualClock())
    directory = str(broker.path / f"__consumer_offsets-{number}")
    assert done.lines()[1] == f"{directory}: {line.partition(': ')[2]}."
    caplog.clear()
    broker.open()
    broker.step()
    assert "was skipped" not in caplog.text and committed(broker, HURT) == {0: 9, 1: 7}


def test_a_mending_of_a_log_that_ends_early_is_finished_by_the_next(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(broker, 3)
    for failing_at in (1, 2):
        if failing_at == 2:
            broker.core.close()
            damage(broker, 2)
        with monkeypatch.context() as patch:
            renamed = iter(range(1, 9))
            real = os.rename

            def rename(*names: Any, at: int = failing_at, real: Any = real, renamed: Any = renamed) -> None:
                if next(renamed) == at:
                    raise OSError(5, "Input/output error")
                real(*names)

            patch.setattr(os, "rename", rename)
            with pytest.raises(OSError, match="Input/output"):
                mending.mend([str(broker.path)], ManualClock())
        mending.mend([str(broker.path)], ManualClock())
        broker.open()
        assert committed(broker, HURT) == {0: 7, 1: 5} if failing_at == 1 else {0: 5, 1: 5}
        assert not list(broker.path.glob("*-future"))
