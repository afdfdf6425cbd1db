"""Generated command lines that nobody would type: a line says what is wrong, and nothing is changed by then."""

import json

import pytest
import yaml

from kafka_tools.errors import InputError
from kafka_tools.texts.java_numbers import parse_int
from kafka_tools.values import number_below, parse_address
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands import hostile_brokers
from tests.commands.hostile_lines import LOCAL, attempt
from tests.commands.hostile_tries import FILES, ended

TRIES = 3
"""Of each command line."""
NINES = "9" * 5_000
NUMBERED = (
    f"kafka-reassign-partitions --generate --strategy by-size --broker-list 1,{NINES}",
    f"kafka-reassign-partitions --generate --evacuate {NINES}",
    f"kafka-consumer-groups --describe --topic t:{NINES}",
    f"kafka-consumer-groups --reset-offsets --group g --topic t:0,{NINES} --to-latest --execute",
    f"kafka-share-groups --reset-offsets --group g --topic t:{NINES} --to-latest --execute",
    f"kafka-streams-groups --reset-offsets --group g --input-topic t:{NINES} --to-latest --execute",
    f"kafka-delete-records --topic t:{NINES} --before 5",
)


@pytest.mark.parametrize("line", [*LOCAL, *hostile_brokers.LINES])
def test_whatever_is_typed_one_line_says_what_is_wrong(line: str) -> None:
    for number in range(TRIES):
        tried = attempt(f"ci-{number}", line)
        assert not tried.complaint, (f"--only ci-{number} --line '{line}'", tried)


@pytest.mark.parametrize("line", NUMBERED, ids=lambda line: line.replace(NINES, "9..."))
def test_a_number_of_thousands_of_digits_is_too_large(line: str) -> None:
    tried = ended(line, VirtualCluster(), FILES, may_be_wrong=True)
    assert (tried.status, tried.complaint) in ((1, ""), (2, ""))
    assert "9... (500" in tried.err


def test_a_reset_plan_with_zeros_before_a_large_number_is_refused() -> None:
    line = "kafka-consumer-groups --reset-offsets --group g --from-file given --execute"
    tried = ended(line, VirtualCluster(), FILES | {"given": f"t,{'0' * 20}9999999999,3\n"})
    assert tried.status == 1
    assert "is not a partition" in tried.err


def test_numbers_are_read_up_to_a_limit() -> None:
    assert number_below(2**31, f"{'0' * 5_000}2147483647") == 2**31 - 1
    for text in ("2147483648", NINES, "", "-1", "+1", "1_0", "\u0663", "1 "):
        assert number_below(2**31, text) is None
    assert parse_int(NINES) is None
    with pytest.raises(InputError):
        parse_address(f"localhost:{NINES}")


@pytest.mark.parametrize("text", ["lisa:secret@localhost:9092", "SASL_SSL://lisa:secret@localhost", "[x:secret@::1]:1"])
def test_a_password_in_an_address_is_not_shown(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_address(text, 9092)
    assert "secret" not in str(caught.value)
    assert "set a login in the client properties" in str(caught.value)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_name_of_a_file_that_is_no_text_is_told_in_documents(form: str) -> None:
    tried = ended(f"kafka-groups --list -o {form} --command-config 'no\udcff'", VirtualCluster(), FILES)
    assert (tried.status, tried.complaint) == (1, "")
    (error,) = (json.loads if form == "json" else yaml.safe_load)(tried.out)["errors"]
    assert error["message"] == r"command config no\udcff: No such file or directory"
