"""A metadata log of a later release: what is not known yet is shown, counted and passed over, and is no damage."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

import pytest

from kafka_tools import KAFKA_MINOR, cli
from kafka_tools.broker_embedded.directories.local_store import encode_record
from kafka_tools.commands import running
from kafka_tools.protocol.stored import cluster_metadata as stored
from kafka_tools.records.build import build_batch
from kafka_tools.records.framing import newer_record
from kafka_tools.storage.check import check_log_dir, check_partition
from kafka_tools.storage.kraft_snapshots import write_kraft_snapshot
from kafka_tools.storage.names import log_file_name
from kafka_tools.values import uuid_text
from tests.server_properties import write_server_properties

NEWER = f"newer than this tool knows ({KAFKA_MINOR})"
COUNTED = f"4 records are {NEWER}: 2 of type 99 in version 3, 1 of type 2 in version 77, 1 of frame version 2"
TOPIC = uuid.UUID(int=5)
DREAMER = stored.ClientQuotaRecord.EntityData(entity_type="dreamer", entity_name="d")
ENDPOINT = stored.RegisterControllerRecord.ControllerEndpoint(name="X", security_protocol=9)
LEVEL = encode_record(stored.FeatureLevelRecord(name="metadata.version", feature_level=99))
RECORDS = [
    LEVEL,
    encode_record(stored.TopicRecord(name="t", topic_id=TOPIC)),
    bytes((1, 99, 3)) + b"dream",
    bytes((1, 2, 77)) + b"another topic",
    bytes((1, 11, 77)) + b"secret credential",
    bytes((2, 2, 0)) + b"another frame",
    bytes((1, 99, 3)) + b"\xff",
    encode_record(stored.PartitionRecord(partition_id=0, topic_id=TOPIC, replicas=[1], isr=[1], leader=1)),
    encode_record(stored.ConfigRecord(resource_type=2, resource_name="t", name="dreams.ms", value="7")),
    encode_record(stored.ConfigRecord(resource_type=64, resource_name="d", name="dreams.ms", value="8")),
    encode_record(stored.ClientQuotaRecord(entity=[DREAMER], key="q", value=1.5)),
    encode_record(stored.UserScramCredentialRecord(name="alice", mechanism=9, iterations=4096)),
    encode_record(stored.RegisterControllerRecord(controller_id=3, end_points=[ENDPOINT])),
    encode_record(stored.AccessControlEntryRecord(id=TOPIC, resource_type=40, operation=99, permission_type=3)),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    batch = build_batch([(1, None, value, ()) for value in RECORDS])
    (directory / log_file_name(0)).write_bytes(batch)
    return tmp_path


def run(name: str, *words: object) -> int:
    return running.run(cli.load(name), [str(word) for word in words], f"kafka-{name}")


def write_snapshot(path: Path, *values: bytes) -> None:
    write_kraft_snapshot(str(path), [values], epoch=1, last_contained_ms=1, written_ms=1)


def values(text: str) -> list[object]:
    rows = [json.loads(line) for line in text.splitlines()]
    return [row["value"] for row in rows if row["type"] == "record"]


def test_the_dump_shows_type_version_and_bytes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = folder / "__cluster_metadata-0" / log_file_name(0)
    assert run("dump-log", "--cluster-metadata-decoder", "-o", "jsonl", "--files", log) == 0
    shown = values(capsys.readouterr().out)
    assert shown[2] == {"type": "UNKNOWN(99)", "version": 3, "data_base64": "ZHJlYW0="}
    assert shown[3] == {"type": "TOPIC_RECORD", "version": 77, "data_base64": "YW5vdGhlciB0b3BpYw=="}
    assert shown[4] == {"type": "USER_SCRAM_CREDENTIAL_RECORD", "version": 77, "data": "***"}
    assert shown[5] == "***"
    assert shown[6] == {"type": "UNKNOWN(99)", "version": 3, "data_base64": "/w=="}
    assert run("dump-log", "--cluster-metadata-decoder", "--files", log) == 0
    said = capsys.readouterr().out  # in Kafka's words
    assert "payload: Error at 2, skipping. org.apache.kafka.common.errors.UnsupportedVersionException: Unknown" in said
    assert "payload: Error at 3, skipping. Failed to deserialize record with type 2" in said


def test_a_check_counts_them_and_calls_nothing_damaged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = folder / "__cluster_metadata-0" / log_file_name(0)
    counted = COUNTED.replace("4 records", "5 records").replace("1 of frame", "1 of type 11 in version 77, 1 of frame")
    for words in ([folder], [folder, "--deep-iteration"], ["--files", log], [folder, "-o", "jsonl"]):
        assert run("dump-log", "--check", *words) == 0
        out, err = capsys.readouterr()
        assert (out, err) == ("", f"{log}: {counted}\n")
    write_snapshot(log.parent / f"{3:020d}-{1:010d}.checkpoint", RECORDS[2])
    found = [each.text for each in check_partition(log.parent) if each.kind == "newer-records"]
    assert found == [f"1 record is {NEWER}: 1 of type 99 in version 3", counted]


def test_other_logs_are_not_looked_into(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    batch = build_batch([(1, None, value, ()) for value in RECORDS])
    (tmp_path / "orders-0" / log_file_name(0)).write_bytes(batch)
    assert {each.kind for each in check_partition(tmp_path / "orders-0")} == {"index-missing", "timeindex-missing"}


def test_the_audit_counts_them_in_a_remark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", folder, "-o", "json") == 0
    findings = json.loads(capsys.readouterr().out)["data"]["findings"]
    (found,) = [each for each in findings if each["kind"] == "newer-records"]
    assert (found["severity"], found["topic"]) == ("info", "__cluster_metadata")
    assert found["detail"].startswith(f"5 records are {NEWER}: 2 of type 99 in version 3,")
    assert all(each["severity"] == "info" for each in findings)


def test_the_shell_passes_over_them_and_shows_the_level(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for node, text in (
        ("features/metadataVersion", "Optional[UNKNOWN 99]"),
        ("configs/TOPIC:t/dreams.ms", "7"),
        ("configs/UNKNOWN(64):d/dreams.ms", "***"),
        ("clientQuotas/dreamer(d)/q", "1.5"),
        ("scram/UNKNOWN(9)/alice", "iterations=4096)"),
        ("cluster/controllers/3", "securityProtocol=UNKNOWN(9),"),
        (f"acls/byId/{uuid_text(TOPIC)}", "resourceType=UNKNOWN(40),"),
        (f"acls/byId/{uuid_text(TOPIC)}", "operation=UNKNOWN(99),"),
    ):
        assert run("metadata-shell", "-s", folder, "cat", f"image/{node}") == 0
        out, err = capsys.readouterr()
        assert text in out
        assert err.startswith(f"ignored: 5 records are {NEWER}: ") and err.count("\n") == 1


def test_info_names_a_level_that_is_newer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    snapshot = folder / "__cluster_metadata-0" / f"{0:020d}-{0:010d}.checkpoint"
    write_snapshot(snapshot, LEVEL, RECORDS[2])
    path = write_server_properties(folder, {"log_dirs": str(folder), "node_id": "1", "process_roles": "broker"})
    assert run("storage", "info", "-c", path) == 0
    out, err = capsys.readouterr()
    assert "Found metadata: " in out
    assert err == f"{folder}: metadata.version 99: {NEWER}\n"


@pytest.mark.parametrize("value", [b"", b"\1", b"\1\xff", b"\0\2\0", encode_record(stored.NoOpRecord()), b"\xff" * 12])
def test_other_bytes_are_not_taken_for_a_later_record(value: bytes) -> None:
    assert newer_record(value, stored.RECORDS) is None


@pytest.mark.parametrize(
    "name, text",
    [
        ("meta.properties", "version=2\ncluster.id=c\nnode.id=1\n"),
        ("replication-offset-checkpoint", "3\n0\n"),
        ("__cluster_metadata-0/quorum-state", '{"leaderEpoch":1,"leaderId":1,"data_version":4}'),
        ("__cluster_metadata-0/leader-epoch-checkpoint", "1\n0\n"),
    ],
)
def test_a_small_file_of_a_later_version_is_told_as_one(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    found = {os.path.relpath(each.path or "", folder): each for each in check_log_dir(folder) if each.is_damage}
    assert [(path, each.kind, each.severity) for path, each in found.items()] == [(name, "newer-file", "warning")]
    assert NEWER in found[name].text
    assert "Leave it" in (found[name].advice or "")


@pytest.mark.parametrize("version", ["77", "-1", "x"])
def test_a_version_that_no_release_has_is_damage(folder: Path, version: str) -> None:
    (folder / "meta.properties").write_text(f"version={version}\ncluster.id=c\nnode.id=1\n")
    assert [each.kind for each in check_log_dir(folder) if each.is_damage] == ["meta-properties"]
