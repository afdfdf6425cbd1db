"""The aligned table of KIP-248 for described configuration: ``kafka-configs -o wide``.

A centred title per entity, then Name = Value, Sensitive, Read-only, Source; names to the right, values to the left,
empty values as empty cells.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_tools.output.kafka_text import java_double
from kafka_tools.output.rows import Row

HEADINGS = ("Name", "Value", "Sensitive", "Read-only", "Source")
QUOTA_SOURCES = {
    ("user", "client-id"): "Client of user",
    ("user", None): "Default client of user",
    (None, "client-id"): "Client of default user",
    (None, None): "Default client of default user",
}
"""(user, client) of a pair's quota, None for the default -> its source in KIP-248's words."""


def tables(rows: Sequence[Row]) -> str:
    """One titled table per entity (quotas and credentials of a user together), an empty line between."""
    entities: dict[tuple[tuple[str, str | None], ...], list[Row]] = {}
    for row in rows:
        entities.setdefault(tuple(row["entity"].items()), []).append(row)
    return "\n".join(_table(dict(entity), together) for entity, together in entities.items())


def source_text(source: str) -> str:
    """``DYNAMIC_TOPIC_CONFIG`` as the KIP writes it: ``Dynamic topic config``."""
    return source.replace("_", " ").capitalize()


def quota_source(entity: dict[str, str | None]) -> str:
    """Which level an entity's quota is of, in KIP-248's words."""
    if len(entity) == 2:
        user = None if entity["user"] is None else "user"
        client = None if entity["client-id"] is None else "client-id"
        return QUOTA_SOURCES[(user, client)]
    ((kind, name),) = entity.items()
    text = {"user": "user", "client-id": "client", "ip": "ip"}[kind]
    return f"Default {text}" if name is None else text.capitalize()


def _table(entity: dict[str, str | None], rows: Sequence[Row]) -> str:
    body = [cells for row in rows for cells in _body(row)]
    widths = [max(len(cells[at]) for cells in [HEADINGS, *body]) for at in range(len(HEADINGS))]
    lines = [_line(cells, widths, "   " if cells is HEADINGS else " = ") for cells in [HEADINGS, *body]]
    width = sum(widths) + 3 + 2 * 3
    return f"{_title(entity).center(width).rstrip()}\n" + "".join(f"{line}\n" for line in lines)


def _body(row: Row) -> list[tuple[str, ...]]:
    cells = [_cells(entry) for entry in row.get("configs", ())]
    if row["kind"] == "quota":
        source = quota_source(row["entity"])
        cells += [(name, _number(value), "false", "false", source) for name, value in row["quotas"].items()]
    for each in row.get("credentials", ()):
        cells.append((each["mechanism"], f"iterations={each['iterations']}", "true", "false", "User"))
    return cells


def _line(cells: Sequence[str], widths: Sequence[int], between: str) -> str:
    name, *rest = cells
    padded = "  ".join(cell.ljust(width) for cell, width in zip(rest, widths[1:], strict=True))
    return f"{name.rjust(widths[0])}{between}{padded}".rstrip()


def _cells(config: Row) -> tuple[str, ...]:
    value = "" if config["value"] is None else config["value"]
    flags = ("true" if config[key] else "false" for key in ("sensitive", "read_only"))
    return (config["name"], value, *flags, source_text(config["source"]))


def _number(value: float) -> str:
    """A quota without a fraction is shown without one: ``1000``."""
    return str(int(value)) if value == value and abs(value) < 2**53 and value == int(value) else java_double(value)


def _title(entity: dict[str, str | None]) -> str:
    names = [
        f"{kind.upper().removesuffix('S')} {'(default)' if name is None else name}" for kind, name in entity.items()
    ]
    return f"CONFIGS FOR {', '.join(names)}"
