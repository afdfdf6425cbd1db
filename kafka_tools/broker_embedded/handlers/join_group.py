"""JoinGroup (11): become, or stay, a member of a group; answered when the group's members are known.

- v0: the session timeout is the rebalance timeout too.
- v4: a first join without member id is answered MEMBER_ID_REQUIRED with an id to join with (KIP-394).
- v5: static members (KIP-345). v7: a null protocol name where there is none. v9: skip_assignment (KIP-814).
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
        call.request.member_id = ""  # who may not join is not called by a name either
        raise error_for(error_codes.GROUP_AUTHORIZATION_FAILED)
    host = f"/{call.client_host}"  # as Java prints an address
    return (yield from call.broker.groups.join(call.request, call.version, call.client_id, host))
