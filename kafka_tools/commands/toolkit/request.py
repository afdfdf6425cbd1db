"""``kafka-tools request``: one request of any API, as JSON, and its response as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands.options.command import Command, section
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.running import FAILED, complain, emit, note
from kafka_tools.errors import InputError, UsageError

if TYPE_CHECKING:
    from kafka_tools.net.versions import NodeVersions
    from kafka_tools.protocol.registry import Api
    from kafka_tools.protocol.schema import Request

_CONTROLLER = "controller"
_CREATES = "allow_auto_topic_creation"
_NOT_HERE = ("sasl_handshake", "sasl_authenticate")
"""APIs of the login, which the connection has made already."""
option = section("Request")


def api_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The APIs that begin with ``incomplete``."""
    from kafka_tools.protocol import registry

    return [row.name for row in registry.rows() if row.name.lower().startswith(incomplete.lower())]


def _node(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    if value is None or value == _CONTROLLER:
        return value
    if not value.isascii() or not value.isdigit():
        raise click.BadParameter("expected the id of a node, or controller")
    return int(value)


@click.command(name="request", cls=Command)
@click.argument("api", metavar="API", shell_complete=api_names)
@click.argument("document", metavar="[JSON]", default="{}")
@option("--node", metavar="ID", callback=_node, help="Node to ask: an id, or controller.  [default: any node]")
@option(
    "--api-version", "version", type=click.IntRange(0, 1000), metavar="N",
    help="Version of the request.  [default: the newest that the node supports]",
)  # fmt: skip
@option("--template", is_flag=True, help="Print a request with all members instead, and ask no node.")
@option("--yes", is_flag=True, help="Send a request that changes or destroys something without asking.")
@connection_options(controllers=True)
def command(
    api: str, document: str, node: int | str | None, version: int | None, template: bool, yes: bool,
    connection: ConnectionOptions,
) -> int:  # fmt: skip
    """Send one request of any Kafka API, and print the response.

    JSON is the request, @FILE for one in a file, or - for standard input. Names and forms match Kafka's
    definitions: names such as topicData, bytes in base64. Missing members have their defaults. Secrets in the response
    are masked. The exit status is 1 if the top level of the response has an error.

    \b
    Examples:
      kafka-tools request -b localhost:9092 Metadata '{"topics": [{"name": "orders"}]}'
      kafka-tools request DescribeQuorum --template
      kafka-tools request -b localhost:9092 DescribeCluster --node controller
    """
    definition = _definition(api)
    if template:
        from kafka_tools.protocol.of_json import template as all_members

        newest = definition.request.MAX_VERSION
        emit(_printed(all_members(definition.request, _in_range(definition, newest if version is None else version))))
        return 0
    connection.check()
    members = _members(document)
    if version is not None:
        _in_range(definition, version)
    creates = isinstance(members, dict) and members.get("allowAutoTopicCreation") is True
    _let(definition.name, "changes" if creates else definition.request.EFFECT, yes)
    from kafka_tools.protocol.as_json import to_json
    from kafka_tools.protocol.of_json import from_json

    used: list[int] = []

    def build(versions: NodeVersions) -> tuple[Request, int]:
        used[:] = [versions.newest(definition.request) if version is None else version]
        request = from_json(definition.request, members, used[0])
        if isinstance(members, dict) and "allowAutoTopicCreation" not in members and hasattr(request, _CREATES):
            setattr(request, _CREATES, False)  # the protocol's default would create a misspelt topic
        if getattr(request, "acks", 1) == 0:
            raise InputError("a broker does not answer a Produce request with acks 0", hint='for example "acks": -1')
        return request, used[0]

    with connection.admin() as admin:
        metadata, deadline = admin.cluster.metadata, connection.deadline
        if node is None:
            target = metadata.any_node(deadline)
        else:
            found = metadata.controller(deadline) if isinstance(node, str) else metadata.node(node, deadline)
            if found is None:
                raise InputError("the cluster has no controller" if node == _CONTROLLER else f"unknown node {node}")
            target = found
        response = admin.cluster.exchange.call(target, build, deadline)
    emit(_printed(to_json(response, used[0])))
    code = getattr(response, "error_code", 0)
    if not code:
        return 0
    from kafka_tools.protocol import error_codes

    error = error_codes.error(code)
    complain(click.get_current_context().command_path, f"{error.name}: {error.text}")
    return FAILED


def _definition(name: str) -> Api:
    from kafka_tools.protocol import registry

    wanted = name.lower().removesuffix("request")
    rows = [row for row in registry.rows() if name == str(row.key) or wanted in (row.name.lower(), row.stem)]
    if not rows:
        from kafka_tools.texts.near_names import near_names

        near = near_names(name, [row.name for row in registry.rows()])
        raise UsageError(f"unknown API '{name}'", hint=f"did you mean {' or '.join(near)}?" if near else None)
    if rows[0].stem in _NOT_HERE:
        raise UsageError(f"{rows[0].name} belongs to the login, which the connection makes by itself")
    return registry.api(rows[0].key)


def _in_range(definition: Api, version: int) -> int:
    low, high = definition.request.MIN_VERSION, definition.request.MAX_VERSION
    if not low <= version <= high:
        raise UsageError(f"invalid --api-version {version}: {definition.name} has the versions {low} to {high}")
    return version


def _members(text: str) -> Any:
    from kafka_tools.commands.documents import parse

    place = "the request"
    if text == "-" or text.startswith("@"):
        from kafka_tools.commands.options.values import read_text

        place = "standard input" if text == "-" else text[1:]
        text = read_text(text if text == "-" else text[1:], "request")
    return parse(text, place)


def _let(name: str, effect: str, yes: bool) -> None:
    """Ask before a request that changes something. Raises InputError if the answer is no, or nobody can be asked."""
    if effect == "reads" or yes:
        return
    what = "destroys data" if effect == "destroys" else "changes the cluster"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(f"{name} {what}: nothing was sent", hint="add --yes to send it")
    from kafka_tools.given_files import read_answer

    note(f"{name} {what}. Send it? (y/n)")
    if read_answer().strip().lower() != "y":
        raise InputError("nothing was sent")


def _printed(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
