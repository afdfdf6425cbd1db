"""Finalized features: Kafka's at the first start, kept, and min.insync.replicas as they ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.cluster.features import UPGRADE, Update
from kafka_tools.broker_embedded.directories.data_dirs import DataDirs
from kafka_tools.broker_embedded.directories.local_store import LocalStore
from kafka_tools.broker_embedded.opening import open_core
from kafka_tools.clock import Deadline, ManualClock, SystemClock
from kafka_tools.errors import BrokerError, ConfigError
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol import feature_levels
from kafka_tools.protocol.enums import FeatureUpgradeType
from kafka_tools.protocol.messages.alter_configs import AlterConfigsRequest
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.update_features import UpdateFeaturesRequest
from kafka_tools.protocol.schema import Stored
from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord, FeatureLevelRecord
from tests.broker_embedded.wire_client import WireClient

BROKER = 4
SAFE_DOWNGRADE = FeatureUpgradeType.SAFE_DOWNGRADE
NEWEST = feature_levels.LATEST_PRODUCTION
LEVELS = dict(sorted((feature_levels.PRODUCTION | {"metadata.version": NEWEST}).items()))
del LEVELS["kraft.version"]
"""What kafka-storage format of the newest release finalizes."""


class Asking:
    """A broker asked over its socket."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self.exchange = Exchange(ClientConfig({"bootstrap.servers": broker.bootstrap_servers}), clock=SystemClock())
        self.node = self.exchange.bootstrap(self.deadline())

    def deadline(self) -> Deadline:
        return Deadline(SystemClock(), 60)

    def __call__(self, request: Any, version: int) -> Any:
        return self.exchange.call(self.node, request, self.deadline(), version)

    def features(self, version: int = 4) -> Any:
        return self(ApiVersionsRequest(client_software_name="t", client_software_version="1"), version)

    def min_isr(self, broker: str, value: str | None) -> tuple[int, str | None]:
        Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        change = Resource.AlterableConfig(
            name="min.insync.replicas", config_operation=1 if value is None else 0, value=value
        )
        resource = Resource(resource_type=BROKER, resource_name=broker, configs=[change])
        (answer,) = self(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
        return answer.error_code, answer.error_message

    def update(self, feature: str, level: int, upgrade_type: int, version: int = 2, **rest: Any) -> tuple[int, str]:
        key = UpdateFeaturesRequest.FeatureUpdateKey(feature=feature, max_version_level=level, **rest)
        if version >= 1:
            key.upgrade_type = upgrade_type
        answer = self(UpdateFeaturesRequest(feature_updates=[key]), version)
        return answer.error_code, answer.error_message


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    with EmbeddedBroker(data_dir=tmp_path / "data") as broker:
        found = Asking(broker)
        yield found
        found.exchange.close()


def records_in(folder: Path) -> list[Stored]:
    store = LocalStore(str(folder), SystemClock(), clean=True)
    found = list(store.replay())
    store.close()
    return found


def test_a_new_cluster_finalizes_what_kafka_does(asking: Asking) -> None:
    answer = asking.features()
    assert {each.name: each.max_version_level for each in answer.finalized_features} == LEVELS
    assert {each.name for each in answer.supported_features} == {*LEVELS, "kraft.version"}
    assert answer.finalized_features_epoch >= 0


def test_version_3_leaves_out_what_its_readers_cannot_take(asking: Asking) -> None:
    assert [each.name for each in asking.features(3).supported_features] == ["metadata.version"]
    assert len(asking.features(3).finalized_features) == 6


def test_an_older_release_tells_no_features(tmp_path: Path) -> None:
    with EmbeddedBroker(data_dir=tmp_path, release="3.9") as broker:
        asking = Asking(broker)
        assert not asking.features().finalized_features
        asking.exchange.close()


@pytest.mark.parametrize("release, newest, share", [("4.0", 25, None), ("4.3.1", 30, (0, 1)), ("4.4", 33, (0, 2))])
def test_an_older_release_has_its_own_levels(
    tmp_path: Path, release: str, newest: int, share: tuple[int, int] | None
) -> None:
    with EmbeddedBroker(data_dir=tmp_path, release=release) as broker:
        asking = Asking(broker)
        answer = asking.features()
        told = {each.name: (each.min_version, each.max_version) for each in answer.supported_features}
        finalized = {each.name: each.max_version_level for each in answer.finalized_features}
        refused = asking.update("metadata.version", newest + 1, 1)
        asking.exchange.close()
    assert told["metadata.version"] == (7, newest)
    assert told.get("share.version") == share
    assert finalized == {name: high for name, (_, high) in told.items() if name != "kraft.version"}
    assert f"Local controller 1 only supports versions 7-{newest}" in refused[1]


def test_a_directory_of_a_higher_level_stays_there_under_an_older_release(tmp_path: Path) -> None:
    with EmbeddedBroker(data_dir=tmp_path):
        pass
    with EmbeddedBroker(data_dir=tmp_path, release="4.3") as broker:
        asking = Asking(broker)
        answer = asking.features()
        asking.exchange.close()
    assert {each.name: each.max_version_level for each in answer.finalized_features} == LEVELS
    told = {each.name: each.max_version for each in answer.supported_features}
    assert all(told[name] >= level for name, level in LEVELS.items())


def test_levels_are_written_once_in_kafkas_records(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    for _ in range(2):
        with EmbeddedBroker(data_dir=folder):
            pass
    written = [record for record in records_in(folder) if isinstance(record, FeatureLevelRecord | ConfigRecord)]
    assert written[0] == FeatureLevelRecord(name="metadata.version", feature_level=NEWEST)
    assert {each.name: each.feature_level for each in written if isinstance(each, FeatureLevelRecord)} == LEVELS
    assert written[6:] == [ConfigRecord(resource_type=BROKER, resource_name="", name="min.insync.replicas", value="1")]


def old_directory(folder: Path, records: Sequence[Stored]) -> None:
    """What a version of this broker without features left."""
    dirs = DataDirs([str(folder)], node_id=1, cluster_id=None)
    store = LocalStore(str(folder), SystemClock(), clean=True)
    store.append(records)
    store.close()
    dirs.mark_clean(dirs.paths)
    dirs.unlock()


def test_an_old_directory_opens_and_gains_them(tmp_path: Path) -> None:
    own = [ConfigRecord(resource_type=BROKER, resource_name="1", name="min.insync.replicas", value="2")]
    old_directory(tmp_path, own)
    properties = {"min.insync.replicas": "3", "broker.id": "1"}
    core = open_core(properties, data_dirs=[str(tmp_path)], clock=ManualClock())
    assert core.features.finalized == LEVELS
    assert dict(core.configs.dynamic(BROKER, "")) == {"min.insync.replicas": "3"}  # as server.properties says
    assert not core.configs.dynamic(BROKER, "1")
    core.close()


def test_a_level_needs_those_it_depends_on_before_or_in_the_same_request(tmp_path: Path) -> None:
    old_directory(tmp_path, [FeatureLevelRecord(name="metadata.version", feature_level=22)])
    core = open_core({"broker.id": "1"}, data_dirs=[str(tmp_path)], clock=ManualClock())
    with_elr, metadata = Update("eligible.leader.replicas.version", 1, UPGRADE), Update("metadata.version", 23, UPGRADE)
    with pytest.raises(BrokerError, match=r"could not be set to 1 because it depends on metadata\.version level 23"):
        core.features.changes([with_elr], ())
    assert len(core.features.changes([with_elr, metadata], ())) == 2
    core.close()


def test_metadata_version_is_lowered_where_the_log_of_the_cluster_has_the_same_records(tmp_path: Path) -> None:
    old_directory(tmp_path, [FeatureLevelRecord(name="metadata.version", feature_level=25)])
    core = open_core({"broker.id": "1"}, data_dirs=[str(tmp_path)], clock=ManualClock())
    assert core.features.changes([Update("metadata.version", 23, SAFE_DOWNGRADE)], ()) == [
        FeatureLevelRecord(name="metadata.version", feature_level=23)
    ]
    with pytest.raises(BrokerError, match="it might delete metadata information"):
        core.features.changes([Update("metadata.version", 22, SAFE_DOWNGRADE)], ())
    core.close()


def test_what_the_cluster_says_already_stays(tmp_path: Path) -> None:
    said = ConfigRecord(resource_type=BROKER, resource_name="", name="min.insync.replicas", value="2")
    old_directory(tmp_path, [said])
    core = open_core({"broker.id": "1"}, data_dirs=[str(tmp_path)], clock=ManualClock())
    assert dict(core.configs.dynamic(BROKER, "")) == {"min.insync.replicas": "2"}
    core.close()


def test_min_isr_is_the_clusters_while_eligible_leader_replicas_are_on(asking: Asking) -> None:
    own = (40, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
    assert asking.min_isr("1", "1") == asking.min_isr("1", None) == own
    assert asking.min_isr("", "2") == (0, None)
    assert asking.min_isr("", None) == (40, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
    assert asking.update("eligible.leader.replicas.version", 0, 2) == (0, None)
    assert asking.min_isr("1", "1") == asking.min_isr("", None) == (0, None)
    assert asking.update("eligible.leader.replicas.version", 1, 1) == (0, None)
    assert asking.min_isr("1", "1") == own


def test_who_may_not_alter_configs_is_told_so_before_anything_of_min_isr(tmp_path: Path) -> None:
    config = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    request = AlterConfigsRequest(resources=[AlterConfigsRequest.Resource(resource_type=4, resource_name="")])
    with (
        EmbeddedBroker(str(tmp_path / "data"), config=config) as broker,
        WireClient(broker.bootstrap_servers) as client,
    ):
        (result,) = client.call(request, 2).responses
    assert result.error_code == codes.CLUSTER_AUTHORIZATION_FAILED


def test_levels_change_and_are_kept(tmp_path: Path) -> None:
    with EmbeddedBroker(data_dir=tmp_path) as broker:
        asking = Asking(broker)
        assert asking.update("share.version", 0, 2)[0] == 0
        refused = asking.update("transaction.version", 1, 0, version=0, allow_downgrade=True)
        assert refused[0] == 95  # Kafka takes every update of v0 for an upgrade
        assert asking.update("transaction.version", 1, 2, version=1)[0] == 0
        asking.exchange.close()
        broker.restart(kill=True)
        asking = Asking(broker)
        found = {each.name: each.max_version_level for each in asking.features().finalized_features}
        asking.exchange.close()
    expected = LEVELS | {"transaction.version": 1}
    del expected["share.version"]
    assert found == expected


@pytest.mark.parametrize(
    ("feature", "level", "upgrade_type", "why"),
    [
        ("group.version", 0, 1, "Can't downgrade the version of this feature without setting the upgrade type"),
        ("group.version", 2, 1, "Local controller 1 only supports versions 0-1"),
        ("group.version", -1, 1, "A feature version cannot be less than 0."),
        ("group.version", 1, 0, "The controller does not support the given upgrade type."),
        ("metadata.version", 29, 2, f"Unsupported metadata.version downgrade from {NEWEST} to 29. Refusing"),
        ("metadata.version", 0, 3, f"Local controller 1 only supports versions 7-{NEWEST}"),
        ("kraft.version", 2, 1, "Local controller 1 only supports versions 0-1"),
        ("nosuch", 1, 1, "Local controller 1 does not support this feature."),
        ("nosuch", 0, 2, "Feature nosuch not found."),
    ],
)
def test_what_cannot_be_is_refused(asking: Asking, feature: str, level: int, upgrade_type: int, why: str) -> None:
    code, message = asking.update(feature, level, upgrade_type)
    assert code == 95
    assert message.startswith("The update failed for all features since the following feature had an error: ")
    assert why in message


def test_the_quorums_level_rises_once_and_stays(asking: Asking) -> None:
    assert asking.update("kraft.version", 0, 1) == asking.update("kraft.version", 1, 1) == (0, None)
    finalized = {each.name: each.max_version_level for each in asking.features().finalized_features}
    assert finalized == LEVELS | {"kraft.version": 1}
    assert asking.update("kraft.version", 0, 2)[0] == 95


def test_a_directory_of_a_later_broker_is_refused_by_its_level(tmp_path: Path) -> None:
    old_directory(tmp_path, [FeatureLevelRecord(name="metadata.version", feature_level=99)])
    with pytest.raises(ConfigError, match=r"is at metadata.version=99, newer than this tool knows \(4.*\): 7 to"):
        with EmbeddedBroker(data_dir=tmp_path):
            pass
