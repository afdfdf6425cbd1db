"""CreateAcls (30): create ACL bindings."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class CreateAclsRequest(Request, key=30, route=CONTROLLER, versions="0-3", flexible="2+"):
    """Request of CreateAcls.

    v1: adds creations[].resource_pattern_type.
    v2: flexible.
    """

    class AclCreation(Struct):
        resource_type = int8()
        resource_name = string()
        resource_pattern_type = int8(versions="1+", default=3)
        principal = string()
        host = string()
        operation = int8()
        permission_type = int8()

    creations = array(AclCreation)


class CreateAclsResponse(Response, key=30, versions="0-3", flexible="2+"):
    """Response of CreateAcls.

    v2: flexible.
    """

    throttle_time_ms = int32()

    class AclCreationResult(Struct):
        error_code = int16()
        error_message = string(nullable="0+")

    results = array(AclCreationResult)
