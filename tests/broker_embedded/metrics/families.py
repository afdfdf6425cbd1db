"""Families of beans: names whose tags have any value, as in the list of a real broker (``kafka_beans.json``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

LIST = Path(__file__).with_name("kafka_beans.json")
_TAGS = (
    "topic|partition|request|version|error|networkProcessor|listener|client-id|user|clientSoftwareName|"
    "clientSoftwareVersion|logDirectory|processor|BrokerId|broker|id"
)
_TAG = re.compile(rf'(,(?:{_TAGS}))=("[^"]*"|[^,]*)')


def family(name: str) -> str:
    """The name of a bean with a star for each value that depends on the cluster."""
    return _TAG.sub(r"\1=*", name)


def families(beans: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Family -> its attributes, of beans with their attributes."""
    found: dict[str, set[str]] = {}
    for name, attributes in beans.items():
        found.setdefault(family(name), set()).update(attributes)
    return found


def of_kafka() -> dict[str, set[str]]:
    """The families of a real broker, from the list."""
    listed = json.loads(LIST.read_text(encoding="utf-8"))
    return {name: set(attributes) for name, attributes in listed["families"].items()}


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern of ``ABSENT`` matches: ``*`` is any text, ``\\*`` a star."""
    parts = [".*" if part == "*" else re.escape(part.removeprefix("\\")) for part in re.split(r"(\\\*|\*)", pattern)]
    return re.fullmatch("".join(parts), text) is not None
