"""What the README shows of the bundled broker and of the pytest plugin runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_broker_of_the_readme_starts() -> None:
    (example,) = [block for block in BLOCKS if "import EmbeddedBroker" in block]
    ended = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=100)
    assert re.fullmatch(r"\S+:\d+\n", ended.stdout), ended.stderr


def test_the_fixtures_of_the_readme_work(tmp_path: Path) -> None:
    pytest.importorskip("confluent_kafka")
    examples = [block for block in BLOCKS if block.startswith("def test_")]
    assert len(examples) == 2
    (tmp_path / "test_readme.py").write_text("\n\n".join(["import confluent_kafka", *examples]), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "--rootdir", str(tmp_path)]
    ended = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=100, cwd=tmp_path)
    assert (ended.returncode, "2 passed" in ended.stdout) == (0, True), ended.stdout + ended.stderr
