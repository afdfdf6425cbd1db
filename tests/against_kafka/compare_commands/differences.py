"""Why a line may differ: rules, each with a reason that stands on the commands' pages.

A rule says what the difference is, not merely that there is one; a difference in a row of a result is never accepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tests.against_kafka.side_by_side import Ended

_TRACE = re.compile(r"\s+at |\s+\.\.\. \d+ more|\s*Caused by: |(java|org|com)\.[\w.$]+(Exception|Error)\b")
_ERROR = re.compile(r"Error(?! (alter|reassign|cancell)ing)\b|ERROR|Exception|\* Group '|[\w.-]+-\d+: [A-Z]")
_HEADING = re.compile(r"(GROUP|TOPIC) +(TOPIC|PARTITION|STATUS|CONSUMER-ID|COORDINATOR)\b|Request succeed")
_OF_AN_ITEM = re.compile(r"([Ee]rror: ).*")
_REMARK = re.compile(r"WARN|Warn|NOTICE|New offset \(|Option --\S+ has been deprecated")
_WORDS = re.compile(r"[,\s\[\]]+")


class Rule(NamedTuple):
    """``commands``: a regular expression; ``reason``: words of the command's page, or of the page of all commands."""

    commands: str
    reason: str
    holds: Callable[[Ended, Ended], bool]


def _told(text: str, *, remarks: bool = True) -> list[str]:
    """The lines of a result: without errors, stack traces and headings; what failed about an item is cut off."""
    lines = [_OF_AN_ITEM.sub(r"\1", line) for line in text.splitlines() if line.strip()]
    return [
        line
        for line in lines
        if not (_TRACE.match(line) or _ERROR.match(line) or _HEADING.match(line))
        and (remarks or not _REMARK.match(line))
    ]


def _words(lines: list[str]) -> list[str]:
    return sorted(_WORDS.split(" ".join(lines)))


def order(ours: Ended, theirs: Ended) -> bool:
    """The same words of result in another order."""
    return ours.returncode == theirs.returncode and _words([ours.stdout]) == _words([theirs.stdout])


def usage(ours: Ended, theirs: Ended) -> bool:
    """Both refuse, ours as a wrong command line."""
    refused = theirs.returncode == 1 or bool(_ERROR.match(theirs.stdout.lstrip()))
    return (ours.returncode, ours.stdout) == (2, "") and refused and ours.stderr.count("\n") <= 2


def failed(ours: Ended, theirs: Ended) -> bool:
    """Both say that something failed; what did not fail is the same."""
    lines = theirs.stdout.splitlines()
    on_stdout = {line for line in lines if _ERROR.match(line) or "rror: " in line or (line and line in ours.stderr)}
    if ours.returncode != 1 or not ours.stderr or not (on_stdout or theirs.returncode == 1):
        return False
    whole = not _told(ours.stdout)  # nothing of it was done, and so no item is shown
    left = [line for line in lines if not (line in on_stdout and (whole or line in ours.stderr))]
    return _words(_told(ours.stdout)) == _words(_told("\n".join(left)))


def remarks(ours: Ended, theirs: Ended) -> bool:
    """Results are the same; what Kafka remarks on standard output is said on standard error."""
    said = [line for line in theirs.stdout.splitlines() if _REMARK.match(line)]
    if not said or any(line not in ours.stdout + ours.stderr for line in said):
        return False
    same = _words(_told(ours.stdout, remarks=False)) == _words(_told(theirs.stdout, remarks=False))
    return ours.returncode == theirs.returncode and same


def failing_with(ours_status: int, theirs_status: int, words: str) -> Callable[[Ended, Ended], bool]:
    """Kafka's tool ends with that status, and these words (a regular expression) stand in what it says."""

    def holds(ours: Ended, theirs: Ended) -> bool:
        said = re.search(words, theirs.stdout + theirs.stderr) is not None
        return (ours.returncode, theirs.returncode) == (ours_status, theirs_status) and said

    return holds


def others_shown(ours: Ended, theirs: Ended) -> bool:
    """Kafka's tool shows nothing but an error; ours shows what did not fail, and says the same of what did."""
    if ours.returncode != 1 or not ours.stderr or _told(theirs.stdout):
        return False
    return "Group cmp-none not found." in theirs.stdout or "no current committed offset" in theirs.stderr


def judged_first(ours: Ended, theirs: Ended) -> bool:
    """Both fail; ours before it says what it would do."""
    return (ours.returncode, theirs.returncode, ours.stdout) == (1, 1, "") and bool(ours.stderr)


RULES = (
    Rule(".*", "Rows are sorted", order),
    Rule(".*", "An invalid command line exits 2", usage),
    Rule(".*", "Errors go to stderr", failed),
    Rule(".*", "Notes and warnings go to stderr", remarks),
    *(
        Rule(groups, "row without an offset", failing_with(1, 0, "GROUP +TOPIC"))
        for groups in ("consumer-groups", "share-groups")
    ),
    Rule("consumer-groups", "continues with the others; Kafka's tool stops", others_shown),
    Rule("delete-records", "A negative offset other than -1", failing_with(1, 0, "OffsetOutOfRangeException")),
    Rule("delete-records", "A topic or partition that does not exist", failing_with(1, 0, "TimeoutException")),
    Rule(
        "reassign-partitions",
        "report topics, partitions and brokers that do not exist",
        failing_with(1, 1, "does not exist|TimeoutException"),
    ),
    Rule(
        "reassign-partitions",
        "report topics, partitions and brokers that do not exist",
        failing_with(1, 0, "replica set is  rather than"),
    ),
    Rule("transactions", "refuses an id that its coordinator does not have", failing_with(1, 0, "^$")),
    Rule("transactions", "searches all partitions of the cluster", failing_with(0, 1, "either --topic or --broker-id")),
    Rule(
        "streams-application-reset",
        "For a file with missing or additional partitions",
        failing_with(1, 1, "NullPointerException"),
    ),
    Rule("streams-application-reset", "The command validates everything before it makes a change", judged_first),
)


def reason_for(command: str, ours: Ended, theirs: Ended) -> str | None:
    """The reason why the two differ, None if no rule holds."""
    for rule in RULES:
        if re.fullmatch(rule.commands, command) and rule.holds(ours, theirs):
            return rule.reason
    return None
