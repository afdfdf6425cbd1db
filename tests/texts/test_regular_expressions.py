"""Regular expressions of clients: whole names, RE2's syntax, refusals in Kafka's words, no pattern that hurts.

Beside Kafka's RE2/J: ``tests/against_kafka/pattern_comparison.py``.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafka_tools.errors import ConfigError
from kafka_tools.texts.regular_expressions import InvalidPattern, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "names", "others"),
    [
        ("orders", ["orders"], ["orders-1", "my-orders", "Orders", ""]),
        ("orders.*|payments", ["orders", "orders-1", "payments"], ["payments-1"]),
        (r"(?i)größe-\d{1,3}", ["GRÖSSE-1".replace("SS", "ß"), "größe-123"], ["größe-1234", "größe-"]),
        (r"\Qa.b\E.?", ["a.b", "a.bc"], ["axb"]),
        ("", [""], ["a"]),
        (r"\pL+", ["αβγ", "漢"], ["a1"]),
        (".", ["\U0001f600"], ["\n", "\U0001f600\U0001f600"]),
        ("(?P<a>x)(?P<b>y)", ["xy"], ["x"]),
        (r"[(?P<a>]\\C", [r"a\C"], ["aC"]),
    ],
)
def test_all_of_a_name_is_meant(pattern: str, names: list[str], others: list[str]) -> None:
    compiled = compile_pattern(pattern)
    assert compiled.text == pattern
    assert [name for name in [*names, *others] if compiled.matches(name)] == names


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "missing closing )"),
        ("a)", "unexpected )"),
        ("[a", "missing closing ]"),
        ("a**", "invalid nested repetition operator"),
        ("*", "missing argument to repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("[z-a]", "invalid character class range"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        (r"(a)\1", "invalid escape sequence"),
        (r"a\C", "invalid escape sequence"),
        ("a\\", "trailing backslash at end of expression"),
        ("(?P<>a)", "invalid named capture"),
        ("(?P<a>x)(?P<a>y)", "duplicate capture group name"),
        (r"\pL{1000}", "pattern too large - compile failed"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidPattern) as refused:
        compile_pattern(pattern)
    assert str(refused.value) == reason


HOSTILE = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from kafka_tools.texts.regular_expressions import InvalidPattern, compile_pattern
compile_pattern("x")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
names = ["x" * 249, "ab" * 124, "a" * 248 + "!"]
kept = []
for pattern in [
    "(x+x+)+y", "(a|aa)+$", "((((a{30}){30}){30}){30}){30}", "(a{1000}){1000}", "[^a]{1000}" * 9, "(a?){500}(a){500}",
    "(?:a|b)*a(?:a|b){900}", "(?:a|b)*a" + "(?:a?|b){300}" * 9, "(" * 5000 + "a" + ")" * 5000, "(" * 10000,
    "[" * 10000,
    "(?i)" + r"\\pL" * 2500,
    "|".join(map(str, range(2000))), "(?:" * 3000 + "a" + ")*" * 3000, "a" * 10000, ".*" * 5000,
    *(f"(?:x{number}|[ab]+)*" for number in range(300)),
]:
    try:
        kept.append(compile_pattern(pattern))
    except InvalidPattern:
        continue
    for name in names:
        kept[-1].matches(name)
print(len(kept), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_no_pattern_hangs_or_eats_memory() -> None:
    done = subprocess.run([sys.executable, "-c", HOSTILE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    kept, more_kib = map(int, done.stdout.split())
    assert kept > 300
    assert more_kib < 100 * 1024


def test_the_library_is_loaded_with_the_first_pattern() -> None:
    code = "import sys; import kafka_tools.broker_embedded.core, kafka_tools.broker_embedded.handlers.list_transactions"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print('re2' in sys.modules)"], capture_output=True, text=True
    )
    assert done.stdout == "False\n", done.stderr


def test_without_the_library_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ConfigError, match="need the Python package google-re2"):
        compile_pattern("a")
