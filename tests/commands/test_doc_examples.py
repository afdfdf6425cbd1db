"""The examples on the commands' pages run: each in order, on the bundled broker, and print what the page shows.

Compared is the form: numbers, ids and widths differ from cluster to cluster.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_tools import cli
from tests.regen import HELP_BEGINS, HELP_ENDS

PAGES = (
    "topics", "configs", "scram", "consumer-groups", "delete-records", "broker-api-versions", "cluster", "features",
    "client-metrics", "acls", "groups", "../output", "../operators-day",
)  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]
PREPARE = {
    "configs": ["kafka-topics -b localhost:9092 --create --topic orders"],
    "consumer-groups": [
        "kafka-topics -b localhost:9092 --create --topic orders",
        "kafka-consumer-groups -b localhost:9092 --reset-offsets --group live --topic orders --to-latest --execute",
        "kafka-consumer-groups -b localhost:9092 --reset-offsets --group nightly --topic orders --to-latest --execute",
    ],
    "groups": [
        "kafka-topics -b localhost:9092 --create --topic orders",
        "kafka-consumer-groups -b localhost:9092 --reset-offsets --group live --topic orders --to-latest --execute",
        "kafka-consumer-groups -b localhost:9092 --reset-offsets --group nightly --topic orders --to-latest --execute",
    ],
    "../output": [
        "kafka-topics -b localhost:9092 --create --topic orders --partitions 2 --config retention.ms=86400000",
        "kafka-consumer-groups -b localhost:9092 --reset-offsets --group nightly --topic orders --to-latest --execute",
    ],
    "../operators-day": [
        "kafka-topics -b localhost:9092 --create --topic orders --partitions 3",
        'for i in $(seq 1 30); do echo "customer-$((i % 5))|{\\"amount\\": $((i * 3))}"; done | kafka-console-producer '
        "-b localhost:9092 --topic orders --reader-property parse.key=true --reader-property 'key.separator=|'",
        "kafka-consumer-groups -b localhost:9092 --reset-offsets --group billing --topic orders --to-earliest "
        "--execute",
        "kafka-acls -b localhost:9092 --add --allow-principal User:shop --operation Write --topic ord "
        "--resource-pattern-type prefixed",
    ],
    "delete-records": ["kafka-topics -b localhost:9092 --create --topic orders --partitions 2"],
}


def examples(page: str) -> list[tuple[str, str]]:
    """(command line, what the page shows below it) of the examples on a page, without the help."""
    text = (ROOT / "docs" / "commands" / f"{page}.md").read_text(encoding="utf-8")
    before, _, rest = text.partition(HELP_BEGINS)
    found = []
    for block in re.findall(r"```console\n(.*?)```", before + rest.partition(HELP_ENDS)[2], re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            found.append((line, output))
    return found


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[object]:
    """``shell(line)`` runs a line as an operator types it, with a bundled broker in place of localhost:9092."""
    from kafka_tools.broker_embedded import EmbeddedBroker

    programs = tmp_path / "bin"
    programs.mkdir()
    for program, name in (("kafka-tools", ""), *((f"kafka-{name}", name) for name in cli.SCRIPTS)):
        file = programs / program
        file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kafka_tools {name} "$@"\n', encoding="utf-8")
        file.chmod(0o755)
    entries = [{"topic": "orders", "partition": number, "offset": -1} for number in range(2)]
    (tmp_path / "offsets.json").write_text(json.dumps({"partitions": entries, "version": 1}), encoding="utf-8")
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    config = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}
    with EmbeddedBroker(config=config) as broker:

        def run(line: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["sh", "-c", line.replace("localhost:9092", broker.bootstrap_servers)],
                capture_output=True,
                encoding="utf-8",
                timeout=60,
                env=environment,
                cwd=tmp_path,
            )

        yield run


@pytest.mark.parametrize("page", PAGES)
def test_examples_run_and_print_what_the_page_shows(page: str, shell) -> None:
    for line in PREPARE.get(page, ()):
        assert shell(line).returncode == 0
    shown = examples(page)
    assert shown
    for line, output in shown:
        ended = shell(line)
        assert ended.returncode == 0, (line, ended)
        printed = {first_word(text) for text in (ended.stdout + ended.stderr).splitlines()}
        expected = {first_word(text) for text in output.splitlines()}
        assert expected <= printed, (line, ended)


def first_word(line: str) -> str:
    """What a line begins with, numbers and addresses aside."""
    words = line.split()
    return re.sub(r"\d+|localhost", "N", words[0]).replace("N.N.N.N", "N") if words else ""
