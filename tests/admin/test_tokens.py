"""Delegation tokens: whom the admin client asks."""

from __future__ import annotations

import pytest

from tests.admin.operations import OPERATIONS
from tests.admin.virtual_cluster import VirtualCluster

TOKENS = (
    "create_delegation_token", "renew_delegation_token", "expire_delegation_token", "describe_delegation_tokens",
)  # fmt: skip


@pytest.mark.req("DT-8")
def test_the_node_that_is_connected_is_asked_once_for_one_answer() -> None:
    """The least loaded of all is, for a client that does one thing at a time, the one it talks to already."""
    cluster = VirtualCluster(3)
    cluster.owner = 3
    with cluster.admin() as admin:
        for name in TOKENS:
            OPERATIONS[name].call(admin)
    asked = [(node, type(request).__name__) for name in TOKENS[:1] for _, node, request, _ in cluster.sent(name)]
    assert asked == [
        (1, "CreateDelegationTokenRequest"), (1, "RenewDelegationTokenRequest"), (1, "ExpireDelegationTokenRequest"),
        (1, "DescribeDelegationTokenRequest"),
    ]  # fmt: skip
