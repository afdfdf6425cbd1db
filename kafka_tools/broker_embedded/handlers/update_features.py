"""UpdateFeatures (57): raise or lower finalized levels, atomically (KIP-584).

- v0: every update is an upgrade, since Kafka ignores allow_downgrade. v1: the type of the update, and validate_only.
- v2: no results per feature, since one error applies to all.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.cluster.features import Update
from kafka_tools.broker_embedded.configs.alter import cluster_wide_min_isr
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.update_features import UpdateFeaturesResponse

VERSIONS = (0, 2)
AUTHORIZE = (AclOperation.ALTER,)

Result = UpdateFeaturesResponse.UpdatableFeatureResult


def handle(call: Call) -> UpdateFeaturesResponse:
    request = call.request
    # upgrade_type is UPGRADE in versions without the field.
    updates = [Update(each.feature, each.max_version_level, each.upgrade_type) for each in request.feature_updates]
    records = call.broker.features.changes(updates, cluster_wide_min_isr(call.broker.configs))
    if records and not (call.version >= 1 and request.validate_only):
        call.broker.journal.commit(records)
    response = UpdateFeaturesResponse(error_message=None)
    if call.version <= 1:
        response.results = [Result(feature=update.feature, error_message="NONE") for update in updates]
    return response
