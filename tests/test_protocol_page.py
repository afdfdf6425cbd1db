"""The page of the protocol is complete, its links lead somewhere, and it is small enough to be shown."""

from __future__ import annotations

import re
from functools import cache

import pytest

from kafka_tools.protocol import registry
from kafka_tools.protocol.schema import Stored, Struct, array, int32, string, struct
from tests import protocol_page
from tests.protocol import definition_texts
from tests.test_docs import anchors

LARGEST = 500_000
"""Code hosts show larger pages as plain text, without links."""


@cache
def page() -> str:
    return next(iter(protocol_page.page().values()))


def flat(text: str) -> str:
    return " ".join(text.replace("`", "").split())


def test_every_api_and_record_has_a_chapter() -> None:
    headings = re.findall(r"^#+ (.*)$", page(), re.MULTILINE)
    assert len(headings) == len(set(headings))
    assert {f"{row.name} ({row.key})" for row in registry.rows()} <= set(headings)
    records = [cls for stem in definition_texts.modules("stored") for cls in protocol_page.stored(stem)]
    assert {protocol_page.title(cls) for cls in records} <= set(headings)
    assert {"ConsumerGroupMemberMetadataValue (5)", "EndTxnMarker"} <= set(headings)


def test_links_within_the_page_lead_to_its_headings() -> None:
    targets = set(re.findall(r"\]\(#([^)]+)\)", page()))
    path = next(iter(protocol_page.page()))
    assert len(targets) > len(registry.rows())
    assert targets <= anchors(path)


def test_every_error_names_the_apis_that_answer_it() -> None:
    rows = dict(re.findall(r"^\| -?\d+ \| `(\w+)` \| (.*)$", page(), re.MULTILINE))
    for row in registry.rows():
        for name in definition_texts.errors_told(row.stem):
            assert f"[{row.name}]({protocol_page.anchor(row)})" in rows[name]


@pytest.mark.parametrize("folder", ["messages", "stored"])
def test_every_comment_and_condition_is_on_the_page(folder: str) -> None:
    text = flat(page())
    for stem in definition_texts.modules(folder):
        for comment in definition_texts.fields(folder, stem).values():
            assert flat(comment) in text
        if folder == "messages":
            for words in definition_texts.sections(stem)[1].get("Errors", {}).values():
                assert flat(words) in text


def test_a_struct_of_another_module_brings_its_comments() -> None:
    comment = definition_texts.fields("messages", "streams_group_describe")["TopologyNode.name"]
    chapter = page().partition("### StreamsGroupTopologyDescriptionUpdate (")[2].partition("\n### ")[0]
    assert comment in flat(chapter)


def test_the_page_is_small_enough_to_be_shown() -> None:
    assert len(page().encode()) < LARGEST


def test_no_line_becomes_an_item_by_accident() -> None:
    """A number with a full stop or a dash that a wrapped line begins with."""
    items = re.findall(r"^ *(?:\d+[.)]|[-+*>]) .*$", page(), re.MULTILINE)
    assert [item for item in items if not re.match(r" *- (?:`|v\d)", item)] == []


class Sample(Stored, versions="1-4", flexible="2+"):
    name = string(nullable="3+")

    class Item(Struct):
        id = int32(versions="2-3", default=-1)
        count = int32(versions="2+", tag=0)

    items = array(Item, versions="2+")
    rest = struct(Item, versions="4", nullable="4", default=None, secret=True)


def test_a_field_tells_versions_null_default_and_tag() -> None:
    assert list(protocol_page.field_lines(Sample, {"Sample.items": "The items."}, {"Sample.Item": "An item."})) == [
        "- `name` string, nullable in v3+",
        "- `items` []Item, v2+. An item. The items.",
        "  - `id` int32, v2-3, default -1",
        "  - `count` int32, tag 0",
        "- `rest` Item, v4+, nullable, default null, secret. Same fields as `items`.",
    ]


def test_words_that_markdown_would_read_as_its_own_are_code() -> None:
    marked = protocol_page.marked("A record of __cluster_metadata, ``User:*`` or client.tag.*: but not a_b_c (__x).")
    assert marked == "A record of `__cluster_metadata`, `User:*` or `client.tag.*`: but not a_b_c (`__x`)."
