"""Where configs are kept: behind a broker, or in the ZooKeeper of a cluster before 4.0.

``kafka-configs`` and ``kafka-scram`` know a ``Place``, and not which of the two it is. What became of each target of a
change is a value, and ends as a line of its own: one that cannot be changed leaves the others alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from kafka_tools import KAFKA_MINOR
from kafka_tools.commands.configs import alter as config_alter
from kafka_tools.commands.configs import rows as config_rows
from kafka_tools.commands.configs.alter import Ended
from kafka_tools.commands.configs.entities import Entity, Target, target_text
from kafka_tools.commands.configs.names import unknown_names
from kafka_tools.commands.configs.targets import OF_ONE_TARGET, resource_of
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError, Rows
from kafka_tools.texts.near_names import did_you_mean

if TYPE_CHECKING:
    from kafka_tools.admin.calls.config_changes import ConfigChange
    from kafka_tools.admin.calls.quotas import QuotaEntity
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.commands.configs.judge import Judge
    from kafka_tools.zookeeper.configs import ZooKeeperConfigs


class Place(Protocol):
    """The operations that ``BrokerPlace`` and ``ZooKeeperPlace`` implement."""

    def alter(self, targets: Sequence[Target], changes: Sequence[ConfigChange], validate_only: bool = False) -> Ended:
        """Make the changes, or with ``validate_only`` have them judged."""

    def describe(self, targets: Sequence[Target], show_all: bool, documentation: bool) -> Rows:
        """The configuration of the targets, as rows."""

    def credentials(self, users: Sequence[Target]) -> Rows:
        """The SCRAM credentials of these users, or of all users if none are named."""

    def planned(self, target: Target, changes: Sequence[ConfigChange]) -> list[Row]:
        """The effect of the changes on one target, as rows. Raises an error of ``OF_ONE_TARGET``."""

    def quotas_of(self, entity: QuotaEntity) -> dict[str, float]:
        """The quotas of exactly one entity."""

    def described_names(self, target: Target, names: Sequence[str]) -> set[str]:
        """Those of ``names`` that the cluster tells among the configs of a resource; none where it cannot be asked."""


class BrokerPlace:
    """Through a broker or a controller."""

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin

    def alter(self, targets: Sequence[Target], changes: Sequence[ConfigChange], validate_only: bool = False) -> Ended:
        return config_alter.apply(self._admin, targets, changes, validate_only)

    def describe(self, targets: Sequence[Target], show_all: bool, documentation: bool) -> Rows:
        return config_rows.describe(self._admin, targets, show_all, documentation)

    def credentials(self, users: Sequence[Target]) -> Rows:
        return config_rows.credentials(self._admin, [user[0].name or "" for user in users])

    def planned(self, target: Target, changes: Sequence[ConfigChange]) -> list[Row]:
        return config_rows.plan(self._admin, target, changes)

    def quotas_of(self, entity: QuotaEntity) -> dict[str, float]:
        from kafka_tools.admin.calls.quotas import DEFAULT, EXACT, QuotaFilter

        wanted = [QuotaFilter(kind, DEFAULT if name is None else EXACT, name) for kind, name in entity]
        return self._admin.describe_client_quotas(wanted, strict=True).get(entity, {})

    def described_names(self, target: Target, names: Sequence[str]) -> set[str]:
        resource = resource_of(target)
        outcome = self._admin.describe_configs({resource: list(names)})[resource]
        return {entry.name for entry in outcome.value or ()} & set(names)


class ZooKeeperPlace:
    """In ZooKeeper's nodes. ``judge`` says what the cluster takes; values are set only where there is one."""

    def __init__(self, configs: ZooKeeperConfigs) -> None:
        self._configs = configs
        self.judge: Judge | None = None

    def alter(self, targets: Sequence[Target], changes: Sequence[ConfigChange], validate_only: bool = False) -> Ended:
        from kafka_tools.commands.configs import zookeeper

        return zookeeper.apply(self._configs, self.judge, targets, changes, validate_only)

    def describe(self, targets: Sequence[Target], show_all: bool, documentation: bool) -> Rows:
        from kafka_tools.commands.configs import zookeeper

        return zookeeper.describe(self._configs, targets)

    def credentials(self, users: Sequence[Target]) -> Rows:
        from kafka_tools.commands.configs import zookeeper

        described = zookeeper.describe(self._configs, users or [(Entity("users", None),)])
        return described._replace(rows=[row for row in described.rows if row["kind"] == "scram"])

    def planned(self, target: Target, changes: Sequence[ConfigChange]) -> list[Row]:
        from kafka_tools.commands.configs import zookeeper

        return zookeeper.plan(self._configs, self.judge, target, changes)

    def quotas_of(self, entity: QuotaEntity) -> dict[str, float]:
        from kafka_tools.commands.configs import zookeeper

        return zookeeper.quotas_of(self._configs, entity)

    def described_names(self, target: Target, names: Sequence[str]) -> set[str]:
        return set()


def dry_run(
    place: Place, targets: Sequence[Target], changes: Sequence[ConfigChange]
) -> tuple[list[Row], list[ItemError]]:
    """The rows of the targets whose changes are valid, and the errors of the others. Nothing is changed."""
    rows: list[Row] = []
    ended = place.alter(targets, changes, validate_only=True)
    for target in targets:
        if ended[target] is None:
            try:
                rows += place.planned(target, changes)
            except OF_ONE_TARGET as error:
                ended[target] = error
    return rows, failures(ended, changes)


def failures(ended: Ended, changes: Sequence[ConfigChange]) -> list[ItemError]:
    """The targets that were not changed, with what to do about it: the error's hint, or the keys that may be meant."""
    found = []
    for target, error in ended.items():
        if error is None:
            continue
        item = ItemError.of(target_text(target), error)
        names = [change.name for change in changes]
        hint = error.hint or (did_you_mean(*unknown_names(target[0].type, names)) if error.exit_status == 1 else None)
        is_told = not hint or item.message.endswith(f"({hint})")
        found.append(item if is_told else item._replace(message=f"{item.message} ({hint})"))
    return found


def warnings_of_unknown(place: Place, targets: Sequence[Target], changes: Sequence[ConfigChange]) -> Iterator[str]:
    """Remarks about keys that are not in the tables here: those that the brokers have (of a later release, or of an
    earlier one), and those that look misspelt and that brokers take all the same.

    Brokers take any name for a config of a broker, since a plugin may read it, and the deletion of any name.
    """
    kind = targets[0][0].type
    unknown, known = unknown_names(kind, [change.name for change in changes])
    theirs = place.described_names(targets[0], unknown) if unknown else set()
    if theirs:
        listed = ", ".join(sorted(theirs))
        yield f"warning: {listed}: not a known config of {kind} ({KAFKA_MINOR}); the broker validates it"
    taken = {change.name for change in changes if kind == "brokers" or change.operation == "delete"} - theirs
    near = [(name, did_you_mean([name], known)) for name in unknown if name in taken]
    said = [f"{name} ({hint})" for name, hint in near if hint]
    if said:
        yield f"warning: {kind} have no config {', '.join(said)}; brokers accept any name here"
