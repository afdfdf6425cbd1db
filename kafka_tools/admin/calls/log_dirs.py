"""Log directories of brokers (KIP-113): the replicas in each, and moves between the directories of one broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.records import by_topic
from kafka_tools.admin.driver import AdminCall, Progress
from kafka_tools.admin.lookups import GivenNodeLookup
from kafka_tools.admin.outcomes import Outcome
from kafka_tools.clock import Deadline
from kafka_tools.errors import KafkaToolsError
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node, TopicPartition

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
    a future one (a move under way), how far it is behind the current log."""

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

    ``partitions``: broker id -> the partitions that it is to tell of; a broker that is not there tells of all.
    """

    name = "describe log dirs"

    def __init__(self, partitions: Mapping[int, Sequence[TopicPartition]]) -> None:
        self.lookup = GivenNodeLookup(_same)
        self._partitions = partitions

    def build(self, keys: list[int], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest

        topics = None
        wanted = self._partitions.get(keys[0])
        if wanted is not None:
            Topic = DescribeLogDirsRequest.DescribableLogDirTopic
            topics = [Topic(topic=name, partitions=numbers) for name, numbers in by_topic(wanted).items()]
        return DescribeLogDirsRequest(topics=topics)

    def interpret(
        self,
        keys: list[int],
        response: DescribeLogDirsResponse,
        version: int,
        node: Node,
        progress: Progress[int, LogDirs],
    ) -> None:
        for key in keys:
            if response.error_code != error_codes.NONE:
                progress.take(key, response.error_code, None, {})
            elif not response.results and version < 3:
                # Before v3 a refused request looks like a broker without log dirs, which no broker is.
                text = f"{node} returned no log directories: the principal may lack DESCRIBE on the cluster"
                progress.failed[key] = broker_error(error_codes.CLUSTER_AUTHORIZATION_FAILED, text)
            else:
                progress.completed[key] = {item.log_dir: _log_dir(item, version) for item in response.results}


def _same(broker_id: int) -> int:
    return broker_id


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
    """Where a replica is: paths, and how far each log lags (``ReplicaInfo``). None: the broker holds no such log."""

    current: str | None
    current_lag: int | None
    future: str | None
    future_lag: int | None


class DescribeReplicaLogDirs(AdminCall[ReplicaPlace, ReplicaLogDirs, "DescribeLogDirsResponse"]):
    """Replica -> its directories, from its broker's answer to DescribeLogDirs."""

    name = "describe replica log dirs"
    per_request = 5_000

    def __init__(self) -> None:
        self.lookup = GivenNodeLookup(_broker_of)

    def build(self, keys: list[ReplicaPlace], versions: NodeVersions, deadline: Deadline) -> Request:
        broker_id = keys[0].broker_id
        partitions = [key.topic_partition for key in keys]
        return DescribeLogDirs({broker_id: partitions}).build([broker_id], versions, deadline)

    def interpret(
        self,
        keys: list[ReplicaPlace],
        response: DescribeLogDirsResponse,
        version: int,
        node: Node,
        progress: Progress[ReplicaPlace, ReplicaLogDirs],
    ) -> None:
        broker_id = keys[0].broker_id
        told: Progress[int, LogDirs] = Progress()
        DescribeLogDirs({}).interpret([broker_id], response, version, node, told)
        replicas, offline = _by_path(told.completed.get(broker_id, {}))
        for key in keys:
            if broker_id in told.completed:
                self._take(key, replicas, offline, progress)
            elif broker_id in told.again:
                progress.again[key] = told.again[broker_id]
            else:
                progress.failed[key] = told.failed[broker_id]

    @staticmethod
    def _take(
        key: ReplicaPlace,
        dirs: Sequence[tuple[str, dict[TopicPartition, ReplicaInfo]]],
        offline: KafkaToolsError | None,
        progress: Progress[ReplicaPlace, ReplicaLogDirs],
    ) -> None:
        partition = key.topic_partition
        current = current_lag = future = future_lag = None
        for path, replicas in dirs:
            replica = replicas.get(partition)
            if replica is not None and replica.is_future:
                future, future_lag = path, replica.offset_lag
            elif replica is not None:
                current, current_lag = path, replica.offset_lag
        if current is None and offline is not None:
            progress.failed[key] = offline  # it may be in that one
        else:
            progress.completed[key] = ReplicaLogDirs(current, current_lag, future, future_lag)


def _by_path(
    dirs: LogDirs,
) -> tuple[list[tuple[str, dict[TopicPartition, ReplicaInfo]]], KafkaToolsError | None]:
    """What each directory holds, and the error of the first that is offline, which does not say what it holds."""
    offline = [outcome.error for outcome in dirs.values() if outcome.error is not None]
    replicas = [(path, outcome.value.replicas) for path, outcome in dirs.items() if outcome.value is not None]
    return replicas, offline[0] if offline else None


class AlterReplicaLogDirs(AdminCall[ReplicaPlace, None, "AlterReplicaLogDirsResponse"]):
    """Replica -> the absolute path of the log directory of its broker that it shall move to."""

    name = "alter replica log dirs"
    per_request = 5_000

    def __init__(self, paths: Mapping[ReplicaPlace, str]) -> None:
        self.lookup = GivenNodeLookup(_broker_of)
        self._paths = paths

    def build(self, keys: list[ReplicaPlace], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest

        by_path: dict[str, list[TopicPartition]] = {}
        for key in keys:
            by_path.setdefault(self._paths[key], []).append(key.topic_partition)
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

    def interpret(
        self,
        keys: list[ReplicaPlace],
        response: AlterReplicaLogDirsResponse,
        version: int,
        node: Node,
        progress: Progress[ReplicaPlace, None],
    ) -> None:
        broker_id = keys[0].broker_id
        for topic in response.results:
            for item in topic.partitions:
                key = ReplicaPlace(topic.topic_name, item.partition_index, broker_id)
                progress.settle(key, item.error_code, self._where(key, item.error_code), None)

    def _where(self, key: ReplicaPlace, code: int) -> str | None:
        """The text of an error, with the directory that was asked for if it concerns that."""
        if code not in (error_codes.KAFKA_STORAGE_ERROR, error_codes.LOG_DIR_NOT_FOUND) or key not in self._paths:
            return None
        return f"log directory {self._paths[key]} of broker {key.broker_id}: {error_codes.error(code).text}"


def _broker_of(key: ReplicaPlace) -> int:
    return key.broker_id
