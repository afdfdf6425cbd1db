"""Metadata in files, with every kind of record that a metadata log may have: made here, read by Kafka's shell too."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

from kafka_tools.protocol.codec import encode_into
from kafka_tools.protocol.primitives import write_unsigned_varint
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored import cluster_metadata as records
from kafka_tools.records.build import build_batch
from kafka_tools.storage.kraft_snapshots import write_kraft_snapshot

TIME_MS = 1_790_000_000_120
ORDERS, OLD = uuid.UUID(int=0xABC << 64 | 7), uuid.UUID(int=(1 << 127) | 5)
DIRECTORIES = [uuid.UUID(int=(1 << 127) | 9), uuid.UUID(int=77)]
ACL, GONE_ACL = uuid.UUID(int=1 << 100), uuid.UUID(int=1 << 101)


def encoded(record: Stored, version: int | None = None) -> bytes:
    """The record in its frame."""
    out = bytearray()
    for number in (1, record.ID or 0, record.MAX_VERSION if version is None else version):
        write_unsigned_varint(out, number)
    encode_into(record, record.MAX_VERSION if version is None else version, out)
    return bytes(out)


def state() -> list[Stored]:
    """What a snapshot may hold."""
    Endpoint, Feature = records.RegisterBrokerRecord.BrokerEndpoint, records.RegisterBrokerRecord.BrokerFeature
    Entity = records.ClientQuotaRecord.EntityData
    broker = records.RegisterBrokerRecord(
        broker_id=1, incarnation_id=ORDERS, broker_epoch=5, rack="r1", fenced=False, log_dirs=DIRECTORIES,
        cordoned_log_dirs=DIRECTORIES[:1],
        end_points=[Endpoint(name="SSL", host="b", port=2, security_protocol=1),
                    Endpoint(name="PLAINTEXT", host="a", port=65535, security_protocol=0)],
        features=[Feature(name="z", min_supported_version=1, max_supported_version=1),
                  Feature(name="a", min_supported_version=0, max_supported_version=32767),
                  Feature(name="metadata.version", min_supported_version=7, max_supported_version=30)],
    )  # fmt: skip
    Controller = records.RegisterControllerRecord.ControllerEndpoint
    return [
        records.FeatureLevelRecord(name="metadata.version", feature_level=30),
        records.FeatureLevelRecord(name="share.version", feature_level=1),
        records.FeatureLevelRecord(name="kraft.version", feature_level=1),
        broker,
        records.RegisterBrokerRecord(broker_id=30, broker_epoch=6, in_controlled_shutdown=True, cordoned_log_dirs=None),
        records.RegisterControllerRecord(
            controller_id=3000, zk_migration_ready=True,
            end_points=[Controller(name="CONTROLLER", host="c", port=9, security_protocol=3)],
        ),
        records.TopicRecord(name="orders", topic_id=ORDERS),
        records.PartitionRecord(
            partition_id=0, topic_id=ORDERS, replicas=[1, 30], isr=[1], leader=1, leader_epoch=2, partition_epoch=3,
            directories=DIRECTORIES, eligible_leader_replicas=[30], last_known_elr=[1], removing_replicas=[30],
        ),
        records.PartitionRecord(
            partition_id=10, topic_id=ORDERS, replicas=[1], isr=[], leader=-1, leader_epoch=0, partition_epoch=0,
            leader_recovery_state=1, adding_replicas=[2],
        ),
        records.TopicRecord(name="old", topic_id=OLD),
        records.ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="5"),
        records.ConfigRecord(resource_type=2, resource_name="orders", name="message.format.version", value="2.8"),
        records.ConfigRecord(resource_type=4, resource_name="", name="broker.rack", value="a: b"),
        records.ConfigRecord(resource_type=4, resource_name="1", name="log.retention.ms", value=""),
        records.ConfigRecord(resource_type=8, resource_name="1", name="kafka.Log", value="INFO"),
        records.ConfigRecord(resource_type=16, resource_name="m", name="interval.ms", value="100"),
        records.ConfigRecord(resource_type=32, resource_name="g:x", name="share.auto.offset.reset", value="earliest"),
        records.ClientQuotaRecord(entity=[Entity(entity_type="user", entity_name="a(b)\\c_d")], key="q", value=1.5e9),
        records.ClientQuotaRecord(
            entity=[Entity(entity_type="user", entity_name="u"), Entity(entity_type="client-id", entity_name="c")],
            key="request_percentage", value=1e-5,
        ),
        records.ClientQuotaRecord(entity=[Entity(entity_type="ip", entity_name="::1")], key="q", value=3.0),
        records.ProducerIdsRecord(broker_id=1, broker_epoch=5, next_producer_id=9000),
        records.AccessControlEntryRecord(
            id=ACL, resource_type=2, resource_name="*", pattern_type=4, principal="User:ünï", host="*", operation=15,
            permission_type=2,
        ),
        records.UserScramCredentialRecord(
            name="alice", mechanism=2, salt=b"\0\xff", stored_key=b"k", server_key=b"", iterations=4096
        ),
        records.DelegationTokenRecord(
            owner="User:alice", requester="User:bob", renewers=["User:carol", "User:d:e"], issue_timestamp=1,
            max_timestamp=2, expiration_timestamp=3, token_id="token-1",
        ),
        records.ZkMigrationStateRecord(zk_migration_state=3),
        records.NoOpRecord(),
    ]  # fmt: skip


def changes() -> list[list[Stored]]:
    """What a log may hold after that, batch by batch: changes, removals, transactions that end and that are undone."""
    Entity = records.ClientQuotaRecord.EntityData
    begin, end = records.BeginTransactionRecord(), records.EndTransactionRecord()
    return [
        [records.FenceBrokerRecord(id=1, epoch=5), records.UnfenceBrokerRecord(id=30, epoch=6)],
        [
            records.BrokerRegistrationChangeRecord(
                broker_id=30, broker_epoch=6, fenced=1, log_dirs=DIRECTORIES, cordoned_log_dirs=[]
            ),
            records.PartitionChangeRecord(
                partition_id=0, topic_id=ORDERS, leader=30, isr=[30, 1], eligible_leader_replicas=[],
                removing_replicas=[],
            ),
            records.PartitionChangeRecord(
                partition_id=10, topic_id=ORDERS, replicas=[2, 1, 3], leader_recovery_state=0, adding_replicas=[],
                directories=[DIRECTORIES[0]] * 3,
            ),
        ],
        [records.RemoveTopicRecord(topic_id=OLD), records.ClearElrRecord(topic_name="orders")],
        [
            records.ConfigRecord(resource_type=4, resource_name="1", name="log.retention.ms", value=None),
            records.ClientQuotaRecord(entity=[Entity(entity_type="ip", entity_name="::1")], key="q", remove=True),
            records.FeatureLevelRecord(name="share.version", feature_level=0),
            records.RemoveUserScramCredentialRecord(name="alice", mechanism=2),
            records.RemoveDelegationTokenRecord(token_id="token-1"),
        ],
        [
            records.AccessControlEntryRecord(
                id=GONE_ACL, resource_type=7, resource_name="x", pattern_type=3, principal="User:a", host="h",
                operation=13, permission_type=3,
            )
        ],
        [records.RemoveAccessControlEntryRecord(id=GONE_ACL)],
        [records.NoOpRecord(), begin, records.TopicRecord(name="in-one", topic_id=uuid.UUID(int=11))],
        [records.TopicRecord(name="in-two", topic_id=uuid.UUID(int=12))],
        [end],
        [begin, records.TopicRecord(name="undone", topic_id=uuid.UUID(int=13))],
        [records.AbortTransactionRecord()],
        [records.NoOpRecord()],
        [records.UnregisterBrokerRecord(broker_id=30, broker_epoch=6)],
    ]  # fmt: skip


def write_snapshot(folder: Path, name: str = "00000000000000000100-0000000007.checkpoint") -> Path:
    """A snapshot of ``state``."""
    path = folder / name
    write_kraft_snapshot(
        str(path), [[encoded(record) for record in state()]], epoch=7, last_contained_ms=TIME_MS, written_ms=TIME_MS
    )
    return path


def log_bytes(batches: Iterable[Sequence[Stored]], base_offset: int = 0) -> bytes:
    """A log of these batches; each is a second later than the one before."""
    parts = []
    for number, batch in enumerate(batches):
        rows = [(TIME_MS + 1000 * number, None, encoded(record), ()) for record in batch]
        parts.append(build_batch(rows, base_offset=base_offset, leader_epoch=3))
        base_offset += len(batch)
    return b"".join(parts)


def write_log(folder: Path) -> Path:
    """A log of ``state`` and the ``changes`` behind it."""
    path = folder / "00000000000000000000.log"
    path.write_bytes(log_bytes([state(), *changes()]))
    return path
