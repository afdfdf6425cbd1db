"""What pip gets: wheel, sdist and editable install each work by themselves, with schemas and scripts."""

from __future__ import annotations

import ast
import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Callable
from email.parser import Parser
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from kafka_tools.commands.registry import SCRIPTS

pytestmark = [pytest.mark.xdist_group("packaging"), pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = sorted(path.name for path in (ROOT / "schemas").glob("*.json"))
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "*_cache", "__pycache__", ".hypothesis", "dist", "build")


def run(*command: object, cwd: Path | None = None) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, so that building leaves nothing in the checkout."""
    copy = tmp_path_factory.mktemp("sources") / "kafka_tools"
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
    return copy


@pytest.fixture(scope="module")
def built(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """``wheel`` and ``sdist``; the wheel is built from the sdist, as pip would."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, checkout)
    (wheel,), (sdist,) = list(out.glob("*.whl")), list(out.glob("*.tar.gz"))
    return {"wheel": wheel, "sdist": sdist}


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., Path]:
    """``environment(*pip arguments)``: the bin folder of a new virtual environment with kafka_tools installed so.

    What kafka_tools depends on comes from the environment of the tests, which saves a download.
    """

    def make(*arguments: object) -> Path:
        folder = tmp_path / "environment"
        venv.create(folder, symlinks=True)
        python = folder / "bin" / "python"
        run(
            sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index",
            "--no-build-isolation", *arguments,
        )  # fmt: skip
        return folder / "bin"

    venv_site = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    ours = Path(sys.prefix) / venv_site

    def with_dependencies(*arguments: object) -> Path:
        site = tmp_path / "environment" / venv_site
        site.mkdir(parents=True)
        (site / "dependencies.pth").write_text(f"{ours}\n", encoding="utf-8")
        return make(*arguments)

    return with_dependencies


def finds_sources(bin_folder: Path, tmp_path: Path) -> bool:
    """Whether top-level modules of the names that Spark looks for are there and give the data sources."""
    program = "import pyspark_kafka_log_batches as b, pyspark_kafka_log_files as f, pyspark_kafka_log_records as r;"
    names = run(
        bin_folder / "python", "-c", program + "print(*(m.DefaultSource.name() for m in (b, f, r)))", cwd=tmp_path
    )
    return names.split() == ["kafka_log_batches", "kafka_log_files", "kafka_log_records"]


def works(bin_folder: Path, tmp_path: Path) -> Path:
    """Run the installed commands away from the checkout; the folder that the package was imported from."""
    assert run(bin_folder / "kafka-tools", "--version", cwd=tmp_path).startswith("kafka-tools ")
    for name in SCRIPTS:
        assert f"Usage: kafka-{name} " in run(bin_folder / f"kafka-{name}", "--help", cwd=tmp_path)
    program = (
        "import json, kafka_tools; from kafka_tools.commands.documents import schema;"
        f"print(json.dumps([kafka_tools.__file__] + [schema(n.removesuffix('.schema.json')) for n in {SCHEMAS!r}]))"
    )
    place, *schemas = json.loads(run(bin_folder / "python", "-c", program, cwd=tmp_path))
    assert SCHEMAS
    assert schemas == [json.loads((ROOT / "schemas" / name).read_text(encoding="utf-8")) for name in SCHEMAS]
    return Path(place).resolve()


def test_wheel_works_where_it_is_installed(
    built: dict[str, Path], environment: Callable[..., Path], tmp_path: Path
) -> None:
    bin_folder = environment(built["wheel"])
    assert (tmp_path / "environment").resolve() in works(bin_folder, tmp_path).parents
    assert finds_sources(bin_folder, tmp_path)


def test_sdist_works_where_it_is_installed(
    built: dict[str, Path], environment: Callable[..., Path], tmp_path: Path
) -> None:
    bin_folder = environment(built["sdist"])
    assert (tmp_path / "environment").resolve() in works(bin_folder, tmp_path).parents


def test_editable_install_is_the_checkout(checkout: Path, environment: Callable[..., Path], tmp_path: Path) -> None:
    bin_folder = environment("--editable", checkout)
    assert works(bin_folder, tmp_path) == (checkout / "kafka_tools" / "__init__.py").resolve()
    assert finds_sources(bin_folder, tmp_path)


def test_wheel_holds_the_package_and_nothing_else(built: dict[str, Path]) -> None:
    names = zipfile.ZipFile(built["wheel"]).namelist()
    tops = {name.split("/")[0] for name in names}
    # Spark looks for data sources in top-level modules of these names.
    sources = {f"pyspark_kafka_log_{table}.py" for table in ("batches", "records", "files")}
    assert tops == {"kafka_tools", *sources, next(top for top in tops if top.endswith(".dist-info"))}
    assert sorted(name for name in names if "/_schemas/" in name) == [
        f"kafka_tools/_schemas/{name}" for name in SCHEMAS
    ]
    assert "kafka_tools/py.typed" in names
    inside = {str(path.relative_to(ROOT)) for path in (ROOT / "kafka_tools").rglob("*.py")}
    assert {name.removeprefix("kafka_tools/spark/discovered/") for name in inside} - set(names) == set()


def test_sdist_holds_what_building_and_testing_need(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "tests/conftest.py"} <= names
    assert {f"schemas/{name}" for name in SCHEMAS} <= names


def test_metadata_says_what_it_is(built: dict[str, Path]) -> None:
    import kafka_tools

    archive = zipfile.ZipFile(built["wheel"])
    path = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = Parser().parsestr(archive.read(path).decode())
    assert metadata["Name"] == "kafka-operator-tools"  # kafka-tools on PyPI is another project
    assert metadata["Version"] == kafka_tools.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert set(metadata.get_all("Provides-Extra") or ()) >= {"spark", "dev", "all"}


def test_every_command_is_a_script_of_its_own(built: dict[str, Path]) -> None:
    archive = zipfile.ZipFile(built["wheel"])
    path = next(name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt"))
    entries = configparser.ConfigParser(delimiters=("=",))
    entries.read_string(archive.read(path).decode())
    scripts = dict(entries["console_scripts"])
    assert {name.removeprefix("kafka-") for name in scripts} == {"tools", *SCRIPTS}
    assert set(scripts.values()) == {"kafka_tools.scripts:main"}


def imported(folder: str) -> dict[str, str]:
    """Top-level third-party modules that files of this folder import -> one file that does."""
    found: dict[str, str] = {}
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in (name.split(".")[0] for name in names):
                if name not in sys.stdlib_module_names and name not in ("kafka_tools", "tests", "benchmarks"):
                    found.setdefault(name, str(path.relative_to(ROOT)))
    return found


OPTIONAL = {"", "spark", "keystores", "kerberos", "oauth", "load", "metrics", "telemetry"}
NOT_ALWAYS_INSTALLED = {"google": ["protobuf"], "opentelemetry": ["opentelemetry-proto"]}
"""Modules with other names than their packages."""


@pytest.mark.parametrize(("folder", "extras"), [("kafka_tools", OPTIONAL), ("tests", {*OPTIONAL, "dev"})])
def test_everything_imported_is_declared(folder: str, extras: set[str]) -> None:
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    declared = {"": project["dependencies"], **project["optional-dependencies"]}
    names = {re.split(r"[^\w.-]", text)[0].lower() for extra in extras for text in declared[extra]}
    owners = NOT_ALWAYS_INSTALLED | packages_distributions()
    undeclared = {
        module: place
        for module, place in imported(folder).items()
        if not names & {owner.lower().replace("_", "-") for owner in owners.get(module, [module])}
    }
    # pytest plugins import pytest only where pytest has loaded them.
    undeclared.pop("pytest", None)
    assert undeclared == {}
