"""What a release of Kafka says of itself: its jars, asked by ``java/ReleaseFacts.java``, and their JSON files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from functools import cache
from typing import Any, NamedTuple

from tests.against_kafka.jars import ENVIRONMENT, class_path, java, program
from tests.against_kafka.kafka_classes import generated

_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


class Facts(NamedTuple):
    """One release, such as "4.4.0"."""

    release: str
    schemas: dict[str, dict[str, Any]]
    """Message -> its API key (-1: none) and its layout in each version, as ``tests/corpus/wire-schemas`` has them."""
    errors: list[tuple[int, str, bool, bool, str]]
    """(code, name, retriable, refreshes metadata, Kafka's sentence), by code."""
    apis: list[dict[str, Any]]
    """key, name, oldest, newest, newest_is_unstable, the listeners that serve it, and the versions after whose answer a
    throttled client waits (None where the release no longer has the classes of an API)."""
    features: dict[str, Any]
    configs: dict[str, dict[str, dict[str, Any]]]
    """Kind -> name -> type, default, valid, internal."""
    dynamic: dict[str, Any]
    """The sets of configs that change while a broker runs, and the synonyms of topic configs."""

    @property
    def minor(self) -> str:
        """ "4.4" of "4.4.0"."""
        return self.release.rpartition(".")[0]


@cache
def of(release: str) -> Facts:
    """Ask a release, whose jars Maven fetches if they are not here. Raises Unavailable."""
    jars = [*class_path(release), program("ReleaseFacts", release)]
    names = {full for name, full in generated(class_path(release)).items() if not name.endswith("JsonConverter")}
    command = [java(), "-cp", os.pathsep.join(map(str, jars)), "ReleaseFacts", *sorted(names)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300, env=ENVIRONMENT)
    if done.returncode:
        raise SystemExit(f"ReleaseFacts could not read Kafka {release}:\n{done.stderr.decode()[-3000:]}")
    found = json.loads(done.stdout)
    errors = [tuple(row) for row in found.pop("errors")]
    return Facts(release, errors=errors, **found)


@cache
def meanings(release: str) -> dict[str, dict[str, str]]:
    """Message -> field (Kafka's spelling) -> what the release's message definitions say of it."""
    found: dict[str, dict[str, str]] = {}
    for jar in class_path(release):
        if not jar.name.startswith("kafka"):
            continue
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if re.search(r"message/\w+\.json$", entry):
                    definition = json.loads(_COMMENT.sub("", archive.read(entry).decode()))
                    fields: dict[str, str] = {}
                    for part in (definition, *definition.get("commonStructs", ())):
                        _collect(part.get("fields", ()), fields)
                    found[definition["name"]] = fields
    return found


def _collect(fields: Any, into: dict[str, str]) -> None:
    for field in fields:
        into.setdefault(field["name"], field.get("about", ""))
        _collect(field.get("fields", ()), into)
