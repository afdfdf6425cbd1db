"""ListTransactions (66): the transactional ids that this broker coordinates (KIP-664).

An id must match all filters. Unknown states are returned in the response. v1: a minimum duration (KIP-994). v2: a
pattern of ids (KIP-1152); long ids are matched on another thread.
"""

from __future__ import annotations

from functools import partial

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work, to_thread
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, TransactionState
from kafka_tools.protocol.messages.list_transactions import ListTransactionsResponse
from kafka_tools.texts.regular_expressions import InvalidPattern, compile_pattern

SHORT = 249
"""Ids of up to so many characters are matched quickly with any pattern. The limit is that of topic names."""

VERSIONS = (0, 2)
AUTHORIZE = ()


def handle(call: Call) -> Work[ListTransactionsResponse]:
    request = call.request
    states = set(request.state_filters)
    unknown = [state for state in dict.fromkeys(request.state_filters) if state not in TransactionState.all]
    open_for_ms = request.duration_filter if call.version >= 1 else -1
    pattern = None
    if request.transactional_id_pattern:
        try:
            pattern = compile_pattern(request.transactional_id_pattern)
        except InvalidPattern as error:
            raise error_for(error_codes.INVALID_REGULAR_EXPRESSION) from error
    response = ListTransactionsResponse(unknown_state_filters=unknown)
    matching = yield from call.broker.transactions.matching(states, set(request.producer_id_filters), open_for_ms)
    for found in matching:
        yield
        if pattern is not None:
            matches = partial(pattern.matches, found.id)
            if not (matches() if len(found.id) <= SHORT else (yield from to_thread(matches))):
                continue
        if call.allowed_on_transactional_id(AclOperation.DESCRIBE, found.id):
            response.transaction_states.append(
                response.TransactionState(
                    transactional_id=found.id, producer_id=found.producer_id, transaction_state=found.state
                )
            )
    return response
