"""Log directories as brokers describe them: copies on the move, directories that are gone."""

from __future__ import annotations

import pytest

from kafka_tools.admin.calls.log_dirs import ReplicaPlace
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafka_tools.values import TopicPartition

PLACE = ReplicaPlace("t", 0, 1)
Result = DescribeLogDirsResponse.Result
Topic = Result.Topic


def directory(path, *, future=False, lag=0):
    partition = Topic.Partition(partition_index=0, partition_size=10, offset_lag=lag, is_future_key=future)
    return Result(log_dir=path, topics=[Topic(name="t", partitions=[partition])])


@pytest.fixture
def answer(scripted):
    """(admin, a function that takes the directories that the broker will describe)."""
    cluster, admin = scripted()

    def told(*results):
        cluster.handlers[DescribeLogDirsRequest] = lambda *_: DescribeLogDirsResponse(results=list(results))

    return admin, told


@pytest.mark.req("LD-4")
def test_a_copy_that_will_replace_the_current_one_is_told_apart(answer):
    admin, told = answer
    told(directory("/a", lag=3), directory("/b", future=True, lag=7))
    found = admin.describe_log_dirs([1])[1].value
    copies = {path: outcome.value.replicas[TopicPartition("t", 0)] for path, outcome in found.items()}
    assert {path: (copy.is_future, copy.offset_lag) for path, copy in copies.items()} == {
        "/a": (False, 3),
        "/b": (True, 7),
    }
    assert admin.describe_replica_log_dirs([PLACE])[PLACE].value == ("/a", 3, "/b", 7)


@pytest.mark.req("LD-5")
def test_a_directory_that_is_gone_is_an_error_of_its_own_that_may_pass(answer):
    admin, told = answer
    told(directory("/a"), Result(log_dir="/b", error_code=error_codes.KAFKA_STORAGE_ERROR))
    found = admin.describe_log_dirs([1])[1].value
    assert found["/a"].error is None
    assert found["/b"].value is None
    gone = found["/b"].error.code
    assert (gone.code, gone.name, gone.retriable) == (56, "KAFKA_STORAGE_ERROR", True)
    assert error_codes.error(57).name == "LOG_DIR_NOT_FOUND" and not error_codes.error(57).retriable
    # What lies in a directory that is offline is not known: no copy anywhere else may mean that it is there.
    told(Result(log_dir="/b", error_code=error_codes.KAFKA_STORAGE_ERROR))
    assert admin.describe_replica_log_dirs([PLACE])[PLACE].error.code == gone


def test_each_broker_may_be_asked_for_partitions_of_its_own(scripted):
    cluster, admin = scripted(size=3)
    cluster.handlers[DescribeLogDirsRequest] = lambda *_: DescribeLogDirsResponse(results=[directory("/a")])
    admin.describe_log_dirs([1, 2, 3], {1: [TopicPartition("t", 0), TopicPartition("u", 4)], 3: []}).raise_any()
    asked = {
        node: request.topics and [(each.topic, each.partitions) for each in request.topics]
        for node, request, _ in cluster.sent(DescribeLogDirsRequest)
    }
    assert asked == {1: [("t", [0]), ("u", [4])], 2: None, 3: []}
