"""Right requests about groups, security, quotas and the cluster."""

from __future__ import annotations

from typing import Any

from kafka_tools.protocol import feature_levels
from tests.against_kafka.compare_answers.brokers import ADMIN, ALICE, ROOT, Known
from tests.against_kafka.compare_answers.cases import Case, Pools, recipe
from tests.against_kafka.compare_answers.world import (
    all_acls,
    all_quotas,
    all_tokens,
    all_users,
    ask,
    commit,
    commits_of,
)

# Groups


@recipe
def find_coordinator(pools: Pools, version: int) -> dict[str, Any]:
    keys = pools.few(pools.group, 0, 3)
    return {"key_type": pools.one(0, 0, 0, 1, 7, -1), "key": pools.group(), "coordinator_keys": keys}


@recipe
def list_groups(pools: Pools, version: int) -> dict[str, Any]:
    states = [], [], ["Stable"], ["empty"], ["Empty", "Stable"], ["nosuch"], ["Dead"]
    return {
        "states_filter": pools.one(*states),
        "types_filter": pools.one(
            [], [], ["classic"], ["Consumer"], ["consumer", "classic"], ["nosuch"], ["CLASSIC", "share"]
        ),
    }


@recipe
def describe_groups(pools: Pools, version: int) -> dict[str, Any]:
    return {"groups": pools.few(pools.group, 0, 3), "include_authorized_operations": pools.flag()}


@recipe
def delete_groups(pools: Pools, version: int) -> Case:
    group = f"gone-{pools.n}"
    names = pools.few(lambda: pools.one(group, group, "live", "nobody", ""))
    question = ask("delete_groups", version, pools.user(), groups_names=names)
    return Case(question, before=[coordinator(group), commit(group)], state=commits_of(group), undo=[dropped(group)])


@recipe
def offset_commit(pools: Pools, version: int) -> Case:
    group = f"commit-{pools.n}"

    def partition() -> dict[str, Any]:
        return {
            "partition_index": pools.partition(),
            "committed_offset": pools.one(0, 5, -1, -5, 2**62),
            "committed_leader_epoch": pools.one(-1, 0, 7),
            "committed_metadata": pools.one("", "some", None, "x" * 5000),
        }

    def topic() -> dict[str, Any]:
        name = {"topic_id": pools.topic_id()} if version >= 10 else {"name": pools.topic()}
        return name | {"partitions": pools.few(partition)}

    question = ask(
        "offset_commit", version, pools.user(), group_id=pools.one(group, group, group, "g1x", "live", ""),
        generation_id_or_member_epoch=pools.one(-1, -1, -1, 0, 1, 5), member_id=pools.one("", "", "", "nobody"),
        group_instance_id=pools.one(None, None, None, "static", "other"), retention_time_ms=-1,
        topics=pools.few(topic, 0, 2),
    )  # fmt: skip
    return Case(question, before=[coordinator(group)], state=commits_of(group), undo=[dropped(group)])


@recipe
def offset_fetch(pools: Pools, version: int) -> dict[str, Any]:
    def topic() -> dict[str, Any]:
        name = {"topic_id": pools.topic_id()} if version >= 10 else {"name": pools.topic()}
        return name | {"partition_indexes": pools.few(pools.partition)}

    def group() -> dict[str, Any]:
        member = {"member_id": pools.one(None, None, "nobody"), "member_epoch": pools.one(-1, -1, 0)}
        return {"group_id": pools.group(), "topics": pools.one(None, [], pools.few(topic)), **member}

    topics = pools.few(topic, 0, 2)
    return {
        "group_id": pools.group(),
        "topics": pools.one(None, topics, topics) if version >= 2 else topics,
        "groups": pools.few(group, 0, 3),
        "require_stable": pools.flag(),
    }


@recipe
def offset_delete(pools: Pools, version: int) -> Case:
    group = f"forget-{pools.n}"
    topics = pools.few(
        lambda: {
            "name": pools.topic(),
            "partitions": pools.few(lambda: {"partition_index": pools.partition()}),
        }
    )
    question = ask(
        "offset_delete", version, pools.user(), group_id=pools.one(group, group, "live", "nobody", ""), topics=topics
    )
    return Case(question, before=[coordinator(group), commit(group)], state=commits_of(group), undo=[dropped(group)])


@recipe
def join_group(pools: Pools, version: int) -> Case:
    group = f"join-{pools.n}"
    protocols = pools.one([{"name": "range", "metadata": b"m"}] * 1, [{"name": "a"}, {"name": "b"}], [], [{"name": ""}])
    question = ask(
        "join_group", version, pools.user(), group_id=pools.one(group, group, group, ""),
        session_timeout_ms=pools.one(3_000_000, 3_000_000, 1, -1, 2**31 - 1),
        rebalance_timeout_ms=pools.one(1000, -1, 0),
        member_id=pools.one("", "", "", "nobody"), group_instance_id=pools.one(None, None, "static1", ""),
        protocol_type=pools.one("consumer", "consumer", "", "connect"), protocols=protocols,
        reason=pools.one(None, "why"),
    )  # fmt: skip
    return Case(question, before=[coordinator(group)])


@recipe
def sync_group(pools: Pools, version: int) -> dict[str, Any]:
    return _membership(pools) | {
        "protocol_type": pools.one("consumer", "consumer", None, "other"),
        "protocol_name": pools.one("range", "range", None, "other"),
        "assignments": [],
    }


@recipe
def heartbeat(pools: Pools, version: int) -> dict[str, Any]:
    return _membership(pools)


@recipe
def consumer_group_heartbeat(pools: Pools, version: int) -> dict[str, Any]:
    return {
        "group_id": pools.one("modern", "modern", "static", "nobody", ""),
        "member_id": pools.one("member", "member", "nobody", ""),
        "member_epoch": pools.one(0, 0, 2, 3, -1, -2, -5),
        "instance_id": pools.one(None, None, None, "instance", ""),
        "rack_id": pools.one(None, None, "rack", ""),
        "rebalance_timeout_ms": pools.one(60_000, 60_000, -1),
        "subscribed_topic_names": pools.one(["t1"], ["t1", "nosuch"], [], None),
        "server_assignor": pools.one(None, None, "range", "uniform", "sticky"),
        "topic_partitions": pools.one([], [], None),
    }


@recipe
def consumer_group_describe(pools: Pools, version: int) -> dict[str, Any]:
    return {
        "group_ids": pools.few(lambda: pools.one("modern", "static", "g1", "live", "nobody", ""), 0, 3),
        "include_authorized_operations": pools.one(True, False),
    }


@recipe
def leave_group(pools: Pools, version: int) -> dict[str, Any]:
    member = {"member_id": pools.one("nobody", ""), "group_instance_id": pools.one(None, "other", "static")}
    members = pools.few(lambda: dict(member), 0, 2)
    return {"group_id": pools.one("g1", "nobody", ""), "member_id": pools.one("nobody", ""), "members": members}


def _membership(pools: Pools) -> dict[str, Any]:
    return {
        "group_id": pools.one("live", "live", "live", "nobody", "g1", ""),
        "generation_id": pools.one(1, 1, 1, 0, 5, -1),
        "member_id": pools.one(Known("member live"), Known("member live"), "nobody", ""),
        "group_instance_id": pools.one(None, "static", "other"),
    }


def coordinator(group: str) -> Any:
    return ask("find_coordinator", 4, key_type=0, coordinator_keys=[group])


def dropped(group: str) -> Any:
    return ask("delete_groups", 2, groups_names=[group])


# Security


def _acl(pools: Pools) -> dict[str, Any]:
    kind = pools.one(2, 2, 3, 4, 5, 6, 7, 0, 1, 9)
    name = {4: pools.one("kafka-cluster", "kafka-cluster", "other")}.get(
        kind, pools.one("t1", "new", "", "*", "x" * 300)
    )
    return {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": pools.one(3, 3, 3, 4, 0, 1, 2, 9),
        "principal": pools.one("User:dave", "User:dave", "User:*", "dave", "", "Group:x", "User:", ":x"),
        "host": pools.one("*", "*", "10.0.0.1", "", "x y"),
        "operation": pools.one(2, 3, 4, 7, 8, 10, 12, 15, 0, 1, 99),
        "permission_type": pools.one(2, 3, 3, 0, 1, 9),
    }


def _filter(pools: Pools) -> dict[str, Any]:
    return {
        "resource_type_filter": pools.one(1, 2, 2, 3, 4, 0, 99),
        "resource_name_filter": pools.one(None, "t1", "alpha", "new", "", "kafka-cluster"),
        "pattern_type_filter": pools.one(1, 2, 3, 4, 0, 99),
        "principal_filter": pools.one(None, "User:alice", "User:dave", "", "dave"),
        "host_filter": pools.one(None, "*", "10.0.0.1", ""),
        "operation": pools.one(1, 1, 3, 8, 0, 99),
        "permission_type": pools.one(1, 1, 3, 2, 0, 99),
    }


def _drop_daves() -> Any:
    everything = {
        "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "host_filter": None,
        "operation": 1, "permission_type": 1,
    }  # fmt: skip
    principals = ("User:dave", "User:*", "Group:x", "User:", ":x")
    return ask("delete_acls", 3, filters=[everything | {"principal_filter": name} for name in principals])


@recipe
def create_acls(pools: Pools, version: int) -> Case:
    question = ask("create_acls", version, pools.user(), creations=pools.few(lambda: _acl(pools)))
    return Case(question, state=[all_acls()], undo=[_drop_daves()])


@recipe
def delete_acls(pools: Pools, version: int) -> Case:
    entry = {
        "resource_type": 2, "resource_name": "new", "resource_pattern_type": 3, "principal": "User:dave", "host": "*",
        "operation": 3, "permission_type": 3,
    }  # fmt: skip
    made = [entry, entry | {"operation": 8}, entry | {"resource_name": "ne", "resource_pattern_type": 4}]
    # Never alice's: they belong to the world.
    filters = [_filter(pools) | {"principal_filter": pools.one("User:dave", "User:dave", "", "x")} for _ in range(2)]
    question = ask("delete_acls", version, pools.user(), filters=filters)
    return Case(question, before=[ask("create_acls", 3, creations=made)], state=[all_acls()], undo=[_drop_daves()])


@recipe
def describe_acls(pools: Pools, version: int) -> dict[str, Any]:
    return _filter(pools)


@recipe
def alter_user_scram_credentials(pools: Pools, version: int) -> Case:
    def upsertion() -> dict[str, Any]:
        return {
            "name": pools.one("dave", "dave", "erin", "", "x" * 300),
            "mechanism": pools.one(1, 2, 0, 9, -1),
            "iterations": pools.one(4096, 8192, 16384, 4095, 0, -1, 16385, 2**31 - 1),
            "salt": pools.one(b"salt", b""),
            "salted_password": pools.one(b"x" * 32, b"y" * 64, b""),
        }

    deletion = {"name": pools.one("dave", "bob2", "erin", ""), "mechanism": pools.one(1, 2, 0, 9)}
    question = ask(
        "alter_user_scram_credentials", version, pools.user(), upsertions=pools.few(upsertion, 0, 2),
        deletions=pools.one([], [], [deletion], [deletion, deletion]),
    )  # fmt: skip
    undo = ask(
        "alter_user_scram_credentials", 0,
        deletions=[{"name": name, "mechanism": pools.one(1)} for name in ("dave", "erin", "x" * 300)],
    )  # fmt: skip
    second = ask(
        "alter_user_scram_credentials", 0,
        deletions=[{"name": name, "mechanism": 2} for name in ("dave", "erin", "x" * 300)],
    )  # fmt: skip
    return Case(question, state=[all_users()], undo=[undo, second])


@recipe
def describe_user_scram_credentials(pools: Pools, version: int) -> dict[str, Any]:
    return {"users": pools.one(None, [], pools.few(lambda: {"name": pools.one("bob", "nobody", "")}))}


def _principal(pools: Pools, name: str) -> dict[str, Any]:
    return {"principal_type": pools.one("User", "User", "Group", ""), "principal_name": pools.one(name, "")}


@recipe
def create_delegation_token(pools: Pools, version: int) -> Case:
    question = ask(
        "create_delegation_token", version, pools.one(ROOT, ADMIN, ADMIN, ALICE),
        owner_principal_type=pools.one(None, None, "User", "Group", ""),
        owner_principal_name=pools.one(None, None, None, ""),
        renewers=pools.few(lambda: _principal(pools, "x"), 0, 2),
        max_lifetime_ms=pools.one(-1, 0, 1_000_000, -2, 2**62),
    )  # fmt: skip
    return Case(question)


@recipe
def renew_delegation_token(pools: Pools, version: int) -> Case:
    question = ask(
        "renew_delegation_token", version, pools.one(ROOT, ADMIN, ADMIN, ALICE),
        hmac=pools.one(Known("hmac 1"), Known("hmac 1"), b"x", b""),
        renew_period_ms=pools.one(-1, 0, 10_000_000, 2**62),
    )  # fmt: skip
    return Case(question, state=[all_tokens()])


@recipe
def expire_delegation_token(pools: Pools, version: int) -> Case:
    question = ask(
        "expire_delegation_token", version, pools.one(ROOT, ADMIN, ADMIN, ALICE),
        hmac=pools.one(Known("hmac 1"), Known("hmac 1"), b"x", b""),
        expiry_time_period_ms=pools.one(10_000_000, 2**62, 2**40),
    )  # fmt: skip
    return Case(question, state=[all_tokens()])


@recipe
def describe_delegation_token(pools: Pools, version: int) -> Case:
    owners = pools.few(lambda: _principal(pools, "zoe"))
    return Case(ask("describe_delegation_token", version, pools.one(ROOT, ADMIN, ALICE), owners=pools.one([], owners)))


@recipe
def sasl_handshake(pools: Pools, version: int) -> Case:
    return Case(ask("sasl_handshake", version, ROOT, mechanism=pools.one("PLAIN", "nosuch", "")))


@recipe
def sasl_authenticate(pools: Pools, version: int) -> Case:
    return Case(ask("sasl_authenticate", version, ROOT, auth_bytes=pools.one(b"", b"x", b"\0u\0p")))


# Quotas

_QUOTAS = (
    ("producer_byte_rate", (1e9, 0.0, -1.0, 7.5, 1e300, 9.3e18)),
    ("consumer_byte_rate", (1e9, 2e9)),
    ("request_percentage", (75.5, 0.0, 1e300)),
    ("controller_mutation_rate", (1000.0, 0.5)),
    ("connection_creation_rate", (10.0, 7.5, 3e9)),
    ("nosuch", (1.0,)),
    ("", (1.0,)),
)


@recipe
def alter_client_quotas(pools: Pools, version: int) -> Case:
    def part() -> dict[str, Any]:
        kind = pools.one("user", "user", "client-id", "ip", "nosuch", "")
        names = ("10.0.0.9", "::1", "x y", None, "") if kind == "ip" else ("dave", "dave", None, "", "é", "a b/c")
        return {"entity_type": kind, "entity_name": pools.one(*names)}

    def operation() -> dict[str, Any]:
        key, values = pools.one(*_QUOTAS, _QUOTAS[0], _QUOTAS[2])
        return {"key": key, "value": pools.one(*values), "remove": pools.one(False, False, True)}

    entries = pools.few(lambda: {"entity": pools.few(part, 0, 2), "ops": pools.few(operation, 0, 2)}, 1, 2)
    if pools.rng.random() < 0.1:
        entries.append(dict(entries[0]))
    question = ask(
        "alter_client_quotas", version, pools.user(), entries=entries, validate_only=pools.one(False, False, True)
    )
    removals = [{"key": key, "value": 0.0, "remove": True} for key, _ in _QUOTAS[:5]]
    undo = [
        ask("alter_client_quotas", 1, entries=[{"entity": entry["entity"], "ops": [removal]} for removal in [removal]])
        for entry in entries
        for removal in removals
    ]
    return Case(question, state=[all_quotas()], undo=undo)


@recipe
def describe_client_quotas(pools: Pools, version: int) -> dict[str, Any]:
    def component() -> dict[str, Any]:
        match_type = pools.one(0, 0, 1, 2, 9, -1)
        match = pools.one("carol", "c", "10.0.0.1", None, "") if match_type == 0 else pools.one(None, None, "carol")
        kind = pools.one("user", "user", "client-id", "ip", "nosuch", "")
        return {"entity_type": kind, "match_type": match_type, "match": match}

    return {"components": pools.few(component, 0, 2), "strict": pools.flag()}


# The cluster


@recipe
def api_versions(pools: Pools, version: int) -> Case:
    # By a super user without a name: after a login ApiVersions is no longer what a client asks first.
    return Case(ask(
        "api_versions", version, ROOT, client_software_name=pools.one("a", "a-b.c", "", "-", "a b"),
        client_software_version=pools.one("1", "1.0", "", "é"),
    ))  # fmt: skip


@recipe
def describe_cluster(pools: Pools, version: int) -> dict[str, Any]:
    return {
        "include_cluster_authorized_operations": pools.flag(),
        "endpoint_type": pools.one(1, 1, 2, 0, 9),
        "include_fenced_brokers": pools.flag(),
    }


@recipe
def describe_quorum(pools: Pools, version: int) -> dict[str, Any]:
    def topic() -> dict[str, Any]:
        numbers = pools.few(lambda: {"partition_index": pools.one(0, 0, 0, 1, -1)}, 0, 2)
        return {"topic_name": pools.one("__cluster_metadata", "__cluster_metadata", "t1", ""), "partitions": numbers}

    return {"topics": pools.few(topic, 0, 2)}


@recipe
def init_producer_id(pools: Pools, version: int) -> dict[str, Any]:
    return {
        "transactional_id": None,
        "transaction_timeout_ms": pools.one(60_000, 0, -1),
        "producer_id": pools.one(-1, -1, 5),
        "producer_epoch": pools.one(-1, -1, 0),
    }


_FEATURES = {**feature_levels.PRODUCTION, "metadata.version": feature_levels.LATEST_PRODUCTION}
del _FEATURES["kraft.version"]


@recipe
def update_features(pools: Pools, version: int) -> Case:
    def update(feature: str) -> dict[str, Any]:
        level = pools.one(_FEATURES.get(feature, 0), 0, 0, 1, 2, 7, 32, 99, -1)
        return {
            "feature": feature,
            "max_version_level": 0 if feature == "kraft.version" and level == 1 else level,
            "upgrade_type": pools.one(1, 2, 2, 3, 0, 9),
            "allow_downgrade": pools.flag(),
        }

    names = pools.rng.sample([*_FEATURES, "kraft.version", "nosuch", ""], pools.one(0, 1, 1, 1, 2))
    question = ask(
        "update_features", version, pools.user(), timeout_ms=30_000, feature_updates=[update(name) for name in names],
        validate_only=pools.one(False, False, True),
    )  # fmt: skip
    undo = [
        ask("update_features", 1, feature_updates=[{"feature": name, "max_version_level": level, "upgrade_type": 1}])
        for name, level in _FEATURES.items()
    ]
    state = [ask("api_versions", 4, client_software_name="a", client_software_version="1")]
    return Case(question, state=state, undo=undo)
