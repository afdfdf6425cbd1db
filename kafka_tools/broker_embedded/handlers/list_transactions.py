"""ListTransactions (66): the transactional ids that this broker coordinates (KIP-664).

Filters are all of them wanted at once. States that nobody knows come back. v1: how long they are open (KIP-994).
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol.enums import AclOperation, TransactionState
from kafka_tools.protocol.messages.list_transactions import ListTransactionsResponse

VERSIONS = (0, 1)  # v2 has patterns, which need an engine that no pattern can stop
AUTHORIZE = ()


def handle(call: Call) -> Work[ListTransactionsResponse]:
    request = call.request
    states = set(request.state_filters)
    unknown = [state for state in dict.fromkeys(request.state_filters) if state not in TransactionState.all]
    open_for_ms = request.duration_filter if call.version >= 1 else -1
    response = ListTransactionsResponse(unknown_state_filters=unknown)
    for found in call.broker.transactions.matching(states, set(request.producer_id_filters), open_for_ms):
        yield
        if call.allowed_on_transactional_id(AclOperation.DESCRIBE, found.id):
            response.transaction_states.append(
                response.TransactionState(
                    transactional_id=found.id, producer_id=found.producer_id, transaction_state=found.state
                )
            )
    return response
