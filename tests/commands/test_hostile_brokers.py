"""Generated answers that no broker should give: every command ends in time, with one of its statuses and a line."""

from typing import Any

import pytest

from kafka_tools.output.kafka import token_text
from kafka_tools.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from tests.commands.fault_table import Fault, run
from tests.commands.hostile_brokers import LINES, attempt

TRIES = 3
"""Of each command line."""


@pytest.mark.parametrize("line", LINES)
def test_whatever_a_broker_answers_one_line_says_why_it_ended(line: str) -> None:
    for number in range(TRIES):
        ended = attempt(f"ci-{number}", line)
        assert not ended.complaint, (f"--only ci-{number} --line '{line}'", ended)


def test_a_disk_that_holds_less_than_nothing_is_empty_to_a_plan() -> None:
    def reply(cluster: Any, request: Any, version: int, node: Any) -> DescribeLogDirsResponse | None:
        if not isinstance(request, DescribeLogDirsRequest):
            return None
        Result = DescribeLogDirsResponse.Result
        # As much as makes the capacity of node 1 the opposite of that of the others.
        partition = Result.Topic.Partition(partition_size=-10 if node.id == 1 else 0)
        topics = [Result.Topic(name="t", partitions=[partition])]
        return DescribeLogDirsResponse(results=[Result(log_dir="/d", topics=topics, total_bytes=10, usable_bytes=5)])

    printed = run("kafka-reassign-partitions --generate --strategy by-size", Fault("less than nothing", reply))
    assert printed.status == 0, printed.err
    assert "Proposed partition reassignment" in printed.out


def test_a_date_beyond_all_calendars_is_a_number() -> None:
    for moment_ms in (2**63 - 1, -(2**63)):
        assert token_text.prolonged("renew", moment_ms).endswith(f"New expiry date : {moment_ms}\n")
