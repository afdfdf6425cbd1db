"""The golden segment files, unpacked: ``from tests.corpus.golden import golden_root, cases, case, files``.

``newest_cases`` are those of a smaller set, written by the newest release (``collect``).

Plain functions, so that any test (and a benchmark) can use them; ``golden_root()`` unpacks the archive on first
use into a per-user directory below the system's temporary one, named by the archive's contents. Several
processes may do so at the same time: each unpacks beside it and renames, the first one wins.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kafka_tools import KAFKA_MINOR

ARCHIVE = Path(__file__).with_name("golden.tar.xz")
OF_NEWEST = Path(__file__).with_name(f"golden-{KAFKA_MINOR}.tar.xz")


class Run(NamedTuple):
    """One recorded run of Kafka's tool in one case."""

    case: Case
    number: int
    tool_version: str
    args: tuple[str, ...]
    exit_code: int
    stdout_name: str | None
    stderr_name: str | None

    @property
    def id(self) -> str:
        """A short name for a test."""
        return f"{self.case.id}-{self.number}"

    @property
    def stdout(self) -> bytes:
        return self._read(self.stdout_name)

    @property
    def stderr(self) -> bytes:
        return self._read(self.stderr_name)

    def _read(self, name: str | None) -> bytes:
        """The recorded output with the absolute path of the working directory put in."""
        if name is None:
            return b""
        path = self.case.root / self.case.id / name
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return data.replace(b"${CWD}", str(self.case.cwd).encode())


class Case(NamedTuple):
    """One case: files that a broker wrote, and what Kafka's tools print for them."""

    id: str
    title: str
    kafka_version: str
    magic: Any
    codec: str | None
    files: tuple[str, ...]
    """Paths below the case's directory."""
    cwd: Path
    """Where the runs were made: the paths in ``args`` are relative to it."""
    root: Path
    """The directory with a directory per case."""
    raw: dict[str, Any]

    @property
    def runs(self) -> list[Run]:
        return [
            Run(self, number, run["tool_version"], tuple(run["args"]), run["exit_code"], run["stdout"], run["stderr"])
            for number, run in enumerate(self.raw["runs"])
        ]


@cache
def golden_root(archive: Path = ARCHIVE) -> Path:
    """The directory with CASES.json and a directory per case. Read only, please: all tests share it."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    root = Path(tempfile.gettempdir()) / f"kafka-tools-tests-{os.getuid()}" / f"golden-{digest}"
    if not root.is_dir():
        root.parent.mkdir(mode=0o700, exist_ok=True)
        if root.parent.stat().st_uid != os.getuid():
            raise RuntimeError(f"{root.parent} belongs to somebody else")
        fresh = Path(tempfile.mkdtemp(prefix=root.name, dir=root.parent))
        with tarfile.open(archive) as packed:
            packed.extractall(fresh, filter="data")
        try:
            fresh.rename(root)
        except OSError:  # another process was first
            shutil.rmtree(fresh)
    return root


def cases() -> tuple[Case, ...]:
    """Every case, in the order of CASES.json."""
    return _cases(ARCHIVE)


def newest_cases() -> tuple[Case, ...]:
    """Those that the newest release wrote; none before ``python -m tests.corpus.collect`` has made its archive."""
    return _cases(OF_NEWEST) if OF_NEWEST.exists() else ()


@cache
def _cases(archive: Path) -> tuple[Case, ...]:
    root = golden_root(archive)
    with (root / "CASES.json").open(encoding="utf-8") as file:
        document = json.load(file)
    listed = document["cases"] if isinstance(document, dict) else document
    return tuple(
        Case(
            case["id"],
            case["title"],
            case["kafka_version"],
            case["magic"],
            case["codec"],
            tuple(entry if isinstance(entry, str) else entry["path"] for entry in case["files"]),
            root / case["cwd"],
            root,
            case,
        )
        for case in listed
    )


def case(name: str) -> Case:
    """The case with this id."""
    return next(entry for entry in cases() if entry.id == name)


def files(suffix: str) -> list[Path]:
    """Every file of all cases whose name ends with ``suffix`` (``.log``, ``.index`` ...), sorted."""
    return sorted(path for path in golden_root().glob("*/data/**/*" + suffix) if path.is_file())
