"""An audit whose executors do not see what the driver planned has no good verdict; a table fails."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the Spark packages are not installed")

from kafka_tools.errors import KafkaToolsError
from kafka_tools.records.build import build_batch
from kafka_tools.spark.audit import Audit, AuditOptions, audit_with
from kafka_tools.spark.engine import ProcessEngine
from kafka_tools.spark.files import normalised
from kafka_tools.spark.report.document import verdict

NOW_MS = 1_000


class Elsewhere(ProcessEngine):
    """Executors with another view of the disk: ``missing``, ``other`` files at the path, or ``removed`` for all."""

    def __init__(self, data: Path, view: str) -> None:
        super().__init__()
        self.data = data
        self.view = view

    def measure(self, tasks: Sequence[Any], depth: Any, directories: Sequence[Any]) -> Any:
        aside = self.data.with_name("aside")
        self.data.rename(aside)
        if self.view != "missing":
            self.data.mkdir()
        if self.view == "replaced":
            shutil.rmtree(self.data)
            shutil.copytree(aside, self.data)
        try:
            return super().measure(tasks, depth, directories)
        finally:
            if self.view != "removed":
                shutil.rmtree(self.data, ignore_errors=True)
                aside.rename(self.data)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("orders-0", "orders-1"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        batches = [build_batch([(1, None, bytes(30), ())] * 4, base_offset=4 * number) for number in range(10)]
        (folder / f"{0:020d}.log").write_bytes(b"".join(batches))
    return tmp_path / "data"


def audited(data: Path, engine: ProcessEngine) -> Audit:
    return audit_with(engine, [str(data)], AuditOptions(now_ms=NOW_MS))


def unseen(result: Audit) -> list[str]:
    return [finding.text for finding in result.findings if finding.kind == "unseen"]


def test_what_is_read_has_a_good_verdict(data: Path) -> None:
    result = audited(data, ProcessEngine())
    assert verdict(result).startswith("2 partitions, no problems found")
    assert result.read_bytes == result.planned_bytes > 0


@pytest.mark.parametrize(
    ("view", "text"),
    [
        ("missing", "host {host} has no {data}, where the driver found segments"),
        (
            "other",
            "executors did not find 2 of the 2 log ranges that the driver listed: the path points to other files on "
            "their hosts",
        ),
        (
            "replaced",
            "executors did not find 2 of the 2 log ranges that the driver listed: the path points to other files on "
            "their hosts",
        ),
        ("removed", "all 2 log ranges were removed before they were read"),
    ],
)
def test_what_was_planned_and_not_read_is_an_error(data: Path, view: str, text: str) -> None:
    result = audited(data, Elsewhere(data, view))
    assert set(unseen(result)) == {text.format(host=socket.gethostname(), data=data)}
    assert result.worst == "error"
    assert verdict(result).startswith(f"2 partitions, 0 of {result.planned_bytes} bytes of log read, findings: ")
    assert "empty-partition" not in {finding.kind for finding in result.findings}


def test_a_segment_that_retention_removes_meanwhile_is_a_remark(data: Path) -> None:
    class Retention(ProcessEngine):
        def measure(self, tasks: Sequence[Any], depth: Any, directories: Sequence[Any]) -> Any:
            (data / "orders-1" / f"{0:020d}.log").unlink()
            return super().measure(tasks, depth, directories)

    result = audited(data, Retention())
    assert (unseen(result), result.worst) == ([], "info")
    assert f", {result.read_bytes} of {result.planned_bytes} bytes of log read, no problems found" in verdict(result)
    assert result.planned_bytes == 2 * result.read_bytes


def test_a_device_number_of_another_machine_is_no_other_file(data: Path) -> None:
    from kafka_tools.spark.files import LocalFile
    from kafka_tools.spark.scan import open_range
    from kafka_tools.spark.segments import segments

    (planned, _) = segments(str(data), ())
    assert planned.identity is not None
    elsewhere = planned._replace(identity=(planned.identity[0] + 1, planned.identity[1]))
    found = open_range(elsewhere)
    assert isinstance(found, LocalFile)
    found.close()


def test_a_local_path_is_made_absolute(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data.parent)
    assert {normalised(path) for path in ("data", "./data/", "file://data", str(data))} == {str(data)}


@pytest.mark.parametrize("table", ["kafka_log_batches", "kafka_log_records", "kafka_log_files"])
def test_a_table_fails_where_a_host_does_not_see_what_was_planned(data: Path, table: str) -> None:
    pytest.importorskip("pyspark")
    from kafka_tools.spark import source

    kinds = {kind.NAME: kind for kind in (source.KafkaLogBatches, source.KafkaLogRecords, source.KafkaLogFiles)}
    reader = kinds[table]({"path": str(data)}).reader(None)
    (work, *_) = reader.partitions()
    assert sum(batch.num_rows for batch in reader.read(work)) > 0
    data.rename(data.with_name("aside"))
    with pytest.raises(KafkaToolsError, match=rf"^host \S+ has no {data}, where the driver found segments$"):
        list(reader.read(work))
