"""Derived files: write them anew, or check that they are up to date.

``python -m tests.regen`` writes all, ``python -m tests.regen index`` one of them; with ``--check``
nothing is written and the exit status is 1 if a file would change. ``TARGETS`` lists them.
``python -m tests.regen release 4.4.0`` reads a release of Kafka and writes what follows from it (``tests/releases``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from copy import copy
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import click

ROOT = Path(__file__).resolve().parent.parent
HELP_BEGINS = "<!-- help: written by python -m tests.regen help -->"
HELP_ENDS = "<!-- end of help -->"
COMMANDS_BEGIN = "<!-- commands: written by python -m tests.regen commands -->"
COMMANDS_END = "<!-- end of commands -->"
BIN_BEGINS = "<!-- bin: written by python -m tests.regen bin -->"
BIN_ENDS = "<!-- end of bin -->"
KINDS_BEGIN = "<!-- kinds: written by python -m tests.regen kinds -->"
KINDS_END = "<!-- end of kinds -->"
CONNECTION_BEGIN = "<!-- connection options: written by python -m tests.regen help -->"
CONNECTION_END = "<!-- end of connection options -->"
FINDINGS_BEGIN = "<!-- findings: written by python -m tests.regen findings -->"
FINDINGS_END = "<!-- end of findings -->"
ABSENT_BEGINS = "<!-- absent beans: written by python -m tests.regen metrics -->"
ABSENT_ENDS = "<!-- end of absent beans -->"
CAUSES_BEGIN = "<!-- causes: written by python -m tests.regen causes -->"
CAUSES_END = "<!-- end of causes -->"


def protocol_index() -> dict[Path, str]:
    """``protocol/_index.py``: one row per definition module in ``protocol/messages``."""
    import kafka_tools.protocol.messages as messages
    from kafka_tools.protocol.schema import Request

    rows = []
    for module in iter_modules(messages.__path__):
        for value in vars(import_module(f"{messages.__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Request) and value is not Request:
                name = value.__name__.removesuffix("Request")
                versions = (value.MIN_VERSION, value.MAX_VERSION, value.FLEXIBLE_FROM)
                rows.append(
                    (value.API_KEY, module.name, name, *versions, value.LATEST_UNSTABLE, value.DROPPED.high + 1)
                )
    lines = [
        '"""Every API: derived from the definitions by ``python -m tests.regen index``; do not edit."""',
        "",
        "# key, stem, name, oldest, newest, flexible from, newest is unstable, oldest since 4.0",
        "ROWS: tuple[tuple[int, str, str, int, int, int | None, bool, int], ...] = (",
        *("    " + repr(row).replace("'", '"') + "," for row in sorted(rows)),
        ")",
        "",
    ]
    return {ROOT / "kafka_tools" / "protocol" / "_index.py": "\n".join(lines)}


def completions() -> dict[Path, str]:
    """``completions/``: what ``kafka-tools completion`` prints."""
    from kafka_tools.commands.toolkit.completion import SHELLS, script

    return {ROOT / "completions" / f"kafka-tools.{shell}": script(shell) for shell in SHELLS}


def command_help() -> dict[Path, str]:
    """``docs/commands/``: the help of each command, and ``docs/connecting.md``: the options of nearly all of them."""
    from kafka_tools.commands.registry import COMMANDS, load, program

    pages = {}
    for name in COMMANDS:
        page = ROOT / "docs" / "commands" / f"{name}.md"
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        before, mark, rest = text.partition(HELP_BEGINS)
        _, end, after = rest.partition(HELP_ENDS)
        if mark and end:
            pages[page] = f"{before}{mark}\n{help_text(load(name), program(name))}{end}{after}"
    page = ROOT / "docs" / "connecting.md"
    before, mark, rest = page.read_text(encoding="utf-8").partition(CONNECTION_BEGIN)
    pages[page] = f"{before}{mark}\n{connection_help()}{CONNECTION_END}{rest.partition(CONNECTION_END)[2]}"
    return pages


def help_text(command: click.Command, program: str) -> str:
    """A command's help as a reader sees it on a terminal 100 columns wide, and that of its subcommands.

    Connection options that are the same for every command stand in ``docs/connecting.md``.
    """
    shown = copy(command)
    common = {(*each.opts, each.help) for each in connection_options()}
    shown.params = [
        each for each in command.params if not (isinstance(each, click.Option) and (*each.opts, each.help) in common)
    ]
    text = f"```console\n$ {program} --help\n{shown.get_help(_wide(shown, program))}\n```\n"
    if len(shown.params) < len(command.params):
        text += "\nPlus the [connection options](../connecting.md#connection-options).\n"
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            text += "\n" + help_text(below, f"{program} {name}")
    return text


def connection_help() -> str:
    """The help of the connection options that nearly all commands have."""
    context = _wide(click.Command("kafka-topics"), "kafka-topics")
    formatter = context.make_formatter()
    formatter.write_dl([record for each in connection_options() if (record := each.get_help_record(context))])
    return f"```console\n{formatter.getvalue()}```\n"


def connection_options() -> list[click.Option]:
    """The connection options of a command that has no others."""
    from kafka_tools.commands.options.command import CONNECTION
    from kafka_tools.commands.registry import load

    return [
        each
        for each in load("topics").params
        if isinstance(each, click.Option) and getattr(each, "section", "") == CONNECTION
    ]


def _wide(command: click.Command, program: str) -> click.Context:
    context = click.Context(command, info_name=program, terminal_width=100, max_content_width=100)
    context.help_option_names = ["-h", "--help"]
    return context


def commands_table() -> dict[Path, str]:
    """The index of ``docs/commands/`` with a line for each command, and the README's list of them by family."""
    from kafka_tools.commands.registry import COMMANDS, families, program

    lines = [
        f"| [`{program(name)}`]({name}.md) | {row.summary[0].lower()}{row.summary[1:].removesuffix('.')} |"
        for name, row in COMMANDS.items()
    ]
    rows = [
        f"| {family} | {', '.join(f'[`{program(name)}`](docs/commands/{name}.md)' for name in names)} |"
        for family, names in families().items()
    ]
    return {
        page: _between_marks_of_commands(page, table)
        for page, table in (
            (ROOT / "README.md", ["| for | commands |", "| --- | --- |", *rows]),
            (ROOT / "docs" / "commands" / "README.md", ["| command | does |", "| --- | --- |", *lines]),
        )
    }


def _between_marks_of_commands(page: Path, table: list[str]) -> str:
    before, _, rest = page.read_text(encoding="utf-8").partition(COMMANDS_BEGIN)
    return "\n".join([f"{before}{COMMANDS_BEGIN}", *table, f"{COMMANDS_END}{rest.partition(COMMANDS_END)[2]}"])


def bin_folder() -> dict[Path, str]:
    """The index of ``docs/commands/``: every script of Kafka's bin folder, and its command or why there is none."""
    from tests.bin_folder import table

    page = ROOT / "docs" / "commands" / "README.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BIN_BEGINS)
    return {page: f"{before}{BIN_BEGINS}\n{table()}\n{BIN_ENDS}{rest.partition(BIN_ENDS)[2]}"}


def kinds_of_rows() -> dict[Path, str]:
    """``docs/output.md``: what each command prints, with its schema and what ``-o name`` prints of it."""
    from kafka_tools.commands.registry import COMMANDS, load, program
    from kafka_tools.output.kinds import KINDS

    lines = ["| command | rows | a name is |", "| --- | --- | --- |"]
    for name in COMMANDS:
        for path, command in _leaves(load(name), program(name)):
            for parameter in command.params:
                for given, kind in getattr(parameter, "kinds", {}).items():
                    options = "".join(f" --{option.replace('_', '-')}" for option in given.split())
                    shape = KINDS[kind].name
                    lines.append(f"| `{path}{options}` | [{kind}](../schemas/{kind}.v1.schema.json) | `{shape}` |")
    page = ROOT / "docs" / "output.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(KINDS_BEGIN)
    table = "\n".join(lines)
    return {page: f"{before}{KINDS_BEGIN}\n{table}\n{KINDS_END}{rest.partition(KINDS_END)[2]}"}


def _leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _leaves(below, f"{path} {name}")
    else:
        yield path, command


def kinds_of_findings() -> dict[Path, str]:
    """``docs/findings.md``: every kind of finding, by chapter, and the remedies that several of them have."""
    from kafka_tools.storage.findings import CHAPTERS, REMEDIES

    lines = ["## Remedies", "", "| remedy | what to do |", "| --- | --- |"]
    lines += [f"| **{name}** | {text} |" for name, text in REMEDIES.items()]
    lines.append("")
    for title, chapter in CHAPTERS.items():
        lines += [f"## {title}", "", "| kind | severity | meaning | what to do |", "| --- | --- | --- | --- |"]
        for name, kind in chapter.items():
            advice = kind.advice or ""
            for remedy, text in REMEDIES.items():
                advice = advice.replace(text, f"[{remedy}](#remedies).")
            lines.append(f"| `{name}` | {kind.severity} | {kind.meaning} | {advice} |")
        lines.append("")
    page = ROOT / "docs" / "findings.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(FINDINGS_BEGIN)
    table = "\n".join(lines)
    return {page: f"{before}{FINDINGS_BEGIN}\n\n{table}\n{FINDINGS_END}{rest.partition(FINDINGS_END)[2]}"}


def absent_beans() -> dict[Path, str]:
    """The beans of Kafka that the bundled broker does not have, in ``docs/metrics.md``."""
    sys.path.insert(0, str(ROOT))
    from tests.metrics_page import absent_table

    page = ROOT / "docs" / "metrics.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(ABSENT_BEGINS)
    return {page: f"{before}{ABSENT_BEGINS}\n\n{absent_table()}\n{ABSENT_ENDS}{rest.partition(ABSENT_ENDS)[2]}"}


def causes() -> dict[Path, str]:
    """The errors with a usual cause, in the page of ``kafka-tools explain``."""
    from kafka_tools.explain.causes import CAUSES
    from kafka_tools.protocol import error_codes

    rows = ["| code | error | usual cause | next |", "| --- | --- | --- | --- |"]
    for code in error_codes.all_codes():
        if code.name in CAUSES:
            cause = CAUSES[code.name]
            commands = "".join(f"`{each}`" for each in cause.next[:1])
            text = cause.text.replace("__", r"\_\_")
            rows.append(f"| {code.code} | `{code.name}` | {text} | {commands} |")
    page = ROOT / "docs" / "commands" / "explain.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(CAUSES_BEGIN)
    table = "\n".join(rows)
    return {page: f"{before}{CAUSES_BEGIN}\n\n{table}\n{CAUSES_END}{rest.partition(CAUSES_END)[2]}"}


def faults() -> dict[Path, str]:
    """``docs/faults.md``: every command against each fault."""
    sys.path.insert(0, str(ROOT))
    from tests.commands.fault_table import page

    return {ROOT / "docs" / "faults.md": page()}


def requirements() -> dict[Path, str]:
    """``docs/requirements.md``: where each requirement stands."""
    sys.path.insert(0, str(ROOT))
    from tests.requirements import PAGE, page

    return {PAGE: page()}


def scripts() -> dict[Path, str]:
    """``tests/scripts/``: what happens after every command of the bundled broker's stories."""
    sys.path.insert(0, str(ROOT))
    from tests.broker_embedded.stories import files

    return {path: files.played(path) for path in files.paths()}


def configs() -> dict[Path, str]:
    """``docs/broker-configs.md``: which configs are in force in the bundled broker."""
    from tests.broker_configs import page

    return page()


def apis() -> dict[Path, str]:
    """``docs/broker-apis.md``: which APIs the bundled broker serves, beside Kafka."""
    from tests.broker_apis import page

    return page()


def protocol() -> dict[Path, str]:
    """``docs/protocol.md``: APIs, errors and stored records, field by field."""
    sys.path.insert(0, str(ROOT))
    from tests.protocol_page import page

    return page()


TARGETS: dict[str, Callable[[], dict[Path, str]]] = {
    "index": protocol_index,
    "completions": completions,
    "commands": commands_table,
    "bin": bin_folder,
    "help": command_help,
    "kinds": kinds_of_rows,
    "findings": kinds_of_findings,
    "faults": faults,
    "metrics": absent_beans,
    "causes": causes,
    "scripts": scripts,
    "requirements": requirements,
    "configs": configs,
    "apis": apis,
    "protocol": protocol,
}


def stale(names: list[str]) -> list[Path]:
    """The derived files of these targets whose text on disk is not what would be written."""
    return [
        path
        for name in names
        for path, text in TARGETS[name]().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["release"]:
        from tests.releases import follow

        return follow.main(arguments[1:])
    check = "--check" in arguments
    names = [argument for argument in arguments if argument != "--check"] or list(TARGETS)
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; give any of {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    for name in names:
        for path, text in TARGETS[name]().items():
            if path.exists() and path.read_text(encoding="utf-8") == text:
                continue
            print(f"{'stale' if check else 'written'}: {path.relative_to(ROOT)}")
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    return 1 if check and stale(names) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
