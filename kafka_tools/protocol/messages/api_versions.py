"""ApiVersions (18): get the APIs, versions and features that a node supports.

Sent by clients and brokers as the first request on every connection, even before authentication. A node that does not
know the version of the request answers in v0 with UNSUPPORTED_VERSION and its own range. The response header is v0 in
all versions, so that every client can read it.

Versions
    v1: throttle times in the response.
    v2: brokers answer immediately, and throttled clients wait by themselves (KIP-219).
    v3: name and version of the client's software (KIP-511); features of the node and of the cluster (KIP-584).
    v4: feature ranges that begin at 0.
    v5: the cluster and the node to which the client means to talk (KIP-1242).

Errors
    UNSUPPORTED_VERSION: the node does not know the version of this request. It answers in v0.
    INVALID_REQUEST: the name or version of the client software is empty or has characters other than letters, digits, -
        and . (v3).
    REBOOTSTRAP_REQUIRED: the node has another id, or belongs to another cluster, than the client expects (v5).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int16, int32, int64, string


class ApiVersionsRequest(Request, key=18, effect="reads", versions="0-5", flexible="3+"):
    # Name of the client library. Brokers show it in metrics and logs. Letters, digits, - and . only.
    client_software_name = string(versions="3+", ignorable=True)
    # Version of the client library. Letters, digits, - and . only.
    client_software_version = string(versions="3+", ignorable=True)
    # Id of the cluster that the client means. Null: not known, and not checked.
    cluster_id = string(versions="5+", nullable="5+", default=None, ignorable=True)
    # Id of the node that the client means. -1: not known, and not checked.
    node_id = int32(versions="5+", default=-1, ignorable=True)


class ApiVersionsResponse(Response, key=18, versions="0-5", flexible="3+", throttles="2+"):
    # 0: no error.
    error_code = int16()

    class ApiVersion(Struct):
        api_key = int16(map_key=True)
        # Oldest version that the node accepts.
        min_version = int16()
        # Newest version that the node accepts. The client takes the newest that both know.
        max_version = int16()

    # Every API that the node serves on this listener.
    api_keys = array(ApiVersion)
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32(versions="1+", ignorable=True)

    class SupportedFeatureKey(Struct):
        # Name of the feature, such as metadata.version.
        name = string(versions="3+", map_key=True)
        # Lowest level that the software of this node supports. Up to v3 features whose lowest level is 0 are missing.
        min_version = int16(versions="3+")
        # Highest level that the software of this node supports.
        max_version = int16(versions="3+")

    # Features that the software of this node knows. UpdateFeatures can raise the cluster to them.
    supported_features = array(SupportedFeatureKey, versions="3+", tag=0, ignorable=True)
    # Offset in the metadata log up to which finalized_features is current. -1: not known.
    finalized_features_epoch = int64(versions="3+", default=-1, tag=1, ignorable=True)

    class FinalizedFeatureKey(Struct):
        name = string(versions="3+", map_key=True)
        # The level in force for the whole cluster.
        max_version_level = int16(versions="3+")
        # The same as max_version_level: KRaft clusters have one level for each feature.
        min_version_level = int16(versions="3+")

    # Features in force for the whole cluster. Valid unless finalized_features_epoch is -1.
    finalized_features = array(FinalizedFeatureKey, versions="3+", tag=2, ignorable=True)
    # True: a controller that is configured to take over from ZooKeeper. Always false since Kafka 4.0.
    zk_migration_ready = boolean(versions="3+", tag=3, ignorable=True)
