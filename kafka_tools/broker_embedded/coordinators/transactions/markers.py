"""Markers: the control batches that end a producer's transaction in the partitions that it wrote to.

The transaction coordinator writes them, and clients with WriteTxnMarkers: other brokers, and tools that end a hanging
transaction. The rules are those of ``ProducerAppendInfo`` (KIP-98, KIP-890, KIP-1228).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.errors import LogError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CONSUMER_OFFSETS
from kafka_tools.records.control import build_marker
from kafka_tools.storage.producer_state import FencedCoordinator, StaleProducerEpoch

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.coordinators.offsets import Offsets
    from kafka_tools.broker_embedded.coordinators.runtime import Runtime
    from kafka_tools.values import TopicPartition

log = logging.getLogger(__name__)


class Marker(NamedTuple):
    """The end of a producer's transaction. ``version``: the transaction version for the check of its epoch."""

    producer_id: int
    epoch: int
    committed: bool
    coordinator_epoch: int
    version: int


class Markers:
    """Writes markers to the partitions that this broker leads."""

    def __init__(self, runtime: Runtime, offsets: Offsets) -> None:
        self._runtime = runtime
        self._offsets = offsets

    def write(self, marker: Marker, at: TopicPartition) -> int:
        """Write a marker to one partition; returns an error code. With 0, the marker is in the log."""
        partition = self._runtime.partitions.get(at.topic, at.partition)
        if partition is None:
            is_offline = at in self._runtime.partitions.offline
            return error_codes.KAFKA_STORAGE_ERROR if is_offline else error_codes.UNKNOWN_TOPIC_OR_PARTITION
        batch = build_marker(
            marker.producer_id,
            marker.epoch,
            committed=marker.committed,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp=self._runtime.now_ms(),
        )
        try:
            partition.log.producers.check_marker(
                marker.producer_id, marker.epoch, marker.coordinator_epoch, marker.version, at
            )
            partition.log.append(bytearray(batch), leader_epoch=partition.leader_epoch, from_client=False)
        except StaleProducerEpoch as error:
            log.info("%s", error)
            return error_codes.INVALID_PRODUCER_EPOCH
        except FencedCoordinator as error:
            log.info("%s", error)
            return error_codes.TRANSACTION_COORDINATOR_FENCED
        except (LogError, OSError) as error:  # the partition log has logged it
            log.debug("cannot write a marker to %s: %s", at, error)
            return error_codes.KAFKA_STORAGE_ERROR
        partition.appended_bytes += len(batch)
        if at.topic == CONSUMER_OFFSETS:
            rest = self._offsets.table.transaction_ended(at.partition, marker.producer_id, marker.committed)
            self._runtime.begin(rest, "the committed offsets of a transaction are still pending")
        self._runtime.purgatory.wake(partition.id)
        return error_codes.NONE
