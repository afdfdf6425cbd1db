"""``kafka-acls --check`` and ``--who``: may a principal do this, and who may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_tools.admin.calls.acls import AclFilter
from kafka_tools.commands import running
from kafka_tools.commands.security import acl_plan
from kafka_tools.commands.security.decisions import Authorizer, Decision, candidates, decide
from kafka_tools.errors import BrokerError, UsageError
from kafka_tools.protocol.enums import ACL_OPERATIONS, AclOperation, AclResourceType
from kafka_tools.shown_text import counted

if TYPE_CHECKING:
    from kafka_tools.admin.client import AclBinding, AdminClient
    from kafka_tools.commands.security.acl_plan import ResourcePattern
    from kafka_tools.output.cells import Row

KIND = "acl-decisions"
_AUTHORIZER, _SUPER_USERS = "authorizer.class.name", "super.users"
_WITHOUT_ENTRIES = "allow.everyone.if.no.acl.found"


def check_options(given: Mapping[str, Any], action: str) -> None:
    """Raise UsageError for options that do not fit ``--check`` and ``--who``."""
    option = f"--{action}"
    acl_plan.exclude(
        given,
        option,
        ("allow_principal", "deny_principal", "allow_host", "deny_host", "producer", "consumer", "idempotent",
         "principal", "force"),
    )  # fmt: skip
    if given["resource_pattern_type"] != "literal":
        raise UsageError(f"{option} takes names of resources, not patterns: omit --resource-pattern-type")
    if action == "check" and ":" not in given["check"]:
        raise UsageError(f"invalid --check '{given['check']}': expected a principal such as User:name")
    if action == "who" and given["host"]:
        raise UsageError("--host can only be used with --check")


def answer(admin: AdminClient, given: Mapping[str, Any], action: str, form: str | None) -> int:
    """Print a decision for each operation and resource. Returns 0 if ``--check`` finds all of them allowed."""
    resources = acl_plan.resources(given, action)
    if not resources:
        raise UsageError(f"--{action} needs a resource: --topic, --group, --cluster or --transactional-id")
    asked = [(each, operation) for each in resources for operation in _operations(given["operation"], each)]
    entries = {each: admin.describe_acls(AclFilter(*each[:2], "MATCH")) for each in resources}
    authorizer = _authorizer(admin)
    rows: list[Row] = []
    for resource, operation in asked:
        people: Sequence[tuple[str, str | None]] = [(given["check"], given["host"])]
        if action == "who":
            people = candidates(entries[resource], authorizer)
        for principal, host in people:
            decision = decide(entries[resource], authorizer, principal, host, operation, resource[:2])
            rows.append(_row(principal, host, operation, resource, decision))
    if action == "who":
        rows = _without_repetition(rows)
    if authorizer.super_users is None and authorizer.is_on is not False:
        running.note("the brokers do not show super.users, whose principals may do everything")
    if form is None and not rows:
        running.emit(f"{_of_nobody(authorizer)}\n")
    elif form is None:
        running.emit("".join(f"{_sentence(row)}\n" for row in running.shown(rows)))
    status = running.show_rows(KIND, rows, form)
    allowed = sum(row["allowed"] for row in rows)
    if action == "who":
        running.tell(
            f"allowed for {allowed} of {counted(len(rows), 'principal and host', 'principals and hosts')}", form
        )
        return status
    return status if allowed == len(rows) else running.FAILED


def _of_nobody(authorizer: Authorizer) -> str:
    """The answer to ``--who`` if no entry names anybody."""
    if authorizer.is_on is False:
        return "everyone: the brokers have no authorizer"
    if authorizer.without_entries:
        return "everyone: no entry applies, and allow.everyone.if.no.acl.found is true"
    return "nobody that an entry names: no entry applies"


def _operations(typed: Sequence[str], resource: ResourcePattern) -> list[str]:
    valid = [AclOperation.word(each) for each in ACL_OPERATIONS[AclResourceType.numbers[resource.resource_type]]]
    if not typed:
        return valid
    found = [acl_plan.operation(text) for text in typed]
    for each in found:
        if each not in valid:
            raise UsageError(f"ResourceType {resource.resource_type} only supports operations {', '.join(valid)}")
    return found


def _authorizer(admin: AdminClient) -> Authorizer:
    """The configs of one broker about its authorizer, as far as it shows them."""
    from kafka_tools.admin.calls.configs import ConfigResource

    if admin.config.is_controllers:
        return Authorizer()
    node = admin.nodes()[0]
    resource = ConfigResource("broker", str(node.id))
    outcome = admin.describe_configs([resource])[resource]
    if isinstance(outcome.error, BrokerError):
        return Authorizer()  # no right to see them
    configs = {each.name: each for each in outcome.get()}
    if _AUTHORIZER in configs and configs[_AUTHORIZER].value == "":
        return Authorizer(False)
    users = None if _SUPER_USERS not in configs else configs[_SUPER_USERS].value
    without = None if _WITHOUT_ENTRIES not in configs else configs[_WITHOUT_ENTRIES].value
    return Authorizer(
        True,
        None if users is None else frozenset(filter(None, (each.strip() for each in users.split(";")))),
        None if without is None else without.strip().lower() == "true",
    )


def _row(principal: str, host: str | None, operation: str, resource: ResourcePattern, decision: Decision) -> Row:
    return {
        "principal": principal,
        "host": host,
        "operation": operation,
        "resource_type": resource.resource_type,
        "resource_name": resource.name,
        "allowed": decision.is_allowed,
        "reason": decision.reason,
        "entry": _entry(decision.entry),
        "overruled": _entry(decision.overruled),
    }


def _entry(entry: AclBinding | None) -> Row | None:
    return None if entry is None else entry._asdict()


def _without_repetition(rows: Sequence[Row]) -> list[Row]:
    """The rows without those of a host whose decision is that of any host."""
    anywhere = {
        (row["principal"], row["operation"], row["resource_name"]): row["allowed"]
        for row in rows
        if row["host"] is None
    }
    return [
        row
        for row in rows
        if row["host"] is None or anywhere[row["principal"], row["operation"], row["resource_name"]] != row["allowed"]
    ]


def _sentence(row: Row) -> str:
    verdict = "allowed" if row["allowed"] else "denied"
    where = "" if row["host"] is None else f" from {row['host']}"
    about = f"{row['principal']}{where}, {row['operation']} on {row['resource_type'].lower()} {row['resource_name']}"
    loses = row["overruled"]
    lost = "" if loses is None else f" (it overrides ALLOW {loses['operation']} on {loses['resource_name']})"
    return f"{verdict}: {about}: {row['reason']}{lost}"
