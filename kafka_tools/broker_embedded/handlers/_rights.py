"""The rights of a call, and the bit fields of authorized operations. ``call.allowed`` checks one resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.refusals import default_error, error_for
from kafka_tools.broker_embedded.security.acls import Acls
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import (
    ACL_OPERATIONS,
    CLUSTER_NAME,
    OPERATIONS_NOT_ASKED,
    AclOperation,
    AclResourceType,
    ConfigResourceType,
)

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.call import Call

NOT_ASKED = OPERATIONS_NOT_ASKED
"""The value of the field if the request did not ask for it."""


def cluster_operations(call: Call) -> int:
    """The bit field of the caller's operations on the cluster; 0 if the caller may not describe it."""
    return (
        authorized_operations(call, AclResourceType.CLUSTER, CLUSTER_NAME)
        if call.allowed_on_cluster(AclOperation.DESCRIBE)
        else 0
    )


def authorized_operations(call: Call, resource_type: int, name: str) -> int:
    """The bit field of the caller's operations on a resource."""
    return sum(
        1 << operation for operation in ACL_OPERATIONS[resource_type] if call.allowed(operation, resource_type, name)
    )


def check_group(call: Call, operation: int, group_id: str) -> None:
    """BrokerError GROUP_AUTHORIZATION_FAILED unless the caller may do this with the group."""
    if not call.allowed_on_group(operation, group_id):
        raise error_for(error_codes.GROUP_AUTHORIZATION_FAILED)


def check_transactional_id(call: Call, operation: int, transactional_id: str) -> None:
    """BrokerError TRANSACTIONAL_ID_AUTHORIZATION_FAILED unless the caller may do this with the id."""
    if not call.allowed_on_transactional_id(operation, transactional_id):
        raise error_for(error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def check_configs(call: Call, operation: int, kind: int, name: str) -> None:
    """BrokerError unless the caller may do this with the configs of a resource of a ConfigResourceType."""
    if kind == ConfigResourceType.TOPIC:
        allowed, code = call.allowed_on_topic(operation, name), error_codes.TOPIC_AUTHORIZATION_FAILED
    elif kind == ConfigResourceType.GROUP:
        allowed, code = call.allowed_on_group(operation, name), error_codes.GROUP_AUTHORIZATION_FAILED
    else:
        allowed, code = call.allowed_on_cluster(operation), error_codes.CLUSTER_AUTHORIZATION_FAILED
    if not allowed:
        raise default_error(code)


def acls_of(call: Call) -> Acls:
    """The cluster's ACLs. BrokerError SECURITY_DISABLED without an authorizer."""
    acls = call.broker.acls
    if not acls.enabled:
        raise error_for(error_codes.SECURITY_DISABLED, "No Authorizer is configured.")
    return acls


def token_requests_allowed(call: Call) -> bool:
    """Whether the connection may send requests about tokens: not without a principal or after a login by token."""
    connection = call.connection
    if connection.token_authenticated or connection.protocol == "PLAINTEXT":
        return False
    return connection.protocol != "SSL" or call.principal != "User:ANONYMOUS"


def require_token_requests(call: Call) -> None:
    """BrokerError unless ``token_requests_allowed``."""
    if not token_requests_allowed(call):
        raise error_for(error_codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
