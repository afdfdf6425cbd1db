"""``kafka-dump-log``: what is in the files of a log directory, as Kafka's ``DumpLogSegments`` shows it, and more.

The text is Kafka's to the byte and ends where Kafka's ends. JSON, summaries, ranges and following are ours. Damage is
one line each on stderr and exit status 1; gaps between offsets are reported but are not damage, since compaction makes
them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running, standard_streams
from kafka_tools.commands.options.command import OUTPUT, Command, option
from kafka_tools.errors import KafkaToolsError, OutputError, UsageError

if TYPE_CHECKING:
    from kafka_tools.commands.logs.output import Output
    from kafka_tools.commands.logs.report import Report
    from kafka_tools.dump.notes import FileNotes
    from kafka_tools.dump.request import DumpRequest
    from kafka_tools.dump.run import DumpRun, FileOutcome, Reading

PROGRAM = "kafka-dump-log"
WHAT = "What to read"
CONTENT = "Contents"
INDEXES = "Indexes and limits"
SCHEMA = "kafka-tools/dump-log/v1"
_STRING_DECODER = "org.apache.kafka.tools.api.StringDecoder"
_INT32 = click.IntRange(0, 0x7FFFFFFF)
_BAR_FROM_BYTES = 64 * 1024 * 1024
_MIB = 1 << 20


@click.command(name=PROGRAM, cls=Command)
@click.argument("paths", metavar="[FILE|DIR]...", nargs=-1, type=click.Path())
@option(
    "--files",
    metavar="FILE[,FILE...]",
    section=WHAT,
    help="The files, with commas; they may also be words of their own. In this order: .log, .index, .timeindex, "
    ".txnindex, .snapshot (producers), .checkpoint (KRaft snapshots); patterns with * ? [...], and directories of "
    "partitions. Example: --files data/orders-0/00000000000000000000.log",
)
@option(
    "--partition-dir",
    metavar="DIR",
    section=WHAT,
    help="All files of one partition, with its leader epochs and topic id, compared with each other.",
)
@option(
    "--offsets",
    metavar="FROM:TO",
    section=WHAT,
    help="Only these offsets, the second one not included: 100:200, 100:, :200, or 100 alone.",
)
@option(
    "--time",
    "times",
    metavar="FROM:TO",
    section=WHAT,
    help="Only records with timestamps from the first up to the second: 2026-11-22 or 2026-11-22T10:00:00 (UTC unless "
    "a zone follows), milliseconds since 1970, a span before now (2h, '2 hours ago'), or now. "
    "Example: 2024-05-01T10:00:00Z:2024-05-01T10:05:00Z",
)
@option(
    "--key",
    metavar="GLOB",
    section=WHAT,
    help="Only records whose key, as it is shown, matches; * is any text. Implies --print-data-log.",
)
@option(
    "--from-position",
    metavar="[BASE:]BYTE",
    section=WHAT,
    help="Begin at this byte of the log (of the segment that starts at the offset BASE), as --show-position, "
    "--follow or the 'end' objects of JSON have told it.",
)
@option(
    "--follow",
    is_flag=True,
    section=WHAT,
    help="Go on when the log grows, with --partition-dir into the segments that follow, until Ctrl-C. Only logs are "
    "read.",
)
@option(
    "--check",
    "check_only",
    is_flag=True,
    section=WHAT,
    help="Print nothing but damage, a line each, and end with status 1 if there is any: of files, of partitions and of "
    "whole log directories, whose files are compared with each other. With --deep-iteration every record is read.",
)
@option("--print-data-log", is_flag=True, section=CONTENT, help="Print keys and values; every decoder implies it.")
@option("--deep-iteration", is_flag=True, section=CONTENT, help="A line per record; --print-data-log implies it.")
@option(
    "--skip-record-metadata",
    is_flag=True,
    section=CONTENT,
    help="With --print-data-log: only keys and values of records, nothing of control records.",
)
@option(
    "--key-decoder-class",
    is_flag=False,
    flag_value=_STRING_DECODER,
    metavar="[NAME]",
    section=CONTENT,
    help="How keys are shown: org.apache.kafka.tools.api.StringDecoder (the default), .LongDecoder, .IntegerDecoder or "
    ".DefaultDecoder (hexadecimal), or a Python callable of bytes as module:attribute.",
)
@option(
    "--value-decoder-class",
    is_flag=False,
    flag_value=_STRING_DECODER,
    metavar="[NAME]",
    section=CONTENT,
    help="How values are shown; as --key-decoder-class.",
)
@option("--offsets-decoder", is_flag=True, section=CONTENT, help="Read records as those of __consumer_offsets.")
@option(
    "--transaction-log-decoder", is_flag=True, section=CONTENT, help="Read records as those of __transaction_state."
)
@option("--cluster-metadata-decoder", is_flag=True, section=CONTENT, help="Read records as KRaft cluster metadata.")
@option(
    "--remote-log-metadata-decoder",
    is_flag=True,
    section=CONTENT,
    help="Read records as those of __remote_log_metadata (tiered storage).",
)
@option(
    "--share-group-state-decoder", is_flag=True, section=CONTENT, help="Read records as those of __share_group_state."
)
@option("--verify-index-only", is_flag=True, section=INDEXES, help="Check indexes without printing their entries.")
@option(
    "--index-sanity-check",
    is_flag=True,
    section=INDEXES,
    help="Only check what a broker checks at start to decide whether an index is built anew.",
)
@option(
    "--max-message-size",
    type=_INT32,
    default=5 * 1024 * 1024,
    metavar="BYTES",
    section=INDEXES,
    help="Largest batch looked for at an index entry's position; 5242880 without it.",
)
@option(
    "--max-bytes",
    type=_INT32,
    default=0x7FFFFFFF,
    metavar="BYTES",
    section=INDEXES,
    help="Read only the first so many bytes of each log.",
)
@option(
    "--max-decompressed-bytes",
    type=click.IntRange(1, 2**40),
    default=256 * 1024 * 1024,
    metavar="BYTES",
    section=INDEXES,
    help="Largest batch, once decompressed, whose records are read; 256MB without it.",
)
@option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["json", "jsonl"]),
    section=OUTPUT,
    help="One JSON document, or JSON objects one per line; without it the text is that of Kafka's own tool.",
)
@option(
    "--bytes",
    "bytes_as",
    type=click.Choice(["auto", "text", "base64"]),
    section=OUTPUT,
    help="Keys, values and header values in JSON: text if they are UTF-8, else base64 (auto, the default), or always "
    "the one or the other.",
)
@option(
    "--summary",
    is_flag=True,
    section=OUTPUT,
    help="Counts, sizes, codecs, times, producers and transactions of each file and of all together, instead of what "
    "is in them.",
)
@option(
    "--keep-going",
    is_flag=True,
    section=OUTPUT,
    help="Go on behind damage, at the next batch that can be read, and with the next file; text stops there without "
    "it, JSON and --summary never do.",
)
@option("--show-position", is_flag=True, section=OUTPUT, help="Tell on stderr how far each log was read.")
@option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=1,
    metavar="N",
    section=OUTPUT,
    help="Read so many files, or pieces of a large log, at once, each in a process of its own; the output is the same.",
)
@option("--debug", is_flag=True, hidden=True)
def command(jobs: int, show_position: bool, debug: bool, check_only: bool, **options: Any) -> int:
    """Print the batches, records and index entries in a log directory's files.

    \b
    Examples:
      kafka-dump-log --print-data-log orders-0/*.log
      kafka-dump-log --check /var/lib/kafka
    """
    # numpy starts a thread per core for algebra, which nothing here does: half of the time that its import takes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from kafka_tools.commands.logs.output import open_output
    from kafka_tools.commands.logs.report import Report, print_summaries, times_text
    from kafka_tools.dump.request import DumpRequest

    request = DumpRequest(**options)
    _check(request, jobs)
    if check_only:
        from kafka_tools.commands.logs.checking import check

        return check(request, open_output(request.form, SCHEMA), jobs=jobs, show_position=show_position)
    run = request.run()
    if request.times is not None and not request.times.replace(":", "").isdecimal():
        running.note(times_text(run))
    output = open_output(request.form, SCHEMA)
    if request.follow:
        return _follow(run, output, request.readings(), request.partition_dir)
    report = Report(output, run, positions=show_position)
    try:
        readings = request.readings()
        with _bar(run, readings, report):
            for outcome, notes in _outcomes(run, readings, jobs, output):
                report.take(outcome, notes)
        if request.partition_dir is not None:
            _cross_check(request.partition_dir, run, report, output, records=request.deep)
        if request.summary:
            print_summaries(report, request.form, output)
        output.close()
    except KafkaToolsError as error:
        if not isinstance(error, OutputError | UsageError):  # a document is whole whatever ended it
            output.fail(getattr(error, "path", None), str(error))
            output.close()
        report.finish()
        raise
    except OSError as error:
        if error.filename is not None:  # of what is read, not of the output
            output.fail(os.fsdecode(error.filename), f"{os.fsdecode(error.filename)}: {error.strerror}")
            output.close()
        raise
    return report.finish()


def _check(request: DumpRequest, jobs: int) -> None:
    """Options that exclude each other."""
    named = [name for name in ("paths", "files", "partition_dir") if getattr(request, name)]
    if len(named) != 1:
        raise click.UsageError("Give files, --files or --partition-dir" + (", one of them." if named else "."))
    if request.bytes_as is not None and (request.form is None or request.summary):
        raise click.UsageError("--bytes only goes with -o json and -o jsonl.")
    if request.follow:
        from kafka_tools.dump.files import ALL_BYTES

        for given, spelled in (
            (request.summary, "--summary"),
            (request.verify_index_only, "--verify-index-only"),
            (request.index_sanity_check, "--index-sanity-check"),
            (request.max_bytes != ALL_BYTES, "--max-bytes"),
        ):
            if given:
                raise click.UsageError(f"{spelled} does not go with --follow.")
        if request.form == "json":
            raise click.UsageError("-o json is one document, which --follow never ends: use -o jsonl.")
        if jobs > 1:
            raise click.UsageError("--jobs does not go with --follow: segments are followed one after the other.")


def _outcomes(
    run: DumpRun, readings: list[Reading], jobs: int, output: Output
) -> Iterator[tuple[FileOutcome, FileNotes]]:
    """Dump the files in their order; the outcome of each."""
    if jobs > 1 and (len(readings) > 1 or any(map(run.is_cut, readings))):
        from kafka_tools.commands.logs.jobs import in_processes

        yield from in_processes(run, readings, jobs, output)
        return
    from kafka_tools.dump.notes import FileNotes

    for reading in readings:
        notes = FileNotes()
        yield run.one(reading, output, notes), notes


def _bar(run: DumpRun, readings: list[Reading], report: Report) -> AbstractContextManager[None]:
    """A progress bar for somebody who waits for long work whose output goes elsewhere."""
    if sys.stdout.isatty() or not sys.stderr.isatty():
        return nullcontext()
    total = sum(os.path.getsize(reading.path) for reading in readings if os.path.isfile(reading.path))
    if total < _BAR_FROM_BYTES:
        return nullcontext()
    from kafka_tools.output.progress import progress

    def poll() -> tuple[int, int]:
        return (report.done_bytes + run.walk_position) // _MIB, total // _MIB

    return progress("MiB", poll)


def _cross_check(directory: str, run: DumpRun, report: Report, output: Output, *, records: bool) -> None:
    """Compare the files of a partition with each other; what the dump itself has found is not said twice.

    ``records``: batches are compared with their records too, which takes as long as reading these did.
    """
    from kafka_tools.storage.check import check_partition

    known = {(finding.path, finding.kind, finding.position) for finding in report.notes.findings}
    ending = run.make_ending(output)
    for finding in check_partition(directory, records=records):
        if finding.kind != "offset-gap" and (finding.path, finding.kind, finding.position) not in known:
            report.note(finding)
            ending.line(ending.finding_line(finding))


def _follow(run: DumpRun, output: Output, readings: list[Reading], directory: str | None) -> int:
    """Show logs as they grow, until Ctrl-C; then how far that was."""
    from kafka_tools.clock import SystemClock
    from kafka_tools.commands.logs.interrupts import Interrupts
    from kafka_tools.commands.logs.report import position_text, report_notes
    from kafka_tools.dump.files import Dump
    from kafka_tools.dump.follow import Follower

    dump = Dump(run.options, run.make_ending(output))
    follower = Follower(dump, output, SystemClock(), directory, standard_streams.require_reader)
    try:
        with Interrupts(follower.stop):
            outcome = follower.run(readings)
    except KafkaToolsError:
        output.close()
        report_notes(dump.notes)
        raise
    output.close()
    status = report_notes(dump.notes)
    running.note(position_text(outcome))
    return status
