"""Commands that are given files in which something is wrong: generated documents, by a seed, on a sound cluster.

A right document has its values, its text or its bytes changed: other types, numbers without end, NaN, keys that appear
twice, lists in lists, names that no topic has, halves of surrogate pairs, other encodings. Each command ends with an
exit status and a line that says why, and a document that it refuses has changed nothing.

``python -m tests.commands.hostile_documents --tries 20000 --seed 1`` prints what is otherwise.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from typing import Any

from tests.admin.virtual_cluster import VirtualCluster
from tests.commands.hostile_tries import CHANGES, FILES, Ended, ended, main

_MOVE = {"topic": "t", "partition": 0, "replicas": [2], "log_dirs": ["/e"]}
_OFFSET = {"topic": "t", "partition": 0, "offset": 5}
_CSV = "t,0,3\nu,1,4\n"
LINES: dict[str, Any] = {
    "kafka-reassign-partitions --execute --reassignment-json-file given": {"version": 1, "partitions": [_MOVE]},
    "kafka-reassign-partitions --execute --throttle 5000 --batch-size 1 --reassignment-json-file given": {
        "version": 1,
        "partitions": [_MOVE, _MOVE | {"partition": 1, "log_dirs": ["any"]}],
    },
    "kafka-reassign-partitions --verify --reassignment-json-file given": {"version": 1, "partitions": [_MOVE]},
    "kafka-reassign-partitions --cancel --reassignment-json-file given": {"version": 1, "partitions": [_MOVE]},
    "kafka-reassign-partitions --watch --reassignment-json-file given": {"version": 1, "partitions": [_MOVE]},
    "kafka-reassign-partitions --generate --topics-to-move-json-file given --broker-list 1,2": {
        "version": 1,
        "topics": [{"topic": "t"}, {"topic": "u"}],
    },
    "kafka-reassign-partitions --generate --topics-to-move-json-file given --strategy by-size": {
        "version": 1,
        "topics": [{"topic": "t"}],
    },
    "kafka-leader-election --election-type PREFERRED --path-to-json-file given": {
        "partitions": [{"topic": "t", "partition": 0}]
    },
    "kafka-delete-records --offset-json-file given": {"version": 1, "partitions": [_OFFSET]},
    "kafka-delete-records --offset-json-file given -o json": {"version": 1, "partitions": [_OFFSET]},
    "kafka-consumer-groups --reset-offsets --group g --from-file given --execute": _CSV,
    "kafka-consumer-groups --reset-offsets --group g --group h --from-file given --execute": "g,t,0,3\nh,u,1,4\n",
    "kafka-streams-groups --reset-offsets --group g --from-file given --execute": _CSV,
    "kafka-streams-application-reset --application-id g --input-topics t,u --from-file given": _CSV,
    "kafka-reassign-partitions --verify --reassignment-json-file there.json": "the record of throttles",
}
LEDGER = {
    "version": 1,
    "throttles": [
        {"type": "broker", "name": "1", "config": "leader.replication.throttled.rate", "value": "5", "before": "7"},
        {"type": "topic", "name": "t", "config": "leader.replication.throttled.replicas", "value": "0:1"},
    ],
}
NAMES = (
    "t", "", " ", ".", "..", "a/b", "t\0", "t\n", "\x1b[31m", "\ud800", "\udfff\ud800", "\u202e", "é" * 300,
    "x" * 40_000, "-", "any", "/", "//", "/e/../e", "e", "C:\\", "\ufeff", "__proto__", "NaN", "1", "\u0660",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2, 2**15, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, -(2**63), 10**50, 10**4299)
RAW = (
    "NaN", "-Infinity", "1e400", "-1e400", "1e-400", "1.0", "1E5", "-0", "0.0", "1e99999999999999999999", "01", "0x1",
    "1" * 5_000, "[" * 3_000 + "]" * 3_000, '{"a":' * 3_000 + "1" + "}" * 3_000, '"\\ud800"', '"\\u0000"', "tru", "",
    '"' + "\\u202e" * 9 + '"', "/**/1", "'t'", "1,", '{"topic":"t","topic":"t"}', '{"":null,"":null}', '"\n"', "\x00",
)  # fmt: skip
"""Texts in the place of a value, JSON or not."""
_MARK = "\N{SNOWMAN}"


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found = [(value, key) for key in keys]
    return found + [place for key in keys for place in _places(value[key])]


def warped(chance: random.Random, document: Any) -> Any:
    """A document with one to three changes: values of other types, keys that go, entries again and again."""
    document = copy.deepcopy(document)
    for _ in range(chance.choice([1, 1, 2, 3])):
        owner, key = chance.choice(_places(document) or [({"": 0}, "")])
        held = owner[key]
        way = chance.randrange(6)
        if way == 0 and isinstance(owner, dict):
            del owner[key]
        elif way == 1 and isinstance(held, list):
            owner[key] = chance.choice([[], held * 2, held * 300, [held], [*held, None]])
        elif way == 2:
            owner[key] = chance.choice([None, True, False, [], {}, [[]], {"topic": "t"}, 1, "x"])
        elif way == 3:
            owner[key] = chance.choice(NUMBERS)
        else:
            owner[key] = chance.choice(NAMES)
    return document


def text_of(chance: random.Random, document: Any) -> bytes:
    """A document as bytes, with or without something that is wrong in them."""
    if isinstance(document, str):
        text = document
        for _ in range(chance.choice([1, 1, 2, 4])):
            at = chance.randrange(len(text) + 1)
            piece = chance.choice(
                [*NAMES, *map(str, NUMBERS), *RAW, '"', ",", "\n", "\r", "\r\n", ",,", '"a,b"', "t,0,3\n"]
            )
            text = text[:at] + piece + text[at + chance.choice([0, 1, 3]) :]
    else:
        way = chance.randrange(4)
        changed = warped(chance, document) if way < 3 else copy.deepcopy(document)
        raw = None
        if way in (2, 3) and (places := _places(changed)):
            owner, key = chance.choice(places)
            owner[key] = _MARK
            raw = chance.choice(RAW)
        text = json.dumps(changed, ensure_ascii=chance.random() < 0.5, allow_nan=True)
        if raw is not None:
            text = text.replace(json.dumps(_MARK), raw).replace(f'"{_MARK}"', raw)
    encoding = chance.choice(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-32", "latin-1"])
    data = bytearray(text.encode(encoding, "surrogatepass" if encoding != "latin-1" else "replace"))
    if chance.random() < 0.2 and data:
        at = chance.randrange(len(data))
        change = chance.choice([b"", b"\xff", b"\0", b"\xed\xa0\x80", b"}", b'"', b"\\"])
        data[at : at + chance.choice([0, 1, len(data)])] = change
    return bytes(data)


def attempt(seed: str, line: str | None = None) -> Ended:
    """One try: which command line, unless it is given, and what the document holds, the seed says."""
    chance = random.Random(seed)
    chosen = chance.choice(list(LINES))
    line = line or chosen
    files: dict[str, str | bytes] = dict(FILES)
    cluster = VirtualCluster()
    if LINES[line] == "the record of throttles":
        files["kafka-tools/throttles/virtual.json"] = text_of(chance, LEDGER)
    else:
        files["given"] = text_of(chance, LINES[line])
    tried = ended(line, cluster, files, on_terminal=chance.random() < 0.3)
    changes = {type(request).__name__ for _, _, request, _ in cluster.log if CHANGES.search(type(request).__name__)}
    first = tried.err.split("\n")[0]
    if not tried.complaint and tried.status == 1 and changes and ": given" in first:
        return tried._replace(complaint=f"refused, after {', '.join(sorted(changes))}")
    return tried


if __name__ == "__main__":
    sys.exit(main("hostile_documents", __doc__, attempt))
