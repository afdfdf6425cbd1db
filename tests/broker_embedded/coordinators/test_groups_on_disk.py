"""Groups, offsets, configs, quotas, SCRAM users and producer ids of a broker that is killed and started again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from click.testing import CliRunner

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.commands.logs.dump_log import command as dump_log
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_tools.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from kafka_tools.protocol.stored.consumer_protocol import ConsumerProtocolSubscription
from tests.broker_embedded.quotas.test_throttling import limit_request
from tests.broker_embedded.wire_client import WireClient

CONFIG = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}


def join_and_commit(client: WireClient) -> str:
    """A stable group "g" of one member at generation 1, with offset 42 of t-0 committed; its member id."""
    metadata = encode_versioned(ConsumerProtocolSubscription(topics=["t"]), 1)
    join = JoinGroupRequest(group_id="g", session_timeout_ms=30_000, rebalance_timeout_ms=60_000)
    join.protocol_type = "consumer"
    join.protocols = [join.RequestProtocol(name="range", metadata=metadata)]
    member = str(client.call(join, 3).member_id)
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id=member)
    sync.assignments = [sync.RequestAssignment(member_id=member, assignment=b"\x00\x00\x00\x00\x00\x00")]
    client.call(sync, 3)
    commit = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=1, member_id=member)
    topic = commit.RequestTopic(name="t")
    topic.partitions = [
        topic.RequestPartition(partition_index=0, committed_offset=42, committed_metadata="a note", commit_timestamp=-1)
    ]
    commit.topics = [topic]
    assert client.call(commit, 8).topics[0].partitions[0].error_code == 0
    return member


def state_of(client: WireClient) -> Any:
    fetch = OffsetFetchRequest.RequestGroup(group_id="g", topics=None)
    configs = DescribeConfigsRequest.Resource(
        resource_type=2, resource_name="t", configuration_keys=["retention.ms", "segment.bytes"]
    )
    return (
        client.call(DescribeGroupsRequest(groups=["g"]), 5),
        client.call(OffsetFetchRequest(groups=[fetch]), 9),
        client.call(DescribeConfigsRequest(resources=[configs], include_synonyms=True), 4),
        client.call(DescribeClientQuotasRequest(), 1),
        client.call(DescribeUserScramCredentialsRequest(users=None), 0),
    )


def test_nothing_that_was_acknowledged_is_lost_when_the_broker_is_killed(tmp_path: Path) -> None:
    with EmbeddedBroker(data_dir=str(tmp_path), config=CONFIG) as broker:
        with WireClient(broker.bootstrap_servers) as client:
            topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
            client.call(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
            member = join_and_commit(client)
            Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
            resource = Resource(resource_type=2, resource_name="t")
            resource.configs = [Resource.AlterableConfig(name="retention.ms", config_operation=0, value="77")]
            client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
            client.call(limit_request({"user": "alice"}, producer_byte_rate=1e9), 1)
            upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
                name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"p" * 32
            )
            client.call(AlterUserScramCredentialsRequest(upsertions=[upsertion]), 0)
            producer_id = client.call(InitProducerIdRequest(transactional_id=None), 4).producer_id
            before = state_of(client)
        broker.restart(kill=True)
        with WireClient(broker.bootstrap_servers) as client:
            assert state_of(client) == before
            beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member)
            assert client.call(beat, 4).error_code == 0
            assert client.call(InitProducerIdRequest(transactional_id=None), 4).producer_id > producer_id
    group, offsets, configs, quotas, users = before
    assert (group.groups[0].group_state, group.groups[0].members[0].member_id) == ("Stable", member)
    assert offsets.groups[0].topics[0].partitions[0].committed_offset == 42
    assert [entry.value for entry in configs.results[0].configs] == ["77", "1073741824"]
    assert quotas.entries[0].values[0].value == 1e9
    assert users.results[0].credential_infos[0].iterations == 4096


def test_the_dump_tool_reads_the_stored_groups(tmp_path: Path) -> None:
    with EmbeddedBroker(data_dir=str(tmp_path), config=CONFIG) as broker:
        with WireClient(broker.bootstrap_servers) as client:
            topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
            client.call(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
            member = join_and_commit(client)
    (path,) = tmp_path.glob("__consumer_offsets-0/*.log")
    result = CliRunner().invoke(dump_log, ["--offsets-decoder", "--files", str(path)])
    assert result.exit_code == 0, result.output
    assert 'key: {"type":"1","data":{"group":"g","topic":"t","partition":0}}' in result.output
    assert '"offset":42,"leaderEpoch":-1,"metadata":"a note"' in result.output
    assert 'key: {"type":"2","data":{"group":"g"}} payload: {"version":"3"' in result.output
    assert f'"leader":"{member}"' in result.output


def test_a_consumer_group_goes_on_where_it_was_when_the_broker_is_killed(tmp_path: Path) -> None:
    def beat(client: WireClient, member_id: str, epoch: int, **fields: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(group_id="new", member_id=member_id, member_epoch=epoch, **fields)
        return client.call(request, 1)

    joining: dict[str, Any] = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
    describe = ConsumerGroupDescribeRequest(group_ids=["new"])
    with EmbeddedBroker(
        data_dir=str(tmp_path), config={**CONFIG, "group.consumer.assignment.interval.ms": "0"}
    ) as broker:
        with WireClient(broker.bootstrap_servers) as client:
            topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=4, replication_factor=1)
            client.call(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
            assert beat(client, "first", 0, **joining).member_epoch == 2
            assert beat(client, "second", 0, **joining).member_epoch == 3
            kept = beat(client, "first", 2).assignment.topic_partitions  # two of its four have to be given up
            before = client.call(describe, 1)
        broker.restart(kill=True)
        with WireClient(broker.bootstrap_servers) as client:
            assert client.call(describe, 1) == before
            assert before.groups[0].group_state == "Reconciling"
            Owned = ConsumerGroupHeartbeatRequest.TopicPartitions
            owned = [Owned(topic_id=each.topic_id, partitions=each.partitions) for each in kept]
            assert beat(client, "first", 2, topic_partitions=owned).member_epoch == 3
            assert len(beat(client, "second", 3).assignment.topic_partitions[0].partitions) == 2
            assert client.call(describe, 1).groups[0].group_state == "Stable"
