"""Every command against each fault: it ends in time, says on stderr what failed, and its exit status is true."""

import re

import pytest

from kafka_tools.cli import SCRIPTS
from tests.commands.fault_table import COMMANDS, FAULTS, LASTING, LOGIN_WANTED, TIMEOUT_MS, run_once

pytestmark = pytest.mark.xdist_group("faults")  # tests/test_derived.py asks the same for the page

NOTHING = FAULTS[0]
SAYS_NOTHING = (
    "kafka-acls --list", "kafka-features describe", "kafka-topics --alter", "kafka-topics --delete",
    "kafka-streams-groups --describe", "kafka-transactions abort", "kafka-transactions force-terminate",
)  # fmt: skip
"""Commands that print nothing on stdout when all is well and there is nothing to show, as Kafka's own."""
SINCE_1970 = re.compile(r"\b17000000\d{5}\b")
"""How long ago 0 is on the clock of these tests, in ms: the duration of a transaction that began then."""


NOT_HERE = {
    "dump-log": "reads files",
    "metadata-shell": "reads files",
    "storage": "reads and writes directories",
    "console-producer": "a producer's faults are those of tests/clients",
    "console-consumer": "as console-producer",
    "replica-verification": "tests/commands/partitions/test_replica_verification.py",
    "producer-perf-test": "as console-producer",
    "consumer-perf-test": "as console-producer",
    "e2e-latency": "as console-producer",
    "console-share-consumer": "as console-producer",
    "share-consumer-perf-test": "as console-producer",
    "verifiable-share-consumer": "as console-producer",
    "verifiable-producer": "as console-producer",
    "verifiable-consumer": "as console-producer",
}


def test_no_command_is_left_out():
    shown = {line.split()[0].removeprefix("kafka-") for line in COMMANDS}
    assert shown | set(NOT_HERE) == set(SCRIPTS)


@pytest.fixture(scope="module")
def usual():
    return {line: run_once(line, NOTHING) for line in COMMANDS}


def test_commands_work_when_nothing_is_wrong(usual):
    for line, printed in usual.items():
        assert printed.status == 0, (line, printed.err)
        assert printed.out or line.startswith(SAYS_NOTHING), line


@pytest.mark.parametrize("fault", FAULTS[1:], ids=lambda fault: fault.title)
def test_every_command_ends_in_time_and_tells_the_truth(fault, usual):
    for line in COMMANDS:
        printed = run_once(line, fault)
        assert printed.seconds <= TIMEOUT_MS / 1000 * (3 if line.startswith(LASTING) else 1) + 0.01, line
        assert "internal error" not in printed.err, (line, printed.err)
        assert "Traceback" not in printed.err, (line, printed.err)
        if printed.status == 0:
            shown, expected = (SINCE_1970.sub("", out) for out in (printed.out, usual[line].out))
            assert shown == expected or fault.release, (line, printed.out)
        else:
            assert printed.status == 1, line
            # What is about to be deleted is told before it is tried.
            assert any(told.startswith(line.split()[0]) for told in printed.err.splitlines()), (line, printed.err)


def test_a_login_that_is_wanted_is_told_at_once():
    (fault,) = [each for each in FAULTS if each.title == LOGIN_WANTED]
    for line in COMMANDS:
        printed = run_once(line, fault)
        assert printed.status == 1, line
        assert printed.seconds < 2.0, (line, printed)
        assert "requires a SASL login" in printed.err, (line, printed.err)
        assert "security.protocol=SASL_PLAINTEXT" in printed.err, (line, printed.err)
