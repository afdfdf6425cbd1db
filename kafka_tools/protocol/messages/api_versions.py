"""ApiVersions (18): which APIs and versions a node speaks.

Answered in every authentication state. A node that does not know the version answers in v0 with
UNSUPPORTED_VERSION and its ranges. The response header is v0 in all versions, also flexible ones.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import GIVEN_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string


class ApiVersionsRequest(Request, key=18, route=GIVEN_NODE, versions="0-4", flexible="3+"):
    """Request of ApiVersions.

    v3: adds client_software_name, client_software_version; flexible.
    """

    client_software_name = string(versions="3+", ignorable=True)
    client_software_version = string(versions="3+", ignorable=True)


class ApiVersionsResponse(Response, key=18, versions="0-4", flexible="3+"):
    """Response of ApiVersions.

    v1: adds throttle_time_ms.
    v3: adds supported_features, finalized_features_epoch, finalized_features, zk_migration_ready; flexible.
    """

    error_code = int16()

    class ApiVersion(Struct):
        api_key = int16(map_key=True)
        min_version = int16()
        max_version = int16()

    api_keys = array(ApiVersion)
    throttle_time_ms = int32(versions="1+", ignorable=True)

    class SupportedFeatureKey(Struct):
        name = string(versions="3+", map_key=True)
        min_version = int16(versions="3+")
        max_version = int16(versions="3+")

    supported_features = array(SupportedFeatureKey, versions="3+", tag=0, ignorable=True)
    finalized_features_epoch = int64(versions="3+", default=-1, tag=1, ignorable=True)

    class FinalizedFeatureKey(Struct):
        name = string(versions="3+", map_key=True)
        max_version_level = int16(versions="3+")
        min_version_level = int16(versions="3+")

    finalized_features = array(FinalizedFeatureKey, versions="3+", tag=2, ignorable=True)
    zk_migration_ready = boolean(versions="3+", tag=3, ignorable=True)
