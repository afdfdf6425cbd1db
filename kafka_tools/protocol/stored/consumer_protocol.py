"""The messages that members of a classic consumer group exchange through the coordinator.

Each is stored with its version as int16 before it. A reader takes a newer version than it knows as
the newest it knows (KIP-429, KIP-792).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Stored, Struct, array, bytes_, int32, string


class ConsumerProtocolSubscription(Stored, versions="0-3"):
    """A member's subscription, sent in JoinGroup and stored in GroupMetadataValue.

    v1: adds owned_partitions.
    v2: adds generation_id.
    v3: adds rack_id.
    """

    # Names of the topics to consume. A pattern is already resolved.
    topics = array(string())
    # The assignor's own. The sticky assignor puts the previous assignment here. Null: none.
    user_data = bytes_(nullable="0+", default=None)

    class TopicPartition(Struct):
        topic = string(versions="1+", map_key=True)
        # Indexes of the partitions.
        partitions = array(int32(), versions="1+")

    # Partitions that the member keeps through the rebalance (KIP-429). Empty with eager assignors.
    owned_partitions = array(TopicPartition, versions="1+", ignorable=True)
    # Generation in which it received owned_partitions. -1: none. An older one makes the claim void (KIP-792).
    generation_id = int32(versions="2+", default=-1, ignorable=True)
    # client.rack. Null if the member has none (KIP-881).
    rack_id = string(versions="3+", nullable="3+", default=None, ignorable=True)


class ConsumerProtocolAssignment(Stored, versions="0-3"):
    """A member's partitions, received in SyncGroup and stored in GroupMetadataValue.

    v1-v3: no change. The versions follow those of ConsumerProtocolSubscription.
    """

    class TopicPartition(Struct):
        topic = string(map_key=True)
        # Indexes of the partitions.
        partitions = array(int32())

    # One entry per topic. Empty if the member receives nothing.
    assigned_partitions = array(TopicPartition)
    # The assignor's own, from the leader to the member. Null: none.
    user_data = bytes_(nullable="0+", default=None)
