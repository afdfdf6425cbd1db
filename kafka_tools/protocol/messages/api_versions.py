"""ApiVersions (18): which APIs in which versions a node speaks, and its features.

Sent first on every connection, to the node that is meant; answered before the login too. A node that does not know
the version answers in v0 with UNSUPPORTED_VERSION and its own range. The response header is v0 in all versions, so
that everybody can read it.

Versions
    v1: throttle times in the response.
    v2: throttled clients wait by themselves; the response comes first (KIP-219).
    v3: name and version of the client's software (KIP-511); features of the node and of the cluster (KIP-584).
    v4: feature ranges that begin at 0.
    v5: the cluster and the node that the client means (KIP-1242).

Errors
    UNSUPPORTED_VERSION: the node does not know the version of this request; the answer is v0.
    INVALID_REQUEST: name or version of the client's software have characters other than letters, digits, - and . (v3).
    REBOOTSTRAP_REQUIRED: the node is not the one that the client means, or of another cluster (v5).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string


class ApiVersionsRequest(Request, key=18, versions="0-5", flexible="3+"):
    client_software_name = string(versions="3+", ignorable=True)
    client_software_version = string(versions="3+", ignorable=True)
    cluster_id = string(versions="5+", nullable="5+", default=None, ignorable=True)  # null: not known yet, not checked
    node_id = int32(versions="5+", default=-1, ignorable=True)  # -1: not known yet, not checked


class ApiVersionsResponse(Response, key=18, versions="0-5", flexible="3+", throttles="2+"):
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
    # offset of the metadata; -1: unknown
    finalized_features_epoch = int64(versions="3+", default=-1, tag=1, ignorable=True)

    class FinalizedFeatureKey(Struct):
        name = string(versions="3+", map_key=True)
        max_version_level = int16(versions="3+")
        min_version_level = int16(versions="3+")

    finalized_features = array(FinalizedFeatureKey, versions="3+", tag=2, ignorable=True)
    zk_migration_ready = boolean(versions="3+", tag=3, ignorable=True)  # of a controller that takes over from ZooKeeper
