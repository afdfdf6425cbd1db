"""What the metadata log holds that is secret comes out of no command, table, text of a record or line of a log."""

from __future__ import annotations

import base64
import logging
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.protocol.codec import encode
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.stored.cluster_metadata import ConfigRecord, TopicRecord, UserScramCredentialRecord
from kafka_tools.spark.columns.internal_topics import decoder
from kafka_tools.storage.names import log_file_name
from tests.cluster_image.files import ORDERS, log_bytes

BROKER, TOPIC = 4, 2
SECRET = "Zq7-planted-9Kx"
SECRET_CONFIGS = (
    "sasl.jaas.config",
    "listener.name.external.plain.sasl.jaas.config",
    "listener.name.external.ssl.keystore.password",
    "ssl.keystore.password",
    "ssl.keystore.key",
    "ssl.truststore.certificates",
    "sasl.oauthbearer.client.credentials.client.secret",
    "confluent.license",  # a plugin's: brokers hide what they do not know
    "listener.name.external.plugin.option",
)
RECORDS = [
    *(ConfigRecord(resource_type=BROKER, resource_name="1", name=name, value=SECRET) for name in SECRET_CONFIGS),
    ConfigRecord(resource_type=TOPIC, resource_name="orders", name="no.such.password", value=SECRET),
    ConfigRecord(resource_type=99, resource_name="x", name="anything", value=SECRET),
    UserScramCredentialRecord(
        name="alice", mechanism=1, salt=SECRET.encode(), stored_key=SECRET.encode(), server_key=SECRET.encode()
    ),
]
OPEN = [
    TopicRecord(name="orders", topic_id=ORDERS),
    ConfigRecord(resource_type=TOPIC, resource_name="orders", name="retention.ms", value="4711"),
    ConfigRecord(resource_type=TOPIC, resource_name="orders", name="of.another.release", value="4712"),
    ConfigRecord(resource_type=BROKER, resource_name="1", name="log.cleaner.threads", value="4713"),
    ConfigRecord(resource_type=BROKER, resource_name="1", name="delegation.token.max.lifetime.ms", value="4714"),
]
SHOWN = ("4711", "4712", "4713", "4714")
PRINTS = {SECRET, SECRET.encode().hex(), base64.b64encode(SECRET.encode()).decode()}


def leaks(text: str) -> bool:
    return any(each in text for each in PRINTS)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "__cluster_metadata-0" / log_file_name(0)
    path.parent.mkdir()
    path.write_bytes(log_bytes([[*OPEN, *RECORDS]]))
    return path


@pytest.mark.parametrize(
    "line",
    [
        "dump-log --cluster-metadata-decoder --files {log}",
        "dump-log --cluster-metadata-decoder --keep-going --files {log}",
        "dump-log --cluster-metadata-decoder -o json --files {log}",
        "dump-log --cluster-metadata-decoder -o jsonl --bytes base64 --files {log}",
        "dump-log --cluster-metadata-decoder --summary --files {log}",
        "dump-log --check --deep-iteration {log}",
        "metadata-shell -s {log} tree /",
        "metadata-shell -s {log} find /image/scram",
    ],
)
def test_no_command_shows_them(log: Path, line: str, capfd: pytest.CaptureFixture[str]) -> None:
    name, *words = line.format(log=log).split()
    assert running.run(cli.load(name), words, f"kafka-{name}") == 0
    out, err = capfd.readouterr()
    assert not leaks(out + err)
    if "decoder" in line and "summary" not in line:
        assert all(each in out for each in SHOWN) and out.count("***") >= len(SECRET_CONFIGS) + 5


@pytest.mark.parametrize("name", [f"BROKER:1/{name}" for name in SECRET_CONFIGS] + ["BROKER:1/log.cleaner.threads"])
def test_the_shell_shows_a_mask(log: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    status = running.run(cli.load("metadata-shell"), ["-s", str(log), "cat", f"/image/configs/{name}"], "shell")
    assert (status, capfd.readouterr().out) == (0, "4713\n" if name.endswith("threads") else "***\n")


@pytest.mark.parametrize(
    "kind",
    [b"\x01\x0b\x00", b"\x01\x0b\x7f", b"\x02\x04\x00"],
    ids=["another type's bytes", "another version's bytes", "another frame"],
)
def test_a_record_that_cannot_be_read_is_not_shown_either(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: bytes
) -> None:
    path = tmp_path / log_file_name(0)
    good = log_bytes([[RECORDS[0]]])
    record = b"\x01\x04\x00" + encode(RECORDS[0], 0)
    path.write_bytes(good.replace(record[:3], kind))
    for form in ("json", "jsonl"):
        arguments = ["--cluster-metadata-decoder", "-o", form, "--bytes", "text", "--files", str(path)]
        running.run(cli.load("dump-log"), arguments, "kafka-dump-log")
        out, err = capfd.readouterr()
        assert "decode_error" in out and not leaks(out + err)


def test_the_table_of_spark_masks_them() -> None:
    decode = decoder("__cluster_metadata")
    assert decode is not None
    for record in RECORDS:
        number = type(record).ID  # type: ignore[attr-defined]
        values = decode(None, bytes([1, number, 0]) + encode(record, 0))
        assert not leaks(str(values)) and "***" in values["decoded"]


def test_the_text_of_a_record_and_of_a_request_masks_them(caplog: pytest.LogCaptureFixture) -> None:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    request = IncrementalAlterConfigsRequest(
        resources=[
            resource(
                resource_type=BROKER,
                configs=[resource.AlterableConfig(name=name, value=SECRET) for name in SECRET_CONFIGS],
            )
        ]
    )
    for each in (*RECORDS, request):
        logging.getLogger("kafka_tools").error("%s %r", each, each)
    assert not leaks(caplog.text) and caplog.text.count("***") >= 2 * len(RECORDS)
    assert SHOWN[0] in repr(OPEN[1])
