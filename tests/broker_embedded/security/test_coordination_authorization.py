"""Who may not, is told so: groups, offsets, configs, quotas, SCRAM users and producer ids under an authorizer.

Operations and resources are those of Kafka's ``KafkaApis``.
"""

from __future__ import annotations

from typing import Any

import pytest

from kafka_tools.broker_embedded.slices import whole
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.enums import AclOperation, AclResourceType
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.alter_configs import AlterConfigsRequest
from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_tools.protocol.messages.heartbeat import HeartbeatRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.list_groups import ListGroupsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.offset_delete import OffsetDeleteRequest
from kafka_tools.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_tools.protocol.messages.sync_group import SyncGroupRequest
from tests.broker_embedded.memory_broker import MemoryBroker

GROUP, CLUSTER, TOPIC = (
    codes.GROUP_AUTHORIZATION_FAILED,
    codes.CLUSTER_AUTHORIZATION_FAILED,
    codes.TOPIC_AUTHORIZATION_FAILED,
)

_describe_topic = DescribeConfigsRequest.Resource(resource_type=2, resource_name="t")
_describe_broker = DescribeConfigsRequest.Resource(resource_type=4, resource_name="1")
_describe_group = DescribeConfigsRequest.Resource(resource_type=32, resource_name="g")
_alter = IncrementalAlterConfigsRequest.AlterConfigsResource
_fetch_group = OffsetFetchRequest.RequestGroup(group_id="g", topics=None)
_quota = AlterClientQuotasRequest.EntryData(entity=[AlterClientQuotasRequest.EntryData.EntityData(entity_type="user")])
_scram = AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="u", mechanism=1)
_members = [LeaveGroupRequest.MemberIdentity(member_id="m")]
_commit = OffsetCommitRequest.RequestTopic(name="t", partitions=[OffsetCommitRequest.RequestTopic.RequestPartition()])

CASES: list[tuple[Any, int | None, str, int]] = [
    (FindCoordinatorRequest(coordinator_keys=["g"]), None, "DESCRIBE GROUP g", GROUP),
    (FindCoordinatorRequest(key="g"), 2, "DESCRIBE GROUP g", GROUP),
    (JoinGroupRequest(group_id="g", session_timeout_ms=10_000), None, "READ GROUP g", GROUP),
    (SyncGroupRequest(group_id="g", protocol_type="consumer", protocol_name="range"), None, "READ GROUP g", GROUP),
    (HeartbeatRequest(group_id="g"), None, "READ GROUP g", GROUP),
    (LeaveGroupRequest(group_id="g", members=_members), None, "READ GROUP g", GROUP),
    (DescribeGroupsRequest(groups=["g"]), None, "DESCRIBE GROUP g", GROUP),
    (DeleteGroupsRequest(groups_names=["g"]), None, "DELETE GROUP g", GROUP),
    (OffsetCommitRequest(group_id="g", topics=[_commit]), 9, "READ GROUP g", GROUP),
    (OffsetCommitRequest(group_id="g", topics=[_commit]), 9, "READ TOPIC t", TOPIC),
    (OffsetFetchRequest(groups=[_fetch_group]), None, "DESCRIBE GROUP g", GROUP),
    (OffsetDeleteRequest(group_id="g"), None, "DELETE GROUP g", GROUP),
    (DescribeConfigsRequest(resources=[_describe_topic]), None, "DESCRIBE_CONFIGS TOPIC t", TOPIC),
    (DescribeConfigsRequest(resources=[_describe_broker]), None, "DESCRIBE_CONFIGS CLUSTER kafka-cluster", CLUSTER),
    (DescribeConfigsRequest(resources=[_describe_group]), None, "DESCRIBE_CONFIGS GROUP g", GROUP),
    (
        IncrementalAlterConfigsRequest(resources=[_alter(resource_type=2, resource_name="t")]),
        None,
        "ALTER_CONFIGS TOPIC t",
        TOPIC,
    ),
    (
        IncrementalAlterConfigsRequest(resources=[_alter(resource_type=16, resource_name="m")]),
        None,
        "ALTER_CONFIGS CLUSTER kafka-cluster",
        CLUSTER,
    ),
    (
        AlterConfigsRequest(resources=[AlterConfigsRequest.Resource(resource_type=32, resource_name="g")]),
        None,
        "ALTER_CONFIGS GROUP g",
        GROUP,
    ),
    (DescribeClientQuotasRequest(), None, "DESCRIBE_CONFIGS CLUSTER kafka-cluster", CLUSTER),
    (AlterClientQuotasRequest(entries=[_quota]), None, "ALTER_CONFIGS CLUSTER kafka-cluster", CLUSTER),
    (DescribeUserScramCredentialsRequest(), None, "DESCRIBE CLUSTER kafka-cluster", CLUSTER),
    (AlterUserScramCredentialsRequest(deletions=[_scram]), None, "ALTER CLUSTER kafka-cluster", CLUSTER),
    (InitProducerIdRequest(transactional_id=None), None, "IDEMPOTENT_WRITE CLUSTER kafka-cluster", CLUSTER),
]


def found_codes(message: Any) -> set[int]:
    """Every error code in a response, at any depth."""
    found = set()
    for field in message.FIELDS:
        value = getattr(message, field.name)
        if field.name == "error_code":
            found.add(value)
        elif isinstance(value, list):
            for item in value:
                if hasattr(item, "FIELDS"):
                    found |= found_codes(item)
    return found - {0}


def question(operation: int, kind: int, name: str) -> str:
    """What an authorizer is asked, in words."""
    return f"{AclOperation.word(operation)} {AclResourceType.word(kind)} {name}"


@pytest.mark.req("QT-9", "QT-13", "CFG-47")
@pytest.mark.parametrize(
    ("request_", "version", "denied", "code"), CASES, ids=[f"{type(c[0]).__name__}: {c[2]}" for c in CASES]
)
def test_what_is_denied_is_answered_with_the_resources_own_code(
    request_: Any, version: int | None, denied: str, code: int
) -> None:
    broker = MemoryBroker()
    broker.create_topic("t")
    asked = []

    def authorizer(principal: str, host: str, operation: int, kind: int, name: str) -> bool:
        asked.append(question(operation, kind, name))
        return asked[-1] != denied and operation != AclOperation.WRITE

    broker.core.authorizer = authorizer
    before = len(broker.store.records)
    assert found_codes(broker.call(request_, version)) == {code}
    assert denied in asked
    assert len(broker.store.records) == before


def test_groups_that_may_not_be_described_are_not_listed() -> None:
    broker = MemoryBroker()
    store = broker.core.groups.store
    whole(store.ensured())
    for group in ("a", "b"):
        store.create(group)
    denied = {"DESCRIBE CLUSTER kafka-cluster", "DESCRIBE GROUP a"}
    broker.core.authorizer = lambda principal, host, *asked: question(*asked) not in denied
    assert [group.group_id for group in broker.call(ListGroupsRequest()).groups] == ["b"]


def test_whoever_may_write_some_topic_gets_a_producer_id() -> None:
    broker = MemoryBroker()
    broker.create_topic("t")
    broker.core.authorizer = lambda principal, host, *asked: question(*asked).startswith("WRITE TOPIC ")
    assert broker.call(InitProducerIdRequest(transactional_id=None)).error_code == codes.NONE
