"""UpdateFeatures (57): raise or lower the finalized levels of features.

Sent by tools to any broker, which forwards it to the controller. Every node must support the new level (KIP-584).

Versions
    v1: validate_only, and upgrade_type in place of allow_downgrade (KIP-778).
    v2: one error for the whole request in place of one for each feature (KIP-1022).

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    INVALID_UPDATE_VERSION: a node does not support the level, the level is below the minimum, or the downgrade would
        lose metadata.
    FEATURE_UPDATE_FAILED: another feature of the request was refused, so the controller changed none.
    INVALID_REQUEST: a feature is empty or occurs twice.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class UpdateFeaturesRequest(
    Request, key=57, effect="changes", versions="0-2", flexible="0+", rights={"cluster": "Alter"}
):
    # How long the controller may take, in milliseconds. Then the answer is REQUEST_TIMED_OUT.
    timeout_ms = int32(default=60000)

    class FeatureUpdateKey(Struct):
        # Name of the feature, such as metadata.version.
        feature = string(map_key=True)
        # New level of the feature. 0: disable the feature.
        max_version_level = int16()
        # True: the level may fall. Later versions send upgrade_type.
        allow_downgrade = boolean(versions="0")
        # 1 upgrade, 2 downgrade without loss of metadata, 3 downgrade that may lose metadata.
        upgrade_type = int8(versions="1+", default=1)

    feature_updates = array(FeatureUpdateKey)
    # True: check the request and report errors, but change nothing.
    validate_only = boolean(versions="1+")


class UpdateFeaturesResponse(Response, key=57, versions="0-2", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. From v2 one failed feature fails them all. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+")

    class UpdatableFeatureResult(Struct):
        # The value from the request.
        feature = string(map_key=True)
        # Error of this feature. 0: no error.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+")

    # One result for each feature of the request.
    results = array(UpdatableFeatureResult, versions="0-1", ignorable=True, on_error=[])
