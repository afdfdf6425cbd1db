"""Snapshots of the cluster's state: the same state and the same answers, whatever is replayed from what; and what goes.

The property is judged by the broker's own answers, and the snapshot and the log by what reads those of Kafka.
"""

from __future__ import annotations

import copy
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_tools.broker_embedded.cluster.features import Update
from kafka_tools.broker_embedded.core import Core
from kafka_tools.broker_embedded.directories.local_store import LocalStore
from kafka_tools.broker_embedded.security.acls import AclEntry, Filter
from kafka_tools.broker_embedded.security.scram_credentials import Deletion, Upsertion
from kafka_tools.broker_embedded.slices import whole
from kafka_tools.clock import ManualClock
from kafka_tools.errors import BrokerError
from kafka_tools.protocol.enums import ConfigResourceType
from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.describe_acls import DescribeAclsRequest
from kafka_tools.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kafka_tools.protocol.messages.metadata import MetadataRequest
from kafka_tools.protocol.schema import Stored
from tests.broker_embedded.disk_broker import DiskBroker

STATE = "__cluster_metadata-0"
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS", "delegation.token.secret.key": "k", "log.cleaner.enable": "false",
}  # fmt: skip
NAMES = st.sampled_from(["a", "b", "c"])
RESOURCES = st.sampled_from([(2, "a"), (2, "b"), (4, ""), (4, "1"), (32, "g"), (16, "m")])
CONFIGS = {
    2: ("retention.ms", "cleanup.policy"), 4: ("log.retention.ms", "num.io.threads"),
    32: ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"), 16: ("interval.ms", "interval.ms"),
}  # fmt: skip
VALUES = {"cleanup.policy": ("delete", "compact"), "num.io.threads": ("7", "9"),
          "consumer.session.timeout.ms": ("50000", "51000"), "consumer.heartbeat.interval.ms": ("5000", "6000"),
          "interval.ms": ("5000", "6000")}  # fmt: skip
ENTITIES = st.sampled_from([
    (("user", "u"),), (("user", None),), (("user", "u"), ("client-id", None)), (("ip", "::1"),), (("ip", "0::1"),),
    (("ip", None),),
])  # fmt: skip
ANY = Filter(1, 1, None, None, None, 1, 1)

Change = Callable[[DiskBroker], object]


# Changes, each by the owner of what is changed or by a request


def _made(name: str, partitions: int, retention: str | None) -> Change:
    def change(broker: DiskBroker) -> None:
        if broker.core.cluster.topic(name) is None:
            broker.create(name, partitions, **({} if retention is None else {"retention_ms": retention}))

    return change


def _deleted(name: str) -> Change:
    return lambda broker: broker.send(DeleteTopicsRequest(topic_names=[name], timeout_ms=1000), 5)


def _grown(name: str) -> Change:
    def change(broker: DiskBroker) -> None:
        topic = broker.core.cluster.topic(name)
        if topic is not None and len(topic.partitions) < 6:
            whole(broker.core.topics.add_partitions(topic, [[1]]))

    return change


def _set(resource: tuple[int, str], which: int, value: int | None) -> Change:
    kind, name = resource
    config = CONFIGS[kind][which]
    text = None if value is None else VALUES.get(config, ("111111", "222222"))[value]
    return lambda broker: alter(broker, kind, name, config, text)


def alter(broker: DiskBroker, kind: int, name: str, config: str, text: str | None) -> None:
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    altered = Resource.AlterableConfig(name=config, config_operation=text is None, value=text)
    asked = Resource(resource_type=kind, resource_name=name, configs=[altered])
    (done,) = broker.call(IncrementalAlterConfigsRequest(resources=[asked]), 1).responses
    assert not done.error_code or (kind == ConfigResourceType.TOPIC and name not in broker.core.cluster.topics), done


def _limited(entity: Sequence[tuple[str, str | None]], value: float | None) -> Change:
    key = "connection_creation_rate" if entity[0][0] == "ip" else "producer_byte_rate"
    return lambda broker: broker.core.journal.commit(broker.core.quotas.changes(entity, [(key, value)]))


def _allowed(name: str, allow: bool) -> Change:
    return lambda broker: broker.core.acls.create([AclEntry(2, name, 3, f"User:{name}", "*", 3, 3 if allow else 2)])


def _disallowed(name: str) -> Change:
    return lambda broker: whole(broker.core.acls.delete([ANY._replace(principal=f"User:{name}")]))


def _user(name: str, mechanism: int, iterations: int | None) -> Change:
    def change(broker: DiskBroker) -> None:
        if iterations is None:
            request = AlterUserScramCredentialsRequest(deletions=[Deletion(name=name, mechanism=mechanism)])
        else:
            upsertion = Upsertion(
                name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"salted"
            )
            request = AlterUserScramCredentialsRequest(upsertions=[upsertion])
        records, _ = broker.core.credentials.changes(request)
        broker.core.journal.commit(records)

    return change


def _token(name: str, what: str) -> Change:
    def change(broker: DiskBroker) -> None:
        tokens, user = broker.core.tokens, f"User:{name}"
        if what == "create":
            tokens.create(user, user, ["User:r"], -1)
            return
        for token in list(tokens._tokens.values())[:1]:
            hmac = tokens.hmac(token)
            tokens.renew(token.owner, hmac, 1000) if what == "renew" else tokens.expire(token.owner, hmac, -1)

    return change


def _feature(level: int) -> Change:
    def change(broker: DiskBroker) -> None:
        update = Update("transaction.version", level, 1 if level else 3)
        try:
            broker.core.journal.commit(broker.core.features.changes([update], ()))
        except BrokerError:
            return  # it has that level

    return change


def _ids(broker: DiskBroker) -> None:
    for _ in range(400):
        broker.core.producer_ids.next_id()


CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(_made, NAMES, st.integers(1, 3), st.sampled_from([None, "77777"])),
    st.builds(_deleted, NAMES),
    st.builds(_grown, NAMES),
    st.builds(_set, RESOURCES, st.integers(0, 1), st.sampled_from([None, 0, 1])),
    st.builds(_limited, ENTITIES, st.sampled_from([None, 5.0, 6.0])),
    st.builds(_allowed, NAMES, st.booleans()),
    st.builds(_disallowed, NAMES),
    st.builds(_user, NAMES, st.sampled_from([1, 2]), st.sampled_from([None, 4096, 5000])),
    st.builds(_token, NAMES, st.sampled_from(["create", "renew", "expire"])),
    st.builds(_feature, st.integers(0, 2)),
    st.just(_ids),
)
CHANGES_OF_EVERY_KIND: Sequence[Change] = [
    *(_made(name, 3, "77777") for name in "abc"), _grown("b"), _deleted("c"), _set((4, ""), 0, 1),
    _set((32, "g"), 0, 1), _set((16, "m"), 0, 1),
    *(_limited(entity, 5.0) for entity in ((("user", "u"),), (("ip", None),))),
    *(_allowed(name, allow) for name in "ab" for allow in (True, False)), _disallowed("b"), _user("a", 1, 4096),
    _user("b", 2, 5000), _user("b", 2, None), *(_token("a", what) for what in ("create", "create", "expire")), _ids,
    *(_set((2, "a"), 0, number % 2) for number in range(60)),
]  # fmt: skip
SNAPSHOT, START = "snapshot", "start"
STEPS = st.lists(st.one_of(CHANGES, CHANGES, CHANGES, st.sampled_from([SNAPSHOT, START])), min_size=12, max_size=40)


# What a broker knows and says


def snapshot(core: Core) -> None:
    """One now, after which nothing is kept that a start does not need."""
    store = core.store
    assert isinstance(store, LocalStore)
    whole(store.write_snapshot(core.journal.image(), core.slices, begin_segment=True))
    store.shorten(retention_bytes=0, retention_ms=-1)


def answers(broker: DiskBroker) -> Iterator[Any]:
    """What it answers to every request that shows the cluster's state."""
    Described, Resource = DescribeTopicPartitionsRequest.TopicRequest, DescribeConfigsRequest.Resource
    yield broker.call(MetadataRequest(topics=None), 12)
    yield broker.call(DescribeTopicPartitionsRequest(topics=[Described(name=name) for name in "abc"]), 0)
    yield broker.call(ListConfigResourcesRequest(resource_types=[2, 4, 16, 32]), 1)
    resources = [
        Resource(resource_type=kind, resource_name=name, configuration_keys=None)
        for kind, name in ((2, "a"), (2, "b"), (2, "c"), (4, ""), (4, "1"), (32, "g"), (16, "m"))
    ]
    yield broker.call(DescribeConfigsRequest(resources=resources, include_synonyms=True), 4)
    yield broker.call(DescribeClientQuotasRequest(components=[], strict=False), 1)
    acls = DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1)
    yield broker.call(acls, 3)
    yield broker.call(DescribeUserScramCredentialsRequest(users=None), 0)
    versions = broker.call(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 4)
    yield versions.finalized_features
    core = broker.core
    yield [core.quotas.limit_of_ip(address) for address in ("::1", "10.0.0.1")]
    yield list(core.tokens._tokens.values())
    yield [core.credentials.lookup(mechanism, "a") for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")]
    yield [core.acls.authorize("User:a", "h", 3, 2, name) for name in "abc"]
    yield core.producer_ids.next_id()


def kept(core: Core) -> list[Any]:
    """What its owners hold: a snapshot could leave something out that no answer tells."""
    topics = [(topic.name, topic.id, topic.partitions) for topic in core.cluster.topics.values()]
    return [
        topics, core.cluster.removed_ids, core.features.finalized, core.configs._set, core.quotas._limits,
        core.quotas._ip_limits, core.acls._entries, core.acls._literal, core.tokens._tokens, core.tokens._by_hmac,
        core.credentials._by_user, core.producer_ids._next_block,
    ]  # fmt: skip


def known(directory: Path) -> tuple[list[Any], list[Any]]:
    """The state that a start finds in a directory, and what it answers."""
    broker = DiskBroker(directory, PROPERTIES)
    try:
        return copy.deepcopy(kept(broker.core)), list(answers(broker))
    finally:
        broker.core.close(clean=False)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_a_snapshot_and_the_rest_of_the_log_come_to_what_the_whole_log_comes_to(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, reference = Path(folder, "data"), Path(folder, "whole log")
        appended: list[list[Stored]] = []
        append = LocalStore.append

        def append_here_too(store: LocalStore, records: Sequence[Stored]) -> None:
            append(store, records)
            appended.append(list(records))

        with mock.patch.object(LocalStore, "append", append_here_too):
            broker = DiskBroker(path, PROPERTIES)
            for step in steps:
                if step is SNAPSHOT:
                    snapshot(broker.core)
                elif step is START:
                    broker.restart(kill=True)
                else:
                    step(broker)
            broker.step()
            broker.core.close(clean=False)
        shutil.copytree(path, reference)
        shutil.rmtree(reference / STATE)
        of_all = LocalStore(str(reference), ManualClock(), clean=True)
        for records in appended:
            of_all.append(records)
        of_all.close()
        assert known(path) == known(reference)


@pytest.fixture
def broker(tmp_path: Path) -> DiskBroker:
    """One with a topic, a user, an ACL, a quota and a block of producer ids."""
    made = DiskBroker(tmp_path / "data", PROPERTIES)
    for change in (_made("a", 3, "1"), _allowed("a", True), _user("a", 1, 4096), _limited((("user", "u"),), 5.0), _ids):
        change(made)
    return made


def test_a_deleted_topic_whose_directory_cannot_be_renamed_is_removed_by_the_next_start(
    broker: DiskBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert broker.produce("a", broker.batch(b"x")).error_code == 0
    with monkeypatch.context() as patch:
        patch.setattr("kafka_tools.broker_embedded.partitions.hosted.retire_directory", _refuse)
        _deleted("a")(broker)
        broker.step()
    assert list(broker.core.cluster.removed_ids.values()) == ["a"]
    snapshot(broker.core)
    snapshot_once_more(broker)
    assert (broker.path / "a-0").exists()
    broker.restart(kill=True)
    assert broker.core.cluster.removed_ids == {}
    assert {each.name for each in broker.path.iterdir() if each.is_dir()} == {STATE}
    _made("a", 1, None)(broker)
    _deleted("a")(broker)
    broker.step()
    assert broker.core.cluster.removed_ids == {}  # it is not remembered for ever


def _refuse(path: str) -> str:
    raise OSError(5, "Input/output error", path)


def snapshot_once_more(broker: DiskBroker) -> None:
    """So that the log before it goes."""
    alter(broker, 4, "", "num.io.threads", "9")
    snapshot(broker.core)
