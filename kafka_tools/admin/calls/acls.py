"""Access control lists: describe, create, delete (KIP-140; pattern types KIP-290).

Names of types, operations and permissions are Kafka's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.admin.driver import ALL, AdminCall, Reply
from kafka_tools.admin.lookups import AnyNodeLookup
from kafka_tools.admin.outcomes import Outcome
from kafka_tools.clock import Deadline
from kafka_tools.errors import InputError
from kafka_tools.net.broker_errors import error_of
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol.enums import AclOperation, AclPermission, AclResourceType, PatternType, Words
from kafka_tools.protocol.schema import Request

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.create_acls import CreateAclsResponse
    from kafka_tools.protocol.messages.delete_acls import DeleteAclsResponse
    from kafka_tools.protocol.messages.describe_acls import DescribeAclsResponse


class AclBinding(NamedTuple):
    """One entry: allows or denies an operation on a resource pattern to a principal from a host."""

    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str


class AclFilter(NamedTuple):
    """A filter of entries: None for a name, principal or host, and ANY for the other fields, match everything.

    The pattern type MATCH finds every pattern that applies to ``resource_name``.
    """

    resource_type: str = "ANY"
    resource_name: str | None = None
    pattern_type: str = "ANY"
    principal: str | None = None
    host: str | None = None
    operation: str = "ANY"
    permission: str = "ANY"


def id_of(family: type[Words], word: str, what: str) -> int:
    """The wire's number of a word, or of a described entry's unknown word; InputError with the known words."""
    words = family.known()
    spelled = word.upper().replace("-", "_")
    found = words.get(spelled) or (family.number(word) if word not in family.numbers else None)
    if found is None:
        raise InputError(f"invalid {what} '{word}': expected one of {', '.join(words)}")
    return found


def _filter_fields(pattern: AclFilter, versions: NodeVersions, request: type[Request]) -> dict[str, Any]:
    kind = id_of(PatternType, pattern.pattern_type, "pattern type")
    if not versions.has(request, 1):
        if kind not in (PatternType.ANY, PatternType.LITERAL):
            raise versions.too_old(request, 1, f"the pattern type {pattern.pattern_type}")
        # Before 2.0 every pattern is literal.
        kind = PatternType.LITERAL
    return {
        "resource_type_filter": id_of(AclResourceType, pattern.resource_type, "resource type"),
        "resource_name_filter": pattern.resource_name,
        "pattern_type_filter": kind,
        "principal_filter": pattern.principal,
        "host_filter": pattern.host,
        "operation": id_of(AclOperation, pattern.operation, "operation"),
        "permission_type": id_of(AclPermission, pattern.permission, "permission"),
    }


def _binding(
    resource: DescribeAclsResponse.Resource | DeleteAclsResponse.FilterResult.MatchingAcl,
    acl: DescribeAclsResponse.Resource.AclDescription | DeleteAclsResponse.FilterResult.MatchingAcl,
) -> AclBinding:
    return AclBinding(
        AclResourceType.word(resource.resource_type),
        resource.resource_name,
        PatternType.word(resource.pattern_type),
        acl.principal,
        acl.host,
        AclOperation.word(acl.operation),
        AclPermission.word(acl.permission_type),
    )


class DescribeAcls(AdminCall[str, list[AclBinding], "DescribeAclsResponse"]):
    """Entries that match a filter, in a stable order."""

    name = "describe ACLs"
    lookup = AnyNodeLookup()

    pattern: AclFilter

    def build(self, keys: list[str], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.describe_acls import DescribeAclsRequest

        return DescribeAclsRequest(**_filter_fields(self.pattern, versions, DescribeAclsRequest))

    def interpret(self, reply: Reply[str, list[AclBinding], DescribeAclsResponse]) -> None:
        response = reply.response
        found = [_binding(resource, acl) for resource in response.resources for acl in resource.acls]
        reply.take(ALL, response.error_code, response.error_message, sorted(found))


class CreateAcls(AdminCall[AclBinding, None, "CreateAclsResponse"]):
    """Entries to add; an entry that already exists is not an error."""

    name = "create ACLs"
    lookup = AnyNodeLookup()

    def build(self, keys: list[AclBinding], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.create_acls import CreateAclsRequest

        creations = []
        for key in keys:
            kind = id_of(PatternType, key.pattern_type, "pattern type")
            if kind == PatternType.PREFIXED:
                versions.require(CreateAclsRequest, 1, "a prefixed pattern")
            creations.append(
                CreateAclsRequest.AclCreation(
                    resource_type=id_of(AclResourceType, key.resource_type, "resource type"),
                    resource_name=key.resource_name,
                    resource_pattern_type=kind,
                    principal=key.principal,
                    host=key.host,
                    operation=id_of(AclOperation, key.operation, "operation"),
                    permission_type=id_of(AclPermission, key.permission, "permission"),
                )
            )
        return CreateAclsRequest(creations=creations)

    def interpret(self, reply: Reply[AclBinding, None, CreateAclsResponse]) -> None:
        # Results carry no keys: they come in the order of the request.
        for key, item in zip(reply.keys, reply.response.results, strict=False):
            reply.settle(key, item.error_code, item.error_message, None)


Deleted = list[tuple[AclBinding, Outcome[None]]]


class DeleteAcls(AdminCall[AclFilter, Deleted, "DeleteAclsResponse"]):
    """Filter -> the entries that matched, each deleted or with its own error."""

    name = "delete ACLs"
    lookup = AnyNodeLookup()

    def build(self, keys: list[AclFilter], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.delete_acls import DeleteAclsRequest

        filters = [DeleteAclsRequest.Filter(**_filter_fields(key, versions, DeleteAclsRequest)) for key in keys]
        return DeleteAclsRequest(filters=filters)

    def interpret(self, reply: Reply[AclFilter, Deleted, DeleteAclsResponse]) -> None:
        for key, item in zip(reply.keys, reply.response.filter_results, strict=False):
            matches: Deleted = []
            for match in item.matching_acls:
                outcome: Outcome[None] = Outcome(None, error_of(match.error_code, match.error_message))
                matches.append((_binding(match, match), outcome))
            reply.settle(key, item.error_code, item.error_message, matches)
