"""IncrementalAlterConfigs (44): set, delete, append to or subtract from single configs (KIP-339).

Broker configs go to that broker in ZooKeeper mode for loggers; otherwise to the controller.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class IncrementalAlterConfigsRequest(Request, key=44, route=CONTROLLER, versions="0-1", flexible="1+"):
    """Request of IncrementalAlterConfigs.

    v1: flexible.
    """

    class AlterConfigsResource(Struct):
        resource_type = int8(map_key=True)
        resource_name = string(map_key=True)

        class AlterableConfig(Struct):
            name = string(map_key=True)
            config_operation = int8(map_key=True)
            value = string(nullable="0+")

        configs = array(AlterableConfig)

    resources = array(AlterConfigsResource)
    validate_only = boolean()


class IncrementalAlterConfigsResponse(Response, key=44, versions="0-1", flexible="1+"):
    """Response of IncrementalAlterConfigs.

    v1: flexible.
    """

    throttle_time_ms = int32()

    class AlterConfigsResourceResponse(Struct):
        error_code = int16()
        error_message = string(nullable="0+")
        resource_type = int8()
        resource_name = string()

    responses = array(AlterConfigsResourceResponse)
