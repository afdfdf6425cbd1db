"""Log directories of brokers (KIP-113): the replicas in each, and moves between the directories of one broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.records import by_topic
from kafka_tools.admin.driver import AdminCall, Reply
from kafka_tools.admin.lookups import GivenNodeLookup
from kafka_tools.admin.outcomes import Outcome
from kafka_tools.clock import Deadline
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Request
from kafka_tools.values import TopicPartition

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsResponse
    from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsResponse


class ReplicaPlace(NamedTuple):
    """A replica on one broker."""

    topic: str
    partition: int
    broker_id: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class ReplicaInfo(NamedTuple):
    """A replica in a log directory. ``offset_lag``: of a current log, how far its end is behind the high watermark; of
    a future one (a move in progress), how far it is behind the current log."""

    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDirDescription(NamedTuple):
    """One log directory; sizes in bytes, None before 3.3; ``is_cordoned`` None before 4.3."""

    replicas: dict[TopicPartition, ReplicaInfo]
    total_bytes: int | None
    usable_bytes: int | None
    is_cordoned: bool | None


LogDirs = dict[str, Outcome[LogDirDescription]]


class DescribeLogDirs(AdminCall[int, LogDirs, "DescribeLogDirsResponse"]):
    """Broker id -> path -> the directory, or its error.

    ``partitions``: broker id -> the partitions to describe; all of them for other brokers.
    """

    name = "describe log dirs"
    lookup = GivenNodeLookup(lambda broker_id: broker_id)

    partitions: Mapping[int, Sequence[TopicPartition]]

    def build(self, keys: list[int], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest

        topics = None
        wanted = self.partitions.get(keys[0])
        if wanted is not None:
            Topic = DescribeLogDirsRequest.DescribableLogDirTopic
            topics = [Topic(topic=name, partitions=numbers) for name, numbers in by_topic(wanted).items()]
        return DescribeLogDirsRequest(topics=topics)

    def interpret(self, reply: Reply[int, LogDirs, DescribeLogDirsResponse]) -> None:
        response = reply.response
        for key in reply.keys:
            if response.error_code != error_codes.NONE:
                reply.take(key, response.error_code, None, {})
            elif not response.results and reply.version < 3:
                # Before v3 a refused request looks like a broker without log dirs, which no broker is.
                text = f"{reply.node} returned no log directories: the principal may lack DESCRIBE on the cluster"
                reply.failed[key] = broker_error(error_codes.CLUSTER_AUTHORIZATION_FAILED, text)
            else:
                reply.completed[key] = {item.log_dir: _log_dir(item, reply.version) for item in response.results}


def _log_dir(item: DescribeLogDirsResponse.Result, version: int) -> Outcome[LogDirDescription]:
    if item.error_code != error_codes.NONE:
        text = f"log directory {item.log_dir}: {error_codes.error(item.error_code).text}"
        return Outcome(None, broker_error(item.error_code, text))
    replicas = {
        TopicPartition(topic.name, part.partition_index): ReplicaInfo(
            part.partition_size, part.offset_lag, part.is_future_key
        )
        for topic in item.topics
        for part in topic.partitions
    }
    return Outcome(
        LogDirDescription(
            replicas,
            item.total_bytes if version >= 4 and item.total_bytes >= 0 else None,
            item.usable_bytes if version >= 4 and item.usable_bytes >= 0 else None,
            item.is_cordoned if version >= 5 else None,
        )
    )


class ReplicaLogDirs(NamedTuple):
    """The directories of a replica, and the lag of each log (``ReplicaInfo``). None: the broker has no such log."""

    current: str | None
    current_lag: int | None
    future: str | None
    future_lag: int | None


class DescribeReplicaLogDirs(AdminCall[ReplicaPlace, ReplicaLogDirs, "DescribeLogDirsResponse"]):
    """Replica -> its directories, from its broker's answer to DescribeLogDirs."""

    name = "describe replica log dirs"
    lookup = GivenNodeLookup(lambda key: key.broker_id)
    per_request = 5_000

    def build(self, keys: list[ReplicaPlace], versions: NodeVersions, deadline: Deadline) -> Request:
        broker_id = keys[0].broker_id
        partitions = [key.topic_partition for key in keys]
        return DescribeLogDirs({broker_id: partitions}).build([broker_id], versions, deadline)

    def interpret(self, reply: Reply[ReplicaPlace, ReplicaLogDirs, DescribeLogDirsResponse]) -> None:
        broker_id = reply.keys[0].broker_id
        told: Reply[int, LogDirs, DescribeLogDirsResponse]
        told = Reply([broker_id], reply.response, reply.version, reply.node)
        DescribeLogDirs({}).interpret(told)
        if broker_id not in told.completed:
            errors, reason = (reply.again, told.again) if told.again else (reply.failed, told.failed)
            errors.update(dict.fromkeys(reply.keys, reason[broker_id]))
            return
        dirs = told.completed[broker_id]
        offline = next((outcome.error for outcome in dirs.values() if outcome.error is not None), None)
        for key in reply.keys:
            places: dict[bool, tuple[str | None, int | None]] = {}
            for path, outcome in dirs.items():
                replica = outcome.value and outcome.value.replicas.get(key.topic_partition)
                if replica is not None:
                    places[replica.is_future] = path, replica.offset_lag
            if False not in places and offline is not None:
                reply.failed[key] = offline  # it may be in the offline directory, whose contents are unknown
            else:
                reply.completed[key] = ReplicaLogDirs(*places.get(False, _NOWHERE), *places.get(True, _NOWHERE))


_NOWHERE = (None, None)


class AlterReplicaLogDirs(AdminCall[ReplicaPlace, None, "AlterReplicaLogDirsResponse"]):
    """Replica -> the absolute path of the log directory of its broker that it shall move to."""

    name = "alter replica log dirs"
    lookup = GivenNodeLookup(lambda key: key.broker_id)
    per_request = 5_000

    paths: Mapping[ReplicaPlace, str]

    def build(self, keys: list[ReplicaPlace], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest

        by_path: dict[str, list[TopicPartition]] = {}
        for key in keys:
            by_path.setdefault(self.paths[key], []).append(key.topic_partition)
        Dir = AlterReplicaLogDirsRequest.AlterReplicaLogDir
        dirs = [
            Dir(
                path=path,
                topics=[
                    Dir.AlterReplicaLogDirTopic(name=name, partitions=numbers)
                    for name, numbers in by_topic(partitions).items()
                ],
            )
            for path, partitions in by_path.items()
        ]
        return AlterReplicaLogDirsRequest(dirs=dirs)

    def interpret(self, reply: Reply[ReplicaPlace, None, AlterReplicaLogDirsResponse]) -> None:
        broker_id = reply.keys[0].broker_id
        for topic in reply.response.results:
            for item in topic.partitions:
                key = ReplicaPlace(topic.topic_name, item.partition_index, broker_id)
                reply.settle(key, item.error_code, self._where(key, item.error_code), None)

    def _where(self, key: ReplicaPlace, code: int) -> str | None:
        """The text of an error, with the directory that was asked for if it concerns that."""
        if code not in (error_codes.KAFKA_STORAGE_ERROR, error_codes.LOG_DIR_NOT_FOUND) or key not in self.paths:
            return None
        return f"log directory {self.paths[key]} of broker {key.broker_id}: {error_codes.error(code).text}"
