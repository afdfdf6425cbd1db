"""Logs in an object store: an S3 server on this machine holds the same bytes as a directory, with the same rows."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

pytest.importorskip("pyarrow", reason="the Spark packages are not installed")

from kafka_tools.commands.logs import audit as audit_command
from kafka_tools.errors import InputError
from kafka_tools.records.build import build_batch
from kafka_tools.spark import files, store_copy
from kafka_tools.spark.columns.batches import record_batches as batch_rows
from kafka_tools.spark.columns.files import directories
from kafka_tools.spark.columns.files import record_batches as file_rows
from kafka_tools.spark.columns.records import record_batches as record_rows
from kafka_tools.spark.columns.tables import BATCH_COLUMNS, CONTENT_COLUMNS, FILE_COLUMNS, RECORD_COLUMNS
from kafka_tools.spark.options import BATCH_OPTIONS, FILE_OPTIONS, RECORD_OPTIONS, parse_options
from kafka_tools.spark.plan import plan
from tests.corpus.golden import case, golden_root
from tests.spark.planted import NOW_MS, PLANTS, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET = "kafka"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """An S3 server, told to everything here through the environment, as on a machine that reads from S3."""
    if importlib.util.find_spec("moto") is None:
        pytest.skip("moto, the S3 server for tests, is not installed")
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    before = {name: os.environ.get(name) for name in (*ENVIRONMENT, "AWS_ENDPOINT_URL")}
    os.environ.update(ENVIRONMENT, AWS_ENDPOINT_URL=f"http://{host}:{port}")
    files._system.cache_clear()
    try:
        from pyarrow import fs

        store = fs.S3FileSystem(
            endpoint_override=os.environ["AWS_ENDPOINT_URL"], region="us-east-1", allow_bucket_creation=True
        )
        store.create_dir(BUCKET)
        yield os.environ["AWS_ENDPOINT_URL"]
    finally:
        files._system.cache_clear()
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        server.stop()


def upload(folder: Path, name: str) -> str:
    """The files of a directory as objects; the store's path of it."""
    system, _ = files._system_and_key(f"s3://{BUCKET}/")
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with system.open_output_stream(f"{BUCKET}/{name}/{path.relative_to(folder)}") as out:
                out.write(path.read_bytes())
    return f"s3://{BUCKET}/{name}"


def tables(path: str, **options: str) -> dict[str, list[dict[str, Any]]]:
    """All rows of the three tables, with paths below the log directory and without times of writing."""
    log_dir = files.normalised(path)
    batches = parse_options({"path": path, **options}, BATCH_COLUMNS, BATCH_OPTIONS)
    records = parse_options(
        {"path": path, "content": "true", **options}, RECORD_COLUMNS, RECORD_OPTIONS, CONTENT_COLUMNS
    )
    inventory = parse_options({"path": path}, FILE_COLUMNS, FILE_OPTIONS)
    found = {
        "batches": [row for each in plan(batches) for part in batch_rows(each, batches) for row in part.to_pylist()],
        "records": [row for each in plan(records) for part in record_rows(each, records) for row in part.to_pylist()],
        "files": [
            row
            for task in directories(inventory)
            for directory in task
            for part in file_rows(directory, inventory)
            for row in part.to_pylist()
        ],
    }
    for rows in found.values():
        for row in rows:
            assert row.pop("log_dir") == log_dir
            row["file"] = row["file"].removeprefix(log_dir)
            for name in ("modified", "modified_ms"):
                row.pop(name, None)
    found["files"].sort(key=lambda row: row["file"])
    return found


@pytest.mark.parametrize("name", ["m2-none-43", "corrupt-negative-length-none43", "corrupt-truncated-batch-none43"])
def test_a_store_tells_the_same_rows_as_a_disk(endpoint: str, name: str) -> None:
    folder = case(name).cwd
    expected = tables(str(folder), rangeBytes="4096")
    assert len(expected["batches"]) > 5 and len(expected["records"]) > 20 and len(expected["files"]) > 2
    path = upload(folder, name)
    assert tables(path, rangeBytes="4096") == expected
    assert tables(path.replace("s3://", "s3a://") + "/", rangeBytes="4096") == expected


def test_large_objects_are_read_by_range(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    data = b"".join(build_batch([(1, None, bytes(50_000), ())], base_offset=n) for n in range(60))
    (folder / f"{0:020d}.log").write_bytes(data)
    path = upload(tmp_path, "ranges")
    read: list[tuple[int, int]] = []
    fetch = files.RemoteFile._fetch

    def noted(self: files.RemoteFile, position: int, size_bytes: int) -> tuple[int, bytes]:
        block = fetch(self, position, size_bytes)
        read.append((position, len(block[1])))
        return block

    monkeypatch.setattr(files, "BLOCK_BYTES", 500_000)
    monkeypatch.setattr("kafka_tools.spark.columns.records.WINDOW_BYTES", 250_000)
    monkeypatch.setattr(files.RemoteFile, "_fetch", noted)
    options = parse_options({"path": path, "columns": "offset"}, RECORD_COLUMNS, RECORD_OPTIONS)
    (segment,) = plan(options)
    rows = [row for part in record_rows(segment, options) for row in part.to_pylist()]
    assert [row["offset"] for row in rows] == list(range(60))
    # Once, though the headers are read before the records; a batch over the edge of two blocks is read twice.
    assert max(size for _, size in read) == 500_000
    assert sum(size for _, size in read) < 1.2 * len(data)
    read.clear()
    half = segment._replace(start=30 * (len(data) // 60))
    assert len([row for part in record_rows(half, options) for row in part.to_pylist()]) == 30
    assert min(position for position, _ in read) == half.start


def test_an_object_that_vanishes_is_a_row(endpoint: str, tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / f"{0:020d}.log").write_bytes(build_batch([(1, None, b"v", ())]))
    path = upload(tmp_path, "vanishing")
    options = parse_options({"path": path}, BATCH_COLUMNS)
    (segment,) = plan(options)
    system, key = files._system_and_key(segment.file)
    system.delete_file(key)
    assert [row["damage"] for part in batch_rows(segment, options) for row in part.to_pylist()] == ["vanished"]


def test_what_is_not_there_is_named(endpoint: str) -> None:
    for path in (f"s3://{BUCKET}/nothing", "s3://no-such-bucket/logs"):
        with pytest.raises(InputError, match=f"log directory {path}: "):
            list(plan(parse_options({"path": path}, BATCH_COLUMNS)))


def test_spark_reads_a_store(endpoint: str, spark: SparkSession) -> None:
    """Its workers are this machine's: they learn of the store from the environment of the session."""
    import kafka_tools.spark

    path = upload(case("m2-zstd-43").cwd, "spark")
    # Workers get the environment that was the session's when the sources were registered.
    spark.sparkContext.environment.update(ENVIRONMENT, AWS_ENDPOINT_URL=endpoint)
    try:
        kafka_tools.spark.register(spark)
        rows = spark.read.format("kafka_log_batches").option("columns", "record_count").load(path).collect()
        audited_there = CliRunner().invoke(audit_command.command, [path, "-o", "json"], standalone_mode=False)
    finally:
        for name in (*ENVIRONMENT, "AWS_ENDPOINT_URL"):
            spark.sparkContext.environment.pop(name, None)
        kafka_tools.spark.register(spark)
    assert sum(row.record_count for row in rows) == 340
    assert audited_there.return_value == 0, audited_there.output
    (partition,) = json.loads(audited_there.stdout)["data"]["partitions"]
    assert (partition["records"], partition["log_dir"]) == (340, path)


def same_times(folder: Path, name: str) -> None:
    """The files were last written when their objects were."""
    for entry in files.list_store(f"s3://{BUCKET}/{name}"):
        assert entry.modified_ms is not None
        path = folder / entry.path.removeprefix(f"s3://{BUCKET}/{name}/")
        os.utime(path, (entry.modified_ms / 1000, entry.modified_ms / 1000))


def audited(path: str) -> Any:
    """The whole document, with paths below the log directory."""
    from kafka_tools.spark.audit import AuditOptions, audit_with
    from kafka_tools.spark.report.document import data
    from tests.spark.one_process import OneProcess

    result = audit_with(OneProcess(), [path], AuditOptions(now_ms=NOW_MS, range_bytes=4096))
    found = json.loads(json.dumps(data(result), default=str).replace(files.normalised(path), "LOGS"))
    for part in ("findings", "finding_counts", "partitions", "topics"):
        assert found[part] is not None
    for finding in found["findings"]:
        del finding["command"]  # kafka-dump-log reads no stores
    return found


STORED = (
    "logdir-killed-43", "txn-43", "metadata-39", "compact-43", "corrupt-empty-files-none43", "corrupt-flip-crc-none43",
    "corrupt-index-wrong-position-none43", "corrupt-truncated-batch-none43", "corrupt-garbage-tail-m1gz",
    "corrupt-no-log-none43",
)  # fmt: skip


@pytest.mark.parametrize("name", [*STORED, *PLANTS])
def test_the_audit_of_a_store_is_that_of_the_same_files_on_disk(endpoint: str, tmp_path: Path, name: str) -> None:
    """Indexes, checkpoints, snapshots and configs are among them, and damage at the very end."""
    pytest.importorskip("pyspark", reason="the Spark packages are not installed")
    folder = tmp_path / "kafka-logs"
    if name in PLANTS:
        PLANTS[name](folder)
    else:
        data_folder = golden_root() / name / "data"
        shutil.copytree(data_folder if data_folder.is_dir() else case(name).cwd, folder)
    for empty in [path for path in folder.iterdir() if path.is_dir() and not any(path.iterdir())]:
        (empty / "partition.metadata").write_text("")  # a store knows no empty directories
    path = upload(folder, f"audit/{name}/kafka-logs")
    same_times(folder, f"audit/{name}/kafka-logs")
    expected = audited(str(folder))
    assert audited(path) == expected
    if name in PLANTS or name.startswith("corrupt"):
        assert expected["findings"]


def test_one_partition_in_a_store_is_audited_as_on_disk(endpoint: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the Spark packages are not installed")
    write(tmp_path, "orders-0", [build_batch([(NOW_MS - 1, None, b"v", ())]), b"torn"])
    path = upload(tmp_path / "orders-0", "single/orders-0")
    same_times(tmp_path / "orders-0", "single/orders-0")
    expected = audited(str(tmp_path / "orders-0"))
    assert [row["partition"] for row in expected["partitions"]] == [0]
    assert audited(path) == expected


def test_a_path_of_a_store_without_partitions_is_an_error(endpoint: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the Spark packages are not installed")
    write(tmp_path, "orders", [b"no partition's name"])
    (finding,) = (
        each for each in audited(upload(tmp_path, "no-partitions"))["findings"] if each["severity"] == "error"
    )
    assert (finding["kind"], finding["file"]) == ("no-partitions", "LOGS")


def test_logs_too_large_to_follow_are_not_fetched(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = build_batch([(NOW_MS - 1, None, bytes(2_000_000), ())])
    write(tmp_path, "orders-0", [batch])
    path = upload(tmp_path, "large")
    fetched: list[str] = []
    opened = store_copy.open_file

    def noted(path: str) -> files.File:
        fetched.append(path.rpartition(".")[2])
        return opened(path)

    monkeypatch.setattr(store_copy, "open_file", noted)
    limits = ((10**9, b"", []), (10**9, b"x" * 34, ["log", "snapshot"]), (10, b"x", ["snapshot"]))
    for walked_bytes, state, expected in limits:
        (tmp_path / "orders-0" / f"{1:020d}.snapshot").write_bytes(state)
        upload(tmp_path, "large")
        fetched.clear()
        with store_copy.partition_copy(f"{path}/orders-0", walked_bytes, 1_000_000) as copy:
            (log,) = Path(copy).glob("*.log")
            assert log.stat().st_size == len(batch)
            assert (log.read_bytes() == batch) == ("log" in expected)
        assert sorted(set(fetched) - {"snapshot"} | (set(fetched) if state else set())) == expected


def test_hdfs_without_its_library_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    fs = pytest.importorskip("pyarrow.fs")

    def missing(uri: str) -> None:
        raise OSError("Unable to load libjvm\ndlopen failed: no such file")

    class System:
        from_uri = staticmethod(missing)

    monkeypatch.setattr(fs, "FileSystem", System)
    files._system.cache_clear()
    with pytest.raises(InputError) as caught:
        list(plan(parse_options({"path": "hdfs://namenode:8020/logs"}, BATCH_COLUMNS)))
    needed = "needs Hadoop's libhdfs, its CLASSPATH and a Java on each machine"
    assert str(caught.value) == f"hdfs://namenode:8020 {needed}: Unable to load libjvm"
