"""DescribeClientQuotas (48): the quotas of the entities that match a filter."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.errors import BrokerError
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.describe_client_quotas import DescribeClientQuotasResponse

VERSIONS = (0, 1)
AUTHORIZE = (AclOperation.DESCRIBE_CONFIGS,)

EntryData = DescribeClientQuotasResponse.EntryData


def handle(call: Call) -> DescribeClientQuotasResponse:
    try:
        found = call.broker.quotas.describe(call.request.components, call.request.strict)
    except BrokerError as error:
        return DescribeClientQuotasResponse(
            error_code=error.code.code, error_message=error.broker_message, entries=None
        )
    entries = []
    for entity, limits in found:
        entry = EntryData()
        entry.entity = [EntryData.EntityData(entity_type=kind, entity_name=name) for kind, name in sorted(entity)]
        entry.values = [EntryData.ValueData(key=key, value=limits[key]) for key in sorted(limits)]
        entries.append(entry)
    return DescribeClientQuotasResponse(entries=entries)
