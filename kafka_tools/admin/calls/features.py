"""Features of a cluster (KIP-584): the supported levels, the finalized levels, and updates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.driver import ALL, AdminCall, Reply
from kafka_tools.admin.lookups import ControllerLookup, Lookup
from kafka_tools.clock import Deadline
from kafka_tools.net.broker_errors import broker_error
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import FeatureUpgradeType
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_tools.protocol.schema import Request

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.update_features import UpdateFeaturesResponse

UPGRADE = FeatureUpgradeType.UPGRADE
SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = FeatureUpgradeType.SAFE_DOWNGRADE, FeatureUpgradeType.UNSAFE_DOWNGRADE


class Features(NamedTuple):
    """Feature -> (lowest, highest) level. ``epoch`` is None where nothing is finalized."""

    supported: dict[str, tuple[int, int]]
    finalized: dict[str, tuple[int, int]]
    epoch: int | None


class FeatureUpdate(NamedTuple):
    """A new highest level (0 removes the feature) and the kind of change that is allowed to get there."""

    max_level: int
    kind: int = UPGRADE


class DescribeFeatures(AdminCall[str, Features, ApiVersionsResponse]):
    """The features that one node reports (ApiVersions v3, Kafka 2.4)."""

    name = "describe features"

    lookup: Lookup[str]

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools import __version__

        versions.require(ApiVersionsRequest, 3, "describing features")
        return ApiVersionsRequest(client_software_name="kafka-tools", client_software_version=__version__)

    def interpret(self, reply: Reply[str, Features, ApiVersionsResponse]) -> None:
        response = reply.response
        epoch = response.finalized_features_epoch
        features = Features(
            {item.name: (item.min_version, item.max_version) for item in response.supported_features},
            {item.name: (item.min_version_level, item.max_version_level) for item in response.finalized_features},
            epoch if epoch >= 0 else None,
        )
        reply.take(ALL, response.error_code, None, features)


class UpdateFeatures(AdminCall[str, None, "UpdateFeaturesResponse"]):
    """Feature -> new level, all of them or none since v2 of the request (4.0)."""

    name = "update features"
    lookup = ControllerLookup()

    updates: Mapping[str, FeatureUpdate]
    validate_only: bool

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.update_features import UpdateFeaturesRequest

        versions.require(UpdateFeaturesRequest, 0, "updating features")
        by_kind = versions.has(UpdateFeaturesRequest, 1)
        if not by_kind and self.validate_only:
            raise versions.too_old(UpdateFeaturesRequest, 1, "validating an update of features")
        updates = []
        for key in keys:
            update = self.updates[key]
            if not by_kind and update.kind == UNSAFE_DOWNGRADE:
                raise versions.too_old(UpdateFeaturesRequest, 1, "an unsafe downgrade")
            item = UpdateFeaturesRequest.FeatureUpdateKey(feature=key, max_version_level=update.max_level)
            if by_kind:
                item.upgrade_type = update.kind
            else:
                item.allow_downgrade = update.kind != UPGRADE
            updates.append(item)
        return UpdateFeaturesRequest(
            timeout_ms=deadline.left_ms(), feature_updates=updates, validate_only=self.validate_only
        )

    def interpret(self, reply: Reply[str, None, UpdateFeaturesResponse]) -> None:
        response = reply.response
        if response.error_code != error_codes.NONE or reply.version >= 2:
            for key in reply.keys:
                reply.settle(key, response.error_code, response.error_message, None)
            return
        for item in response.results:
            if item.error_code == error_codes.NONE:
                reply.completed[item.feature] = None
            else:
                reply.failed[item.feature] = broker_error(item.error_code, item.error_message)
