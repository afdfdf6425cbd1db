"""Feature levels of a cluster that began at an older one: the bundled broker raises and lowers them as Kafka does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafka_tools import cli
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clock import Deadline, SystemClock
from kafka_tools.commands import running
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.update_features import UpdateFeaturesRequest
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.tool_server import run_tool
from tests.server_properties import write_server_properties

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
FIRST = "4.0-IV0"
"""metadata.version 22."""
UP, DOWN, UNSAFE = 1, 2, 3
STEPS: list[tuple[dict[str, int], int]] = [
    ({"eligible.leader.replicas.version": 1}, UP),  # needs a higher metadata.version
    ({"transaction.version": 2, "group.version": 1}, UP),
    ({"group.version": 0}, UP),
    ({"group.version": 0}, DOWN),
    ({"eligible.leader.replicas.version": 1, "metadata.version": 24}, UP),
    ({"metadata.version": 22}, DOWN),  # 23 changed the records
    ({"metadata.version": 22}, UNSAFE),
    ({"metadata.version": 23}, DOWN),
    ({"metadata.version": 25}, DOWN),
    ({"share.version": 2, "metadata.version": 99}, UP),
    ({"share.version": 3}, UP),
    ({"share.version": 2}, UP),
    ({"kraft.version": 0}, DOWN),
    ({"kraft.version": 2}, UP),
    ({"metadata.version": 31}, UP),
    ({"metadata.version": 30}, DOWN),
    ({"metadata.version": 29}, DOWN),
    ({"metadata.version": 33, "streams.version": 1}, UP),
    ({"metadata.version": 32}, DOWN),
    ({"metadata.version": 32}, UNSAFE),
    ({"share.version": 1}, DOWN),
    ({"kraft.version": 1}, UP),
    ({"kraft.version": 0}, DOWN),
]


class Asked:
    """A broker, asked over its socket."""

    def __init__(self, servers: str) -> None:
        self._exchange = Exchange(ClientConfig({"bootstrap.servers": servers}), clock=SystemClock())
        self._node = self._exchange.bootstrap(self._deadline())

    def _deadline(self) -> Deadline:
        return Deadline(SystemClock(), 60)

    def update(self, levels: dict[str, int], kind: int, dry_run: bool) -> tuple[int, str | None]:
        Key = UpdateFeaturesRequest.FeatureUpdateKey
        keys = [Key(feature=name, max_version_level=level, upgrade_type=kind) for name, level in levels.items()]
        request = UpdateFeaturesRequest(feature_updates=keys, validate_only=dry_run)
        answer = self._exchange.call(self._node, request, self._deadline(), 2)
        return answer.error_code, answer.error_message

    def levels(self) -> dict[str, int]:
        request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
        answer: Any = self._exchange.call(self._node, request, self._deadline(), 4)
        return {each.name: each.max_version_level for each in answer.finalized_features}

    def close(self) -> None:
        self._exchange.close()


class AtOlderLevel(RealKafka):
    def _format(self) -> None:
        self.cluster_id = CLUSTER
        words = ("format", "-t", CLUSTER, "-c", self.folder / "server-1.properties", "-r", FIRST)
        assert run_tool(self.release, "kafka.tools.StorageTool", *words).returncode == 0


def test_levels_rise_and_fall_where_kafka_lets_them(tmp_path: Path) -> None:
    values = {"process_roles": "broker,controller", "node_id": "1", "log_dirs": f"{tmp_path}/ours",
              "controller_quorum_voters": "1@localhost:9093", "controller_listener_names": "C"}  # fmt: skip
    words = ["format", "-t", CLUSTER, "-c", str(write_server_properties(tmp_path, values)), "-r", FIRST]
    assert running.run(cli.load("storage"), words, "kafka-storage") == 0
    with (
        AtOlderLevel.start(Setup(NEWEST), tmp_path / "kafka") as kafka,
        EmbeddedBroker(data_dir=tmp_path / "ours") as broker,
    ):
        theirs, ours = Asked(kafka.bootstrap_servers), Asked(broker.bootstrap_servers)
        assert ours.levels() == theirs.levels()
        for levels, kind in STEPS:
            for dry_run in (True, False):
                assert ours.update(levels, kind, dry_run) == theirs.update(levels, kind, dry_run), (levels, kind)
            kafka.catch_up()
            assert ours.levels() == theirs.levels(), (levels, kind)
        theirs.close()
        ours.close()
