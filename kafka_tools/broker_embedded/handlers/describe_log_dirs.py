"""DescribeLogDirs (35): the log directories with the partitions in them and their sizes.

- No topics (null) means all partitions.
- offset_lag is 0: one replica is never behind its own high watermark, and there are no future logs.
- v3: an error code of the whole request, before an empty list. v4: size and free space of the volume.
"""

from __future__ import annotations

import logging
import shutil

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsResponse

VERSIONS = (0, 5)
AUTHORIZE = (AclOperation.DESCRIBE,)

log = logging.getLogger(__name__)

Result = DescribeLogDirsResponse.Result


def handle(call: Call) -> Work[DescribeLogDirsResponse]:
    wanted = call.request.topics
    names: dict[str, set[int]] | None = None if wanted is None else {}
    for topic in wanted or ():
        assert names is not None
        names.setdefault(topic.topic, set()).update(topic.partitions)  # a topic may occur twice
    results = []
    for path in call.broker.dirs.paths:
        results.append((yield from _directory(call, path, names)))
    return DescribeLogDirsResponse(results=results)


def _directory(call: Call, path: str, names: dict[str, set[int]] | None) -> Work[DescribeLogDirsResponse.Result]:
    if path in call.broker.dirs.lost:
        return Result(log_dir=path, error_code=error_codes.KAFKA_STORAGE_ERROR)
    result = Result(log_dir=path)
    topics: dict[str, DescribeLogDirsResponse.Result.Topic] = {}
    for partition in sorted(call.broker.partitions, key=lambda partition: partition.id):
        yield
        topic, number = partition.id
        if partition.log_dir != path or (names is not None and number not in names.get(topic, ())):
            continue
        entry = topics.setdefault(topic, Result.Topic(name=topic))
        entry.partitions.append(Result.Topic.Partition(partition_index=number, partition_size=partition.log.size_bytes))
    result.topics = list(topics.values())
    if call.version >= 4:
        try:
            usage = shutil.disk_usage(path)
        except OSError as error:
            log.error("cannot read the log directory %s: %s", path, error)
            return Result(log_dir=path, error_code=error_codes.KAFKA_STORAGE_ERROR)
        result.total_bytes, result.usable_bytes = usage.total, usage.free
    return result
