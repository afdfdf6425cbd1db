"""AlterConfigs (33): replace all dynamic configs of a resource. IncrementalAlterConfigs (44) changes single ones."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class AlterConfigsRequest(Request, key=33, route=CONTROLLER, versions="0-2", flexible="2+"):
    """Request of AlterConfigs.

    v2: flexible.
    """

    class Resource(Struct):
        resource_type = int8(map_key=True)
        resource_name = string(map_key=True)

        class AlterableConfig(Struct):
            name = string(map_key=True)
            value = string(nullable="0+")

        configs = array(AlterableConfig)

    resources = array(Resource)
    validate_only = boolean()


class AlterConfigsResponse(Response, key=33, versions="0-2", flexible="2+"):
    """Response of AlterConfigs.

    v2: flexible.
    """

    throttle_time_ms = int32()

    class ResourceResponse(Struct):
        error_code = int16()
        error_message = string(nullable="0+")
        resource_type = int8()
        resource_name = string()

    responses = array(ResourceResponse)
