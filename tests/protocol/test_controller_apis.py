"""What a controller tells brokers (APIs 4 to 7): the layouts of the 2.2 protocol guide, by their bytes."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_tools.errors import UnsupportedVersion
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.codec import decode, encode
from kafka_tools.protocol.messages import controlled_shutdown, leader_and_isr, stop_replica, update_metadata

LeaderAndIsr, StopReplica = leader_and_isr.LeaderAndIsrRequest, stop_replica.StopReplicaRequest
UpdateMetadata = update_metadata.UpdateMetadataRequest
ControlledShutdown = controlled_shutdown.ControlledShutdownRequest


def int32(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "big", signed=True) for value in values)


def text(value: str) -> bytes:
    return len(value).to_bytes(2, "big") + value.encode()


EPOCH = 7
EPOCH_BYTES = EPOCH.to_bytes(8, "big")


def leader_state(**fields: Any) -> leader_and_isr.PartitionState:
    return leader_and_isr.PartitionState(
        partition_index=1, controller_epoch=2, leader=3, leader_epoch=4, isr=[3], partition_epoch=5, replicas=[3],
        **fields,
    )  # fmt: skip


STATE_BYTES = int32(1, 2, 3, 4, 1, 3, 5, 1, 3)


@pytest.mark.req("CTL-1")
def test_the_newest_versions_of_the_guide_name_the_brokers_epoch_and_group_by_topic() -> None:
    ungrouped = LeaderAndIsr(
        controller_id=9, controller_epoch=2, ungrouped_partition_states=[leader_state(topic_name="t", is_new=True)]
    )
    assert encode(ungrouped, 1) == int32(9, 2, 1) + text("t") + STATE_BYTES + b"\1" + int32(0)
    topic = LeaderAndIsr.TopicState(topic_name="t", partition_states=[leader_state(is_new=True)])
    grouped = LeaderAndIsr(controller_id=9, controller_epoch=2, broker_epoch=EPOCH, topic_states=[topic])
    expected = int32(9, 2) + EPOCH_BYTES + int32(1) + text("t") + int32(1) + STATE_BYTES + b"\1" + int32(0)
    assert encode(grouped, 2) == expected

    stop = StopReplica(controller_id=9, controller_epoch=2, broker_epoch=EPOCH, delete_partitions=True)
    stop.topics = [StopReplica.TopicV1(name="t", partition_indexes=[1, 2])]
    assert encode(stop, 1) == int32(9, 2) + EPOCH_BYTES + b"\1" + int32(1) + text("t") + int32(2, 1, 2)
    one_by_one = StopReplica(controller_id=9, controller_epoch=2)
    one_by_one.ungrouped_partitions = [StopReplica.PartitionV0(topic_name="t", partition_index=1)]
    assert encode(one_by_one, 0) == int32(9, 2) + b"\0" + int32(1) + text("t") + int32(1)

    state = update_metadata.PartitionState(
        partition_index=1, controller_epoch=2, leader=3, leader_epoch=4, isr=[3], zk_version=5, replicas=[3]
    )
    told = UpdateMetadata(controller_id=9, controller_epoch=2, broker_epoch=EPOCH)
    told.topic_states = [UpdateMetadata.TopicState(topic_name="t", partition_states=[state])]
    expected = int32(9, 2) + EPOCH_BYTES + int32(1) + text("t") + int32(1) + STATE_BYTES + int32(0) + int32(0)
    assert encode(told, 5) == expected

    assert encode(ControlledShutdown(broker_id=9, broker_epoch=EPOCH), 2) == int32(9) + EPOCH_BYTES
    assert encode(ControlledShutdown(broker_id=9, broker_epoch=EPOCH), 1) == int32(9)


@pytest.mark.req("CTL-2")
def test_a_controller_and_a_broker_of_the_past_have_an_error_each() -> None:
    assert error_codes.error(11).name == "STALE_CONTROLLER_EPOCH"
    assert error_codes.error(77).name == "STALE_BROKER_EPOCH"


@pytest.mark.req("CTL-3")
def test_whether_a_replica_is_new_is_told_from_version_1_on() -> None:
    for is_new in (False, True):
        state = leader_state(topic_name="t", is_new=is_new)
        request = LeaderAndIsr(ungrouped_partition_states=[state])
        (found,) = decode(LeaderAndIsr, 1, encode(request, 1)).ungrouped_partition_states
        assert found.is_new is is_new
        (older,) = decode(LeaderAndIsr, 0, encode(request, 0)).ungrouped_partition_states
        assert older.is_new is False
    assert len(encode(request, 1)) == len(encode(request, 0)) + 1


@pytest.mark.req("CTL-4")
@pytest.mark.parametrize(("version", "listener"), [(1, b""), (2, b""), (3, text("INTERNAL")), (4, text("INTERNAL"))])
def test_end_points_are_port_host_listener_and_protocol(version: int, listener: bytes) -> None:
    endpoint = UpdateMetadata.Broker.Endpoint(port=9092, host="h", listener="INTERNAL", security_protocol=3)
    request = UpdateMetadata(live_brokers=[UpdateMetadata.Broker(id=8, endpoints=[endpoint], rack=None)])
    expected = int32(9092) + text("h") + listener + b"\0\3"
    assert int32(8, 1) + expected in encode(request, version)


@pytest.mark.req("CTL-5")
def test_a_controller_is_never_asked_to_slow_down() -> None:
    for response in (
        leader_and_isr.LeaderAndIsrResponse, stop_replica.StopReplicaResponse, update_metadata.UpdateMetadataResponse,
        controlled_shutdown.ControlledShutdownResponse,
    ):  # fmt: skip
        assert "throttle_time_ms" not in {field.name for field in response.FIELDS}


@pytest.mark.req("CTL-6")
def test_a_version_that_does_not_exist_is_told_with_the_apis_own_latest() -> None:
    with pytest.raises(UnsupportedVersion, match=r"UpdateMetadataRequest are 0 to 8$"):
        encode(UpdateMetadata(), 99)


@pytest.mark.req("CTL-7")
def test_answers_can_be_read() -> None:
    error = leader_and_isr.PartitionError(topic_name="orders", partition_index=3, error_code=11)
    shown = repr(leader_and_isr.LeaderAndIsrResponse(error_code=77, partition_errors=[error]))
    assert all(part in shown for part in ("LeaderAndIsrResponse", "77", "orders", "partition_index=3", "11"))
    stopped = stop_replica.StopReplicaResponse.PartitionError(topic_name="orders", partition_index=3, error_code=11)
    shown = repr(stop_replica.StopReplicaResponse(error_code=77, partition_errors=[stopped]))
    assert all(part in shown for part in ("StopReplicaResponse", "77", "orders", "partition_index=3", "11"))
