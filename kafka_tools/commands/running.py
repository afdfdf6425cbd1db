"""Ends every command: exit status and one line on stderr.

Commands raise errors. Only this module turns them into text and exit statuses.

====== ==========================================================================================
status meaning
====== ==========================================================================================
0      done (``--help`` and ``--version`` too)
1      failed, partly failed, or damage found
2      the command line is invalid
130    interrupted by Ctrl-C
141    the reader of our output closed it (``kafka-topics --list | head``), as for any Unix filter
====== ==========================================================================================

Only data goes to stdout. With ``--debug`` an error is followed by its traceback.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from kafka_tools import VERSION_LINE
from kafka_tools.commands import standard_streams
from kafka_tools.errors import KafkaToolsError, UnsupportedVersion

if TYPE_CHECKING:
    import click

    from kafka_tools.admin.outcomes import Outcomes
    from kafka_tools.output.cells import Row
    from kafka_tools.output.rows import ItemError, Rows

FAILED = 1
USAGE = 2
INTERRUPTED = 130
OUTPUT_CLOSED = 141

LONGEST_WORD, WORD_SHOWN = 300, 60
"""A longer word of a message (in characters; topic names end at 249) is cut to the second length."""
LONGEST_LINE, LINE_SHOWN = 4_000, 1_000
"""A longer complaint (in characters) is cut to the second length, with the number of items that follow."""

_SHOWN = "kafka_tools.shown"
"""Key in ``click.Context.meta``: the command has started to print a document."""

COMPLETE_VARIABLE = "_KAFKA_TOOLS_COMPLETE"


_Said = TypeVar("_Said")


def main(command: click.Command, program: str) -> NoReturn:
    """The entry of a console script: run ``command`` on the process's arguments and exit."""
    if COMPLETE_VARIABLE in os.environ:
        from kafka_tools.commands import completer

        sys.exit(completer.answer(os.environ[COMPLETE_VARIABLE], command))
    if not standard_streams.open_missing():
        complain(
            program,
            "cannot write: standard output is closed; nothing was done",
            "redirect it to /dev/null to discard it",
        )
        sys.exit(FAILED)
    standard_streams.buffer_output()
    try:
        status = run(command, sys.argv[1:], program)
    finally:
        standard_streams.give_up()
    sys.exit(status)


def run(command: click.Command, arguments: Sequence[str], program: str) -> int:
    """Run ``command`` and return the exit status. Errors are reported on stderr."""
    try:
        standard_streams.make_printable()  # also flushes earlier output
        # Kafka's scripts look for this exact token before other parsing (KIP-278).
        if "--version" in arguments:
            print(VERSION_LINE)
            status = 0
        else:
            status = _invoke(command, list(arguments), program)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return OUTPUT_CLOSED
    except Exception as error:  # noqa: BLE001 - the one place that turns any error into text and an exit status
        takes_output = standard_streams.takes_all(sys.stdout)
        if isinstance(error, OSError) and not error.filename and not takes_output:
            error.filename = "standard output"
        return _report(error, program, debug="--debug" in arguments)


def _report(error: Exception, program: str, debug: bool) -> int:
    if isinstance(error, KafkaToolsError):
        complain(program, str(error), error.hint)
    elif isinstance(error, OSError):
        # The layers below do not convert these errors: reading a file, writing to a full disk.
        place = f"{error.filename}: " if error.filename else ""
        complain(program, f"{place}{error.strerror or error}")
    elif isinstance(error, UnicodeEncodeError) and error.encoding == sys.getfilesystemencoding() != "utf-8":
        # A path from settings. A path of the command line keeps its bytes in any locale.
        told = f"cannot use a file name: its characters are not in the encoding of this locale ({error.encoding})"
        complain(program, told, "set LC_ALL=C.UTF-8")
    elif isinstance(error, OverflowError) and "PyTime_t" in str(error):
        # Python's functions for the time, and so its logging, count nanoseconds in 64 bits.
        complain(
            program, "the clock of this machine is past the year 2262, the last that Python supports", "set the clock"
        )
    elif isinstance(error, MemoryError):
        import traceback

        traceback.clear_frames(error.__traceback__)  # the frames hold the objects that filled the memory
        complain(program, "out of memory", "select less data, or raise the memory limit of the process")
    else:
        complain(
            program,
            f"internal error: {type(error).__name__}: {error}",
            None if debug else "this is a bug in kafka-tools: please report it with the output of --debug",
        )
    if debug:
        import traceback

        from kafka_tools.shown_text import printable

        standard_streams.say(printable("".join(traceback.format_exception(error)).rstrip("\n")))
    return error.exit_status if isinstance(error, KafkaToolsError) else FAILED


def emit(text: str) -> None:
    """Print the text of a result, on a terminal with control characters escaped.

    Clients choose group and client ids. On a terminal they must not move the cursor or change colours.
    """
    if sys.stdout.isatty():
        from kafka_tools.shown_text import printable

        text = printable(text)
    sys.stdout.write(text)


def shown(said: _Said) -> _Said:
    """Values from brokers, for Kafka's text. On a terminal every text in them becomes one line.

    So a group id with a line end cannot forge further lines. On a pipe the text is Kafka's own.
    """
    return _in_one_line(said) if sys.stdout.isatty() else said


def _in_one_line(said: Any) -> Any:
    from kafka_tools.shown_text import one_line

    if isinstance(said, str):
        return one_line(said)
    if isinstance(said, Mapping):
        return {_in_one_line(key): _in_one_line(value) for key, value in said.items()}
    if isinstance(said, tuple) and hasattr(said, "_fields"):
        return type(said)(*map(_in_one_line, said))
    if isinstance(said, list | tuple):
        return type(said)(map(_in_one_line, said))
    return said


def complain(program: str, message: str, hint: str | None = None) -> None:
    """Print one line on stderr that starts with the program's name, and the hint below it, all escaped.

    Very long words, such as a file given as a name, and long lists are cut, so that the reason remains visible.
    """
    from kafka_tools.shown_text import one_line

    lines = [f"{program}: {one_line(_with_short_list(_shortened(' '.join(message.split()))))}"]
    if hint:
        # A hint may be a list. Its lines are indented, so that none looks like a complaint.
        lines += [f"  {one_line(_with_short_list(_shortened(line.strip())))}" for line in hint.split("\n")]
    standard_streams.say("\n".join(lines))


def _shortened(text: str) -> str:
    """``text`` with its longest words cut. Commas separate words as well."""
    import re

    return re.sub(
        rf"[^\s,]{{{LONGEST_WORD + 1},}}",
        lambda word: f"{word[0][:WORD_SHOWN]}... ({len(word[0])} characters)",
        text,
    )


def _with_short_list(text: str) -> str:
    """``text``, cut after an item of its list if it is too long, with the number of items that follow."""
    if len(text) <= LONGEST_LINE:
        return text
    end, mark = max((text.rfind(each, 0, LINE_SHOWN), each) for each in (",", ";"))
    if end < 0:
        return f"{text[:LINE_SHOWN]}... ({len(text)} characters)"
    return f"{text[:end]}{mark} ... and {text.count(mark, end)} more"


def note(message: str, *more: str) -> None:
    """Print a remark (a warning, a deprecation) on stderr, one line for each text. The exit status does not change.

    If ``message`` starts with a line end, an empty line comes first, as in Kafka's tools. Long texts are cut as in
    ``complain``.
    """
    from kafka_tools.shown_text import printable

    space = "\n" if message.startswith("\n") else ""
    lines = [_with_short_list(_shortened(line)) for line in (message.removeprefix("\n"), *more)]
    standard_streams.say(space + "\n".join(printable(line).replace("\n", "\\n") for line in lines))


def tells(output_format: str | None) -> bool:
    """Whether ``tell`` prints, for answers that cost a request."""
    return output_format in ("table", "wide") or sys.stderr.isatty()


def tell(answer: str, output_format: str | None) -> None:
    """Print an answer in words on stderr: below the tables of ``-o``, and below Kafka's own text on a terminal.

    So silence never has to be interpreted. Programs that read stdout see no difference.
    """
    if tells(output_format):
        standard_streams.takes_all(sys.stdout)  # so that output comes before the answer
        note(answer)


def finish(
    result: Rows, output_format: str | None, failed: str = "", complaints: Sequence[ItemError] | None = None
) -> int:
    """End a command that has a result: print it in the form of ``-o``, complain about each item that failed.

    Returns the exit status. If ``output_format`` is None, the command has printed Kafka's text itself.
    ``failed`` starts the complaints: ``could not delete``. ``complaints`` replace those of the items.
    """
    import click

    if output_format is not None:
        from kafka_tools.output.rows import show

        click.get_current_context().meta[_SHOWN] = True
        show(result, output_format)
    for error in result.errors if complaints is None else complaints:
        standard_streams.takes_all(sys.stdout)  # so that output comes before the complaint
        complain(click.get_current_context().command_path, f"{failed} {error.item}: {error.message}".strip())
    return FAILED if result.errors else 0


def show_rows(
    kind: str,
    rows: Sequence[Row],
    output_format: str | None,
    as_text: Callable[[Any], str] | None = None,
    errors: Sequence[ItemError] = (),
    failed: str = "",
) -> int:
    """End a command whose result is rows: print Kafka's text of them (``as_text``), or the form of ``-o``.

    Exit status and ``failed`` as in ``finish``.
    """
    from kafka_tools.output.rows import Rows

    if output_format is None and as_text is not None:
        emit(as_text(shown(rows)))
    return finish(Rows(kind, rows, errors), output_format, failed)


def show_failure(error: Exception, kind: str, output_format: str | None) -> None:
    """Print the document of a call that failed as a whole, so that there is always a document.

    Prints nothing if the command line is invalid or a result has been started; ``run`` reports ``error``.
    """
    import click

    usage = isinstance(error, click.ClickException | click.Abort | click.exceptions.Exit)
    done = output_format is None or click.get_current_context().meta.get(_SHOWN)
    if done or usage or getattr(error, "exit_status", FAILED) == USAGE or isinstance(error, BrokenPipeError):
        return
    from kafka_tools.output.rows import ItemError, Rows, show

    assert output_format is not None
    # Only the first line of ``complain``, which prints the hint as well.
    failed = ItemError.of(getattr(error, "item", None), error)._replace(message=str(error))
    show(Rows(kind, [], [failed]), output_format)


@contextlib.contextmanager
def about(item: object) -> Iterator[None]:
    """Set ``item`` in an error that leaves the ``with`` block, for the document."""
    try:
        yield
    except KafkaToolsError as error:
        error.item = error.item or str(item)
        raise


@contextlib.contextmanager
def doing(what: str) -> Iterator[None]:
    """Put ``what`` and a colon before the message of an error that leaves the ``with`` block."""
    try:
        yield
    except KafkaToolsError as error:
        error.args = (f"{what}: {error}",)
        raise


def refuse_old_brokers(outcomes: Outcomes[Any, Any]) -> None:
    """Raise the UnsupportedVersion of a call that failed for all keys. Its hint contains the release that is needed."""
    if not outcomes.succeeded():
        for error in outcomes.failures().values():
            if isinstance(error, UnsupportedVersion):
                raise error


def _invoke(command: click.Command, arguments: list[str], program: str) -> int:
    import click

    try:
        with command.make_context(program, arguments) as context:
            status = command.invoke(context)
            return status if isinstance(status, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else program
        complain(path, error.format_message(), f"Try '{path} --help'.")
        return USAGE
    except click.ClickException as error:
        complain(program, error.format_message())
        return error.exit_code
    except click.Abort:
        return INTERRUPTED
