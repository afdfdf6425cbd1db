"""CreateAcls (30): add ACL bindings.

- SECURITY_DISABLED without an authorizer.
- One result per binding, in the request's order; an existing binding is not an error.
- v0: literal patterns only.
- A network as host requires metadata.version 4.4-IV1; below, it is UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import acls_of
from kafka_tools.broker_embedded.security import networks
from kafka_tools.broker_embedded.security.acls import AclEntry
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.feature_levels import METADATA_VERSION
from kafka_tools.protocol.messages.create_acls import CreateAclsResponse

VERSIONS = (0, 3)
AUTHORIZE = (AclOperation.ALTER,)


def handle(call: Call) -> CreateAclsResponse:
    entries = [
        AclEntry(
            item.resource_type,
            item.resource_name,
            item.resource_pattern_type,
            item.principal,
            item.host,
            item.operation,
            item.permission_type,
        )
        for item in call.request.creations
    ]
    results = []
    level = call.broker.features.finalized.get(METADATA_VERSION, 0)
    for error in acls_of(call).create(entries, takes_networks=level >= networks.METADATA_LEVEL):
        code, message = (error.code.code, error.broker_message) if error else (0, "")
        results.append(CreateAclsResponse.AclCreationResult(error_code=code, error_message=message))
    return CreateAclsResponse(results=results)
