"""``kafka-reassign-partitions``: move partitions to other brokers and log directories (ReassignPartitionsCommand).

This module contains the options and Kafka's checks of them; ``reassignment/`` contains the actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import ARGUMENTS, Command, action_option, is_given, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.partitions.reassignment.plan_options import (
    OPTIONS,
    PlanningOptions,
    ProposalOrder,
    planning_options,
)
from kafka_tools.errors import UsageError

if TYPE_CHECKING:
    from kafka_tools.output.rows import Rows

ACTIONS = ("generate", "execute", "verify", "cancel", "list")
MOVE_TIMEOUT_S = 10.0
"""Default of --timeout: seconds to wait until a broker has a new replica."""
LARGEST_RATE = 2**63 - 1
_NEED_FILE = ("verify", "execute", "cancel")
"""Actions that need a reassignment file. PlanningOptions.check has the rules for ``generate``."""
_PERMITTED = {
    "verify": ("reassignment_json_file", "preserve_throttles"),
    "generate": ("topics_to_move_json_file", "broker_list", "disable_rack_aware", "seed", *OPTIONS),
    "execute": ("reassignment_json_file", "additional", "throttle", "replica_alter_log_dirs_throttle",
                "disallow_replication_factor_change", "batch_size", "watch"),
    "cancel": ("reassignment_json_file", "bootstrap_controller", "preserve_throttles"),
    "list": ("bootstrap_controller",),
    "evacuate": ("topics_to_move_json_file", "broker_list", "disable_rack_aware", *OPTIONS),
    "watch": ("reassignment_json_file",),
}  # fmt: skip
_OWN = dict.fromkeys(name for names in _PERMITTED.values() for name in names)
"""Options that only some actions take."""


@click.command(name="kafka-reassign-partitions", cls=Command)
@action_option(
    "--generate",
    is_flag=True,
    help="Propose an assignment of the topics in --topics-to-move-json-file to the brokers in --broker-list, or "
    "the assignment that --strategy plans.",
)
@action_option(
    "--execute",
    is_flag=True,
    help="Start the reassignments in --reassignment-json-file, or those that --evacuate needs.",
)
@action_option(
    "--verify",
    is_flag=True,
    help="Show progress. Once all moves are complete, remove the throttles.",
)
@action_option(
    "--cancel",
    is_flag=True,
    help="Cancel the in-progress reassignments listed in --reassignment-json-file.",
)
@action_option("--list", "list", is_flag=True, help="List all reassignments in progress.")
@action_option(
    "--watch",
    is_flag=True,
    help="Follow reassignments until they are complete: bytes left, rate, time left. Then remove the throttles "
    "that --execute set. Without --reassignment-json-file, all reassignments in progress are followed. Can be "
    "added to --execute.",
)
@option(
    "--reassignment-json-file",
    metavar="FILE",
    help='JSON file with the new assignment: {"version": 1, "partitions": [{"topic": "orders", "partition": 0, '
    '"replicas": [1, 2], "log_dirs": ["any", "/data/2"]}]}. log_dirs is optional. - reads standard input.',
)
@option(
    "--topics-to-move-json-file",
    metavar="FILE",
    help='JSON file with the topics to move (with --generate): {"version": 1, "topics": [{"topic": "orders"}]}. - '
    "reads standard input.",
)
@option(
    "--broker-list",
    metavar="ID,...",
    help="Brokers that receive the replicas (with --generate): 0,1,2. Optional with strategies other than kafka.  "
    "[default: all live brokers]",
)
@option("--disable-rack-aware", is_flag=True, help="Do not spread replicas over racks (with --generate).")
@option(
    "--seed",
    type=click.IntRange(-(2**63), 2**63 - 1),
    metavar="NUMBER",
    help="Seed of Kafka's placement algorithm (java.util.Random, with --generate). Each seed gives a different "
    "proposal.  [default: 0]",
)
@option(
    "--throttle",
    type=click.IntRange(-1, LARGEST_RATE),
    metavar="BYTES/S",
    help="Limit replication between brokers to this many bytes per second per broker, for example 50MB (with "
    "--execute). Use at least 1000, or -1 for no limit.",
)
@option(
    "--replica-alter-log-dirs-throttle",
    type=click.IntRange(-1, LARGEST_RATE),
    metavar="BYTES/S",
    help="Limit moves between the log directories of each broker to this many bytes per second (with --execute).",
)
@option(
    "--additional",
    is_flag=True,
    help="Allow other reassignments in progress (with --execute). Also use it to change their throttle.",
)
@option(
    "--disallow-replication-factor-change",
    is_flag=True,
    help="Refuse partitions whose number of replicas would change (with --execute, Kafka 4.1 and later).",
)
@option(
    "--batch-size",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Number of partitions to move at a time; each batch starts when the previous one is complete "
    "(with --execute). Repeat the command to continue after an interruption.",
)
@option("--preserve-throttles", is_flag=True, help="Leave all throttles unchanged (with --verify and --cancel).")
@planning_options
@connection_options(controllers=True)
@output_options(
    {
        "generate": "proposed-reassignments",
        "execute": "changed-reassignments",
        "verify": "reassignment-states",
        "cancel": "changed-reassignments",
        "list": "reassignments",
        "watch": "reassignment-states",
        "execute watch": "changed-reassignments",
    }
)
@click.pass_context
def command(context: click.Context, /, connection: ConnectionOptions, output_format: str | None, **given: Any) -> int:
    """Move partitions between brokers and log directories."""
    planning = PlanningOptions(*(given[name] for name in OPTIONS))
    action = _checked_action(context, planning, connection)
    from kafka_tools.commands.options.values import read_text

    say = output_format is None
    if action == "list":
        from kafka_tools.commands.partitions.reassignment.progress import list_running

        with connection.admin() as admin:
            return running.finish(list_running(admin, say=say), output_format)
    if action == "generate":
        from kafka_tools.commands.partitions.reassignment.generate import generate, topics_of

        topics = topics_of(planning, given["topics_to_move_json_file"])
        rack_aware, seed = not given["disable_rack_aware"], given["seed"] or 0
        order = ProposalOrder(topics, given["broker_list"], rack_aware, seed, planning, say)
        with connection.admin() as admin:
            proposed = generate(admin, order)
        return running.finish(proposed, output_format)
    file: str | None = given["reassignment_json_file"]
    text = None if file is None else read_text(file, "reassignment file")
    if action == "execute" and text is None:
        file, text = "the plan of --evacuate", _planned(connection, planning, given)
        if text is None:
            running.note("nothing has to move: these brokers have no replicas, or they move already")
            return running.finish(_no_change(), output_format)
    if action == "watch":
        from kafka_tools.commands.partitions.reassignment.watch import watch

        with connection.admin(is_lasting=True) as admin:
            states = watch(admin, text, file or "", say=say)
        return running.finish(states, output_format, "not reassigned as requested:")
    assert file is not None and text is not None
    if action == "verify":
        from kafka_tools.commands.partitions.reassignment.progress import verify

        with connection.admin() as admin:
            states = verify(admin, text, file, preserve_throttles=given["preserve_throttles"], say=say)
        return running.finish(states, output_format, "cannot verify")
    from kafka_tools.commands.partitions.reassignment import changes
    from kafka_tools.commands.partitions.reassignment.throttles import Throttle

    is_given = context.get_parameter_source("timeout") is click.core.ParameterSource.COMMANDLINE
    rates = given["throttle"], given["replica_alter_log_dirs_throttle"]
    asked = changes.ChangeOrder(
        text,
        file,
        connection.timeout_s if is_given else MOVE_TIMEOUT_S,
        say,
        Throttle(*(-1 if rate is None else rate for rate in rates)),
        given["additional"],
        not given["disallow_replication_factor_change"],
    )
    result: Rows
    size = given["batch_size"]
    waits = given["watch"] or size is not None
    with connection.admin(is_lasting=waits) as admin:
        if action == "cancel":
            result = changes.cancel(admin, asked, preserve_throttles=given["preserve_throttles"])
            return running.finish(result, output_format, "Error cancelling partition reassignment for:")
        if waits:
            from kafka_tools.commands.partitions.reassignment.batches import BatchedExecution

            result = BatchedExecution(admin, asked).run(size)
        else:
            result = changes.execute(admin, asked)
        return running.finish(result, output_format, "Error reassigning partition(s):")


def _planned(connection: ConnectionOptions, planning: PlanningOptions, given: dict[str, Any]) -> str | None:
    """The reassignment file of a plan that empties brokers; None if nothing has to move."""
    from kafka_tools.commands.partitions.reassignment.generate import reassignment_file, topics_of

    topics = topics_of(planning, given["topics_to_move_json_file"])
    order = ProposalOrder(topics, given["broker_list"], not given["disable_rack_aware"], 0, planning, False)
    with connection.admin() as admin:
        return reassignment_file(admin, order)


def _no_change() -> Rows:
    from kafka_tools.output.rows import Rows

    return Rows("changed-reassignments", [])


def _checked_action(context: click.Context, planning: PlanningOptions, connection: ConnectionOptions) -> str:
    """The action. Raises UsageError for an invalid command line, in the words and the order of Kafka's tool."""
    given = [name for name in ACTIONS if context.params[name]]
    if not given and context.params["watch"]:
        given = ["watch"]
    if len(given) != 1:
        listed = ", ".join(f"--{name}" for name in ACTIONS)
        raise UsageError(
            f"Command must include exactly one action: {listed}",
            hint="or --watch, which Kafka's tool does not have" if not given else None,
        )
    (action,) = given
    if connection.bootstrap_server and connection.bootstrap_controller:
        raise UsageError("Please don't specify both --bootstrap-server and --bootstrap-controller")
    if not connection.is_given:
        raise UsageError("Please specify either --bootstrap-server or --bootstrap-controller")
    evacuates = action == "execute" and planning.evacuate is not None
    if action == "generate" or evacuates:
        planning.check(context.params)
    if evacuates and context.params["reassignment_json_file"] is not None:
        raise UsageError("--evacuate and --reassignment-json-file cannot be combined: give one of them")
    if not evacuates and action in _NEED_FILE and context.params["reassignment_json_file"] is None:
        raise UsageError('Missing required argument "[reassignment-json-file]"')
    values = {**context.params, "bootstrap_controller": connection.bootstrap_controller}
    allowed = (*_PERMITTED[action], *(_PERMITTED["evacuate"] if evacuates else ()), action)
    words = [word.partition("=")[0] for word in context.meta[ARGUMENTS]]
    wrong = [name for name in _OWN if is_given(values[name]) and name not in allowed]
    if wrong:
        first = min(wrong, key=lambda name: words.index(f"--{_spelled(name)}") if f"--{_spelled(name)}" in words else 0)
        raise UsageError(f'Option "[{_spelled(first)}]" can\'t be used with action "[{action}]"')
    return action


def _spelled(name: str) -> str:
    return name.replace("_", "-")
