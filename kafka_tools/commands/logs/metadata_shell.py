"""``kafka-metadata-shell``: the metadata of a cluster as a tree of files, with single commands or on a terminal.

The tree, its texts and the commands are those of Kafka's shell. In addition to snapshots it reads segments of the
metadata log and whole directories. It locks nothing. A missing node is an error with status 1.
"""

from __future__ import annotations

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, option

PROGRAM = "kafka-metadata-shell"


@click.command(name=PROGRAM, cls=Command)
@option(
    "-s",
    "--snapshot",
    metavar="FILE|DIR",
    required=True,
    type=click.Path(),
    help="Metadata to read: a snapshot (.checkpoint), a segment of the metadata log (.log), the directory "
    "__cluster_metadata-0, or the log directory that contains it. Example: --snapshot data/__cluster_metadata-0",
)
@click.argument("command", nargs=-1)
def command(snapshot: str, command: tuple[str, ...]) -> int:
    """Browse the metadata of a cluster in a snapshot or a metadata log.

    COMMAND is cat, find, ls or tree, followed by nodes such as image/topics or '/image/configs/TOPIC:*'. Without
    COMMAND, an interactive shell starts, with a history (arrow keys), completion (TAB) and the commands cd, pwd, help,
    history, man and exit.

    The command contacts no broker. It reads a directory as a broker does when it starts: the newest snapshot, then the
    log after it. This also works while a broker is writing there; the last records may then not be committed yet.

    \b
    Examples:
      kafka-metadata-shell --snapshot data/__cluster_metadata-0 ls image/topics/byName
      kafka-metadata-shell --snapshot data/__cluster_metadata-0 cat 'image/topics/byName/orders/*'
    """
    from kafka_tools.commands.logs.shell.loading import load
    from kafka_tools.commands.logs.shell.nodes import root

    interactive = not any(command)
    if interactive:
        click.echo("Loading...")
    loaded = load(snapshot)
    for remark in loaded.remarks:
        running.note(remark)
    if loaded.refused is not None:
        running.complain(PROGRAM, loaded.refused)
    if interactive:
        from kafka_tools.commands.logs.shell.terminal import talk

        talk(root(loaded.image))
        return running.FAILED if loaded.refused else 0
    from kafka_tools.commands.logs.shell.lines import parse
    from kafka_tools.commands.logs.shell.session import ShellSession

    problems: list[str] = []

    def complain(text: str) -> None:
        problems.append(text)
        running.complain(PROGRAM, text)

    line = parse(command, interactive=False)
    if line is not None:
        ShellSession(root(loaded.image), running.emit, complain).run(line)
    return running.FAILED if problems or loaded.refused else 0
