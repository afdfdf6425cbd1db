"""DeleteAcls (31): delete ACL bindings that match filters.

- SECURITY_DISABLED without an authorizer.
- One result per filter, in the request's order, with the deleted bindings; INVALID_REQUEST for a filter with
  unknown values.
- v0: literal patterns only.
"""

from __future__ import annotations

from typing import Any

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.handlers._rights import acls_of
from kafka_tools.broker_embedded.security.acls import Filter
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.delete_acls import DeleteAclsResponse

VERSIONS = (0, 3)
AUTHORIZE = (AclOperation.ALTER,)
ONE_CHANGE = True

Result = DeleteAclsResponse.FilterResult


def handle(call: Call) -> Work[DeleteAclsResponse]:
    found = yield from acls_of(call).delete([_filter(item) for item in call.request.filters])
    return DeleteAclsResponse(filter_results=[_result(item) for item in found])


def _filter(item: Any) -> Filter | BrokerError:
    try:
        return Filter.of(item).require_known()
    except BrokerError as error:
        return error


def _result(found: Any) -> Result:
    if isinstance(found, BrokerError):
        return Result(error_code=found.code.code, error_message=found.broker_message, matching_acls=[])
    matching = [Result.MatchingAcl(error_message=None, **entry._asdict()) for entry in found]
    return Result(error_message=None, matching_acls=matching)
