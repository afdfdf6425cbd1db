"""Questions made from a seed: options of each command put together at random, right and wrong ones."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.against_kafka.compare_commands.line import Line

_TOPICS = (
    "", "--topic cmp-topic", "--topic cmp-moved", "--topic cmp-.*", "--topic cmp-topic,cmp-moved", "--topic no.such",
    "--topic 'cmp-(topic|moved)'",
)  # fmt: skip
_OF_GROUPS = ("--group cmp-group", "--group cmp-group", "--group cmp-none", "--group cmp-group --group cmp-none", "")
_SCOPES = ("", "--topic cmp-topic", "--topic cmp-topic:1", "--topic cmp-topic:0,2", "--topic cmp-topic:9",
           "--topic cmp-moved", "--all-topics", "--topic cmp-topic --topic cmp-moved")  # fmt: skip
_TARGETS = (
    "--to-earliest", "--to-latest", "--to-current", "--to-offset 4", "--to-offset 0", "--to-offset 77777",
    "--shift-by 3", "--shift-by -1", "--shift-by -99", "--to-datetime 2021-05-01T10:00:00.000",
    "--to-datetime 2021-05-01T10:00:00.000Z", "--by-duration PT5M", "--by-duration P2D", "--from-file {csv}", "",
    "--to-earliest --to-latest",
)  # fmt: skip

SHAPES: dict[str, Sequence[Sequence[str]]] = {
    "topics --list": (_TOPICS, ("", "", "--exclude-internal"), ("", "", "", "--if-exists", "--topics-with-overrides")),
    "topics --describe": (
        _TOPICS,
        ("", "", "--exclude-internal"),
        ("", "", "--under-replicated-partitions", "--unavailable-partitions", "--at-min-isr-partitions",
         "--under-min-isr-partitions", "--topics-with-overrides"),
        ("", "", "", "--if-exists", "--partitions 3", "--replication-factor 1"),
    ),
    "get-offsets": (
        _TOPICS,
        ("", "", "", "--partitions 0", "--partitions 1,2", "--partitions 0,99", "--partitions one"),
        ("", "--time -1", "--time -2", "--time -3", "--time earliest", "--time latest", "--time max-timestamp",
         "--time 0", "--time 1700000000000", "--time 4102444800000", "--time soon"),
        ("", "", "", "--exclude-internal-topics", "--topic-partitions cmp-topic:0-1"),
    ),
    "consumer-groups --describe": (
        (*_OF_GROUPS, "--all-groups"),
        ("", "--offsets", "--members", "--state", "--members --state"),
        ("", "", "--verbose", "--timeout 20000"),
    ),
    "consumer-groups --list": (
        ("", "--state", "--state Empty", "--state empty,dead", "--state Asleep"),
        ("", "--type", "--type classic", "--type consumer,classic", "--type none"),
    ),
    "consumer-groups --reset-offsets": (_OF_GROUPS, _SCOPES, _TARGETS, ("--dry-run", "--dry-run", "", "--export")),
    "log-dirs --describe": (
        ("", "--topic-list cmp-topic", "--topic-list cmp-moved,cmp-topic", "--topic-list cmp-none"),
        ("", "--broker-list 1", "--broker-list {all}", "--broker-list 77", "--broker-list a"),
    ),
    "leader-election": (
        ("--election-type PREFERRED", "--election-type unclean", "--election-type PREFERRED", ""),
        ("--topic cmp-topic --partition 0", "--topic cmp-topic --partition 9", "--topic cmp-none --partition 0",
         "--path-to-json-file {elected}", "--path-to-json-file {elected_nowhere}", "--path-to-json-file {not_json}",
         "--topic cmp-topic", ""),
    ),
    "groups --list": (
        ("", "", "--group-type classic", "--group-type consumer", "--group-type share", "--group-type none"),
        ("", "", "--protocol consumer", "--protocol none", "--consumer", "--share", "--streams"),
    ),
    "transactions --command-config {quick} list": (
        ("", "--duration-filter 0", "--duration-filter 99999", "--duration-filter x"),
    ),
    "transactions --command-config {quick} describe-producers": (
        ("--topic cmp-topic", "--topic cmp-moved", "--topic cmp-none", ""),
        ("--partition 0", "--partition 9", ""),
        ("", "--broker-id 1"),
    ),
    "transactions --command-config {quick} find-hanging": (
        ("", "--topic cmp-topic", "--topic cmp-none", "--broker-id 1"),
        ("", "--partition 1"),
        ("", "--max-transaction-timeout 3"),
    ),
    "reassign-partitions": (
        ("--verify", "--verify", "--list", "--cancel", ""),
        ("--reassignment-json-file {back}", "--reassignment-json-file {none}", "--reassignment-json-file {not_json}",
         "--reassignment-json-file {version_2}", "--reassignment-json-file {moved_more_dirs}", ""),
        ("", "", "--preserve-throttles", "--throttle 5"),
    ),
    "streams-application-reset": (
        ("--application-id cmp-group", "--application-id cmp-none"),
        ("--input-topics cmp-topic", "--input-topics cmp-topic,cmp-moved", "--input-topics cmp-none", ""),
        tuple(each for each in _TARGETS if each not in ("--to-current", "--from-file {csv}")),
        ("--dry-run",),
    ),
}  # fmt: skip
"""What each question begins with, and from which alternatives it goes on."""


def questions(seed: int, count: int) -> list[Line]:
    """So many questions, the same for the same seed."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        head = chance.choice(list(SHAPES))
        words = [head, *(chance.choice(alternatives) for alternatives in SHAPES[head])]
        if "--from-file {csv}" in words:  # with topics ours takes these of the file, and Kafka's tool all of it
            words = [word for word in words if not word.startswith("--topic")]
        found.append(Line(" ".join(word for word in words if word)))
    return found
