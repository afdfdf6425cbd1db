"""The CI script names what it lacks before it does anything."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

NEEDED = ("bash", "dirname", "sed", "env")


def tools(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


def fails(repository: Path, path: Path) -> str:
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, str(repository / ".ci" / "run")],
        capture_output=True, text=True, timeout=60, env={"PATH": str(path), "HOME": str(path)},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr


def test_without_java_and_maven_both_are_named(repository: Path, tmp_path: Path) -> None:
    path = tools(tmp_path / "bin", *NEEDED)
    (path / "python3").symlink_to(sys.executable)
    complaint = fails(repository, path)
    for what in ("java of Java 17", "javac of Java 17", "Maven (mvn)"):
        assert what in complaint
    assert "python3;" not in complaint


def test_without_python_it_is_named(repository: Path, tmp_path: Path) -> None:
    assert "missing: python3;" in fails(repository, tools(tmp_path / "bin", *NEEDED))


def test_an_old_java_is_not_enough(repository: Path, tmp_path: Path) -> None:
    path = tools(tmp_path / "bin", *NEEDED)
    for name, stated in (("java", 'openjdk version "11.0.2" 2019-01-15'), ("javac", "javac 1.8.0_152")):
        (path / name).write_text(f"#!/usr/bin/env bash\necho '{stated}' >&2\n", encoding="utf-8")
        (path / name).chmod(0o755)
    complaint = fails(repository, path)
    assert "java of Java 17 or later" in complaint
    assert "javac of Java 17 or later" in complaint
