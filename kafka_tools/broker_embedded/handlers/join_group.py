"""JoinGroup (11): join or rejoin a group. The response is sent when the group's members are known.

- v0: the session timeout is also the rebalance timeout.
- v4: a first join without member id is MEMBER_ID_REQUIRED; the response contains the id to join with (KIP-394).
- v5: static members (KIP-345). v7: the protocol name may be null. v9: skip_assignment (KIP-814).
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.purgatory import Parked
from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.join_group import JoinGroupResponse

VERSIONS = (0, 9)
AUTHORIZE = ()


def handle(call: Call) -> Work[JoinGroupResponse | Parked]:
    if not call.allowed_on_group(AclOperation.READ, call.request.group_id):
        call.request.member_id = ""  # the error response contains no member id
        raise error_for(error_codes.GROUP_AUTHORIZATION_FAILED)
    host = f"/{call.client_host}"  # as Java prints an address
    return (yield from call.broker.groups.join(call.request, call.version, call.client_id, host))
