"""UpdateFeatures (57): raise or lower finalized feature levels (KIP-584)."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class UpdateFeaturesRequest(Request, key=57, route=CONTROLLER, versions="0-2", flexible="0+"):
    """Request of UpdateFeatures.

    v1: adds feature_updates[].upgrade_type, validate_only; drops feature_updates[].allow_downgrade.
    """

    timeout_ms = int32(default=60000)

    class FeatureUpdateKey(Struct):
        feature = string(map_key=True)
        max_version_level = int16()
        allow_downgrade = boolean(versions="0")
        upgrade_type = int8(versions="1+", default=1)

    feature_updates = array(FeatureUpdateKey)
    validate_only = boolean(versions="1+")


class UpdateFeaturesResponse(Response, key=57, versions="0-2", flexible="0+"):
    """Response of UpdateFeatures.

    v2: drops results.
    """

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+")

    class UpdatableFeatureResult(Struct):
        feature = string(map_key=True)
        error_code = int16()
        error_message = string(nullable="0+")

    results = array(UpdatableFeatureResult, versions="0-1", ignorable=True)
