"""Checks of brokers and controllers: reachability, the quorum, clocks, versions, and log directories."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.errors import AuthorizationFailed
from kafka_tools.health.facts import Facts
from kafka_tools.health.finding import ERROR, INFO, WARNING, Diagnosis, counted, named, of
from kafka_tools.shown_text import one_line
from kafka_tools.values import format_address

_BEHIND_MS = 10_000
_BEHIND_RECORDS = 1000
_SKEW_MS = 2000
"""From here on the clock of the controller and of this machine count as different: a slow answer explains less."""
_FULL, _NEARLY_FULL = 0.95, 0.85
_UNEVEN = 0.3
"""The difference between the fullest and the emptiest directory, as a part of their size."""


def check_brokers(facts: Facts) -> Iterator[Diagnosis]:
    """Brokers that do not answer at their advertised address, fenced ones, and a cluster without a controller."""
    total = len(facts.cluster.nodes)
    failed = {node: outcome.error for node, outcome in facts.versions.items() if outcome.error is not None}
    for node, error in failed.items():
        yield Diagnosis(
            "brokers", ERROR, f"broker {node.id} does not answer at {format_address(node.host, node.port)}",
            one_line(str(error)), "the broker is down, or clients cannot reach its advertised listener from here",
            "kafka-tools doctor -b $B --check connect",
        )  # fmt: skip
    if facts.fenced:
        yield Diagnosis(
            "brokers", ERROR, f"{counted(len(facts.fenced), 'broker')} registered, but not live (fenced)",
            f"brokers {named(sorted(facts.fenced))}", "the broker is down, or cannot reach the controllers",
            "kafka-cluster list-endpoints -b $B --include-fenced-brokers",
        )  # fmt: skip
    if facts.cluster.controller is None:
        yield Diagnosis(
            "brokers", ERROR, "the cluster has no active controller: no topic can be created, no leader elected", "",
            "too few controllers are alive for a majority", "kafka-metadata-quorum -b $B describe --status",
        )  # fmt: skip
    known = {
        node.id: outcome.value for node, outcome in facts.versions.items() if outcome.error is None and outcome.value
    }
    if len({tuple(sorted(versions.items())) for versions in known.values()}) > 1:
        newest = {id: sum(newest for _, newest in versions.values()) for id, versions in known.items()}
        old = [id for id, version in newest.items() if version < max(newest.values())]
        yield Diagnosis(
            "brokers", INFO, f"brokers have different releases: {of(len(old), total, 'broker')} behind",
            f"older: {named(old)}", "an upgrade is not complete", "kafka-broker-api-versions -b $B",
        )  # fmt: skip


def check_quorum(facts: Facts) -> Iterator[Diagnosis]:
    """The metadata quorum: a leader, voters and brokers that follow it, and clocks."""
    quorum = facts.quorum
    if quorum is None:
        return
    if quorum.leader_id < 0:
        yield Diagnosis(
            "quorum", ERROR, "the metadata quorum has no leader", "", "too few controllers are alive for a majority",
            "kafka-metadata-quorum -b $B describe --status",
        )  # fmt: skip
        return
    leader = next((each for each in quorum.voters if each.replica_id == quorum.leader_id), None)
    if leader is None:
        return
    for kind, severity, replicas in (("voter", ERROR, quorum.voters), ("observer", WARNING, quorum.observers)):
        behind = []
        for each in replicas:
            lag = leader.log_end_offset - each.log_end_offset
            caught_up, now = each.last_caught_up_ms, leader.last_fetch_ms or leader.last_caught_up_ms
            late_ms = now - caught_up if now and caught_up else None
            if lag > _BEHIND_RECORDS or (late_ms is not None and late_ms > _BEHIND_MS and lag > 0):
                late = f", last caught up {late_ms / 1000:.0f} s ago" if late_ms is not None else ""
                behind.append(f"{each.replica_id} ({counted(lag, 'record')} behind{late})")
        if behind:
            yield Diagnosis(
                "quorum", severity, f"{of(len(behind), len(replicas), kind)} behind the metadata log", named(behind),
                "the node is down or slow" if kind == "voter" else "the broker is down or slow, and its metadata old",
                "kafka-metadata-quorum -b $B describe --replication --human-readable",
            )  # fmt: skip
    leaders_ms = leader.last_fetch_ms or leader.last_caught_up_ms
    if leaders_ms and abs(facts.now_ms - leaders_ms) > _SKEW_MS:
        seconds = (facts.now_ms - leaders_ms) / 1000
        yield Diagnosis(
            "clock", WARNING,
            f"the clock of this machine is {abs(seconds):.1f} s {'ahead of' if seconds > 0 else 'behind'} "
            f"controller {quorum.leader_id}'s",
            "", "a clock is not synchronised: timestamps, retention and tokens depend on it", "timedatectl status",
        )  # fmt: skip


def check_features(facts: Facts) -> Iterator[Diagnosis]:
    """A metadata version that is older than what the brokers support."""
    features = facts.features
    name = "metadata.version"
    if features is None or name not in features.finalized or name not in features.supported:
        return
    finalized, supported = features.finalized[name][1], features.supported[name][1]
    if finalized < supported:
        yield Diagnosis(
            "features", INFO, f"{name} is {finalized}, and a broker supports {supported}",
            "", "the last upgrade was not finalized", "kafka-features -b $B describe",
        )  # fmt: skip


def check_log_dirs(facts: Facts) -> Iterator[Diagnosis]:
    """Log directories that are offline, full or uneven."""
    for broker, dirs in sorted(facts.log_dirs.items()):
        used: dict[str, float] = {}
        for path, outcome in dirs.items():
            place = f"{path} of broker {broker}"
            if outcome.error is not None:
                if not isinstance(outcome.error, AuthorizationFailed):
                    yield Diagnosis(
                        "log directories", ERROR, f"log directory {place} is offline", one_line(str(outcome.error)),
                        "the disk failed, or is full", f"kafka-log-dirs -b $B --describe --broker-list {broker}",
                    )  # fmt: skip
                continue
            found = outcome.get()
            if not found.total_bytes or found.usable_bytes is None:
                continue
            part = used[path] = 1 - found.usable_bytes / found.total_bytes
            if part >= _NEARLY_FULL:
                severity = ERROR if part >= _FULL else WARNING
                yield Diagnosis(
                    "log directories", severity, f"the disk of {place} is {part:.0%} full",
                    f"{found.usable_bytes / 2**30:.1f} GiB of {found.total_bytes / 2**30:.1f} GiB are free", "",
                    f"kafka-log-dirs -b $B --describe --broker-list {broker}",
                )  # fmt: skip
        if len(used) > 1 and max(used.values()) - min(used.values()) > _UNEVEN:
            yield Diagnosis(
                "log directories", WARNING, f"the disks of broker {broker} are unevenly full",
                named([f"{path} {part:.0%}" for path, part in used.items()]), "",
                f"kafka-log-dirs -b $B --describe --broker-list {broker}",
            )  # fmt: skip
