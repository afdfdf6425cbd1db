"""What a person has to decide about a release, each with its place: ``python -m tests.releases.decisions 4.4.0``.

Run by ``python -m tests.regen release`` after it wrote what is mechanical.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Iterator

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


def of_all(said: Facts) -> Iterator[Decision]:
    """All of them, in the order in which to work."""
    yield from of_messages(said)
    yield from of_apis(said)
    yield from of_error_replies(said)
    yield from of_errors(said)
    yield from of_configs(said)
    yield from of_options(said)
    if tables.is_newest(said):
        yield from of_texts(said)


def of_messages(said: Facts) -> Iterator[Decision]:
    """Structs and versions that our definitions lack or have otherwise."""
    for name, row in said.schemas.items():
        if name in NEVER_RELEASED:
            continue
        try:
            cls = class_of(name)
        except (StopIteration, KeyError):
            yield _place(name, row["api_key"]), f"new: {name}, versions {', '.join(row['versions'])}"
            yield from ((_place(name, row["api_key"]), each) for each in _meanings(said, name, row))
            continue
        for text, schema in row["versions"].items():
            version = int(text)
            place = cls.__module__.replace(".", "/") + ".py"
            if version == getattr(cls, "ID", None) and name.endswith("Key"):
                continue  # before 4.0 the type of a key counted as its version
            if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
                yield place, f"{name} has a version {version}; {_difference(said, name, cls, schema)}"
            elif tables.is_newest(said) and normalised(layout(cls, version, version in cls.FLEXIBLE)) != normalised(
                schema
            ):
                yield place, f"{name} v{version} has another layout; {_difference(said, name, cls, schema)}"


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
    yield from (f"    {_meaning(said, name, field)}" for field in fields)


def _meaning(said: Facts, name: str, field: str) -> str:
    """A field with what Kafka says of it; a person says it in our words, or finds that its name does."""
    spelled = "".join(part.capitalize() for part in field.split("_"))
    about = facts.meanings(said.release).get(name.removesuffix("Data"), {}).get(spelled, "")
    return f"{field} ({about})" if about else field


def of_apis(said: Facts) -> Iterator[Decision]:
    """Facts of an API that its definition lacks, or has otherwise."""
    for api in said.apis:
        row = registry.find_row(api["key"])
        if row is None:
            continue  # it is new, and listed with its messages
        response = registry.api(row.key).response
        place = response.__module__.replace(".", "/") + ".py"
        yield from ((place, f"{row.name}: {each}") for each in rights_at_odds(row.stem))
        if not tables.is_newest(said):
            continue  # an old release does not say what clients do today, nor what a later one has dropped
        if api["oldest"] != row.oldest_since_4 and "BROKER" in api["listeners"] and row.stem != "produce":
            # Brokers go on advertising Produce from 0.
            yield place, f"{row.name}: Kafka's oldest version is v{api['oldest']}, `dropped` says v{row.oldest_since_4}"
        if api["throttles"] is None:
            continue  # without classes
        versions = range(api["oldest"], api["newest"] + 1)
        if api["throttles"] != [version for version in versions if version in response.THROTTLES]:
            yield place, f"{row.name}: Kafka's client waits after a throttled answer of {_listed(api['throttles'])}"


def of_error_replies(said: Facts) -> Iterator[Decision]:
    """APIs whose answer to a request that fails as a whole has another shape than that of Kafka's classes."""
    if tables.is_newest(said):
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
    if not tables.is_newest(said):
        return
    read = broker_configs.read()
    for kind in ("broker", "topic"):
        for name in said.configs[kind]:
            if name not in read and broker_configs.reason(name) is None:
                yield "tests/broker_configs.py", f"{kind} config {name}: obey it in the broker, or give the reason"
    for kind in ("admin", "producer", "consumer"):
        for name in sorted(set(said.configs[kind]) - client.KNOWN):
            yield "kafka_tools/config_definitions/client.py", f"{kind} config {name}: obey it, or list it as known"


def of_options(said: Facts) -> Iterator[Decision]:
    for command, option in unknown_options(said.release):
        yield f"the command {command}", f"option {option} of {said.release}'s tool is unknown"
    for command, mains in TOOLS.items():
        if tables.is_newest(said) and not options_listed(said.release, mains):
            yield "tests/against_kafka/test_options.py", f"{command}: {said.release} has none of {', '.join(mains)}"


def of_texts(said: Facts) -> Iterator[Decision]:
    """Lines of help pages that are new since the release before, tool by tool."""
    before = max((each for each in VERSIONS if tables.number(each) < tables.number(said.release)), key=tables.number)
    for command, mains in TOOLS.items():
        lines = list(difflib.ndiff(_words(help_pages(before, mains)), _words(help_pages(said.release, mains))))
        changed = [line for line in lines if line[0] in "+-"]
        if changed:
            yield f"the help of {command}", f"{len(changed)} sentences differ from {before}'s:"
            yield from ((f"the help of {command}", f"    {line}") for line in changed)


def _words(pages: list[str]) -> list[str]:
    """Sentences of help pages, whatever the width of their columns."""
    text = re.sub(r"(?<=\w-) (?=[a-z])", "", " ".join(" ".join(pages).split()))
    return [each.strip() for each in re.split(r"(?<=[.:])\s|(?=\s--\w)", text) if each.strip()]


def main(release: str) -> int:
    """Print them, and how many they are."""
    registry.rows()
    found = list(of_all(facts.of(release)))
    for place, text in found:
        print(f"{place}: {text}")
    print(f"{len(found)} to decide" if found else "nothing to decide")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
