"""Pending offsets of transactions, until a marker commits or aborts them (KIP-98, KIP-447).

Transactions are identified by partition of ``__consumer_offsets`` and producer, like the markers. Follows
``OffsetMetadataManager`` (Kafka 4.3.1): a plain commit overrides an earlier transactional one of the same partition. A
transaction may have very many offsets, so its end only marks it as ended; the indexes forget it in slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafka_tools.broker_embedded.coordinators.offset_records import OffsetCommit
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.values import TopicPartition


class _Committed:
    """The offsets of one transaction in one group. Plain commits have replaced those in ``replaced``."""

    __slots__ = ("alone", "holding", "replaced")

    def __init__(self, alone: frozenset[_Transaction]) -> None:
        self.alone = alone
        """A set of only this transaction, shared by the partitions in which no other transaction has offsets."""
        self.holding: dict[TopicPartition, OffsetCommit] = {}
        self.replaced: set[TopicPartition] = set()


class _Transaction:
    """One transaction of a producer in one partition of the log (``owner``: partition and producer id)."""

    __slots__ = ("by_group", "is_open", "owner")

    def __init__(self, owner: tuple[int, int]) -> None:
        self.owner = owner
        self.by_group: dict[str, _Committed] = {}
        self.is_open = True


class PendingOffsets:
    """The pending offsets, by transaction and by group."""

    def __init__(self) -> None:
        self._by_owner: dict[tuple[int, int], _Transaction] = {}
        """The open transactions by partition of ``__consumer_offsets`` and producer id."""
        self._by_group: dict[str, set[_Transaction]] = {}
        """The open transactions of each group."""
        self._by_place: dict[str, dict[TopicPartition, frozenset[_Transaction] | set[_Transaction]]] = {}
        """The transactions by group and partition. Ended transactions do not count; they are removed in slices."""

    def add(self, partition: int, producer_id: int, group_id: str, at: TopicPartition, offset: OffsetCommit) -> None:
        """Add a pending offset of a transaction."""
        owner = partition, producer_id
        transaction = self._by_owner.get(owner)
        if transaction is None:
            transaction = self._by_owner[owner] = _Transaction(owner)
        committed = transaction.by_group.get(group_id)
        if committed is None:
            committed = transaction.by_group[group_id] = _Committed(frozenset((transaction,)))
            self._by_group.setdefault(group_id, set()).add(transaction)
        committed.holding[at] = offset
        committed.replaced.discard(at)
        places = self._by_place.setdefault(group_id, {})
        known = places.setdefault(at, committed.alone)
        if transaction in known:
            return
        if isinstance(known, frozenset):
            places[at] = {*known, transaction}
        else:
            known.add(transaction)

    def supersede(self, group_id: str, at: TopicPartition) -> None:
        """Replace the pending offsets of a partition by a later plain commit."""
        for committed in self._at(group_id, at):
            if committed.holding.pop(at, None) is not None:
                committed.replaced.add(at)

    def forget(self, group_id: str, at: TopicPartition) -> None:
        """Forget the pending offsets of a partition whose offset was deleted."""
        for committed in self._at(group_id, at):
            committed.holding.pop(at, None)
            committed.replaced.discard(at)
            if not committed.holding and not committed.replaced:
                (transaction,) = committed.alone
                self._leave(transaction, group_id)
        places = self._by_place.get(group_id, {})
        if places.pop(at, None) is not None and not places:
            del self._by_place[group_id]

    def forget_group(self, group_id: str) -> None:
        """Forget a deleted group."""
        for transaction in list(self._by_group.get(group_id, ())):
            self._leave(transaction, group_id)
        self._by_place.pop(group_id, None)

    def end(
        self, partition: int, producer_id: int
    ) -> tuple[Mapping[str, Mapping[TopicPartition, OffsetCommit]], Work[None]]:
        """End a transaction. Returns its pending offsets by group, and the cleanup, to be done in slices."""
        owner = partition, producer_id
        transaction = self._by_owner.pop(owner, None) or _Transaction(owner)
        transaction.is_open = False
        for group_id in transaction.by_group:
            self._close(transaction, group_id)
        holding = {group_id: committed.holding for group_id, committed in transaction.by_group.items()}
        return holding, self._forget(transaction)

    def of(self, group_id: str) -> Iterator[TopicPartition]:
        """The partitions of a group for which a transaction is open."""
        if group_id in self._by_group:
            yield from (at for at, known in self._by_place[group_id].items() if any(each.is_open for each in known))

    def offsets(self, group_id: str, at: TopicPartition) -> list[OffsetCommit]:
        """The pending offsets of a partition that no plain commit has replaced."""
        return [committed.holding[at] for committed in self._at(group_id, at) if at in committed.holding]

    def is_open(self, group_id: str, at: TopicPartition | None = None) -> bool:
        """Whether a transaction is open for the partition, or for any partition of the group."""
        if at is None or group_id not in self._by_group:
            return group_id in self._by_group
        return any(each.is_open for each in self._by_place[group_id].get(at, ()))

    def groups(self) -> list[str]:
        """The groups for which a transaction is open."""
        return list(self._by_group)

    def adopt(self, other: PendingOffsets) -> Work[None]:
        """Add, in slices, the transactions of a newly loaded partition of the log.

        Each transaction is added as a whole, since its marker may be written between two slices.
        """
        for group_id, theirs in other._by_place.items():
            yield
            ours = self._by_place.setdefault(group_id, theirs)
            if ours is not theirs:  # the topic has grown: the group is in two partitions
                for at, known in theirs.items():
                    yield
                    ours[at] = {*ours.get(at, ()), *known}
        for owner, transaction in other._by_owner.items():
            yield
            self._by_owner[owner] = transaction
            for group_id in transaction.by_group:
                self._by_group.setdefault(group_id, set()).add(transaction)

    def clear(self) -> None:
        """Forget everything: the log is deleted."""
        self._by_owner.clear()
        self._by_group.clear()
        self._by_place.clear()

    def _at(self, group_id: str, at: TopicPartition) -> list[_Committed]:
        """The offsets in the group of each open transaction that has committed an offset of the partition."""
        if group_id not in self._by_group:
            return []
        return [each.by_group[group_id] for each in self._by_place[group_id].get(at, ()) if each.is_open]

    def _leave(self, transaction: _Transaction, group_id: str) -> None:
        """Remove a group from an open transaction, and end the transaction if it has no other group."""
        del transaction.by_group[group_id]
        self._close(transaction, group_id)
        if not transaction.by_group:
            transaction.is_open = False
            del self._by_owner[transaction.owner]

    def _close(self, transaction: _Transaction, group_id: str) -> None:
        known = self._by_group[group_id]
        known.remove(transaction)
        if not known:
            del self._by_group[group_id]

    def _forget(self, transaction: _Transaction) -> Work[None]:
        """Remove an ended transaction from the index by partition."""
        for group_id, committed in transaction.by_group.items():
            for at in [*committed.holding, *committed.replaced]:
                yield
                places = self._by_place.get(group_id, {})
                known = places.get(at, ())
                if transaction not in known:
                    continue
                if len(known) > 1:
                    assert isinstance(known, set)
                    known.remove(transaction)
                    continue
                del places[at]
                if not places:
                    del self._by_place[group_id]
        transaction.by_group.clear()  # they refer back to it
