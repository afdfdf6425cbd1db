"""The CI script names what it lacks before it does anything, and at its end what did not pass at once."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


FAKE_PYTHON = """#!/usr/bin/env bash
# Stands for python3 and for the environment's python and pip: installs nothing, and its pytest fails as it is told.
case "$*" in
    "-m venv .venv") mkdir -p .venv/bin; for name in python pip pytest; do cp "$0" ".venv/bin/$name"; done ;;
    -c*|--version) exec "{python}" "$@" ;;
    "-m tests.against_kafka.jars") [ ! -e "{folder}/no-jars" ] ;;
    *--collect-only*) ;;
    "-m pytest"*)
        echo run >>"{folder}/runs"
        number="$(wc -l <"{folder}/runs")"
        mkdir -p .pytest_cache/v/cache
        [ ! -e .pytest_cache/v/cache/lastfailed ] || cp .pytest_cache/v/cache/lastfailed "{folder}/asked-$((number))"
        cp "{folder}/lastfailed-$((number))" .pytest_cache/v/cache/lastfailed
        exit "$(cat "{folder}/status-$((number))")" ;;
esac
"""


def run_with_fakes(repository: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The script of a checkout in ``folder``, on a machine whose Python, Java and Maven are stand-ins."""
    programs = ("tar", "mktemp", "rm", "mkdir", "cp", "cat", "wc", "timeout", "comm", "sort", "sleep")
    path = tools(folder / "bin", *NEEDED, *programs)
    fakes = {
        "python3": FAKE_PYTHON.format(python=sys.executable, folder=folder),
        "java": "#!/usr/bin/env bash\necho 'openjdk version \"17.0.2\"' >&2\n",
        "javac": "#!/usr/bin/env bash\necho 'javac 17.0.2' >&2\n",
        "mvn": "#!/usr/bin/env bash\n",
    }
    for name, text in fakes.items():
        (path / name).write_text(text, encoding="utf-8")
        (path / name).chmod(0o755)
    checkout = folder / "checkout"
    (checkout / ".ci").mkdir(parents=True)
    shutil.copy(repository / ".ci" / "run", checkout / ".ci" / "run")
    environment = {"PATH": str(path), "HOME": str(path), "TMPDIR": str(folder)}
    return subprocess.run(
        [path / "bash", checkout / ".ci" / "run"], capture_output=True, text=True, timeout=120, env=environment
    )


def test_without_kafkas_jars_no_test_runs(repository: Path, tmp_path: Path) -> None:
    """They are fetched while the rest is installed: that the fetch failed must not go unnoticed."""
    (tmp_path / "no-jars").touch()
    done = run_with_fakes(repository, tmp_path)
    assert done.returncode == 1
    assert "Kafka's jars could not be fetched" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("passes_alone", [True, False])
def test_what_failed_first_is_named_at_the_end(repository: Path, tmp_path: Path, passes_alone: bool) -> None:
    shaky, broken = "tests/a/test_x.py::test_shaky[a@b]", "tests/a/test_x.py::test_broken"
    # pytest-xdist appends a test's group to its name.
    runs = [
        ({f"{shaky}@old releases": True, f"{broken}@spark": True}, 1),
        ({} if passes_alone else {broken: True}, 0 if passes_alone else 1),
    ]
    for number, (failed, status) in enumerate(runs, 1):
        (tmp_path / f"lastfailed-{number}").write_text(json.dumps(failed, indent=2), encoding="utf-8")
        (tmp_path / f"status-{number}").write_text(str(status), encoding="utf-8")
    done = run_with_fakes(repository, tmp_path)
    end = done.stdout.partition("== What failed, once more, alone\n")[2]
    assert json.loads((tmp_path / "asked-2").read_text(encoding="utf-8")) == {shaky: True, broken: True}
    alone, passed = "== Failed among the others and alone:", "== Failed among the others and passed alone:"
    if passes_alone:
        assert done.returncode == 0, done.stderr
        assert end.splitlines() == ["", passed, broken, shaky, "", "== All tests pass, some of them only alone."]
    else:
        assert done.returncode == 1
        assert end.splitlines() == ["", alone, broken, "", passed, shaky]
        assert ".ci/run: failed with status 1" in done.stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_what_tests_start_can_be_interrupted_where_they_themselves_ignore_it(repository: Path, name: str) -> None:
    program = f"""
import os, signal, subprocess, sys
signal.signal(signal.{name}, signal.SIG_IGN)  # as a shell without job control does for `... &`, and nohup
import tests.conftest
os.kill(os.getpid(), signal.{name})
ignores = "import signal, sys; sys.exit(signal.getsignal(signal.{name}) is signal.SIG_IGN)"
sys.exit(subprocess.call([sys.executable, "-c", ignores]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=repository, stderr=subprocess.PIPE, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
