"""The contract of ``-o``, held against every command's real output in every form (``docs/output.md``)."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import click
import jsonschema
import pytest
import yaml

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient
from kafka_tools.commands import running
from kafka_tools.commands.options.command import CONNECTION
from kafka_tools.commands.options.output import FORMATS, PROMETHEUS, OutputOption
from kafka_tools.output import rows as rows_module
from kafka_tools.output.cells import heading
from kafka_tools.output.csv_doc import cell as csv_cell
from kafka_tools.output.kinds import KINDS
from kafka_tools.output.prometheus_doc import METRICS
from kafka_tools.output.rows import Rows, envelope
from tests.live_members import LASTING, poll_until_assigned
from tests.net.virtual import VirtualNetwork, VirtualNode
from tests.output.contract_cases import (
    CASES,
    FAILING,
    OWN_FORMS,
    ROOT,
    Case,
    Validators,
    closed,
    document_validators,
    kinds_with_schema,
    loaded_schema,
)

NUMBERS = count()


class Ended(NamedTuple):
    status: int
    out: str
    err: str
    shown: Rows | None


def leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """The command, or the ones below it, with what is typed after kafka-tools."""
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from leaves(below, f"{path} {name}")
    else:
        yield path, command


LEAVES = dict(leaf for name in cli.COMMANDS for leaf in leaves(cli.load(name), name))
OUTPUTS = {
    path: parameter
    for path, command in LEAVES.items()
    for parameter in command.params
    if isinstance(parameter, OutputOption)
}


@pytest.fixture(scope="module")
def documents() -> Validators:
    return document_validators()


@pytest.fixture(scope="module")
def lines() -> Validators:
    return {
        kind: jsonschema.Draft202012Validator(closed({"$ref": "#/$defs/row", "$defs": loaded_schema(kind)["$defs"]}))
        for kind in kinds_with_schema()
    }


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    """A bundled broker with a topic, a group that has a member, ACLs and client metrics."""
    from kafka_tools.broker_embedded import EmbeddedBroker
    from kafka_tools.clients.consumer import Consumer
    from kafka_tools.net.config import ClientConfig

    config = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}
    config["group.initial.rebalance.delay.ms"] = "0"
    with EmbeddedBroker(config=config) as broker:
        address = broker.bootstrap_servers
        for line in (
            "topics --create --topic orders --partitions 2 --config retention.ms=1000",
            "client-metrics --alter --name latency --interval 1000 --metrics *",
            "consumer-groups --reset-offsets --group live --topic orders --to-earliest --execute",
        ):
            name, *words = line.split()
            assert running.run(cli.load(name), [*words, "-b", address], f"kafka-{name}") == 0
        settings = {"group.id": "live", **LASTING}
        with Consumer(ClientConfig.load(bootstrap_servers=address, properties=settings)) as consumer:
            consumer.subscribe(["orders"])
            poll_until_assigned(consumer)
            yield address


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the files that the cases name."""
    monkeypatch.chdir(tmp_path)
    entries = [{"topic": "orders", "partition": number, "offset": -1} for number in range(2)]
    Path("offsets.json").write_text(json.dumps({"partitions": entries}), encoding="utf-8")
    entries[1]["offset"] = 1000
    Path("beyond.json").write_text(json.dumps({"partitions": entries}), encoding="utf-8")
    plan = [{"topic": "orders", "partition": number, "replicas": [1]} for number in range(2)]
    Path("plan.json").write_text(json.dumps({"partitions": plan}), encoding="utf-8")
    # The bundled broker has one log directory, and moves nothing there.
    plan[1]["log_dirs"] = ["/no/such/directory"]
    Path("partly.json").write_text(json.dumps({"partitions": plan}), encoding="utf-8")
    Path("topics.json").write_text(json.dumps({"topics": [{"topic": "orders"}]}), encoding="utf-8")
    Path("meta.properties").write_text("directory.id=8bpaWIu9SiydwIqO5atq0g\n", encoding="utf-8")
    Path("controller.properties").write_text(
        "node.id=3\nprocess.roles=controller\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=CONTROLLER://localhost:9093\nlog.dirs={tmp_path}\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """``run(case, form, address)``: what the command line of a case printed, and the rows that it printed them from."""
    shown: list[Rows] = []
    show = rows_module.show

    def spy(result: Rows, form: str, stream: Any = None) -> None:
        shown.append(result)
        show(result, form, stream)

    monkeypatch.setattr(rows_module, "show", spy)
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def typed(line: str, address: str | None, *more: str) -> int:
        name, *words = line.split()
        where = ["-b", address] if address else []
        return running.run(cli.load(name), [*words, *where, *more], f"kafka-{name}")

    def ended(case: Case, form: str | None, address: str | None, *more: str) -> Ended:
        number = next(NUMBERS)
        for line in case.before if address else ():
            assert typed(line.format(n=number), address) == 0
        for method, replacement in case.instead.items():
            monkeypatch.setattr(AdminClient, method, replacement)
        capsys.readouterr()
        shown.clear()
        output = ["-o", form] if form else []
        status = typed(case.title.format(n=number), None if case.offline else address, *output, *more)
        return Ended(status, *capsys.readouterr(), shown[0] if shown else None)

    return ended


def test_every_command_has_the_forms_or_a_reason() -> None:
    without = {path.split()[0] for path in LEAVES.keys() - OUTPUTS.keys()}
    assert without == OWN_FORMS.keys()
    for path, output in OUTPUTS.items():
        assert isinstance(output.type, click.Choice)
        assert tuple(output.type.choices) in (FORMATS, (*FORMATS, PROMETHEUS)), path


def test_no_output_of_any_command_is_without_a_case() -> None:
    tried = {(case.command, case.given) for case in CASES}
    given = {(path, given) for path, output in OUTPUTS.items() for given in output.kinds}
    assert given - tried == set(), "write a Case for each of these in tests/output/contract_cases.py"
    assert tried == given


def test_kinds_and_schemas_are_those_that_commands_print() -> None:
    printed = {kind for output in OUTPUTS.values() for kind in output.kinds.values()}
    assert printed == KINDS.keys()
    published = {path.name.removesuffix(".v1.schema.json") for path in (ROOT / "schemas").glob("*.json")}
    documents_read = {"delete-records", "leader-election", "reassignment", "topics-to-move"}
    assert published - printed == {"audit", "dump-log", "load-report"} | documents_read
    assert {f"schemas/{kind}.v1.schema.json" for kind in printed - published} == set(), "write these files"


@pytest.mark.parametrize("kind", kinds_with_schema())
def test_a_schema_is_one_and_its_examples_follow_it(kind: str, documents: Validators) -> None:
    schema = loaded_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema"]["const"] == f"kafka-tools/{kind}/v1"
    assert schema["$id"] == f"{kind}.v1.schema.json"
    for example in schema.get("examples", ()):
        documents[kind].validate(example)
    assert [name for name, member in _described(schema["$defs"]["row"]) if not member.get("description")] == []


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_each_command_prints_one_document(
    case: Case, form: str, servers: str, run: Callable[..., Ended], documents: Validators, lines: Validators
) -> None:
    ended = run(case, form, servers)
    assert ended.status == 0, ended
    assert "error" not in ended.err.lower()
    if is_table_of_kip_248(case, form):
        assert "CONFIGS FOR " in ended.out.splitlines()[0]
        return
    assert ended.shown is not None
    assert bool(ended.shown.rows) == case.rows
    assert ended.shown.kind == OUTPUTS[case.command].kinds[case.given]
    check_document(ended.out, ended.shown, form, documents, lines)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.title)
def test_items_that_fail_are_in_the_document_and_on_stderr(
    case: Case, form: str, servers: str, run: Callable[..., Ended], documents: Validators, lines: Validators
) -> None:
    ended = run(case, form, servers)
    assert ended.status == 1, ended
    program = f"kafka-{case.command.split()[0]}"
    complaints = [
        line for line in ended.err.splitlines() if line.startswith((f"{program}: ", f"kafka-{case.command}: "))
    ]
    assert len(complaints) == case.failed
    if is_table_of_kip_248(case, form):
        return
    assert ended.shown is not None
    assert bool(ended.shown.rows) == case.rows
    check_document(ended.out, ended.shown, form, documents, lines)
    for error, complaint in zip(ended.shown.errors, complaints, strict=True):
        message = " ".join(error.message.split())
        assert complaint.endswith(message)
        assert complaint == f"{program}: {message}" or (error.item or "") in complaint


@pytest.mark.parametrize("case", [case for case in CASES if not case.offline], ids=lambda case: case.title)
def test_a_call_that_fails_as_a_whole_is_a_document_too(
    case: Case, run: Callable[..., Ended], documents: Validators, lines: Validators
) -> None:
    """In virtual time: on a busy machine a short timeout could be over before the first connection is refused."""
    node = VirtualNode(1, lambda *_: None)
    node.refuses = lambda: True
    address = f"{node.host}:{node.port}"
    # A command that runs a client has the limits of the client's settings.
    options = [each for each in LEAVES[case.command].params if getattr(each, "section", "") == CONNECTION]
    limit = ["--timeout", "10s"] if any("--timeout" in each.opts for each in options) else []
    with VirtualNetwork([node]).in_use():
        ended = run(case._replace(before=(), instead={}), "json", address, *limit)
    assert ended.status == 1
    document = json.loads(ended.out)
    kind = OUTPUTS[case.command].kinds[case.given]
    documents[kind].validate(document)
    assert document["data"] == []
    assert len(document["errors"]) == 1
    assert address in document["errors"][0]["message"]
    assert ended.err.splitlines()[0].endswith(document["errors"][0]["message"])


@pytest.mark.parametrize("path", OUTPUTS)
def test_a_wrong_command_line_prints_no_document(path: str, run: Callable[..., Ended]) -> None:
    ended = run(Case(path, "--no-such-option"), "json", None)
    assert (ended.status, ended.out) == (2, "")


def is_table_of_kip_248(case: Case, form: str) -> bool:
    """``kafka-configs -o wide`` is a table of its own, with a title for each entity."""
    return form == "wide" and case.command == "configs" and not case.given


def check_document(out: str, shown: Rows, form: str, documents: Validators, lines: Validators) -> None:
    """``out`` is ``shown`` in ``form``, whole and alone; what machines read follows the schema."""
    kind = KINDS[shown.kind]
    flat = [line for row in shown.rows for line in kind.lines(row)]
    wide = [heading(column) for column in kind.wide]
    if form in ("json", "yaml"):
        document = json.loads(out) if form == "json" else yaml.safe_load(out)
        documents[shown.kind].validate(document)
        assert document == envelope(shown)
    elif form == "jsonl":
        read = [json.loads(line) for line in out.splitlines()]
        for row in read:
            lines[shown.kind].validate(row)
        assert read == list(shown.rows)
    elif form in ("csv", "tsv"):
        dialect: dict[str, Any] = {} if form == "csv" else {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
        cells = [[csv_cell(line.get(column)) for column in kind.wide] for line in flat]
        assert list(csv.reader(io.StringIO(out, newline=""), **dialect)) == [list(kind.wide), *cells]
    elif form == "name":
        assert out.splitlines() == list(dict.fromkeys(kind.name.format_map(line) for line in flat))
    else:
        first, *rest = out.splitlines()
        columns = [heading(column) for column in shown.columns or kind.table]
        assert first.split() == (wide if form == "wide" else columns)
        assert len(rest) == len(flat)


@pytest.mark.parametrize("kind", kinds_with_schema())
def test_columns_are_members_of_the_rows(kind: str) -> None:
    """Every column of a table is described by the schema, in the row or in what the row holds several of."""
    shape = KINDS[kind]
    described = set(_members(loaded_schema(kind)["$defs"]["row"]))
    assert set(shape.table) <= set(shape.wide)
    assert set(shape.wide) - described == set()
    assert len(set(shape.wide)) == len(shape.wide)


def _described(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every member of a row, and of what it holds, with its schema."""
    for name, member in schema.get("properties", {}).items():
        if "const" not in member or name != "kind":
            yield name, member
        yield from _described(member)
        yield from _described(member.get("items", {}))
    for each in schema.get("oneOf", ()):
        yield from _described(each)


def _members(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, member in schema.get("properties", {}).items():
        yield name
        yield from _members(member.get("items", {}))
    for each in schema.get("oneOf", ()):
        yield from _members(each)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if PROMETHEUS in OUTPUTS[case.command].type.to_info_dict()["choices"]],
    ids=lambda case: case.title,
)
def test_prometheus_is_a_form_of_kinds_with_metrics(case: Case, servers: str, run: Callable[..., Ended]) -> None:
    ended = run(case, PROMETHEUS, servers)
    assert ended.shown is None or not ended.shown.rows or ended.shown.kind in METRICS
    assert ended.status == (0 if ended.shown is not None else 2), ended
    if ended.status == 2:
        assert "-o prometheus" in ended.err
        return
    samples = [line for line in ended.out.splitlines() if not line.startswith("#")]
    assert samples and all(re.fullmatch(r'kafka_\w+\{(\w+="[^"]*",?)+\} -?[\d.e+-]+', line) for line in samples)
    for name in {line.partition("{")[0] for line in samples}:
        assert f"# TYPE {name} gauge" in ended.out and f"# HELP {name} " in ended.out


def test_no_form_is_coloured_when_piped(servers: str, run: Callable[..., Ended]) -> None:
    assert "FORCE_COLOR" not in os.environ
    for form in FORMATS:
        assert "\x1b" not in run(CASES[1], form, servers).out
