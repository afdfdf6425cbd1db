"""``kafka-consumer-groups --validate-regex``: no broker is asked, and what is invalid is a failure."""

from __future__ import annotations

import pytest

from kafka_tools import cli
from kafka_tools.commands import running

VALID = ("", "foo.*", "foo|bar-[0-9]+", r"\Qa.b\E.*", "größe")
INVALID = {
    "foo(": "missing closing )",
    "*a": "missing argument to repetition operator",
    "(?=x)": "invalid or unsupported Perl syntax",
    "[a-": "missing closing ]",
    "a{1001}": "invalid repeat count",
}
"""Regular expression -> what RE2/J says of it."""


def run(*arguments: str) -> int:
    return running.run(cli.root, ["consumer-groups", *arguments], "kafka-tools")


@pytest.mark.parametrize("text", VALID)
def test_a_valid_expression_is_said_to_be_valid(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--validate-regex", text) == 0
    assert capsys.readouterr().out == f"The regular expression `{text}` is valid.\n"


@pytest.mark.parametrize("text", INVALID)
def test_an_invalid_expression_is_a_failure_with_the_reason(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--validate-regex", text) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"kafka-tools: The regular expression `{text}` is invalid: {INVALID[text]}.\n"


@pytest.mark.parametrize("more", [("--list",), ("--group", "g"), ("-o", "json"), ("--verbose",)])
def test_nothing_else_goes_with_it(more: tuple[str, ...]) -> None:
    assert run("--validate-regex", "x", *more) == 2
