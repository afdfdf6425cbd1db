"""The Python of the README and of the page about the Python API runs as it is written there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker

ROOT = Path(__file__).resolve().parents[2]
README, API = ROOT / "README.md", ROOT / "docs" / "python-api.md"


def blocks_of(page: Path) -> list[str]:
    """The Python of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


BLOCKS = blocks_of(README)


def test_the_test_of_the_readme_passes_as_it_is_written(tmp_path: Path) -> None:
    pytest.importorskip("confluent_kafka")
    (example,) = [block for block in BLOCKS if "def test_" in block]
    (tmp_path / "test_readme.py").write_text(example, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "--rootdir", str(tmp_path)]
    ended = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=100, cwd=tmp_path)
    assert (ended.returncode, "1 passed" in ended.stdout) == (0, True), ended.stdout + ended.stderr


@pytest.mark.parametrize("page", [README, API], ids=lambda page: page.name)
def test_the_programs_of_a_page_run_as_they_are_written(page: Path) -> None:
    """From top to bottom, at the broker that they name."""
    programs = [block for block in blocks_of(page) if "localhost:9092" in block or page == API]
    assert programs
    with EmbeddedBroker() as broker:
        program = "\n".join(programs).replace("localhost:9092", broker.bootstrap_servers)
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert ended.returncode == 0, ended.stderr
    if page == API:
        assert (
            "invalid topics: expected a list of str or UUID, not the string 'orders'\npass ['orders']" in ended.stdout
        )
        assert "orders-old was not deleted: UNKNOWN_TOPIC_OR_PARTITION" in ended.stdout
