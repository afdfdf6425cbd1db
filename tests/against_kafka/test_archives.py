"""Archives of loaded classes: used where they fit, and nothing but time is different where they do not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.against_kafka import archives, harness
from tests.against_kafka.harness import RealKafka, Setup
from tests.against_kafka.jars import ENVIRONMENT, NEWEST, java
from tests.against_kafka.jvm import TOOL_OPTIONS


def run(options: list[str], paths: list[Path]) -> tuple[int, str, str]:
    command = [java(), *TOOL_OPTIONS, *options, "-cp", ":".join(map(str, paths)), "kafka.tools.StorageTool", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=ENVIRONMENT)
    return done.returncode, done.stdout, done.stderr


def test_a_jvm_says_nothing_of_an_archive_that_is_missing_or_none_or_for_other_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = archives.tool_path(NEWEST)
    made = archives.archive(archives.TOOLS, NEWEST)
    (tmp_path / "none.jsa").write_bytes(b"not an archive" * 1000)
    plain = run([], paths)
    assert plain[0] == 0
    for file in (tmp_path / "none.jsa", tmp_path / "missing.jsa", made):
        assert run([f"-XX:SharedArchiveFile={file}", "-Xshare:auto", archives.SILENT], paths) == plain
        assert run([f"-XX:SharedArchiveFile={file}", "-Xshare:auto", archives.SILENT], [tmp_path, *paths]) == plain
    monkeypatch.setattr(archives, "archive", lambda _kind, _version: tmp_path / "missing.jsa")
    assert archives.shared.__wrapped__(archives.TOOLS, NEWEST) == []


def test_an_archive_is_for_this_java_and_these_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "kafka.jar"
    jar.write_bytes(b"one")
    monkeypatch.setattr(archives, "class_path", lambda _version: [jar])
    monkeypatch.setattr(archives, "library", lambda _version: tmp_path / "lib")
    monkeypatch.setattr(archives, "java", lambda: "java")
    names = []
    for said, content in (("17.0.1", b"one"), ("17.0.2", b"one"), ("17.0.2", b"another")):
        jar.write_bytes(content)
        monkeypatch.setattr(archives, "version_of", lambda _java, said=said: said)
        names.append(archives.archive.__wrapped__(archives.SERVER, NEWEST))
    assert len(set(names)) == 3
    assert {name.parent for name in names} == {tmp_path}


def test_the_brokers_of_tests_use_theirs_and_those_of_benchmarks_start_as_kafkas_scripts_start_them(
    kafka_new: RealKafka, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = archives.archive(archives.SERVER, NEWEST)
    mapped = Path(f"/proc/{kafka_new.servers[1].pid}/maps")
    if path.exists() and mapped.exists():
        assert str(path) in mapped.read_text()
    commands: list[list[str]] = []
    monkeypatch.setattr(harness, "shared", lambda kind, _version: [f"-archive-of-{kind}"])
    monkeypatch.setattr(harness, "Server", lambda _name, command, _log: commands.append(command))
    for setup in (Setup(NEWEST), Setup(NEWEST, java_options=("-Xmx1G",))):
        RealKafka(setup, tmp_path)._launch(1)
    assert ["-archive-of-server" in command for command in commands] == [True, False]
