"""DescribeTransactions (65): the state of transactions, by transactional id (KIP-664).

The response omits partitions of topics that the caller may not describe.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._repeats import Repeats
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.describe_transactions import DescribeTransactionsResponse

VERSIONS = (0, 0)
AUTHORIZE = ()

State = DescribeTransactionsResponse.TransactionState


def handle(call: Call) -> Work[DescribeTransactionsResponse]:
    response = DescribeTransactionsResponse()
    named = Repeats()  # a transaction may have very many partitions
    for transactional_id in call.request.transactional_ids:
        yield
        if named.too_many(transactional_id):
            continue
        state = State(transactional_id=transactional_id)
        response.transaction_states.append(state)
        if not call.allowed_on_transactional_id(AclOperation.DESCRIBE, transactional_id):
            state.error_code = error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            continue
        try:
            found = call.broker.transactions.describe(transactional_id)
        except BrokerError as error:
            state.error_code = error.code.code
            continue
        state.transaction_state = found.state
        state.transaction_timeout_ms = found.timeout_ms
        state.transaction_start_time_ms = found.started_ms
        state.producer_id, state.producer_epoch = found.producer_id, found.epoch
        topics: dict[str, list[int]] = {}
        for name, number in found.partitions:
            yield
            topics.setdefault(name, []).append(number)
        for name in sorted(topics):
            yield
            if call.allowed_on_topic(AclOperation.DESCRIBE, name):
                state.topics.append(State.TopicData(topic=name, partitions=sorted(topics[name])))
    return response
