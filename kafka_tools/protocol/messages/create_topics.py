"""CreateTopics (19): create topics; v1 can validate only, v5 answers with the resulting configs."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string, uuid


class CreateTopicsRequest(Request, key=19, route=CONTROLLER, versions="0-7", flexible="5+"):
    """Request of CreateTopics.

    v1: adds validate_only.
    v5: flexible.
    """

    class CreatableTopic(Struct):
        name = string(map_key=True)
        num_partitions = int32()
        replication_factor = int16()

        class CreatableReplicaAssignment(Struct):
            partition_index = int32(map_key=True)
            broker_ids = array(int32())

        assignments = array(CreatableReplicaAssignment)

        class CreatableTopicConfig(Struct):
            name = string(map_key=True)
            value = string(nullable="0+")

        configs = array(CreatableTopicConfig)

    topics = array(CreatableTopic)
    timeout_ms = int32(default=60000)
    validate_only = boolean(versions="1+")


class CreateTopicsResponse(Response, key=19, versions="0-7", flexible="5+"):
    """Response of CreateTopics.

    v1: adds topics[].error_message.
    v2: adds throttle_time_ms.
    v5: adds topics[].topic_config_error_code, topics[].num_partitions, topics[].replication_factor,
        topics[].configs; flexible.
    v7: adds topics[].topic_id.
    """

    throttle_time_ms = int32(versions="2+", ignorable=True)

    class CreatableTopicResult(Struct):
        name = string(map_key=True)
        topic_id = uuid(versions="7+", ignorable=True)
        error_code = int16()
        error_message = string(versions="1+", nullable="1+", ignorable=True)
        topic_config_error_code = int16(versions="5+", tag=0, ignorable=True)
        num_partitions = int32(versions="5+", default=-1, ignorable=True)
        replication_factor = int16(versions="5+", default=-1, ignorable=True)

        class CreatableTopicConfigs(Struct):
            name = string(versions="5+")
            value = string(versions="5+", nullable="5+")
            read_only = boolean(versions="5+")
            config_source = int8(versions="5+", default=-1, ignorable=True)
            is_sensitive = boolean(versions="5+")

        configs = array(CreatableTopicConfigs, versions="5+", nullable="5+", ignorable=True)

    topics = array(CreatableTopicResult)
