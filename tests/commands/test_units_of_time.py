"""Units of time in options: each option that takes a moment or a span refuses a unit with two readings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kafka_tools import cli
from kafka_tools.commands import registry, running

SINCE = frozenset(("TIME", "MS", "MINUTES", "OFFSET|TIME|end"))
"""What stands for a moment or a span on a help page."""
LINES = (
    "get-offsets --topic t --time 3M",
    "delete-records --topic t --before 3M",
    "consumer-groups --group g --topic t --reset-offsets --to-datetime 3M",
    "consumer-groups --group g --topic t --reset-offsets --by-duration 3M",
    "consumer-groups --describe --group g --max-age 3M",
    "consumer-groups --describe --group g --rates 3M",
    "consumer-groups --describe --group g --watch 3M",
    "log-dirs --by topic --watch 3M",
    "share-groups --group g --topic t --reset-offsets --dry-run --to-datetime 3M",
    "streams-groups --group g --input-topic t --reset-offsets --dry-run --to-datetime 3M",
    "streams-groups --group g --input-topic t --reset-offsets --dry-run --by-duration 3M",
    "streams-application-reset --application-id g --input-topics t --to-datetime 3M",
    "streams-application-reset --application-id g --input-topics t --by-duration 3M",
    "audit DIR --since 3M",
    "dump-log --time 3M: DIR",
    "client-metrics --alter --name n --interval 3M",
    "transactions list --duration-filter 3M",
    "transactions find-hanging --max-transaction-timeout 3M",
    "delegation-tokens --create --max-life-time-period 3M",
    "delegation-tokens --renew --hmac aGVsbG8= --renew-time-period 3M",
    "delegation-tokens --expire --hmac aGVsbG8= --expiry-time-period 3M",
    "console-consumer --topic t --timeout-ms 3M",
    "console-producer --topic t --timeout 3M",
    "console-producer --topic t --request-timeout-ms 3M",
    "console-producer --topic t --retry-backoff-ms 3M",
    "console-producer --topic t --metadata-expiry-ms 3M",
    "console-producer --topic t --max-block-ms 3M",
    "produce t -v v --timestamp 3M",
    "replica-verification --max-wait-ms 3M",
    "replica-verification --report-interval-ms 3M",
    "replica-verification --time 3M",
    "producer-perf-test --topic t --transaction-duration-ms 3M",
    "producer-perf-test --topic t --reporting-interval 3M",
    "consumer-perf-test --topic t --reporting-interval 3M",
    "consumer-perf-test --topic t --timeout 3M",
    "console-share-consumer --topic t --timeout-ms 3M",
    "share-consumer-perf-test --topic t --reporting-interval 3M",
    "share-consumer-perf-test --topic t --timeout 3M",
    "verifiable-producer --topic t --message-create-time 3M",
    "verifiable-consumer --topic t --close-timeout 3M",
    "verifiable-consumer --topic t --session-timeout 3M",
    "topics --list --timeout 3M",
    "topics --create --topic t --config retention.ms=3M",
    "configs --alter --topic t --add-config retention.ms=3M",
)


@pytest.mark.parametrize("line", LINES)
def test_a_unit_with_two_readings_is_refused(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, *words = shlex.split(line.replace("DIR", str(tmp_path)))
    if name not in ("audit", "dump-log"):
        words += ["--bootstrap-server", "127.0.0.1:1"]
    assert running.run(cli.load(name), words, registry.program(name)) == 2
    assert "ambiguous unit 'M', minutes or months: write m for minutes" in capsys.readouterr().err


def test_every_option_that_takes_a_time_stands_above() -> None:
    tried = {(line.split()[0], word) for line in LINES for word in line.split()[1:] if word.startswith("--")}
    missing = {
        (name, option.opts[0])
        for name in registry.COMMANDS
        for option in _options(cli.load(name))
        if option.metavar in SINCE and option.opts[0] != "--timeout" and not tried & {(name, o) for o in option.opts}
    }
    assert not missing


def _options(command: click.Command) -> Iterator[click.Option]:
    yield from (each for each in command.params if isinstance(each, click.Option))
    for sub in getattr(command, "commands", {}).values():
        yield from _options(sub)
