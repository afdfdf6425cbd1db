"""The plan of a ``kafka-acls`` command line: resource patterns, and the entries for each (Kafka's AclCommand).

It contacts no cluster. The rules of ``--producer`` and ``--consumer``, and the operations of a resource, are those of
``AclCommand`` and ``AclEntry`` of Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafka_tools.errors import UsageError
from kafka_tools.output.kafka.acl_text import entry_text, resource_text
from kafka_tools.protocol.enums import ACL_OPERATIONS, CLUSTER_NAME, AclOperation, AclResourceType

ANY_HOST = "*"

RESOURCE_OPTIONS = {
    "topic": "TOPIC",
    "group": "GROUP",
    "transactional_id": "TRANSACTIONAL_ID",
    "delegation_token": "DELEGATION_TOKEN",
    "user_principal": "USER",
}


class ResourcePattern(NamedTuple):
    """A resource pattern, or a filter of patterns (``pattern_type`` ANY or MATCH). Names in Kafka's spelling."""

    resource_type: str
    name: str
    pattern_type: str

    def __str__(self) -> str:
        return resource_text(*self)


class AccessControlEntry(NamedTuple):
    """The right half of an ACL entry: principal, host, operation, allow or deny."""

    principal: str
    host: str
    operation: str
    permission: str

    def __str__(self) -> str:
        return entry_text(*self)


Plan = dict[ResourcePattern, list[AccessControlEntry]]


def check(given: Mapping[str, Any], action: str) -> None:
    """Raise UsageError for options that do not go together."""
    roles = [f"--{role}" for role in ("producer", "consumer") if given[role]]
    people = ("allow_principal", "deny_principal", "allow_host", "deny_host")
    if action == "list":
        exclude(given, "--list", (*people, "producer", "consumer"))
    for role in roles:
        exclude(given, role, ("operation", "deny_principal", "deny_host"))
    if given["principal"] and action != "list":
        raise UsageError("The --principal option is only available if --list is set")
    if given["producer"] and not given["topic"]:
        raise UsageError("With --producer you must specify a --topic")
    if given["idempotent"] and not given["producer"]:
        raise UsageError("The --idempotent option is only available if --producer is set")
    alone = given["consumer"] and not given["producer"]
    if given["consumer"] and not (given["topic"] and given["group"]):
        raise UsageError("With --consumer you must specify a --topic and a --group")
    if alone and (given["cluster"] or given["transactional_id"]):
        raise UsageError("With --consumer no --cluster or --transactional-id option should be specified")
    for name in (*people[:2], "principal"):
        for text in given[name]:
            if ":" not in text:  # Kafka stores principals with an empty name, or an empty type, too
                raise UsageError(f"invalid --{name.replace('_', '-')} '{text}': expected a principal such as User:name")
    if action == "add" and given["resource_pattern_type"] in ("any", "match"):
        raise UsageError(
            f"A '--resource-pattern-type' value of '{given['resource_pattern_type']}' is not valid when adding acls"
        )
    for name in ("cluster", "idempotent"):
        if given[name] and given["resource_pattern_type"] != "literal":
            raise UsageError(
                f"--{name} can only be used with --resource-pattern-type literal: the cluster has no patterns"
            )
    _check_narrowing(given, action)


def _check_narrowing(given: Mapping[str, Any], action: str) -> None:
    """Raise UsageError for an option that would narrow the selection, but that Kafka's tool ignores.

    In Kafka's tool ``--remove --topic orders --operation Read`` removes all entries of the topic.
    """
    for kind in ("allow", "deny"):
        if given[f"{kind}_host"] and not given[f"{kind}_principal"]:
            raise UsageError(f"--{kind}-host needs --{kind}-principal")
    if action == "remove" and not (given["allow_principal"] or given["deny_principal"]):
        for option in ("operation", "producer", "consumer"):
            if given[option]:
                raise UsageError(
                    f"--remove with --{option} needs --allow-principal or --deny-principal",
                    hint="without --operation, --producer or --consumer, all entries of the resources are "
                    "removed, for every principal",
                )


def exclude(given: Mapping[str, Any], option: str, others: Sequence[str]) -> None:
    """Raise UsageError if one of ``others`` is given."""
    for other in others:
        if given[other]:
            raise UsageError(f"{option} can't be used with --{other.replace('_', '-')}")


def resources(given: Mapping[str, Any], action: str) -> list[ResourcePattern]:
    """The patterns of the options, in their order."""
    pattern_type = given["resource_pattern_type"].upper()
    found = []
    for option, resource_type in RESOURCE_OPTIONS.items():
        found += [ResourcePattern(resource_type, _name(name, action), pattern_type) for name in given[option]]
    if pattern_type == "LITERAL" and (given["cluster"] or given["idempotent"]):
        found.append(ResourcePattern("CLUSTER", CLUSTER_NAME, "LITERAL"))
    return list(dict.fromkeys(found))


def plan(given: Mapping[str, Any], action: str) -> Plan:
    """Pattern -> entries to add or to remove; empty to remove all entries of a pattern."""
    found = resources(given, action)
    if not found:
        raise UsageError(
            "no resource given: use --topic, --group, --cluster, --transactional-id, --delegation-token "
            "or --user-principal"
        )
    planned: Plan = {}
    if given["producer"] or given["consumer"]:
        for resource in found:
            operations = _of_roles(resource.resource_type, given)
            if operations:
                planned[resource] = _entries(given, operations, action)
    else:
        operations = [operation(text) for text in given["operation"] or ("ALL",)]
        planned = {resource: _entries(given, operations, action) for resource in found}
    for resource, entries in planned.items():
        _check_operations(resource, entries)
    if action == "add" and not all(planned.values()):
        raise UsageError("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    return planned


def _of_roles(resource_type: str, given: Mapping[str, Any]) -> list[str]:
    """The operations that a producer and a consumer need."""
    operations: dict[str, tuple[str, ...]] = {}
    if given["producer"]:
        operations = {"TOPIC": ("WRITE", "DESCRIBE", "CREATE"), "TRANSACTIONAL_ID": ("WRITE", "DESCRIBE")}
        if given["idempotent"]:
            operations["CLUSTER"] = ("IDEMPOTENT_WRITE",)
    if given["consumer"]:
        operations["TOPIC"] = (*operations.get("TOPIC", ()), "READ", "DESCRIBE")
        operations["GROUP"] = ("READ",)
    return list(dict.fromkeys(operations.get(resource_type, ())))


def operation(text: str) -> str:
    """Parse an operation: ``IdempotentWrite`` or ``IDEMPOTENT_WRITE``."""
    known = {name.replace("_", ""): name for name in AclOperation.known() if name != "ANY"}
    found = known.get(text.strip().upper().replace("_", ""))
    if found is None:
        raise UsageError(f"invalid --operation '{text}': expected one of {', '.join(sorted(known.values()))}")
    return found


def _name(text: str, action: str) -> str:
    """A name as it is added, without blanks around it, as by Kafka's tool; what is there already may have some."""
    return text.strip() if action == "add" else text


def _entries(given: Mapping[str, Any], operations: Sequence[str], action: str) -> list[AccessControlEntry]:
    return [
        AccessControlEntry(_name(principal, action), _name(host, action), operation, permission.upper())
        for permission in ("allow", "deny")
        for principal in given[f"{permission}_principal"]
        for operation in operations
        for host in given[f"{permission}_host"] or (ANY_HOST,)
    ]


def _check_operations(resource: ResourcePattern, entries: Sequence[AccessControlEntry]) -> None:
    operations = ACL_OPERATIONS[AclResourceType.numbers[resource.resource_type]]
    valid = (*map(AclOperation.word, operations), "ALL")
    for entry in entries:
        if entry.operation not in valid:
            raise UsageError(f"ResourceType {resource.resource_type} only supports operations {', '.join(valid)}")
