"""Clients' regular expressions beside RE2/J of Kafka: the same are taken, and they match the same names.

``python -m tests.against_kafka.pattern_comparison [--seed N] [--count N]`` is the thorough run; the suite runs a part.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from kafka_tools.texts.regular_expressions import InvalidPattern, compile_pattern
from tests.against_kafka.jars import ENVIRONMENT
from tests.against_kafka.java_programs import compiled

WHOLE = [
    "", "foo*", "foo|bar", "(foo)(bar)", "^foo$", "(?i)FOO.*", "(?s).*", "(?m)^foo$", r"(?P<a>[(?P<a>]\Q(?P<a>\E)",
    "(?U)a.*b", "(?-i)foo", "(?i:Foo)", "(?P<name>foo)", "(?<name>foo)", "(?P<a>x)(?P<a>y)", "(?P<1>x)", "(?P<>x)",
    "(?P=name)", "(?=foo)", "(?!foo)bar", "(?<=a)b", "(?>a)", r"(a)\1", r"\Qa.b\E.*", r"\Qa.b", r"\Q\C\E", r"\C",
    r"a\C", r"\\C", r"[\C]", r"\A\w+\z", r"a\Z", r"\bfoo\b", r"\Bo+\B", r"\pL+", r"\p{Greek}+", r"\P{Greek}+",
    r"\p{Nonsense}", r"\pX", r"\p{^L}", r"\d\D\s\S\w\W", "[[:alpha:]]+", "[[:nope:]]", "[[:^digit:]]+", "[a-",
    "[z-a]", "[]a]", "[^]a]+", "[a-z-9]", r"[\d-z]", "[a&&b]", "a{2}", "a{2,}", "a{,2}", "a{2,1}", "a{1000}",
    "a{1001}", "a{1,1000}", "a{-1}", "a{x}", "a{", "a**", "a+*", "a??", "a+?", "a*+", "a{2}{3}", "(a{2}){3}",
    "((a{100}){10}){1}", "*a", "+", "?", "|", "||a", "a|", "(|a)*", "(", ")", "())", "(()", "((a)", "\\",
    "a\\",
    r"\x41", r"\x{1F600}", r"\x{110000}", r"\xZ", r"\101", r"\8", r"\0", r"\07", r"\q", r"\_", r"\-", r"\/",
    r"\é",
    "größe", "Größe-?.*", "(?i)GRÖSSE", "(?i)\u017f", "(?i)k", "\U0001f600+", ".", "..", "\n", "a\nb", "$", "^",
    "^^a$$",
    "a$b", "(?i)(?-i)a", "(?z)", "(?", "(?i", "(?:", "(?:a", "(?P<", "(?P<a", "(?#c)", "x*{3}", "[", "[^", "[]",
    "[a", r"[\]", r"[\b]", "[[:word:]]+", r"[\pL\d_]+", r"[^\x00-\x7F]+", "(?i)[k-s]+", r"\a\f\t\n\r\v", r"\e",
    r"\cA", "(?:(?:x+)+)+y", "(x+x+)+y", "(a|aa)+$", ".*.*.*=.*", "(?i)İ", r"\p{Lu}+", r"\p{Han}", r"\p{Any}+",
    "[\U0001f600-\U0001f64f]",
]  # fmt: skip
PARTS = [
    "a", "b", "foo", "-", r"\.", ".", "[ab]", "[^-]", r"\w", r"\d", r"\pL", "ö", "(", ")", "(?:", "(?i)", "|", "*",
    "+", "?", "{2}", "{1,3}", "*?", "^", "$", r"\b", "[", "]", "\\", r"\Q", r"\E", "[[:alpha:]]", "x{0}", "(?P<n>",
    r"\z",
]  # fmt: skip
NAMES = [
    "", "a", "b", "aa", "ab", "aab", "foo", "foobar", "Foo", "FOO-1", "a.b", "a.bc", "orders-2024", "größe",
    "GRÖSSE", "k", "\u212a", "s", "\u017f", "\U0001f600", "\U0001f600\U0001f601", "αβγ", "a\nb", "\n", "foo\n", "_",
    "x" * 40, "xxxy", "\\C", "C", "é", "漢", "İ", "i", "A", "-", "A1 \t",
]  # fmt: skip
BEYOND_ASCII = re.compile(r"\\[^\x00-\x7f]")
"""RE2/J takes the escape for the character, RE2 refuses it."""


def patterns(seed: int, count: int) -> list[str]:
    """The given ones, and ``count`` random ones."""
    chance = random.Random(seed)
    return WHOLE + ["".join(chance.choices(PARTS, k=chance.randint(1, 8))) for _ in range(count)]


def ours(pattern: str) -> dict[str, object]:
    try:
        found = compile_pattern(pattern)
    except InvalidPattern as error:
        return {"refused": str(error)}
    return {"matches": [found.matches(name) for name in NAMES]}


def compare(folder: Path, asked: list[str]) -> tuple[Counter[str], list[str]]:
    """How many patterns were judged how, and every difference. Raises Unavailable."""
    lines = "".join(json.dumps([pattern, NAMES]) + "\n" for pattern in asked)
    command = compiled("Patterns")
    done = subprocess.run(
        command, input=lines, capture_output=True, encoding="utf-8", timeout=600, check=True, env=ENVIRONMENT
    )
    counts: Counter[str] = Counter()
    differences = []
    for pattern, line in zip(asked, done.stdout.splitlines(), strict=True):
        theirs, mine = json.loads(line), ours(pattern)
        if theirs == mine:
            counts[f"alike: {next(iter(mine))}"] += 1
        elif "refused" in theirs and "refused" in mine:
            counts[f"refused: {theirs['refused']}; ours: {mine['refused']}"] += 1
        elif "refused" in mine and BEYOND_ASCII.search(pattern):
            counts["an escaped letter beyond ASCII"] += 1
        elif "matches" in theirs and "matches" in mine:
            pairs = zip(NAMES, theirs["matches"], mine["matches"], strict=True)  # type: ignore[call-overload]
            differences.append(
                f"{pattern!r}: ours says of {[(name, here) for name, there, here in pairs if there != here]}"
            )
        else:
            differences.append(f"{pattern!r}: theirs {theirs}, ours {mine}"[:300])
    return counts, differences


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.against_kafka.pattern_comparison", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        counts, differences = compare(Path(folder), patterns(options.seed, options.count))
    for verdict, number in counts.most_common():
        print(f"{number:6} {verdict}")
    print("\n".join(differences[:200]))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
