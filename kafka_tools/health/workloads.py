"""Checks of what clients do: groups, transactions, delegation tokens."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_tools.health.facts import Facts
from kafka_tools.health.finding import ERROR, WARNING, Diagnosis, named, of
from kafka_tools.protocol.enums import GroupState

_MOVING = frozenset((GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.ASSIGNING,
                     GroupState.RECONCILING))  # fmt: skip
_SOON_H = 24


def check_groups(facts: Facts) -> Iterator[Diagnosis]:
    """Groups that are rebalancing, and streams groups that cannot start."""
    moving = [group for group in facts.groups if group.state in _MOVING]
    if moving:
        yield Diagnosis(
            "groups", WARNING, f"{of(len(moving), len(facts.groups), 'group')} rebalancing: their members do not read",
            named([f"{group.group_id} ({group.state})" for group in moving]),
            "members come and go, or take longer than max.poll.interval.ms; wrong if it lasts",
            f"kafka-consumer-groups -b $B --describe --state --group {moving[0].group_id}",
        )  # fmt: skip

    waiting = [group.group_id for group in facts.groups if group.state == GroupState.NOT_READY]
    if waiting:
        yield Diagnosis(
            "groups", WARNING, f"{of(len(waiting), len(facts.groups), 'group')} not ready: their topics do not fit",
            named(waiting), "a source topic of the streams application is missing, or has other partitions",
            f"kafka-streams-groups -b $B --describe --state --group {waiting[0]}",
        )  # fmt: skip


def check_transactions(facts: Facts) -> Iterator[Diagnosis]:
    """Transactions that are open for longer than their own timeout."""
    late = []
    for name, each in sorted(facts.transactions.items()):
        if each.start_time_ms is not None and facts.now_ms - each.start_time_ms > each.timeout_ms + 60_000:
            late.append((name, facts.now_ms - each.start_time_ms, each))
    if late:
        name, _, worst = max(late, key=lambda found: found[1])
        yield Diagnosis(
            "transactions", ERROR, f"{of(len(late), len(facts.transactions), 'open transaction')} past their timeout: "
            "consumers with read_committed wait behind them",
            named([f"{name} ({open_ms / 60_000:.0f} min, {each.state})" for name, open_ms, each in late]),
            "a partition of the transaction is offline, or its coordinator is" if worst.state != "Ongoing" else
            "the coordinator does not end the transaction",
            f"kafka-transactions -b $B describe --transactional-id {name}",
        )  # fmt: skip


def check_tokens(facts: Facts) -> Iterator[Diagnosis]:
    """Delegation tokens that expire within a day."""
    left_h = {token: (token.expires_ms - facts.now_ms) / 3_600_000 for token in facts.tokens}
    soon = {token: hours for token, hours in left_h.items() if 0 <= hours < _SOON_H}
    if soon:
        yield Diagnosis(
            "tokens", WARNING, f"{of(len(soon), len(facts.tokens), 'delegation token')} near the end of validity",
            named([f"{token.token_id} of {token.owner}: {hours:.1f} h left" for token, hours in soon.items()]),
            "", "kafka-delegation-tokens -b $B --renew --help",
        )  # fmt: skip
