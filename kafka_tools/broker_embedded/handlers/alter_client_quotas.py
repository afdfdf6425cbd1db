"""AlterClientQuotas (49): set and remove limits; each entity succeeds or fails alone."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.quotas.limits import entity_text
from kafka_tools.broker_embedded.refusals import bad_request
from kafka_tools.errors import BrokerError
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasResponse
from kafka_tools.protocol.schema import Stored

VERSIONS = (0, 1)
AUTHORIZE = (AclOperation.ALTER_CONFIGS,)

EntryData = AlterClientQuotasResponse.EntryData


def handle(call: Call) -> AlterClientQuotasResponse:
    records: list[Stored] = []
    entries: dict[frozenset[tuple[str, str | None]], AlterClientQuotasResponse.EntryData] = {}
    for wanted in call.request.entries:
        # If a type occurs twice, its last name counts, as in Kafka's map.
        entity = tuple({part.entity_type: part.entity_name for part in wanted.entity}.items())
        entry = EntryData(error_message=None)
        entry.entity = [EntryData.EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
        try:
            if frozenset(entity) in entries:  # whatever the order of its types
                raise bad_request(f"Ignoring duplicate entity {entity_text(entity)}")
            limits = [(op.key, None if op.remove else op.value) for op in wanted.ops]
            records += call.broker.quotas.changes(entity, limits)
        except BrokerError as error:
            entry.error_code, entry.error_message = error.code.code, error.broker_message
        entries[frozenset(entity)] = entry
    if records and not call.request.validate_only:
        call.broker.journal.commit(records)
    return AlterClientQuotasResponse(entries=list(entries.values()))
