"""Delegation tokens: whom the admin client asks."""

from __future__ import annotations

import pytest

from kafka_tools.errors import UnsupportedVersion
from kafka_tools.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
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


@pytest.mark.req("DT-1")
@pytest.mark.parametrize("name", TOKENS)
def test_brokers_before_1_1_have_no_tokens_and_are_told_so(name: str) -> None:
    """Release 1.1 brought the four requests; a broker that does not advertise them is asked for nothing."""
    cluster = VirtualCluster(1, release="1.0")
    with cluster.admin() as admin, pytest.raises(UnsupportedVersion, match=r"DelegationToken"):
        OPERATIONS[name].call(admin)
    assert not [request for _, _, request, _ in cluster.sent(name) if "DelegationToken" in type(request).__name__]


@pytest.mark.req("DT-2")
def test_a_token_has_no_renewers_and_the_brokers_lifetime_unless_they_are_given() -> None:
    cluster = VirtualCluster(1)
    with cluster.admin() as admin:
        admin.create_delegation_token()
    (request,) = (r for _, _, r, _ in cluster.sent("create_delegation_token"))
    assert isinstance(request, CreateDelegationTokenRequest)
    assert (request.renewers, request.max_lifetime_ms) == ([], -1)
