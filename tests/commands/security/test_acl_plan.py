"""What the options of kafka-acls mean, and which of them exclude each other."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_tools.commands.security.acl_plan import AccessControlEntry, ResourcePattern, check, plan, resources
from kafka_tools.errors import UsageError

NOTHING: dict[str, Any] = {
    "topic": (), "group": (), "transactional_id": (), "delegation_token": (), "user_principal": (), "cluster": False,
    "resource_pattern_type": "literal", "operation": (), "allow_principal": (), "deny_principal": (), "allow_host": (),
    "deny_host": (), "producer": False, "consumer": False, "idempotent": False, "principal": (),
}  # fmt: skip
ALICE = ("User:alice",)


def given(**changes: Any) -> dict[str, Any]:
    return {**NOTHING, **changes}


def test_every_principal_may_do_every_operation_from_every_host() -> None:
    found = plan(
        given(topic=("t",), allow_principal=("User:a", "User:b"), operation=("Read", "IDEMPOTENTWRITE")[:1],
              allow_host=("h1", "h2")), "add",
    )  # fmt: skip
    resource = ResourcePattern("TOPIC", "t", "LITERAL")
    assert found == {
        resource: [
            AccessControlEntry(user, host, "READ", "ALLOW") for user in ("User:a", "User:b") for host in ("h1", "h2")
        ]
    }
    assert str(resource) == "ResourcePattern(resourceType=TOPIC, name=t, patternType=LITERAL)"


@pytest.mark.parametrize("spelling", ["DescribeConfigs", "DESCRIBE_CONFIGS", "describe_configs"])
def test_operations_are_spelled_as_in_kafka_or_as_on_the_wire(spelling: str) -> None:
    ((entry,),) = plan(given(cluster=True, deny_principal=ALICE, operation=(spelling,)), "add").values()
    assert entry == AccessControlEntry("User:alice", "*", "DESCRIBE_CONFIGS", "DENY")


def test_roles_bring_their_operations() -> None:
    both = given(topic=("t",), group=("g",), producer=True, consumer=True, idempotent=True, allow_principal=ALICE)
    found = {each.resource_type: [entry.operation for entry in entries] for each, entries in plan(both, "add").items()}
    assert found == {
        "TOPIC": ["WRITE", "DESCRIBE", "CREATE", "READ"],
        "GROUP": ["READ"],
        "CLUSTER": ["IDEMPOTENT_WRITE"],
    }


def test_removing_without_anybody_is_removing_all() -> None:
    assert plan(given(topic=("t",)), "remove") == {ResourcePattern("TOPIC", "t", "LITERAL"): []}


def test_the_cluster_has_no_prefixed_pattern() -> None:
    assert resources(given(cluster=True, resource_pattern_type="prefixed"), "list") == []


@pytest.mark.parametrize(
    ("action", "changes", "message"),
    [
        ("add", {}, "no resource given"),
        ("add", {"topic": ("t",)}, "--allow-principal, --deny-principal"),
        ("add", {"topic": ("t",), "allow_principal": ALICE, "resource_pattern_type": "match"}, "not valid when adding"),
        ("add", {"topic": ("t",), "allow_principal": ("alice",)}, "'alice': expected a principal"),
        ("add", {"topic": ("t",), "allow_principal": ALICE, "operation": ("Fly",)}, "invalid --operation 'Fly'"),
        ("add", {"topic": ("t",), "allow_principal": ALICE, "operation": ("ClusterAction",)}, "only supports"),
        ("add", {"topic": ("t",), "principal": ALICE}, "--principal option is only available if --list"),
        ("add", {"producer": True, "allow_principal": ALICE}, "With --producer you must specify a --topic"),
        ("add", {"topic": ("t",), "idempotent": True}, "--idempotent option is only available"),
        ("add", {"topic": ("t",), "consumer": True, "allow_principal": ALICE}, "a --topic and a --group"),
        ("add", {"topic": ("t",), "group": ("g",), "consumer": True, "cluster": True}, "no --cluster"),
        ("add", {"topic": ("t",), "producer": True, "operation": ("Read",)}, "producer can't be used with --operation"),
        ("add", {"topic": ("t",), "allow_principal": ALICE, "deny_host": ("::1",)}, "--deny-host needs --deny-"),
        ("remove", {"topic": ("t",), "allow_host": ("::1",)}, "--allow-host needs --allow-principal"),
        ("remove", {"topic": ("t",), "operation": ("Read",)}, "--remove with --operation needs --allow-principal or"),
        ("remove", {"topic": ("t",), "producer": True}, "--remove with --producer needs --allow-principal or"),
        ("remove", {"topic": ("t",), "group": ("g",), "consumer": True}, "--remove with --consumer needs"),
        ("list", {"allow_principal": ALICE}, "--list can't be used with --allow-principal"),
        (
            "list",
            {"cluster": True, "resource_pattern_type": "any"},
            "--cluster can only be used with --resource-pattern-type",
        ),
        ("remove", {"topic": ("t",), "cluster": True, "resource_pattern_type": "match"}, "the cluster has no patterns"),
    ],
)
def test_options_that_do_not_go_together_are_usage_errors(action: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check(given(**changes), action)
        plan(given(**changes), action)
