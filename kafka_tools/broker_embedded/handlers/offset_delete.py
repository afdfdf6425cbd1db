"""OffsetDelete (47): delete offsets of topics to which the group does not subscribe (KIP-496)."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.coordinators.runtime import OFFSET_CODES, mapped_code
from kafka_tools.broker_embedded.handlers._offset_topics import Wanted, answered
from kafka_tools.broker_embedded.handlers._rights import check_group
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteResponse

VERSIONS = (0, 0)
AUTHORIZE = ()


def handle(call: Call) -> Work[OffsetDeleteResponse]:
    request = call.request
    check_group(call, AclOperation.DELETE, request.group_id)
    if not request.group_id:
        raise error_for(error_codes.INVALID_GROUP_ID)

    def delete(wanted: list[Wanted]) -> Work[list[int]]:
        codes = yield from call.broker.groups.offsets.delete(request.group_id, [each.at for each in wanted])
        return [codes[each.at] for each in wanted]

    try:
        topics = yield from answered(call, OffsetDeleteResponse.ResponseTopic, delete)
    except BrokerError as error:
        return OffsetDeleteResponse(error_code=mapped_code(error, OFFSET_CODES))
    return OffsetDeleteResponse(topics=topics)
