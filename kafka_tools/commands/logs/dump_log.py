"""``kafka-dump-log``: the contents of files in a log directory, like Kafka's ``DumpLogSegments``, and more.

The text is Kafka's byte for byte and ends where Kafka's ends. JSON, summaries, ranges and following are additions.
Damage is one line each on stderr and exit status 1. Gaps between offsets are reported but are not damage, because
compaction causes them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from kafka_tools.commands import running, standard_streams
from kafka_tools.commands.options.command import Command, option, output_option, section
from kafka_tools.errors import KafkaToolsError, OutputError, UsageError

if TYPE_CHECKING:
    from kafka_tools.commands.logs.output import Output
    from kafka_tools.commands.logs.report import Report
    from kafka_tools.dump.notes import FileNotes
    from kafka_tools.dump.request import DumpRequest
    from kafka_tools.dump.run import DumpRun, FileOutcome, Reading

PROGRAM = "kafka-dump-log"
reading_option = section("What to read")
content_option = section("Contents")
index_option = section("Indexes and limits")
SCHEMA = "kafka-tools/dump-log/v1"
_STRING_DECODER = "org.apache.kafka.tools.api.StringDecoder"
_INT32 = click.IntRange(0, 0x7FFFFFFF)
_BAR_FROM_BYTES = 64 * 1024 * 1024
_MIB = 1 << 20


@click.command(name=PROGRAM, cls=Command)
@click.argument("paths", metavar="[FILE|DIR]...", nargs=-1, type=click.Path())
@reading_option(
    "--files",
    metavar="FILE[,FILE...]",
    help="Files to read, separated by commas or given as arguments: .log, .index, .timeindex, .txnindex, .snapshot "
    "(producers) and .checkpoint (KRaft snapshots) files, patterns with * ? [...], and partition directories. "
    "Files are read in the given order. Example: --files data/orders-0/00000000000000000000.log",
)
@reading_option(
    "--partition-dir",
    metavar="DIR",
    help="Partition directory to read: all its files, checked against each other, with its leader epochs and topic id.",
)
@reading_option(
    "--offsets",
    metavar="FROM:TO",
    help="Only these offsets; the end of the range is exclusive: 100:200, 100:, :200, or 100 alone.",
)
@reading_option(
    "--time",
    "times",
    metavar="FROM:TO",
    help="Only records with timestamps in this range; the end of the range is exclusive: 2026-11-22 or "
    "2026-11-22T10:00:00 (UTC unless a zone follows), milliseconds since 1970, a duration before now (2h, '2 hours "
    "ago'), or now. Example: 2024-05-01T10:00:00Z:2024-05-01T10:05:00Z",
)
@reading_option(
    "--key",
    metavar="GLOB",
    help="Only records whose key, as printed, matches this pattern; * matches any text. Implies --print-data-log.",
)
@reading_option(
    "--from-position",
    metavar="[BASE:]BYTE",
    help="Byte to start at in the log, as printed by --show-position, --follow or the 'end' objects of JSON. "
    "BASE:BYTE selects the segment with this base offset.",
)
@reading_option(
    "--follow",
    is_flag=True,
    help="Keep reading as the log grows; with --partition-dir, continue into new segments. Stop with Ctrl-C. Only "
    "logs are read.",
)
@reading_option(
    "--check",
    "check_only",
    is_flag=True,
    help="Print only damage, one line per problem, and exit with status 1 if there is any. Files of the same partition "
    "and of the same log directory are checked against each other. With --deep-iteration, every record is read.",
)
@content_option("--print-data-log", is_flag=True, help="Print keys and values. Every decoder implies this option.")
@content_option(
    "--deep-iteration", is_flag=True, help="Print one line per record. --print-data-log implies this option."
)
@content_option(
    "--skip-record-metadata",
    is_flag=True,
    help="Print only keys and values of records, and no control records (with --print-data-log).",
)
@content_option(
    "--key-decoder-class",
    is_flag=False,
    flag_value=_STRING_DECODER,
    metavar="[NAME]",
    help="Decoder of keys: org.apache.kafka.tools.api.StringDecoder, .LongDecoder, .IntegerDecoder or "
    ".DefaultDecoder (hexadecimal), or a Python callable that takes bytes, as module:attribute.  [default: "
    "StringDecoder]",
)
@content_option(
    "--value-decoder-class",
    is_flag=False,
    flag_value=_STRING_DECODER,
    metavar="[NAME]",
    help="Decoder of values, as in --key-decoder-class.",
)
@content_option("--offsets-decoder", is_flag=True, help="Decode records of __consumer_offsets.")
@content_option("--transaction-log-decoder", is_flag=True, help="Decode records of __transaction_state.")
@content_option("--cluster-metadata-decoder", is_flag=True, help="Decode records of KRaft cluster metadata.")
@content_option(
    "--remote-log-metadata-decoder", is_flag=True, help="Decode records of __remote_log_metadata (tiered storage)."
)
@content_option("--share-group-state-decoder", is_flag=True, help="Decode records of __share_group_state.")
@index_option("--verify-index-only", is_flag=True, help="Check indexes without printing their entries.")
@index_option(
    "--index-sanity-check", is_flag=True, help="Check only what makes a broker rebuild an index when it starts."
)
@index_option(
    "--max-message-size",
    type=_INT32,
    default=5 * 1024 * 1024,
    metavar="BYTES",
    help="Maximum size of the batch at an index entry's position.  [default: 5242880]",
)
@index_option(
    "--max-bytes",
    type=_INT32,
    default=0x7FFFFFFF,
    metavar="BYTES",
    help="Maximum number of bytes to read from the start of each log.",
)
@index_option(
    "--max-decompressed-bytes",
    type=click.IntRange(1, 2**40),
    default=256 * 1024 * 1024,
    metavar="BYTES",
    help="Maximum decompressed size of a batch whose records are read.  [default: 256MB]",
)
@output_option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["json", "jsonl"]),
    help="Output format: one JSON document, or one JSON object per line. By default, the same text as Kafka's own "
    "tool.",
)
@output_option(
    "--bytes",
    "bytes_as",
    type=click.Choice(["auto", "text", "base64"]),
    help="Encoding of keys, values and header values in JSON: always text or always base64, or text if the bytes "
    "are UTF-8 and base64 otherwise (auto).  [default: auto]",
)
@output_option(
    "--summary",
    is_flag=True,
    help="Print totals instead of records: counts, sizes, codecs, times, producers and transactions, for each file "
    "and for all files.",
)
@output_option(
    "--keep-going",
    is_flag=True,
    help="Continue after damage with the next readable batch, and with the next file. By default, text output "
    "stops at damage; JSON and --summary always continue.",
)
@output_option("--show-position", is_flag=True, help="Print on stderr how far each log was read.")
@output_option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=1,
    metavar="N",
    help="Number of processes that read files, or parts of a large log, in parallel. The output stays the same.",
)
@option("--debug", is_flag=True, hidden=True)
def command(jobs: int, show_position: bool, debug: bool, check_only: bool, **options: Any) -> int:
    """Print the batches, records and index entries in a log directory's files.

    \b
    Examples:
      kafka-dump-log --print-data-log orders-0/*.log
      kafka-dump-log --check /var/lib/kafka
    """
    # numpy starts a thread per core for algebra, which is not used here. That takes half of its import time.
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
        if not isinstance(error, OutputError | UsageError):  # every error completes the document
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
    """Raise a usage error for options that exclude each other."""
    named = [name for name in ("paths", "files", "partition_dir") if getattr(request, name)]
    if len(named) != 1:
        raise click.UsageError("Give exactly one of: files, --files, --partition-dir.")
    if request.bytes_as is not None and (request.form is None or request.summary):
        raise click.UsageError("--bytes can only be used with -o json and -o jsonl.")
    if request.follow:
        from kafka_tools.dump.files import ALL_BYTES

        for given, spelled in (
            (request.summary, "--summary"),
            (request.verify_index_only, "--verify-index-only"),
            (request.index_sanity_check, "--index-sanity-check"),
            (request.max_bytes != ALL_BYTES, "--max-bytes"),
        ):
            if given:
                raise click.UsageError(f"{spelled} cannot be used with --follow.")
        if request.form == "json":
            raise click.UsageError("-o json prints one document, which --follow never completes: use -o jsonl.")
        if jobs > 1:
            raise click.UsageError("--jobs cannot be used with --follow, which reads segments one after the other.")


def _outcomes(
    run: DumpRun, readings: list[Reading], jobs: int, output: Output
) -> Iterator[tuple[FileOutcome, FileNotes]]:
    """Dump the files in their order. Yields the result of each."""
    if jobs > 1 and (len(readings) > 1 or any(map(run.is_cut, readings))):
        from kafka_tools.commands.logs.jobs import in_processes

        yield from in_processes(run, readings, jobs, output)
        return
    from kafka_tools.dump.notes import FileNotes

    for reading in readings:
        notes = FileNotes()
        yield run.one(reading, output, notes), notes


def _bar(run: DumpRun, readings: list[Reading], report: Report) -> AbstractContextManager[None]:
    """A progress bar, if stderr is a terminal and stdout is not."""
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
    """Compare the files of a partition with each other. Findings of the dump itself are not repeated.

    ``records``: also compare batches with their records, which takes as long as reading them.
    """
    from kafka_tools.storage.check import check_partition

    known = {(finding.path, finding.kind, finding.position) for finding in report.notes.findings}
    ending = run.make_ending(output)
    for finding in check_partition(directory, records=records):
        if finding.kind != "offset-gap" and (finding.path, finding.kind, finding.position) not in known:
            report.note(finding)
            ending.line(ending.finding_line(finding))


def _follow(run: DumpRun, output: Output, readings: list[Reading], directory: str | None) -> int:
    """Show logs while they grow, until Ctrl-C; then print the position."""
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
