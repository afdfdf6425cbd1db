"""DescribeClientQuotas (48): the limits set for the entities that match a filter."""

from __future__ import annotations

from kafka_tools.broker_embedded.dispatch import Call
from kafka_tools.broker_embedded.quotas import Component
from kafka_tools.protocol.messages.describe_client_quotas import DescribeClientQuotasResponse

VERSIONS = (0, 1)
AUTHORIZE = (("DESCRIBE_CONFIGS", "CLUSTER"),)

EntryData = DescribeClientQuotasResponse.EntryData


def handle(call: Call) -> DescribeClientQuotasResponse:
    request = call.request
    components = [Component(part.entity_type, part.match_type, part.match) for part in request.components]
    response = DescribeClientQuotasResponse(error_message=None, entries=[])
    assert response.entries is not None
    for entity, limits in call.broker.quotas.describe(components, request.strict):
        entry = EntryData()
        entry.entity = [EntryData.EntityData(entity_type=kind, entity_name=name) for kind, name in sorted(entity)]
        entry.values = [EntryData.ValueData(key=key, value=limits[key]) for key in sorted(limits)]
        response.entries.append(entry)
    return response
