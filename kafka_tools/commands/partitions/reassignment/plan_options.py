"""The options of ``--generate`` that Kafka's tool does not have, and their valid combinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click

from kafka_tools.commands.live_names import topic_names
from kafka_tools.commands.options.command import section
from kafka_tools.errors import UsageError

KAFKA, LEAST_MOVEMENT, BY_SIZE, LEADERS = "kafka", "least-movement", "by-size", "leaders"
OPTIONS = ("strategy", "evacuate", "replication_factor", "topic")
"""The parameters that ``planning_options`` adds."""
_LARGEST_FACTOR = 2**15 - 1


class PlanningOptions(NamedTuple):
    """The values of ``--strategy``, ``--evacuate``, ``--replication-factor`` and ``--topic``; None: not given."""

    strategy: str | None
    evacuate: str | None
    replication_factor: int | None
    topics: Sequence[str]

    @property
    def is_kafkas(self) -> bool:
        """Whether the proposal comes from Kafka's own placer."""
        return self.strategy in (None, KAFKA) and self.evacuate is None and self.replication_factor is None

    def check(self, others: Mapping[str, Any]) -> None:
        """Raise UsageError for options of ``--generate`` that exclude each other or need another one.

        ``others``: the parameters of the command, by name.
        """
        topics_file, broker_list = others["topics_to_move_json_file"], others["broker_list"]
        if self.topics and topics_file is not None:
            raise UsageError("--topic and --topics-to-move-json-file cannot be combined: give one of them")
        changes = [
            name
            for name, value in (
                ("--evacuate", self.evacuate),
                ("--replication-factor", self.replication_factor),
            )
            if value is not None
        ]
        if changes and self.strategy in (KAFKA, LEADERS):
            why = (
                "moves no replicas" if self.strategy == LEADERS else "assigns all replicas again, wherever they are now"
            )
            raise UsageError(
                f"{changes[0]} cannot be used with --strategy {self.strategy}, which {why}",
                hint="leave out --strategy to move nothing else, or use least-movement or by-size",
            )
        if others["seed"] is not None and not self.is_kafkas:
            raise UsageError("--seed can only be used with --strategy kafka: the other strategies are not random")
        named = bool(self.topics) or topics_file is not None
        if self.is_kafkas:
            if not named:
                raise UsageError('Missing required argument "[topics-to-move-json-file]"')
            if broker_list is None:
                raise UsageError('Missing required argument "[broker-list]"')
        elif self.replication_factor is not None and not named:
            raise UsageError("--replication-factor needs --topic or --topics-to-move-json-file to select topics")


class ProposalOrder(NamedTuple):
    """The values of ``--generate``. ``topics``: None for all; ``broker_list``: as typed, None if not given.

    ``say``: print Kafka's text.
    """

    topics: list[str] | None
    broker_list: str | None
    rack_aware: bool
    seed: int
    planning: PlanningOptions
    say: bool


def planning_options(function: Any) -> Any:
    """Add the options, whose parameters are ``OPTIONS``."""
    for add in reversed(_ADDERS):
        function = add(function)
    return function


_option = section("Planning, with --generate")
_ADDERS = (
    _option(
        "--strategy",
        type=click.Choice([KAFKA, LEAST_MOVEMENT, BY_SIZE, LEADERS]),
        help="Strategy of the plan. kafka: Kafka's algorithm, which assigns all replicas again. least-movement: "
        "equal numbers of replicas per broker with as few moves as possible. by-size: equally full disks. leaders: "
        "equal numbers of leaders by reordering replicas, without moves. A summary is printed on stderr.  "
        "[default: kafka]",
    ),
    _option(
        "--evacuate",
        metavar="ID,...",
        help="Brokers, alive or not, to remove all replicas from. Without --strategy, no other replicas move. "
        "Can be used with --execute, which then plans by itself.",
    ),
    _option(
        "--replication-factor",
        type=click.IntRange(1, _LARGEST_FACTOR),
        metavar="NUMBER",
        help="Number of replicas of each partition. Existing replicas stay where possible.",
    ),
    _option(
        "--topic",
        multiple=True,
        metavar="NAME",
        shell_complete=topic_names,
        help="Topic to plan for, instead of --topics-to-move-json-file.  [default: all topics, except with --strategy "
        "kafka or --replication-factor]",
    ),
)
