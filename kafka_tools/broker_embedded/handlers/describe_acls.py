"""DescribeAcls (29): list ACL bindings that match a filter.

- SECURITY_DISABLED without an authorizer, INVALID_REQUEST for a filter with unknown values.
- Entries are grouped by resource pattern.
- v0: literal patterns only.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import acls_of
from kafka_tools.broker_embedded.security.acls import Filter
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.describe_acls import DescribeAclsResponse

VERSIONS = (0, 3)
AUTHORIZE = (AclOperation.DESCRIBE,)

Resource = DescribeAclsResponse.Resource


def handle(call: Call) -> DescribeAclsResponse:
    resources: dict[tuple[int, str, int], Resource] = {}
    for entry in acls_of(call).find(Filter.of(call.request)):
        resource = resources.setdefault(
            entry[:3],
            Resource(
                resource_type=entry.resource_type,
                resource_name=entry.resource_name,
                pattern_type=entry.pattern_type,
                acls=[],
            ),
        )
        resource.acls.append(
            Resource.AclDescription(
                principal=entry.principal,
                host=entry.host,
                operation=entry.operation,
                permission_type=entry.permission_type,
            )
        )
    return DescribeAclsResponse(error_message="", resources=list(resources.values()))
