"""Kafka's words beside Kafka's classes that have them: the same spelling and number, none left out."""

from __future__ import annotations

import subprocess

import pytest

from kafka_tools.protocol import enums
from tests.against_kafka.jars import ENVIRONMENT
from tests.against_kafka.java_programs import compiled

PACKAGE = "org.apache.kafka."
NUMBERED: dict[type[enums.Words], str] = {
    enums.ConfigResourceType: "common.config.ConfigResource$Type",
    enums.ConfigSource: "common.requests.DescribeConfigsResponse$ConfigSource",
    enums.ConfigType: "common.requests.DescribeConfigsResponse$ConfigType",
    enums.ConfigOperation: "clients.admin.AlterConfigOp$OpType",
    enums.AclResourceType: "common.resource.ResourceType",
    enums.PatternType: "common.resource.PatternType",
    enums.AclOperation: "common.acl.AclOperation",
    enums.AclPermission: "common.acl.AclPermissionType",
    enums.CoordinatorType: "common.requests.FindCoordinatorRequest$CoordinatorType",
    enums.IsolationLevel: "common.IsolationLevel",
    enums.Codec: "common.record.internal.CompressionType",
    enums.TimestampType: "common.record.TimestampType",
    enums.ControlRecordType: "common.record.internal.ControlRecordType",
    enums.ElectionType: "common.ElectionType",
    enums.FeatureUpgradeType: "clients.admin.FeatureUpdate$UpgradeType",
    enums.TopologyDescriptionStatus: "clients.admin.StreamsGroupTopologyDescriptionStatus",
    enums.EndpointType: "clients.admin.EndpointType",
}
TEXTS: dict[type[enums.Texts], str] = {
    enums.GroupType: "common.GroupType",
    enums.GroupState: "common.GroupState",
    enums.TransactionState: "coordinator.transaction.TransactionState",
}
OF_CONSTANTS = (
    "common.requests.ListOffsetsRequest",
    "common.requests.DescribeClientQuotasRequest",
    "common.internals.Topic",
    "common.resource.Resource",
    "common.record.internal.DefaultRecordBatch",
    "security.authorizer.AclEntry",
)

Rows = dict[str, list[list[str]]]


@pytest.fixture(scope="module")
def rows() -> Rows:
    """Class (without its package's start) -> what is told of each constant."""
    command = compiled("KafkaEnums")
    names = [PACKAGE + name for name in (*NUMBERED.values(), *TEXTS.values(), *OF_CONSTANTS)]
    done = subprocess.run([*command, *names], capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    found: Rows = {}
    for line in done.stdout.splitlines():
        name, *told = line.split(" ")
        found.setdefault(name.removeprefix(PACKAGE), []).append(told)
    return found


def constants(rows: Rows, name: str) -> dict[str, str]:
    return {told[0]: told[1] for told in rows[name] if len(told) == 2}


@pytest.mark.parametrize("family", NUMBERED, ids=lambda family: family.__name__)
def test_words_have_kafkas_numbers(rows: Rows, family: type[enums.Words]) -> None:
    assert dict(family.numbers) == {word: int(number) for word, number, _ in rows[NUMBERED[family]]}


@pytest.mark.parametrize("family", TEXTS, ids=lambda family: family.__name__)
def test_texts_are_kafkas(rows: Rows, family: type[enums.Texts]) -> None:
    theirs = {word: text for word, _, text in rows[TEXTS[family]] if word != "UNKNOWN"}
    assert {word: text for word, text in vars(family).items() if word.isupper()} == theirs
    assert family.all == tuple(theirs.values())


def test_the_index_of_a_transactions_state_is_its_number(rows: Rows) -> None:
    theirs = {int(number): text for _, number, text in rows[TEXTS[enums.TransactionState]]}
    assert dict(enumerate(enums.TransactionState.all)) == theirs


def test_codecs_and_timestamp_types_are_spelled_as_kafka_spells_them(rows: Rows) -> None:
    codecs = {int(number): text for _, number, text in rows[NUMBERED[enums.Codec]]}
    assert dict(enumerate(enums.CODECS)) == codecs
    types = {int(number): text for _, number, text in rows[NUMBERED[enums.TimestampType]]}
    assert dict(enums.TIMESTAMP_TYPES) == types


def test_special_timestamps_of_list_offsets(rows: Rows) -> None:
    theirs = constants(rows, "common.requests.ListOffsetsRequest")
    assert dict(enums.OffsetSpec.numbers) == {
        name.removesuffix("_TIMESTAMP") if name != "MAX_TIMESTAMP" else name: int(value)
        for name, value in theirs.items()
        if name.endswith("_TIMESTAMP")
    }


def test_how_components_of_a_quota_filter_match(rows: Rows) -> None:
    theirs = constants(rows, "common.requests.DescribeClientQuotasRequest")
    assert dict(enums.QuotaMatch.numbers) == {
        name.removeprefix("MATCH_TYPE_"): int(value) for name, value in theirs.items() if name.startswith("MATCH_TYPE_")
    }


def test_names_of_topics_and_of_the_cluster(rows: Rows) -> None:
    theirs = constants(rows, "common.internals.Topic")
    assert (
        theirs["GROUP_METADATA_TOPIC_NAME"],
        theirs["TRANSACTION_STATE_TOPIC_NAME"],
        theirs["SHARE_GROUP_STATE_TOPIC_NAME"],
    ) == enums.INTERNAL_TOPICS
    assert theirs["CLUSTER_METADATA_TOPIC_NAME"] == enums.CLUSTER_METADATA
    assert constants(rows, "common.resource.Resource")["CLUSTER_NAME"] == enums.CLUSTER_NAME


def test_each_type_of_resource_has_kafkas_operations(rows: Rows) -> None:
    told = constants(rows, "security.authorizer.AclEntry")
    theirs = {kind: set(told[kind].split(",")) for kind in enums.AclResourceType.numbers if kind in told}
    assert theirs == {
        enums.AclResourceType.word(kind): {enums.AclOperation.word(operation) for operation in operations}
        for kind, operations in enums.ACL_OPERATIONS.items()
    }


def test_bits_of_a_batchs_attributes(rows: Rows) -> None:
    theirs = constants(rows, "common.record.internal.DefaultRecordBatch")
    assert {name.removesuffix("_MASK"): int(value) for name, value in theirs.items() if name.endswith("_MASK")} == {
        "COMPRESSION_CODEC": enums.CODEC_BITS,
        "TIMESTAMP_TYPE": enums.LOG_APPEND_TIME_BIT,
        "TRANSACTIONAL_FLAG": enums.TRANSACTIONAL_BIT,
        "CONTROL_FLAG": enums.CONTROL_BIT,
        "DELETE_HORIZON_FLAG": enums.DELETE_HORIZON_BIT,
    }
