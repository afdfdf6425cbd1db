"""Generated files in which something is wrong: every command says so in a line, and has changed nothing by then."""

import json

import pytest

from kafka_tools.commands import running
from kafka_tools.commands.documents import parse, read_delete_records
from kafka_tools.errors import InputError
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands.hostile_documents import LEDGER, LINES, attempt
from tests.commands.hostile_tries import FILES, ended

TRIES = 12
"""Of each command line."""
VERIFY = "kafka-reassign-partitions --verify --reassignment-json-file there.json"


@pytest.mark.parametrize("line", LINES)
def test_whatever_a_file_holds_one_line_says_what_is_wrong(line: str) -> None:
    for number in range(TRIES):
        tried = attempt(f"ci-{number}", line)
        assert not tried.complaint, (f"--only ci-{number} --line '{line}'", tried)


@pytest.mark.parametrize(
    "text, message, hint",
    [
        ('{"a": 1e99999999999999999999}', "not JSON", "the exponent of a number is out of range"),
        (f'{{"a": {"1" * 5000}}}', "not JSON", "a number has too many digits"),
        ('{"topic": "a\\ud800"}', r"f: invalid string: unpaired surrogate \ud800", None),
        ('["\\uDFFF\\uD83D"]', r"f: invalid string: unpaired surrogate \udfff", None),
    ],
    ids=["exponent", "digits", "first half", "second half"],
)
def test_numbers_and_texts_that_nothing_can_hold_are_refused(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, "f", "not JSON")
    assert str(caught.value) == message
    assert caught.value.hint == (hint and f"f: {hint}")


def test_both_halves_of_a_character_are_a_text() -> None:
    assert parse('["\\ud83d\\ude00"]', "f") == ["\N{GRINNING FACE}"]


def test_mistakes_without_end_are_not_counted_to_the_last() -> None:
    with pytest.raises(InputError) as caught:
        read_delete_records(json.dumps({"partitions": [{}] * 5_000}), "f")
    assert caught.value.hint is not None
    assert caught.value.hint.splitlines()[-1] == "and more than 10000 more"


@pytest.mark.parametrize(
    "change",
    [
        {"type": "broker", "name": "9" * 5_000, "config": "leader.replication.throttled.rate", "value": "5"},
        {"type": "topic", "name": "\ud800", "config": "leader.replication.throttled.replicas", "value": "5"},
        1.5,
    ],
    ids=["broker", "topic", "number"],
)
def test_a_record_of_throttles_that_is_wrong_is_passed_over(change: object) -> None:
    record = json.dumps(LEDGER | {"throttles": [change]})
    tried = ended(VERIFY, VirtualCluster(), FILES | {"kafka-tools/throttles/virtual.json": record})
    assert (tried.status, tried.complaint) == (0, "")


def test_a_remark_without_end_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    running.note(f"left out: {'x' * 40_000}", ", ".join(f"orders-{number}" for number in range(10_000)))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"left out: {'x' * 60}... (40000 characters)"
    assert len(lines[1]) < 1_100 and lines[1].endswith("more")


def test_memory_that_is_used_up_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert running._report(MemoryError(), "kafka-x", debug=False) == 1
    assert capsys.readouterr().err.startswith("kafka-x: out of memory\n")
