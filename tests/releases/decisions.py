"""What a person has to decide about a release, each with its place: ``python -m tests.releases.decisions 4.4.0``.

Run by ``python -m tests.regen release`` after it wrote what is mechanical.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import kafka_tools
from kafka_tools.config_definitions import client
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.schema import Message
from tests import broker_configs
from tests.against_kafka.jars import VERSIONS
from tests.against_kafka.test_options import TOOLS, help_pages, options_listed, unknown_options
from tests.protocol.test_definitions import NEVER_RELEASED, class_of, layout, normalised
from tests.protocol.test_definitions_teach import rights_at_odds
from tests.releases import error_replies, facts, tables
from tests.releases.facts import Facts

Decision = tuple[str, str]
"""(place, what is to be decided there)."""

_LOGGED = re.compile(r"\S+Z main (?:ERROR|WARN) ")


def of_messages(said: Facts) -> Iterator[Decision]:
    """Structs and versions that our definitions lack."""
    for name, row in said.schemas.items():
        if name in NEVER_RELEASED:
            continue
        cls = _class_of(name)
        if cls is None:
            meanings = "".join(f"\n    {each}" for each in _meanings(said, name, row))
            yield _place(name, row["api_key"]), f"new: {name}, versions {', '.join(row['versions'])}{meanings}"
            continue
        for version, schema in _versions(cls, name, row):
            if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
                yield _module(cls), f"{name} has a version {version}; {_difference(said, name, cls, schema)}"


def of_layouts(said: Facts) -> Iterator[Decision]:
    """Versions that our definitions have otherwise."""
    for name, row in said.schemas.items():
        cls = _class_of(name)
        for version, schema in _versions(cls, name, row) if cls is not None else ():
            if cls.MIN_VERSION <= version <= cls.MAX_VERSION:
                ours = layout(cls, version, version in cls.FLEXIBLE)
                if normalised(ours) != normalised(schema):
                    difference = _difference(said, name, cls, schema)
                    yield _module(cls), f"{name} v{version} has another layout; {difference}"


def _class_of(name: str) -> type[Message] | None:
    try:
        return class_of(name)
    except (StopIteration, KeyError):
        return None


def _versions(cls: type[Message], name: str, row: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """(version, layout) of a message; before 4.0 the type of a key counted as its version."""
    for text, schema in row["versions"].items():
        if not (int(text) == getattr(cls, "ID", None) and name.endswith("Key")):
            yield int(text), schema


def _module(cls: type[Message]) -> str:
    return cls.__module__.replace(".", "/") + ".py"


def _place(name: str, api_key: int) -> str:
    if not name.endswith(("RequestData", "ResponseData")):
        return "kafka_tools/protocol/stored/"
    stem = re.sub(r"(?<!^)(?=[A-Z])", "_", re.sub(r"(Request|Response)Data$", "", name)).lower()
    return f"kafka_tools/protocol/messages/{stem}.py (key {api_key})"


def _names(schema: object) -> set[str]:
    """The names of all fields of a layout, however deep."""
    if isinstance(schema, list):
        return {name for each in schema for name in _names(each)}
    if isinstance(schema, dict):
        own = {schema["name"]} if "name" in schema else set()
        return own | {name for each in schema.values() for name in _names(each)}
    return set()


def _difference(said: Facts, name: str, cls: type[Message], schema: object) -> str:
    ours = _names(layout(cls, cls.MAX_VERSION, cls.MAX_VERSION in cls.FLEXIBLE))
    new = sorted(_names(schema) - ours - {"_tagged_fields"})
    if not new:
        return "its fields have names that are known: types, tags and nullability differ"
    return "new fields: " + "; ".join(_meaning(said, name, field) for field in new)


def _meanings(said: Facts, name: str, row: dict[str, dict[str, object]]) -> Iterator[str]:
    fields = sorted(_names(list(row["versions"].values())) - {"_tagged_fields"})
    yield from (_meaning(said, name, field) for field in fields)


def _meaning(said: Facts, name: str, field: str) -> str:
    """A field with what Kafka says of it; a person says it in our words, or finds that its name does."""
    spelled = "".join(part.capitalize() for part in field.split("_"))
    about = facts.meanings(said.release).get(name.removesuffix("Data"), {}).get(spelled, "")
    return f"{field} ({about})" if about else field


def of_rights(said: Facts) -> Iterator[Decision]:
    """Rights that an API's errors speak of and its definition does not."""
    for api in said.apis:
        row = registry.find_row(api["key"])
        if row is not None:  # else it is new, and listed with its messages
            yield from (
                (_module(registry.api(row.key).response), f"{row.name}: {each}") for each in rights_at_odds(row.stem)
            )


def of_versions(said: Facts) -> Iterator[Decision]:
    """Versions that brokers have dropped, and those after whose answer a throttled client waits."""
    for api in said.apis:
        row = registry.find_row(api["key"])
        if row is None:
            continue
        place = _module(registry.api(row.key).response)
        if api["oldest"] != row.oldest_since_4 and "BROKER" in api["listeners"] and row.stem != "produce":
            # Brokers go on advertising Produce from 0.
            yield place, f"{row.name}: Kafka's oldest version is v{api['oldest']}, `dropped` says v{row.oldest_since_4}"
        if api["throttles"] is None:
            continue  # without classes
        versions = range(api["oldest"], api["newest"] + 1)
        if api["throttles"] != [version for version in versions if version in registry.api(row.key).response.THROTTLES]:
            yield place, f"{row.name}: Kafka's client waits after a throttled answer of {_listed(api['throttles'])}"


def of_error_replies(said: Facts) -> Iterator[Decision]:
    """APIs whose answer to a request that fails as a whole has another shape than that of Kafka's classes."""
    for found in error_replies.compared(said)[1]:
        place = f"kafka_tools/protocol/messages/{found.stem}.py"
        what = f"an error of the whole request, v{found.version}: {found.where()}"
        yield place, f"{what}; say it by `on_error`, `echoed` or `answers`"


def _listed(versions: Iterable[int]) -> str:
    return ", ".join(f"v{version}" for version in versions) or "no version"


def of_errors(said: Facts) -> Iterator[Decision]:
    """Codes whose sentence is still Kafka's."""
    for code, name, *_, sentence in said.errors:
        if code > 0 and error_codes.error(code).text == sentence:
            yield "kafka_tools/protocol/error_codes.py", f"{code} {name}: write our sentence; Kafka's is '{sentence}'"


def of_configs(said: Facts) -> Iterator[Decision]:
    """Configs that nothing reads."""
    read = broker_configs.read()
    for kind in ("broker", "topic"):
        for name in said.configs[kind]:
            if name not in read and broker_configs.reason(name) is None:
                yield "tests/broker_configs.py", f"{kind} config {name}: obey it in the broker, or give the reason"
    for kind in ("admin", "producer", "consumer"):
        for name in sorted(set(said.configs[kind]) - client.KNOWN):
            yield "kafka_tools/config_definitions/client.py", f"{kind} config {name}: obey it, or list it as known"


def of_options(said: Facts) -> Iterator[Decision]:
    """Options of Kafka's tools that our commands neither have nor explain."""
    for command, option in unknown_options(said.release):
        yield f"the command {command}", f"option {option} of {said.release}'s tool is unknown"


def of_tools(said: Facts) -> Iterator[Decision]:
    """Tools whose main class has moved, so that none of their options was seen."""
    for command, mains in TOOLS.items():
        if not options_listed(said.release, mains):
            yield "tests/against_kafka/test_options.py", f"{command}: {said.release} has none of {', '.join(mains)}"


def of_texts(said: Facts) -> Iterator[Decision]:
    """Lines of help pages that are new since the release before, tool by tool."""
    before = _before(said.release)
    for command, mains in TOOLS.items():
        lines = list(difflib.ndiff(_words(help_pages(before, mains)), _words(help_pages(said.release, mains))))
        changed = [line for line in lines if line[0] in "+-"]
        if changed:
            listed = "".join(f"\n    {line}" for line in changed)
            yield f"the help of {command}", f"{len(changed)} sentences differ from {before}'s:{listed}"


def _before(release: str) -> str:
    """The release that help pages are compared with."""
    return max((each for each in VERSIONS if tables.number(each) < tables.number(release)), key=tables.number)


def _words(pages: list[str]) -> list[str]:
    """Sentences of help pages, whatever the width of their columns, without what a tool logs (at another time)."""
    lines = (line for page in pages for line in page.splitlines() if not _LOGGED.match(line))
    text = re.sub(r"(?<=\w-) (?=[a-z])", "", " ".join(" ".join(lines).split()))
    return [each.strip() for each in re.split(r"(?<=[.:])\s|(?=\s--\w)", text) if each.strip()]


class Question(NamedTuple):
    """Something that is asked about a release."""

    what: str
    decisions: Callable[[Facts], Iterator[Decision]]
    of_each_release: bool = False
    """Whether it makes sense for releases older than the one that the product follows."""


QUESTIONS = (
    Question("messages and their versions", of_messages, of_each_release=True),
    Question("layouts of versions that are defined already", of_layouts),
    Question("rights that a request takes", of_rights, of_each_release=True),
    Question("dropped and throttled versions", of_versions),
    Question("answers that are errors", of_error_replies),
    Question("sentences of error codes", of_errors, of_each_release=True),
    Question("configs that nothing reads", of_configs),
    Question("options of commands", of_options, of_each_release=True),
    Question("main classes of tools", of_tools),
)
"""In the order in which to work."""

TEXTS = Question("sentences of help pages", of_texts)
"""Listed each time, for a person to compare: ours are in our own words."""


def main(release: str) -> int:
    """Print what was asked, what is to be decided, and how much that is."""
    said = facts.of(release)
    newest = tables.is_newest(said)
    count = 0
    for question in (*QUESTIONS, TEXTS):
        if not (newest or question.of_each_release):
            print(f"not asked: {question.what} (only about {kafka_tools.KAFKA_RELEASE})")
            continue
        found = list(question.decisions(said))
        print(f"asked: {question.what}: {len(found) or 'nothing'} to {'read' if question is TEXTS else 'decide'}")
        for place, text in found:
            print(f"  {place}: {text}")
        count += len(found) if question is not TEXTS else 0
    print(f"{count} to decide" if count else "nothing to decide")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
