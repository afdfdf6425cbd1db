"""Tests of one group run in one process: those that share a cluster or a Spark, which each process would start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = """
import os, pytest

@pytest.mark.parametrize("number", range(6))
@pytest.mark.xdist_group("{group}")
def test_where(number):
    with open(r"{folder}/{group}", "a") as file:
        print(os.environ["PYTEST_XDIST_WORKER"], file=file)
"""


def test_a_group_of_tests_runs_in_one_process(tmp_path: Path) -> None:
    """pytest-xdist names the group in the test's id, where not every pytest lets it."""
    for group in ("one", "two"):
        (tmp_path / f"test_{group}.py").write_text(TESTS.format(group=group, folder=tmp_path), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider",
         "-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for group in ("one", "two"):
        assert len(set((tmp_path / group).read_text(encoding="utf-8").split())) == 1, done.stdout
