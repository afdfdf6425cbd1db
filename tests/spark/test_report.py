"""The audit's document and page: the published form, bounded, escaped, and what a browser makes of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.storage.findings import Finding

pytest.importorskip("pyarrow", reason="the Spark packages are not installed")
pytest.importorskip("pyspark", reason="the Spark packages are not installed")
pytest.importorskip("jinja2", reason="the Spark packages are not installed")

import jsonschema

from kafka_tools.records.build import build_batch
from kafka_tools.spark.audit import Audit
from kafka_tools.spark.report import charts
from kafka_tools.spark.report.document import document
from kafka_tools.spark.report.page import page
from kafka_tools.spark.report.steps import command
from tests.corpus.golden import golden_root
from tests.spark.one_process import audit_here
from tests.spark.planted import NOW_MS, PLANTS, rows, write

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "schemas" / "audit.v1.schema.json").read_text(encoding="utf-8"))
HOSTILE = "<script>alert(1)</script>\u202e\x07'\"&"


def golden(*names: str, **options: Any) -> Audit:
    return audit_here(*(golden_root() / name / "data" for name in names), **options)


def planted(folder: Path, *names: str) -> Audit:
    for name in names:
        PLANTS[name](folder / name)
    return audit_here(*(folder / name for name in names), now_ms=NOW_MS)


@pytest.mark.parametrize(
    "names",
    [
        ("logdir-clean-43",),
        ("offsets-43", "txn-43"),
        ("corrupt-flip-crc-none43", "m0-gzip-11"),
        ("m2-none-43", "m2-none-39"),
    ],
)
@pytest.mark.parametrize("records", [True, False])
def test_the_document_has_the_published_form(names: tuple[str, ...], records: bool) -> None:
    found = json.loads(json.dumps(document(golden(*names, records=records)), allow_nan=False))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    assert found["data"]["records_read"] is records


def test_every_part_of_the_document_is_in_the_schema_in_its_order(tmp_path: Path) -> None:
    found = document(planted(tmp_path, "hanging_transaction", "bloated_offsets"))
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    data = found["data"]
    assert list(data) == list(SCHEMA["$defs"]["audit"]["properties"])
    places = {
        "finding": "findings",
        "topic": "topics",
        "partition": "partitions",
        "producer": "producers",
        "transaction": "open_transactions",
        "group": "groups",
    }
    for name, place in places.items():
        assert list(data[place][0]) == list(SCHEMA["$defs"][name]["properties"])


def test_the_document_adds_up() -> None:
    data = document(golden("logdir-clean-43"))["data"]
    total = data["total"]
    for name in ("partitions", "segments", "size_bytes", "batches", "records"):
        assert total[name] == sum(topic[name] for topic in data["topics"])
    for name in ("segments", "size_bytes", "batches", "records"):
        assert total[name] == sum(row[name] for row in data["partitions"])
    assert total["batch_bytes"]["total_bytes"] == sum(codec["size_bytes"] for codec in total["codecs"].values())
    total = document(golden("m2-none-43"))["data"]["total"]
    days = total["days"]
    assert days["older_records"] + sum(day["records"] for day in days["spans"]) == total["records"]


def test_copies_count_once() -> None:
    one = document(golden("m2-none-43"))["data"]["total"]
    twice = audit_here(golden_root() / "m2-none-43" / "data", golden_root() / "corrupt-no-index-none43" / "data")
    total = document(twice)["data"]["total"]
    assert (total["partitions"], total["copies"]) == (1, 2)
    assert total["records"] == one["records"]
    assert total["copies_bytes"] > total["size_bytes"] == one["size_bytes"]


class Tags(HTMLParser):
    """Names and attributes of all tags, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    return tags


def test_the_page_needs_no_network_and_says_the_verdict_first(tmp_path: Path) -> None:
    text = page(planted(tmp_path, *PLANTS))
    tags = parsed(text)
    assert len(text.encode()) < 6_000_000
    assert not [attributes for _, attributes in tags.tags if {"src", "href"} & attributes.keys()]
    assert "default-src 'none'" in text
    assert not re.search(r"https?://", text)
    assert "url(" not in text and "@import" not in text
    places = [tags.text.index(part) for part in ("findings: ", "Size and growth", "Codecs", "Topics")]
    assert places == sorted(places)
    assert [name for name, _ in tags.tags].count("svg") >= 6


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    from kafka_tools.protocol.codec import encode_versioned
    from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey

    key = encode_versioned(OffsetCommitKey(group=HOSTILE, topic="t", partition=0), 0)
    write(tmp_path, "__consumer_offsets-0", [build_batch([(NOW_MS, key, b"\x00\x03junk", ())] * 30)])
    headers = ((HOSTILE, b"x" * 300),)
    write(tmp_path, "t-0", [build_batch([(NOW_MS, b"k", b"v", headers)] * 200)])
    (tmp_path / "t-0" / HOSTILE.replace("/", "")).write_text("mine")
    text = page(audit_here(tmp_path, now_ms=NOW_MS))
    tags = parsed(text)
    assert [name for name, _ in tags.tags].count("script") == 1
    assert "alert(1)" in tags.text
    assert "\u202e" not in text and "\x07" not in text
    assert "\\u202e" in tags.text


def test_a_long_page_is_bounded(tmp_path: Path) -> None:
    batch = build_batch(rows(1))
    broken = bytearray(batch)
    broken[-1] ^= 1
    for number in range(30):
        write(tmp_path, f"t-{number}", [bytes(broken)] * 150)
    text = page(audit_here(tmp_path, now_ms=NOW_MS))
    assert len(text.encode()) < 6_000_000
    assert "more findings are in the JSON document" not in text or text.count("<tr data-severity") == 2500


def finding(kind: str, **place: Any) -> Finding:
    named = {"topic": "t", "partition": 0, "path": "/logs/t-0/1.log", "position": 0, "size_bytes": 1, "offset": 5}
    return Finding(**(named | place), kind=kind, text="text", severity="error")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (finding("crc-mismatch", path="/a b/1.log"), "kafka-dump-log --files '/a b/1.log' --offsets 5:6"),
        (finding("sequence-gap"), "kafka-dump-log --files /logs/t-0/1.log --offsets 4:6"),
        (finding("hot-key"), "kafka-dump-log --files /logs/t-0/1.log --deep-iteration --offsets 5:6"),
        (finding("offset-gap"), "kafka-dump-log --files /logs/t-0/1.log"),
        (finding("torn-tail", offset=None), "kafka-dump-log --files /logs/t-0/1.log"),
        (finding("index-nowhere", path="/logs/t-0/1.index"), "kafka-dump-log --files /logs/t-0/1.index"),
        (finding("crc-mismatch", path="s3://bucket/logs/t-0/1.log"), None),
        (finding("no-partitions", topic=None, path="/logs"), None),
        (
            finding("hanging-transaction"),
            "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic t --partition 0 --start-offset 5",
        ),
        (finding("unflushed", topic=None), None),
    ],
)
def test_findings_come_with_the_command_to_type(found: Finding, expected: str | None) -> None:
    assert command(found) == expected


def test_the_dump_command_shows_what_was_found() -> None:
    from click.testing import CliRunner

    from kafka_tools.commands.logs.dump_log import command as dump_log

    (found,) = (each for each in golden("corrupt-flip-crc-none43").findings if each.severity == "error")
    line = command(found)
    assert line is not None
    answer = CliRunner().invoke(dump_log, line.split()[1:], standalone_mode=False)
    assert f"position: {found.position} " in answer.stdout


def test_sizes_and_times_are_for_people() -> None:
    assert [charts.bytes_text(size) for size in (None, 0, 1023, 1536, 10 * 2**30, 2**60)] == [
        "-", "0 B", "1023 B", "1.5 KiB", "10.0 GiB", "1024.0 PiB"
    ]  # fmt: skip
    assert charts.time_text(0) == "1970-01-01 00:00"
    assert charts.time_text(2**62) == str(2**62)


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_browser_shows_filters_and_sorts(tmp_path: Path) -> None:
    """The page's own script works in a browser, without a complaint on its console, at both widths."""
    result = planted(tmp_path, "sequence_gap", "hot_key", "skewed_partitions", "bloated_offsets")
    text = page(result)
    probe = """<script>
      var out = {};
      out.worst = document.querySelectorAll('#findings tbody tr:not([hidden])').length;
      document.querySelectorAll('input[data-severity]').forEach(function (box) { box.checked = true; });
      var rows = document.querySelectorAll('#findings tbody tr');
      out.rows = rows.length;
      document.getElementById('search').value = 'sequence-gap';
      document.getElementById('search').dispatchEvent(new Event('input'));
      out.shown = document.querySelectorAll('#findings tbody tr:not([hidden])').length;
      document.getElementById('search').value = '';
      document.getElementById('search').dispatchEvent(new Event('input'));
      var head = document.querySelectorAll('#findings thead th')[3];
      head.click(); head.click();
      out.first = document.querySelector('#findings tbody tr').cells[3].textContent;
      out.wide = document.documentElement.scrollWidth > window.innerWidth + 1;
      document.title = 'PROBE ' + JSON.stringify(out);
    </script></body>"""
    path = tmp_path / "page.html"
    path.write_text(text.replace("</body>", probe), encoding="utf-8")
    for width in (1280, 400):
        done = subprocess.run(
            [
                str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--user-data-dir={tmp_path / f'profile-{width}'}", f"--window-size={width},900", "--dump-dom",
                "--enable-logging=stderr", path.as_uri(),
            ],
            capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert "CONSOLE" not in done.stderr, done.stderr[-2000:]
        match = re.search(r"<title>PROBE (.*?)</title>", done.stdout)
        assert match, done.stderr[-2000:]
        found = json.loads(match[1])
        offsets = [each.offset for each in result.findings if each.offset is not None]
        assert found["rows"] == len(result.findings)
        assert found["worst"] == len([each for each in result.findings if each.severity != "info"])
        assert 0 < found["shown"] < found["rows"]
        assert found["first"] in ("", str(max(offsets)))
        assert not found["wide"]
