"""The messages that members of a classic consumer group exchange through the coordinator.

Each is stored with its version as int16 before it. A reader takes a newer version than it knows as
the newest it knows (KIP-429, KIP-792).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, bytes_, int32, string


class ConsumerProtocolSubscription(Stored, versions="0-3"):
    """What a member subscribes to; sent in JoinGroup.

    v1: adds owned_partitions.
    v2: adds generation_id.
    v3: adds rack_id.
    """

    topics = array(string())
    user_data = bytes_(nullable="0+", default=None)

    class TopicPartition(Struct):
        topic = string(versions="1+", map_key=True)
        partitions = array(int32(), versions="1+")

    owned_partitions = array(TopicPartition, versions="1+", ignorable=True)
    generation_id = int32(versions="2+", default=-1, ignorable=True)
    rack_id = string(versions="3+", nullable="3+", default=None, ignorable=True)


class ConsumerProtocolAssignment(Stored, versions="0-3"):
    """What a member is assigned; received in SyncGroup."""

    class TopicPartition(Struct):
        topic = string(map_key=True)
        partitions = array(int32())

    assigned_partitions = array(TopicPartition)
    user_data = bytes_(nullable="0+", default=None)
