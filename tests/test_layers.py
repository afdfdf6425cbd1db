"""Who may import whom: the contracts in pyproject.toml, checked by import-linter."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

LINT_IMPORTS = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"


def test_every_import_contract_is_kept(repository: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LINT_IMPORTS, "--config", "pyproject.toml", "--cache-dir", str(tmp_path)],
        cwd=repository, capture_output=True, text=True, encoding="utf-8", timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "0 broken" in done.stdout


def test_every_package_has_a_contract(repository: Path) -> None:
    with open(repository / "pyproject.toml", "rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    bound = {name.removeprefix("kafka_tools.") for contract in contracts for name in contract["source_modules"]}
    packages = {path.parent.name for path in (repository / "kafka_tools").glob("*/__init__.py")}
    leaves = {"commands"}
    assert packages - leaves <= bound
