"""What our answer "this error, for all you asked" is, and what Kafka's classes make of the same request."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple

from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.codec import decode, encode
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.schema import Request, Struct
from tests.against_kafka.jars import ENVIRONMENT
from tests.against_kafka.java_programs import compiled
from tests.protocol import generate
from tests.releases.facts import Facts

CODE = error_codes.TOPIC_AUTHORIZATION_FAILED
SEEDS = range(6)

DIFFERENT_ON_PURPOSE = {
    "AlterUserScramCredentials": "Kafka's order is that of a hash set",
    "CreateDelegationToken": "Kafka's handler names the principals, its class says User:ANONYMOUS",
    "DescribeLogDirs": "before v3 Kafka's class tells no error at all",
    "DescribeUserScramCredentials": "Kafka's class leaves out whose error it is",
    "JoinGroup": "Kafka's coordinator repeats the member id in its refusals, its class does not",
    "Metadata": "Kafka's class has an empty name where the request has none, which null says as well",
    "Produce": "Kafka collects topics by their partitions, and so loses those without any, and the order",
    "WriteTxnMarkers": "Kafka collects topics by their partitions, and so loses those without any, and the order",
}
"""API -> why its answers are compared without what ``_comparable`` takes out."""

_UNORDERED = ("AlterUserScramCredentials", "Produce", "WriteTxnMarkers")


class Difference(NamedTuple):
    """A request of an API whose two answers are not the same."""

    stem: str
    version: int
    request: Request
    ours: Struct
    kafkas: Struct

    def where(self) -> str:
        """The first field that differs, with both values: ``topics.partitions.offset is 0, Kafka's -1``."""
        name = registry.row_by_stem(self.stem).name
        path, ours, kafkas = [], *(_comparable(name, self.version, each) for each in (self.ours, self.kafkas))
        while type(ours) is type(kafkas) and isinstance(ours, dict | list) and len(ours) == len(kafkas):
            keys = ours if isinstance(ours, dict) else range(len(ours))
            key = next(key for key in keys if ours[key] != kafkas[key])
            path += [key] if isinstance(ours, dict) else []
            ours, kafkas = ours[key], kafkas[key]
        return f"{'.'.join(path)} is {ours!r:.60}, Kafka's {kafkas!r:.60}"


def compared(said: Facts) -> tuple[int, list[Difference]]:
    """(requests that both answered, the first difference of each API and version), in all versions of the release."""
    cases = list(_cases(said))
    lines = "".join(
        f"{request.API_KEY} {version} {CODE} {encode(request, version).hex()}\n" for version, request in cases
    )
    command = compiled("ErrorReplies", said.release)
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, timeout=300, env=ENVIRONMENT, check=True
    )
    count, found = 0, {}
    for (version, request), answer in zip(cases, done.stdout.splitlines(), strict=True):
        if answer.startswith("none"):  # Kafka's class refuses to be made of it, or it has no answer
            continue
        api = registry.api(request.API_KEY)
        ours = decode(api.response, version, encode(error_reply(request, version, CODE, "no"), version))
        kafkas = decode(api.response, version, bytes.fromhex(answer))
        count += 1
        if _comparable(api.name, version, ours) != _comparable(api.name, version, kafkas):
            found.setdefault((api.stem, version), Difference(api.stem, version, request, ours, kafkas))
    return count, list(found.values())


def _cases(said: Facts) -> Iterator[tuple[int, Any]]:
    for api in said.apis:
        row = registry.find_row(api["key"])
        if row is None:
            continue
        message = registry.api(row.key).request
        for version in range(api["oldest"], min(api["newest"], row.max_version) + 1):
            for request in (*(generate.message(message, version, seed) for seed in SEEDS),
                            *generate.edge_messages(message, version)):  # fmt: skip
                yield version, request


def _comparable(name: str, version: int, item: Any) -> Any:
    """An answer as plain values, without texts and without what differs on purpose."""
    if isinstance(item, list):
        values = [_comparable(name, version, entry) for entry in item]
        if name in ("Produce", "WriteTxnMarkers"):
            values = [value for value in values if not isinstance(value, dict) or [] not in _partitions(value)]
        return sorted(values, key=repr) if name in _UNORDERED else values
    if not isinstance(item, Struct):
        return item
    left_out = {
        "CreateDelegationToken": ("principal_type", "principal_name", "token_requester_principal_type",
                                  "token_requester_principal_name"),
        "DescribeLogDirs": ("results",) if version < 3 else (),
        "DescribeUserScramCredentials": ("user",),
        "JoinGroup": ("member_id",),
    }.get(name, ())  # fmt: skip
    values = {
        field.name: _comparable(name, version, getattr(item, field.name))
        for field in item.FIELDS
        if field.name != "error_message" and field.name not in left_out
    }
    if name == "Metadata" and "name" in values:
        values["name"] = values["name"] or ""
    return values


def _partitions(value: dict[str, Any]) -> list[Any]:
    return [value[name] for name in ("partitions", "partition_responses") if name in value]
