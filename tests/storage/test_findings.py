"""The closed list of kinds of findings, and the page that documents it."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import pytest

from kafka_tools.storage.findings import INFO, KINDS, REMEDIES, SEVERITIES, WARNING, Finding

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"


def test_every_kind_is_documented_with_its_severity_and_advice() -> None:
    rows = re.findall(
        r"^\| `([a-z-]+)` \| (\w+) \| (.+?) \| (.*?) ?\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    told = [
        (name, severity, meaning, re.sub(r"\[([^]]*)\]\(#remedies\)\.", lambda link: REMEDIES[link[1]], advice))
        for name, severity, meaning, advice in rows
    ]
    assert told == [(name, kind.severity, kind.meaning, kind.advice or "") for name, kind in KINDS.items()]
    assert {kind.severity for kind in KINDS.values()} == set(SEVERITIES)


def test_a_kind_outside_the_list_cannot_be_reported() -> None:
    with pytest.raises(KeyError):
        Finding("x.log", "odd", "something is odd")


def test_a_finding_is_one_line_and_survives_copying() -> None:
    finding = Finding("x.log", "torn-tail", "the last 7 bytes are not a complete batch", 100, severity=WARNING)
    assert str(finding) == "x.log at 100: the last 7 bytes are not a complete batch"
    assert finding.is_damage and finding.advice
    assert pickle.loads(pickle.dumps(finding)) == copy.copy(finding) == finding
    assert finding.severity == WARNING
    remark = Finding("x.log", "offset-gap", "offset 5 follows 3", 100, 5)
    assert remark.severity == INFO and not remark.is_damage and remark.advice is None
