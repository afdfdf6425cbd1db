"""Three brokers, in virtual time, that move the partitions of a topic as they are told to, so many bytes a second."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import ConfigSource
from kafka_tools.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from kafka_tools.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
)
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafka_tools.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kafka_tools.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka_tools.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.admin.virtual_cluster import VirtualCluster
from tests.net.peers import HANG_UP
from tests.net.virtual import SILENCE, without_chance

NAME = "kafka-reassign-partitions"
SIZE_BYTES = 100 << 20
RATE = 10 << 20
"""Bytes a second that each new replica gets."""


class Move:
    """A partition on its way: the replicas it is to have, and since when its new replicas get bytes."""

    def __init__(self, target: tuple[int, ...], began_s: float) -> None:
        self.target = target
        self.began_s = began_s


class MovingCluster:
    """Partitions of a topic, each on brokers 1 and 2; what tests change are the attributes."""

    def __init__(self, partitions: int = 4, topic: str = "t") -> None:
        self.topic = topic
        self.names: dict[int, str] = {}
        """Partition -> its topic, where that is another one."""
        self.cluster = VirtualCluster()
        self.cluster.fault = self._answer
        self.replicas: dict[int, tuple[int, ...]] = dict.fromkeys(range(partitions), (1, 2))
        self.moving: dict[int, Move] = {}
        self.refused: dict[int, int] = {}
        self.dead: set[int] = set()
        self.silent: set[int] = set()
        """Brokers that the cluster takes for alive, and that answer nothing."""
        self.stuck: set[int] = set()
        self.offline: set[str] = set()
        """Log directories that are offline, on every broker."""
        self.rate = RATE
        self.at: list[tuple[float, Callable[[], object]]] = []
        """(when, what happens then)."""
        self.begun: list[list[int]] = []
        """Of each request that began something, the partitions."""
        self.most_at_once = 0
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.paths: dict[tuple[int, int], str] = {}
        self.futures: dict[tuple[int, int], tuple[str, float]] = {}
        """(partition, broker) -> where its replica moves to, and since when."""

    @property
    def now_s(self) -> float:
        return self.cluster.network.clock.monotonic_s()

    def name(self, number: int) -> str:
        return self.names.get(number, self.topic)

    def move(self, number: int, *target: int) -> None:
        self.moving[number] = Move(target, self.now_s)

    def run(
        self, line: str, capsys: pytest.CaptureFixture[str], address: str = "--bootstrap-server"
    ) -> tuple[int, str, str]:
        """(status, stdout, stderr)."""
        capsys.readouterr()
        words = [*shlex.split(line), address, self.cluster.bootstrap]
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.cluster.network.in_use())
            stack.enter_context(without_chance())
            status = running.run(cli.load("reassign-partitions"), words, NAME)
        out, err = capsys.readouterr()
        return status, out, err

    def _turn(self) -> None:
        for moment in [each for each in self.at if each[0] <= self.now_s]:
            self.at.remove(moment)
            moment[1]()
        for number, move in list(self.moving.items()):
            if self.dead & set(move.target) or number in self.stuck:
                move.began_s = self.now_s  # nothing comes
            elif self._copied(move.began_s) == SIZE_BYTES:
                self.replicas[number] = move.target
                del self.moving[number]
        for key, (path, began_s) in list(self.futures.items()):
            if self._copied(began_s) == SIZE_BYTES:
                self.paths[key] = path
                del self.futures[key]
        self.most_at_once = max(self.most_at_once, len(self.moving))

    def _copied(self, began_s: float) -> int:
        return min(SIZE_BYTES, int((self.now_s - began_s) * self.rate))

    def _answer(self, request: Any, version: int, node: Any) -> Any:
        self._turn()
        if node.id in self.dead:
            return HANG_UP
        if node.id in self.silent:
            return SILENCE
        if isinstance(request, DescribeClusterRequest | MetadataRequest):
            answer = self.cluster.truth(request, version)
            id = "broker_id" if isinstance(request, DescribeClusterRequest) else "node_id"
            answer.brokers = [each for each in answer.brokers if getattr(each, id) not in self.dead]
            return answer
        answers = {
            ListPartitionReassignmentsRequest: self._list,
            DescribeTopicPartitionsRequest: self._describe,
            AlterPartitionReassignmentsRequest: self._alter,
            DescribeConfigsRequest: self._describe_configs,
            IncrementalAlterConfigsRequest: self._alter_configs,
        }
        if type(request) in answers:
            return answers[type(request)](request)
        if isinstance(request, DescribeLogDirsRequest):
            return self._log_dirs(node.id)
        if isinstance(request, AlterReplicaLogDirsRequest):
            return self._move_dirs(request, node.id)
        return None

    def _all(self, number: int) -> tuple[int, ...]:
        move = self.moving.get(number)
        return tuple(dict.fromkeys((*(move.target if move else ()), *self.replicas[number])))

    def _list(self, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        Topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment
        found: dict[str, list[Any]] = {}
        for number, move in self.moving.items():
            found.setdefault(self.name(number), []).append(
                Topic.OngoingPartitionReassignment(
                    partition_index=number,
                    replicas=list(self._all(number)),
                    adding_replicas=[id for id in move.target if id not in self.replicas[number]],
                    removing_replicas=[id for id in self.replicas[number] if id not in move.target],
                )
            )
        return ListPartitionReassignmentsResponse(
            topics=[Topic(name=name, partitions=each) for name, each in found.items()]
        )

    def _describe(self, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
        Topic = DescribeTopicPartitionsResponse.ResponseTopic
        partitions: dict[str, list[Any]] = {}
        for number in self.replicas:
            partitions.setdefault(self.name(number), []).append(
                Topic.ResponsePartition(
                    partition_index=number, leader_id=1, replica_nodes=list(self._all(number)), isr_nodes=[1]
                )
            )
        code = error_codes.UNKNOWN_TOPIC_OR_PARTITION
        return DescribeTopicPartitionsResponse(
            topics=[
                Topic(name=each.name, partitions=partitions[each.name])
                if each.name in partitions
                else Topic(name=each.name, error_code=code)
                for each in request.topics
            ]
        )

    def _alter(self, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
        Answer = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
        responses = []
        begun = []
        for topic in request.topics:
            answers = []
            for each in topic.partitions:
                number, code = each.partition_index, self.refused.get(each.partition_index, 0)
                if number not in self.replicas:
                    code = error_codes.UNKNOWN_TOPIC_OR_PARTITION
                if not code and each.replicas is not None:
                    begun.append(number)
                    if tuple(each.replicas) != self.replicas[number]:
                        self.move(number, *each.replicas)
                elif not code:
                    self.moving.pop(number, None)
                answers.append(Answer.ReassignablePartitionResponse(partition_index=number, error_code=code))
            responses.append(Answer(name=topic.name, partitions=answers))
        self.begun.append(begun)
        self._turn()
        return AlterPartitionReassignmentsResponse(responses=responses)

    def _log_dirs(self, id: int) -> DescribeLogDirsResponse:
        Result = DescribeLogDirsResponse.Result
        held: dict[str, dict[str, list[Any]]] = {}
        for number, replicas in self.replicas.items():
            move = self.moving.get(number)
            if id in replicas:
                size = SIZE_BYTES
            elif move is not None and id in move.target:
                size = self._copied(move.began_s)
            else:
                continue
            Partition = Result.Topic.Partition
            path = self.paths.get((number, id), "/a")
            held.setdefault(path, {}).setdefault(self.name(number), []).append(
                Partition(partition_index=number, partition_size=size)
            )
            if (number, id) in self.futures:
                future, began_s = self.futures[number, id]
                held.setdefault(future, {}).setdefault(self.name(number), []).append(
                    Partition(partition_index=number, partition_size=self._copied(began_s), is_future_key=True)
                )
        return DescribeLogDirsResponse(
            results=[
                Result(log_dir=path, topics=[Result.Topic(name=name, partitions=each) for name, each in found.items()])
                for path, found in {"/a": {}, **held}.items()
            ]
            + [Result(log_dir=path, error_code=error_codes.KAFKA_STORAGE_ERROR) for path in self.offline]
        )

    def _move_dirs(self, request: AlterReplicaLogDirsRequest, id: int) -> AlterReplicaLogDirsResponse:
        Result = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
        results = []
        for path, topic in [(each.path, topic) for each in request.dirs for topic in each.topics]:
            moved = []
            for number in topic.partitions:
                code = 0
                if path in self.offline:
                    code = error_codes.KAFKA_STORAGE_ERROR
                elif id in self._all(number):
                    self.futures[number, id] = path, self.now_s
                else:
                    code = error_codes.REPLICA_NOT_AVAILABLE
                moved.append(Result.AlterReplicaLogDirPartitionResult(partition_index=number, error_code=code))
            results.append(Result(topic_name=topic.name, partitions=moved))
        return AlterReplicaLogDirsResponse(results=results)

    def _describe_configs(self, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        Result = DescribeConfigsResponse.Result
        topic, broker = ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG
        return DescribeConfigsResponse(
            results=[
                Result(
                    resource_type=each.resource_type,
                    resource_name=each.resource_name,
                    configs=[
                        Result.ResourceResult(
                            name=name, value=value, config_source=topic if each.resource_type == 2 else broker
                        )
                        for name, value in self.configs.get((each.resource_type, each.resource_name), {}).items()
                    ],
                )
                for each in request.resources
            ]
        )

    def _alter_configs(self, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
        Response = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
        topics = {self.name(number) for number in self.replicas}
        missing = {each.resource_name for each in request.resources if each.resource_type == 2} - topics
        for resource in request.resources:
            if resource.resource_type == 2 and resource.resource_name in missing:
                continue
            values = self.configs.setdefault((resource.resource_type, resource.resource_name), {})
            for each in resource.configs:
                if each.config_operation == 0:
                    values[each.name] = each.value
                else:
                    values.pop(each.name, None)
        return IncrementalAlterConfigsResponse(
            responses=[
                Response(
                    resource_type=each.resource_type,
                    resource_name=each.resource_name,
                    error_code=error_codes.UNKNOWN_TOPIC_OR_PARTITION
                    if each.resource_type == 2 and each.resource_name in missing
                    else error_codes.NONE,
                )
                for each in request.resources
            ]
        )
