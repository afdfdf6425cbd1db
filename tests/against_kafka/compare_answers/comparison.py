"""Asking both brokers the same, and gathering what differs."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_tools.protocol import registry
from kafka_tools.protocol.messages.create_topics import CreateTopicsRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.schema import Message
from tests.against_kafka.compare_answers import (  # noqa: F401 - they register recipes
    right_others,
    right_topics,
    right_transactions,
)
from tests.against_kafka.compare_answers.accepted import reason_for, unforeseen
from tests.against_kafka.compare_answers.answers import Flat, differences, flat, without_items
from tests.against_kafka.compare_answers.brokers import Peer
from tests.against_kafka.compare_answers.cases import RECIPES, Case, Pools, case_of
from tests.against_kafka.compare_answers.world import GROUPS, Ask, all_topics, ask, delete, settle, topic_is_ready
from tests.against_kafka.compare_answers.wrong import made_wrong

_STATE_WAIT_S = 8.0
"""How long the answers about the state may differ: a KRaft broker learns of changes a moment later."""
NOT_YET = {3, 5, 6, 14, 15, 16, 100}
"""Codes of a broker that has not heard of a new topic, or has not loaded its groups."""
_ANY_VERSION = 9


APPENDED_APART_S = 0.003
"""What comes before a question is not appended in the same millisecond as it: which of two records with the same
append time is the newest depends on that."""


class Difference(NamedTuple):
    """``where``: the API that was asked, "then" and the API that showed it if it showed in the state."""

    where: str
    path: str
    theirs: str
    ours: str


@dataclass
class Report:
    """What was asked and what came of it."""

    asked: Counter[tuple[str, int]] = field(default_factory=Counter)
    equal: int = 0
    unequal: Counter[Difference] = field(default_factory=Counter)
    examples: dict[Difference, str] = field(default_factory=dict)
    accepted: Counter[str] = field(default_factory=Counter)
    codes: Counter[tuple[str, int]] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(self.asked.values())

    def lines(self) -> Iterator[str]:
        yield f"{self.total} requests, {self.equal} answered alike, {sum(self.unequal.values())} differences"
        for difference, count in sorted(self.unequal.items()):
            yield f"{count:5} {difference.where} {difference.path or '(whole answer)'}"
            yield f"      kafka {difference.theirs}"
            yield f"      ours  {difference.ours}"
            yield f"      e.g.  {self.examples[difference]}"
        for reason, count in sorted(self.accepted.items()):
            yield f"{count:5} accepted: {reason}"


class Comparison:
    """Runs cases of the APIs and versions that both serve."""

    def __init__(self, theirs: Peer, ours: Peer, seed: int) -> None:
        self._peers = (theirs, ours)
        self._rng = random.Random(seed)
        self._pools = Pools(self._rng)
        self.report = Report()
        self.progress: Callable[[str], None] | None = None
        served = [peer.versions() for peer in self._peers]
        self.served = {
            registry.row_by_key(key).stem: (max(low, served[0][key][0]), min(high, served[0][key][1]))
            for key, (low, high) in served[1].items()
            if key in served[0]
        }
        # Kafka 4 names Produce from v0 on for old clients' sake, and closes the connection for v0 to v2 (KAFKA-18659).
        self.served["produce"] = (3, self.served["produce"][1])
        missing = self.served.keys() - RECIPES.keys()
        assert not missing, f"no recipes for {sorted(missing)}"

    def run(self, requests: int, only: Iterable[str] = ()) -> Report:
        """Ask ``requests`` questions: every version of every API in turn, the second half of them made wrong."""
        pairs = [
            (stem, version)
            for stem, (low, high) in sorted(self.served.items())
            if not only or stem in only
            for version in range(low, high + 1)
        ]
        self._rng.shuffle(pairs)
        for at in range(requests):
            if self.progress is not None and at % 100 == 0:
                self.progress(f"{at} of {requests} requests, {sum(self.report.unequal.values())} differences")
            stem, version = pairs[at % len(pairs)]
            case = case_of(stem, version, self._pools)
            if self._rng.random() < 0.5:
                wrong = made_wrong(case.question.request, version, self._rng)
                case.question = case.question._replace(request=wrong)  # type: ignore[arg-type]
            self.compare(stem, case)
        return self.report

    def compare(self, stem: str, case: Case) -> None:
        for question in case.before:
            for peer in self._peers:
                settle(peer, question, lambda answer: not _not_yet(answer))
                if isinstance(question.request, CreateTopicsRequest):
                    for topic in question.request.topics:
                        topic_is_ready(peer, topic.name)
        if case.before:
            time.sleep(APPENDED_APART_S)
        self.report.asked[stem, case.question.version] += 1
        answers = self._both(case.question)
        reading = not case.before and not case.state
        for attempt in range(20):
            loading = any(
                path.endswith("error_code") and theirs in NOT_YET for path, theirs, _ in differences(*answers)
            )
            if not reading or not any(True for _ in differences(*answers)) or (attempt >= 3 and not loading):
                break
            time.sleep(0.1)
            answers = self._both(case.question)
        alike = self._judge(stem, case, *answers, stem)
        # Kafka may have done some of what it failed to answer, or nothing.
        answered = answers[0].get("") is None and -1 not in answers[0].values()
        for question in case.state if answered else ():
            theirs, ours = self._settled(question)
            shown = registry.row_by_key(question.request.API_KEY).stem
            alike = self._judge(stem, case, theirs, ours, f"{stem} then {shown}") and alike
        self.report.equal += alike
        self._undo(case)

    def _undo(self, case: Case) -> None:
        for question in case.undo:
            self._both(question)
        asked = case.question.request
        if isinstance(asked, OffsetCommitRequest) and asked.group_id not in GROUPS:
            # A group of which no commit was kept stays in Kafka's memory, where some requests see it and some do not.
            self._both(ask("delete_groups", 2, groups_names=[asked.group_id]))
        gone = [*case.made, *case.may_make]
        if gone:
            self._both(delete(*gone))
            for name in gone:
                for peer in self._peers:
                    peer.known.pop(f"topic {name}", None)
            self._settled(all_topics()[0])
        elif case.undo:
            for question in case.state:
                self._settled(question)

    def _both(self, question: Ask) -> tuple[Flat, Flat]:
        for peer in self._peers:
            peer.send(*question)
        theirs, ours = (flat(peer.receive(question.user), peer.known, question.version) for peer in self._peers)
        return theirs, ours

    def _settled(self, question: Ask) -> tuple[Flat, Flat]:
        end = time.monotonic() + _STATE_WAIT_S
        wait = 0.01
        while True:
            answers = self._both(question)
            if time.monotonic() > end or not _unaccepted(question, answers):
                return answers
            time.sleep(wait)
            wait = min(wait * 2, 0.5)

    def _judge(self, stem: str, case: Case, theirs: Flat, ours: Flat, where: str) -> bool:
        alike = True
        for path, value in theirs.items():
            if path.endswith("error_code") and where == stem:
                self.report.codes[stem, value] += 1
        for path, left, right in differences(theirs, ours):
            bare = without_items(path)
            reason = reason_for(where, path, left, right) or unforeseen(path, theirs)
            if reason is not None:
                self.report.accepted[reason] += 1
                continue
            alike = False
            found = Difference(where, bare, _short(left), _short(right))
            self.report.unequal[found] += 1
            self.report.examples.setdefault(
                found, f"{path} v{case.question.version} {case.question.user} {_short(case.question.request, 700)}"
            )
        return alike


def _unaccepted(question: Ask, answers: tuple[Flat, Flat]) -> Sequence[Any]:
    stem = registry.row_by_key(question.request.API_KEY).stem
    return [
        path for path, theirs, ours in differences(*answers) if reason_for(f"x then {stem}", path, theirs, ours) is None
    ]


def _not_yet(answer: Message) -> bool:
    """Whether the broker has yet to learn of what was made a moment ago."""
    return any(code in NOT_YET for path, code in flat(answer, {}, _ANY_VERSION).items() if path.endswith("error_code"))


def _short(value: object, length: int = 300) -> str:
    shown = re.sub(r"(\\x[0-9a-f]{2}|x){40,}", "...", repr(value))
    return shown if len(shown) <= length else f"{shown[:length]}..."
