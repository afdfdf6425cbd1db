"""Every form of ``-o`` from the same rows, with values that would break a careless one; read back by other software."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_tools.commands.options.output import FORMATS
from kafka_tools.output import kinds
from kafka_tools.output.cells import cell
from kafka_tools.output.rows import ItemError, Rows, envelope, show

ROWS = Rows(
    "samples",
    [{"name": "a", "size_bytes": 5, "ids": [1, 2], "more": {"x": None}}, {"name": "b", "size_bytes": 1000, "ids": []}],
    [ItemError("c", "UNKNOWN", "no c"), ItemError(None, None, "gone")],
)
NESTED = Rows("nested", [{"topic": "t", "partitions": [{"at": 0}, {"at": 1}]}, {"topic": "u", "partitions": []}])


@pytest.fixture(scope="module", autouse=True)
def sample_kinds() -> Iterator[None]:
    registered = kinds.KINDS
    assert isinstance(registered, dict)
    registered["samples"] = kinds.RowKind(("name", "size_bytes"), ("name", "size_bytes", "ids", "more"), "{name}")
    registered["nested"] = kinds.RowKind(("topic", "at"), ("topic", "at"), "{topic}", kinds._each("partitions"))
    yield
    del registered["samples"], registered["nested"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(result: Rows, form: str, out: io.StringIO | None = None) -> str:
    out = out or io.StringIO()
    show(result, form, out)
    return out.getvalue()


def test_a_table_is_aligned_with_numbers_to_the_right() -> None:
    assert shown(ROWS, "table") == "NAME  SIZE-BYTES\na              5\nb           1000\n"
    assert shown(ROWS._replace(rows=[]), "table") == "NAME  SIZE-BYTES\n"
    assert shown(ROWS, "wide") == "NAME  SIZE-BYTES  IDS  MORE\na              5  1,2  x=-\nb           1000  -    -\n"
    assert shown(ROWS._replace(columns=("ids", "name")), "table") == "IDS  NAME\n1,2  a\n-    b\n"


def test_a_table_shows_moments_as_people_write_them() -> None:
    rows = Rows(
        "samples", [{"expires_ms": 1_795_340_406_355, "lag_ms": 5}, {"expires_ms": None}, {"expires_ms": 2**63}]
    )
    lines = shown(rows._replace(columns=("expires_ms", "lag_ms")), "table").splitlines()
    assert [line.split() for line in lines] == [
        ["EXPIRES", "LAG-MS"],
        ["2026-11-22T09:40:06.355Z", "5"],
        ["-", "-"],
        [str(2**63), "-"],
    ]


def test_json_and_yaml_are_the_same_document_and_jsonl_is_its_data() -> None:
    document = json.loads(shown(ROWS, "json"))
    assert document == envelope(ROWS)
    assert yaml.safe_load(shown(ROWS, "yaml")) == document
    assert [json.loads(line) for line in shown(ROWS, "jsonl").splitlines()] == document["data"]
    assert list(document) == ["schema", "data", "errors"]
    assert document["errors"] == [
        {"item": "c", "error": "UNKNOWN", "message": "no c"},
        {"item": None, "error": None, "message": "gone"},
    ]


def test_csv_and_tsv_have_all_columns_and_compound_values_as_json() -> None:
    assert shown(ROWS, "csv") == 'name,size_bytes,ids,more\na,5,"[1,2]","{""x"":null}"\nb,1000,[],\n'
    assert shown(ROWS, "tsv") == 'name\tsize_bytes\tids\tmore\na\t5\t[1,2]\t{"x":null}\nb\t1000\t[]\t\n'
    assert shown(ROWS._replace(rows=[]), "csv") == "name,size_bytes,ids,more\n"


def test_names_are_one_a_line_each_once() -> None:
    assert shown(ROWS, "name") == "a\nb\n"
    assert shown(ROWS._replace(rows=[]), "name") == ""
    assert shown(NESTED, "name") == "t\nu\n"
    assert shown(ROWS._replace(rows=[{"name": "a\nb\tc\x1b"}]), "name") == "a\\nb\\tc\\x1b\n"


def test_what_a_row_holds_several_of_is_lines_of_its_own() -> None:
    assert shown(NESTED, "table").splitlines() == ["TOPIC  AT", "t       0", "t       1", "u       -"]
    assert shown(NESTED, "csv").splitlines() == ["topic,at", "t,0", "t,1", "u,"]
    assert [json.loads(line) for line in shown(NESTED, "jsonl").splitlines()] == NESTED.rows


@pytest.mark.req("EASY-3")
def test_numbers_that_json_lacks_are_null() -> None:
    rows = Rows("samples", [{"name": math.nan}, {"name": [math.inf]}])
    assert json.loads(shown(rows, "json"))["data"] == [{"name": None}, {"name": [None]}]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
some_rows = st.lists(
    st.fixed_dictionaries({"name": texts, "size_bytes": values, "ids": values, "more": values}), max_size=3
)


@settings(max_examples=50)
@given(some_rows)
def test_every_form_can_be_read_back(rows: list[dict[str, Any]]) -> None:
    result = Rows("samples", rows)
    assert json.loads(shown(result, "json"))["data"] == rows
    assert yaml.safe_load(shown(result, "yaml")) == envelope(result)
    assert [json.loads(line) for line in shown(result, "jsonl").split("\n")[:-1]] == rows
    columns = kinds.KINDS["samples"].wide
    for read in (read_csv(shown(result, "csv")), read_tsv(shown(result, "tsv"))):
        assert read[0] == list(columns)
        assert read[1:] == [[plain_cell(row[column]) for column in columns] for row in rows]
    table = shown(result, "wide")
    assert table.count("\n") == len(rows) + 1
    assert len(shown(result, "name").split("\n")) == len({row["name"] for row in rows} - {""}) + 1


def plain_cell(value: Any) -> str:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def read_csv(text: str) -> list[list[str]]:
    """The cells as a program reads them that knows of the apostrophe before what looks like a formula."""
    cells = list(csv.reader(io.StringIO(text, newline="")))
    return [[cell[1:] if cell[:1] == "'" and cell[1:2] in tuple("=+-@\t\r") else cell for cell in row] for row in cells]


def read_tsv(text: str) -> list[list[str]]:
    """The cells as Python's csv module reads them, with the four escapes undone."""
    escapes = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}

    def undone(cell: str) -> str:
        parts = iter(cell)
        return "".join(escapes[next(parts)] if each == "\\" else each for each in parts)

    rows = csv.reader(io.StringIO(text, newline="\n"), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [[undone(cell) for cell in row] for row in rows]


@pytest.mark.parametrize(
    "value, text",
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"),
        ("+x", "'+x"),
        ("-x", "'-x"),
        ("-1", "-1"),
        ("-1.5e-3", "-1.5e-3"),
        ("+5", "+5"),
        (-1, "-1"),
        ("a=b", "a=b"),
        ("'x", "'x"),
        ("", ""),
    ],
)
def test_only_csv_disarms_what_a_spreadsheet_takes_for_a_formula(value: object, text: str) -> None:
    rows = Rows("samples", [{"name": value}])
    assert next(csv.reader([shown(rows, "csv").splitlines()[1]]))[0] == text
    assert shown(rows, "tsv").splitlines()[1].split("\t")[0] == str(value)


@pytest.mark.parametrize("form", FORMATS)
def test_no_name_commands_a_terminal(form: str) -> None:
    name = "\x1b]0;owned\x07\x9b2J\x7f"
    rows = Rows("samples", [{"name": name, "ids": [name], "more": {name: name}}], [ItemError(name, None, name)])
    text = shown(rows, form, Terminal())
    assert not set(text.replace("\x1b[1m", "").replace("\x1b[0m", "")) & set("\x1b\x07\x9b\x7f")


@pytest.mark.parametrize("form", ["json", "jsonl", "yaml", "csv", "tsv", "name"])
def test_what_programs_read_is_utf_8_whatever_the_terminal_is(form: str) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", errors="backslashreplace")
    show(Rows("samples", [{"name": "Größe €"}]), form, out)
    out.flush()
    assert "Größe €" in raw.getvalue().decode("utf-8")


@pytest.mark.parametrize("form", FORMATS)
def test_no_form_has_colours_when_piped(form: str) -> None:
    assert "\x1b" not in shown(ROWS, form)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


def test_a_terminal_gets_a_table_and_no_markup_is_read_from_names(terminal: Terminal) -> None:
    text = shown(Rows("samples", [{"name": "[red]x[/red]", "size_bytes": 1}]), "table", terminal)
    assert "[red]x[/red]" in text
    assert "\x1b[1m" in text


def test_no_color_is_honoured(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(ROWS, "wide", terminal)


def test_no_table_cuts_a_value(terminal: Terminal) -> None:
    name = "n" * 100 + "-end"
    rows = Rows("samples", [{"name": name, "size_bytes": 1}])
    assert name in shown(rows, "table")
    folded = shown(rows, "table", terminal)
    assert "".join(folded.split("\n", 1)[1].split()).replace("1", "") == name
    assert "…" not in folded


def test_a_terminal_too_narrow_for_the_columns_gets_plain_lines(terminal: Terminal) -> None:
    columns = ("topic_partition", "log_end_offset", "current_offset")
    rows = Rows("samples", [dict.fromkeys(columns, 1000000)], columns=columns)
    assert shown(rows, "table", terminal) == shown(rows, "table")


@pytest.mark.parametrize(
    "value, text",
    [
        (None, "-"),
        ("", "-"),
        (True, "true"),
        ([], "-"),
        ([1, None], "1,-"),
        ({"a": [0, 1], "b": [2]}, "a:0,1;b:2"),
        ({"k": "v"}, "k=v"),
        ([{"id": 1, "rack": None}, {"id": 2, "rack": "b"}], "id=1,rack=-;id=2,rack=b"),
        ("a\nb\tc\x1b", "a\\nb\\tc\\x1b"),
        ({"a\nb": ["\x1b"]}, "a\\nb:\\x1b"),
    ],
)
def test_cells(value: object, text: str) -> None:
    assert cell(value) == text
