"""``docs/protocol.md``: every API and every stored record, made of their definitions.

``python -m tests.regen protocol`` writes it. The words are those of the definitions: docstrings, and the comments above
fields and structs (``tests/protocol/definition_texts.py``).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.fields import OPEN, Field, Versions
from kafka_tools.protocol.schema import Message, Stored, Struct, nested_structs
from tests.protocol import definition_texts

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 118

INTRODUCTION = """\
# Protocol

Requests, responses and stored records of Kafka, field by field, with the errors of each API. For the versions that
brokers serve, see [broker APIs](broker-apis.md). `python -m tests.regen protocol` writes this page from the definitions
in `kafka_tools/protocol`.

The line of a field contains its name, its type, its versions (`v3+`: version 3 and later) and whether it can be null.
A default follows if it is not 0, empty or false, and a tag if the field is tagged. The meaning comes last. A field
without versions exists in all versions of the struct that contains it. The fields of a nested struct are indented.
"""


def page() -> dict[Path, str]:
    """``docs/protocol.md``."""
    lines = INTRODUCTION.splitlines()
    lines += ["", "## Index by API", "", *_index_of_apis()]
    lines += ["", "## Index by error", "", *_index_of_errors()]
    lines += ["", "## Index by place of records", "", *_index_of_records(), "", "## APIs"]
    for row in registry.rows():
        lines += ["", *_api(row)]
    lines += ["", "## Stored records"]
    for stem in definition_texts.modules("stored"):
        lines += ["", *_records(stem)]
    return {ROOT / "docs" / "protocol.md": "\n".join(lines) + "\n"}


# Indexes


def anchor(row: registry.Row) -> str:
    """The place of an API on the page."""
    return "#" + _anchor(f"{row.name} ({row.key})")


def _link(row: registry.Row) -> str:
    return f"[{row.name}]({anchor(row)})"


def _index_of_apis() -> Iterator[str]:
    yield from ("| key | API | versions | purpose |", "| --- | --- | --- | --- |")
    for row in registry.rows():
        yield f"| {row.key} | {_link(row)} | {_range(row.min_version, row.max_version)} | {_purpose(row.stem)} |"


def _index_of_errors() -> Iterator[str]:
    answering: dict[str, list[str]] = {}
    for row in registry.rows():
        for name in definition_texts.errors_told(row.stem):
            answering.setdefault(name, []).append(_link(row))
    yield from ("| code | error | retriable | meaning | answered by |", "| --- | --- | --- | --- | --- |")
    for code in error_codes.all_codes():
        if code.name in answering:
            retriable, apis = "yes" if code.retriable else "", ", ".join(answering[code.name])
            yield f"| {code.code} | `{code.name}` | {retriable} | {marked(code.text)} | {apis} |"


def _index_of_records() -> Iterator[str]:
    yield from ("| place | records |", "| --- | --- |")
    for stem in definition_texts.modules("stored"):
        names = ", ".join(f"[{title(cls)}](#{_anchor(title(cls))})" for cls in stored(stem))
        yield f"| [{_place(stem)}](#{_anchor(_place(stem))}) | {names} |"


def _versions_of(message: type[Message]) -> str:
    low, high, flexible = message.MIN_VERSION, message.MAX_VERSION, message.FLEXIBLE_FROM
    range = f"Version {low}" if low == high else f"Versions {_range(low, high)}"
    if flexible is None:
        return f"{range}, not flexible"
    return f"{range}, flexible" if flexible <= low else f"{range}, flexible from {flexible} on"


# An API


def _api(row: registry.Row) -> Iterator[str]:
    api = registry.api(row.key)
    head, found = definition_texts.sections(row.stem)
    yield f"### {row.name} ({row.key})"
    yield from ("", *_paragraph(_purpose(row.stem)))
    for paragraph in head.strip().split("\n\n")[1:]:
        yield from ("", *_paragraph(paragraph))
    yield from ("", *_paragraph(_facts(row, api)), "")
    yield from _entries(found.get("Versions", {}))
    for title, message in (("Request", api.request), ("Response", api.response)):
        yield from ("", f"**{title}**", "")
        yield from _fields("messages", message) if message.FIELDS else ["(empty)"]
    errors = {f"`{name}` ({error_codes.by_name(name).code})": words for name, words in found.get("Errors", {}).items()}
    if errors:
        yield from ("", "**Errors**", "")
        yield from _entries(errors)


def _purpose(stem: str) -> str:
    first = definition_texts.sections(stem)[0].partition("\n")[0].partition(": ")[2]
    return marked(first[0].upper() + first[1:])


def _facts(row: registry.Row, api: registry.Api) -> str:
    sentences = [_versions_of(api.request) + (", the newest unstable" if row.latest_unstable else "")]
    if row.oldest_since_4 > row.min_version:
        dropped = _range(row.min_version, min(row.oldest_since_4 - 1, row.max_version))
        sentences.append(f"Brokers of Kafka 4 no longer know {dropped}")
    what = {"reads": "It only reads", "changes": "It changes the cluster", "destroys": "It destroys data"}
    sentences.append(what[api.request.EFFECT])
    if api.request.RIGHTS:
        rights = ", ".join(f"{operation} on the {kind}" for kind, operation in api.request.RIGHTS.items())
        sentences.append(f"Rights: {rights}")
    if (first := api.response.THROTTLES.low) > row.min_version and api.response.THROTTLES.high >= first:
        sentences.append(f"Throttled clients wait by themselves from version {first} on")
    return ". ".join(sentences) + "."


# Stored records


def stored(stem: str) -> list[type[Stored]]:
    """The records of a module in ``stored``, in its order."""
    module = import_module(f"kafka_tools.protocol.stored.{stem}")
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Stored) and value.__module__ == module.__name__
    ]


def _records(stem: str) -> Iterator[str]:
    yield f"### {_place(stem)}"
    for paragraph in (import_module(f"kafka_tools.protocol.stored.{stem}").__doc__ or "").strip().split("\n\n"):
        yield from ("", *_paragraph(paragraph))
    for cls in stored(stem):
        yield from ("", f"#### {title(cls)}")
        for paragraph in re.sub(r"\n +", "\n", cls.__doc__ or "").strip().split("\n\n"):
            if re.match(r"v\d+(?:-v\d+)?: ", paragraph):
                entries = re.findall(r"^(v\d[-v\d]*): ((?:.*)(?:\n(?!v\d).*)*)", paragraph, re.MULTILINE)
                versions = {key: " ".join(words.split()) for key, words in entries}
                yield from ("", *_entries(versions))
            else:
                yield from ("", *_paragraph(paragraph))
        yield from ("", *_paragraph(f"{_versions_of(cls)}."))
        if cls.FIELDS:
            yield from ("", *_fields("stored", cls))


def _place(stem: str) -> str:
    return stem.replace("_", " ").capitalize()


def title(cls: type[Stored]) -> str:
    """The name of a record with the number of its type, where it has one."""
    values = getattr(import_module(cls.__module__), "VALUES", {})
    number = next((number for number, value in values.items() if value is cls), cls.ID)
    return cls.__name__ if number is None else f"{cls.__name__} ({number})"


# Fields


def _fields(folder: str, message: type[Message]) -> Iterator[str]:
    comments: dict[str, str] = {}
    structs: dict[str, str] = {}
    for stem in sorted({struct.__module__.rpartition(".")[2] for struct in nested_structs(message)}):
        comments |= definition_texts.fields(folder, stem)
        structs |= definition_texts.structs(folder, stem)
    return field_lines(message, comments, structs)


def field_lines(message: type[Message], comments: Mapping[str, str], structs: Mapping[str, str]) -> Iterator[str]:
    """An item of a nested list for each field, with the comments on fields and structs by their qualified names."""
    listed: dict[type[Struct], str] = {}

    def below(cls: type[Struct], around: Versions, depth: int) -> Iterator[str]:
        for field in cls.FIELDS:
            exists = Versions(max(field.versions.low, around.low), min(field.versions.high, around.high))
            item = field.item.item if field.kind == "array" else field.item
            words = [structs.get(item.__qualname__, "")] if item is not None and item not in listed else []
            words.append(comments.get(f"{cls.__qualname__}.{field.name}", ""))
            if item in listed:
                words.append(f"Same fields as `{listed[item]}`.")
            meaning = marked(" ".join(filter(None, words)))
            facts = ", ".join([f"`{field.name}` {_type(field)}", *_qualities(field, exists, around)])
            yield from _item(f"{facts}. {meaning}" if meaning else facts, depth)
            if item is not None and item not in listed:
                listed[item] = field.name
                yield from below(item, exists, depth + 1)

    return below(message, Versions(message.MIN_VERSION, message.MAX_VERSION), 0)


def _type(field: Field) -> str:
    if field.kind == "array":
        return f"[]{_type(field.item)}"
    return field.item.__name__ if field.kind == "struct" else field.kind


def _qualities(field: Field, exists: Versions, around: Versions) -> Iterator[str]:
    """Versions, if not those around it; null, default, tag and secrecy."""
    if exists != around:
        yield _versions(exists, around)
    nullable = Versions(max(field.nullable.low, exists.low), min(field.nullable.high, exists.high))
    if nullable == exists:
        yield "nullable"
    elif nullable.low <= nullable.high:
        yield f"nullable in {_versions(nullable, exists)}"
    if field.default is None and field.kind != "records":
        yield "default null"
    elif field.default not in (0, "", b"", False, None, [], (), UUID(int=0)):
        yield f"default {_shown(field.default)}"
    if field.tag is not None:
        yield f"tag {field.tag}"
    if field.secret:
        yield "secret"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _versions(versions: Versions, around: Versions) -> str:
    if versions.high >= min(around.high, OPEN):
        return f"v{versions.low}+"
    return f"v{versions.low}" if versions.low == versions.high else f"v{versions.low}-{versions.high}"


def _range(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


# Markdown


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def marked(text: str) -> str:
    """The text with code marks: words with signs that Markdown would read as its own become code."""
    text = text.replace("``", "`")
    return re.sub(r"(?<![`\w])([^\s`(]*(?:__|[*<>|])[^\s`]*?)(?=[.,;:)]*(?:\s|$))", r"`\1`", text)


def _paragraph(text: str) -> list[str]:
    return _wrapped(marked(" ".join(text.split())), "")


def _entries(entries: dict[str, str]) -> Iterator[str]:
    for key, words in entries.items():
        yield from _item(f"{key}: {marked(words)}", 0)


def _item(text: str, depth: int) -> list[str]:
    indent = "  " * depth
    first, *rest = _wrapped(text, indent + "  ")
    return [f"{indent}- {first.lstrip()}", *rest]


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
