"""Derived files are what their command would write now."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("regen", Path(__file__).with_name("regen.py"))
regen = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(regen)


NAMES = [
    pytest.param(name, marks=pytest.mark.xdist_group("faults")) if name == "faults" else name
    for name in sorted(regen.TARGETS.keys() - {"scripts"})  # broker_embedded/test_scripts.py, one by one
]
"""The process that runs tests/commands/test_faults.py has what the page of faults needs."""


@pytest.mark.parametrize("name", NAMES)
def test_derived_files_are_up_to_date(name: str) -> None:
    assert regen.stale([name]) == [], f"run: python -m tests.regen {name}"
