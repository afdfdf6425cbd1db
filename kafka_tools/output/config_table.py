"""The aligned table of KIP-248 for described configuration: ``kafka-configs -o wide``.

Each entity has a centred title and the columns Name = Value, Sensitive, Read-only, Source. Type and Synonyms are
additions to the KIP; synonyms are the other sources of the value. Names are right-aligned, values left-aligned. Empty
values are empty cells. If requested, a broker's documentation of a config is below its line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple

from kafka_tools.config_definitions.quota_entities import CLIENT_ID, IP, SOURCES, USER, levels
from kafka_tools.output.cells import Row
from kafka_tools.texts.java_numbers import java_double

HEADINGS = ("Name", "Value", "Sensitive", "Read-only", "Source", "Type", "Synonyms")
_DOCUMENTATION_WIDTH = 100


def tables(rows: Sequence[Row]) -> str:
    """One titled table per entity, with empty lines between them. Quotas and credentials of a user share a table."""
    entities: dict[tuple[tuple[str, str | None], ...], list[Row]] = {}
    for row in rows:
        entities.setdefault(tuple(row["entity"].items()), []).append(row)
    return "\n".join(_table(dict(entity), together) for entity, together in entities.items())


def source_text(source: str) -> str:
    """``DYNAMIC_TOPIC_CONFIG`` in the KIP's form: ``Dynamic topic config``."""
    return source.replace("_", " ").capitalize()


def quota_source(entity: dict[str, str | None]) -> str:
    """The level of an entity's quota, in KIP-248's words."""
    if IP in entity:
        return "Default ip" if entity[IP] is None else "Ip"
    return SOURCES[levels(entity.get(USER), entity.get(CLIENT_ID)).index(tuple(entity.items()))]


class _Line(NamedTuple):
    """One line of a table, and the documentation below it."""

    cells: tuple[str, ...]
    below: str | None = None


def _table(entity: dict[str, str | None], rows: Sequence[Row]) -> str:
    body = [line for row in rows for line in _body(row)]
    # Empty columns are left out: quotas have neither type nor synonyms.
    used = [at for at in range(len(HEADINGS)) if at < 5 or any(line.cells[at] for line in body)]
    widths = [max(len(cells[at]) for cells in [HEADINGS, *(line.cells for line in body)]) for at in used]
    width = sum(widths) + 3 + 2 * (len(used) - 2)
    text = f"{_title(entity).center(width).rstrip()}\n{_line([HEADINGS[at] for at in used], widths, '   ')}\n"
    for line in body:
        text += f"{_line([line.cells[at] for at in used], widths, ' = ')}\n"
        if line.below:
            margin = " " * (widths[0] + 3)
            text += "".join(f"{margin}{part}\n" for part in wrap(_without_markup(line.below), _DOCUMENTATION_WIDTH))
    return text


def _body(row: Row) -> list[_Line]:
    lines = [_Line(_cells(entry), entry.get("documentation")) for entry in row.get("configs", ())]
    if row["kind"] == "quota":
        source = quota_source(row["entity"])
        for name, value in row["quotas"].items():
            lines.append(_Line((name, _number(value), "false", "false", source, "", "")))
    for each in row.get("credentials", ()):
        lines.append(_Line((each["mechanism"], f"iterations={each['iterations']}", "true", "false", "User", "", "")))
    return lines


def _line(cells: Sequence[str], widths: Sequence[int], between: str) -> str:
    name, *rest = cells
    padded = "  ".join(cell.ljust(width) for cell, width in zip(rest, widths[1:], strict=True))
    return f"{name.rjust(widths[0])}{between}{padded}".rstrip()


def _cells(config: Row) -> tuple[str, ...]:
    value = "" if config["value"] is None else config["value"]
    flags = ("true" if config[key] else "false" for key in ("sensitive", "read_only"))
    synonyms = ", ".join(
        f"{source_text(each['source'])}: {each['name']}={'' if each['value'] is None else each['value']}"
        for each in config["synonyms"]
    )
    return (config["name"], value, *flags, source_text(config["source"]), (config["type"] or "").lower(), synonyms)


def _without_markup(text: str) -> str:
    """Kafka's documentation, which contains HTML, without tags. Lists and paragraphs become one text."""
    from html import unescape

    inline = re.sub(r"</?(?:code|b|i|em|strong|tt|a)\b[^<>]{0,200}>", "", text)
    return " ".join(unescape(re.sub(r"</?[a-zA-Z][^<>]{0,200}>", " ", inline)).split())


def _number(value: float) -> str:
    """A quota, without a fraction if it is a whole number: ``1000``."""
    return str(int(value)) if value == value and abs(value) < 2**53 and value == int(value) else java_double(value)


def _title(entity: dict[str, str | None]) -> str:
    names = [
        f"{kind.upper().removesuffix('S')} {'(default)' if name is None else name}" for kind, name in entity.items()
    ]
    return f"CONFIGS FOR {', '.join(names)}"
