"""UpdateFeatures (57): raise or lower the finalized levels of features.

Sent by tools to any broker, which passes it to the controller. Every node has to support the new level (KIP-584).

Versions
    v1: validate_only; kinds of change: upgrade, safe and unsafe downgrade (KIP-778).
    v2: one error for the whole request in place of one for each feature (KIP-1022).

Errors
    NOT_CONTROLLER: the node is not the active controller (any more).
    INVALID_UPDATE_VERSION: a level that some node lacks, that is below the smallest one, or a downgrade that may lose
        data.
    FEATURE_UPDATE_FAILED: another feature of the request was refused, so none was changed.
    INVALID_REQUEST: an empty or repeated feature.
    CLUSTER_AUTHORIZATION_FAILED: no ALTER on the cluster.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
    UNSUPPORTED_VERSION: kinds of change before v1.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class UpdateFeaturesRequest(Request, key=57, versions="0-2", flexible="0+", rights={"cluster": "Alter"}):
    timeout_ms = int32(default=60000)

    class FeatureUpdateKey(Struct):
        feature = string(map_key=True)
        max_version_level = int16()  # 0 removes the feature
        allow_downgrade = boolean(versions="0")  # v0's form of upgrade_type
        upgrade_type = int8(versions="1+", default=1)  # 1 upgrade, 2 safe downgrade, 3 unsafe downgrade

    feature_updates = array(FeatureUpdateKey)
    validate_only = boolean(versions="1+")


class UpdateFeaturesResponse(Response, key=57, versions="0-2", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+")

    class UpdatableFeatureResult(Struct):
        feature = string(map_key=True)
        error_code = int16()
        error_message = string(nullable="0+")

    results = array(UpdatableFeatureResult, versions="0-1", ignorable=True, on_error=[])
