"""The place of configs: behind a broker, or in the ZooKeeper of a cluster before 4.0.

``kafka-configs`` and ``kafka-scram`` use a ``Place`` without knowing which one. The result for each target of a change
is a value and gets its own line. A target that cannot be changed does not affect the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kafka_tools import KAFKA_MINOR
from kafka_tools.commands import running
from kafka_tools.commands.configs import plan
from kafka_tools.commands.configs.changes import missing_quotas
from kafka_tools.commands.configs.entities import Target, target_text
from kafka_tools.commands.configs.names import unknown_names
from kafka_tools.commands.configs.targets import OF_ONE_TARGET, is_resource, own_source
from kafka_tools.errors import KafkaToolsError
from kafka_tools.output.cells import Row
from kafka_tools.output.rows import ItemError, Rows
from kafka_tools.scram_math import MECHANISMS
from kafka_tools.texts.near_names import did_you_mean

if TYPE_CHECKING:
    from kafka_tools.admin.calls.config_changes import ConfigChange
    from kafka_tools.admin.calls.quotas import QuotaEntity


Ended = dict[Target, KafkaToolsError | None]
"""Target -> its error, None for a changed target."""


class Place(ABC):
    """A place of configs, quotas and credentials."""

    @abstractmethod
    def alter(self, targets: Sequence[Target], changes: Sequence[ConfigChange], validate_only: bool = False) -> Ended:
        """Apply the changes to every target, or only validate them."""

    @abstractmethod
    def describe(self, targets: Sequence[Target], show_all: bool, documentation: bool) -> Rows:
        """The rows of each target: one entity, all entities of a type, or pairs of users and clients."""

    @abstractmethod
    def credentials(self, users: Sequence[Target]) -> Rows:
        """The SCRAM credentials of these users, or of all users."""

    def planned(self, target: Target, changes: Sequence[ConfigChange]) -> list[Row]:
        """The effect of the changes on one target, as rows. Raises an error of ``OF_ONE_TARGET``."""
        if is_resource(target):
            own = own_source(target[0])
            pairs = zip(changes, self.held(target, changes), strict=True)
            return [plan.resource_row(target, change, held, own) for change, held in pairs]
        if changes[0].name in MECHANISMS:
            iterations = self.iterations(target)
            missing = missing_quotas(changes, iterations)
            if missing is not None:
                raise missing
            return [plan.scram_row(target, change, iterations) for change in changes]
        quotas = self.quotas(target)
        return [plan.quota_row(target, change, quotas) for change in changes]

    @abstractmethod
    def held(self, target: Target, changes: Sequence[ConfigChange]) -> list[plan.Held]:
        """The effective value of each changed config of a resource."""

    @abstractmethod
    def iterations(self, target: Target) -> dict[str, int]:
        """Mechanism -> iterations of a user's credentials."""

    @abstractmethod
    def quotas(self, target: Target) -> dict[str, float]:
        """The quotas of exactly one target."""

    @abstractmethod
    def quotas_of(self, entity: QuotaEntity) -> dict[str, float]:
        """The quotas of exactly one entity."""

    def described_names(self, target: Target, names: Sequence[str]) -> set[str]:
        """The ``names`` that the cluster returns among the configs of a resource; empty if it cannot be asked."""
        return set()


def show_plan(
    place: Place, targets: Sequence[Target], changes: Sequence[ConfigChange], output_format: str | None
) -> int:
    """Show the effect of the changes: the rows of targets with valid changes, and the errors of the others."""
    rows: list[Row] = []
    ended = place.alter(targets, changes, validate_only=True)
    for target in targets:
        if ended[target] is None:
            try:
                rows += place.planned(target, changes)
            except OF_ONE_TARGET as error:
                ended[target] = error
    return running.show_rows("config-changes", rows, output_format, plan.as_text, failures(ended, changes))


def failures(ended: Ended, changes: Sequence[ConfigChange]) -> list[ItemError]:
    """The targets that were not changed, with a hint: the error's own, or similar keys."""
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
    """Remarks about keys that are not in the tables here: keys that only the brokers have (of another release), and
    keys that look misspelt but that brokers accept.

    Brokers accept any name for a broker's config, because a plugin may read it, and the deletion of any name.
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
