"""Every advice of a finding is carried out on a real broker by a test, or there is a reason why nothing can be."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from kafka_tools.storage.findings import KINDS

pytest.importorskip("pyarrow", reason="the Spark packages are not installed")

from tests.against_kafka import test_advice, test_advice_actions, test_advice_replicas

TRIED = {
    *test_advice.DAMAGE, *test_advice.OF_THE_LOG_DIR, *test_advice.OTHERS,
    *test_advice_replicas.FETCHED_ANEW, *test_advice_replicas.CUT,
    *test_advice_actions.ACTIONS, *test_advice_actions.CONFIGS,
}  # fmt: skip
NOTHING_TO_TRY = {
    "large-records": "nothing is wrong: it says how to look at them",
    "newer-file": "no broker is newer than the newest",
    "unreadable": "rights and disks are the machine's",
    "unseen": "which files executors see is the machines'",
    "tombstones-overdue": "it says to look at compaction-lag",
    "tiny-batches": "settings of producers",
    "poor-compression": "settings of producers",
    "header-bloat": "what producers write",
    "hot-key": "what producers write",
    "partition-skew": "what producers write",
    "no-partitions": "the audit's own arguments",
}


def test_every_advice_is_tried_on_a_real_broker_or_there_is_nothing_to_try() -> None:
    advised = {name for name, kind in KINDS.items() if kind.advice}
    assert not TRIED & set(NOTHING_TO_TRY)
    assert advised - TRIED == set(NOTHING_TO_TRY)
    assert advised >= TRIED


def test_what_needs_no_advice_is_no_damage() -> None:
    assert {kind.severity for kind in KINDS.values() if not kind.advice} == {"info"}


def test_the_commands_that_advice_names_exist() -> None:
    scripts = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["scripts"]
    named = {name for kind in KINDS.values() for name in re.findall(r"\bkafka-[a-z][a-z-]*[a-z]\b", kind.advice or "")}
    assert named <= set(scripts)
