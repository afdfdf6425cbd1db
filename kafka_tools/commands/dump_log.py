"""``kafka-dump-log``: what is in the files of a log directory, as Kafka 4.3.1's ``DumpLogSegments`` prints it.

Standard output is Kafka's to the byte. Damage is one line each on stderr and exit status 1; gaps between offsets are
reported but are no damage, since compaction makes them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from kafka_tools.commands import _run
from kafka_tools.commands._options import Command, option
from kafka_tools.errors import LogError

if TYPE_CHECKING:
    from kafka_tools.output.dump_decoders import Decoder
    from kafka_tools.output.dump_files import Dump

PROGRAM = "kafka-dump-log"
CONTENT = "Contents"
INDEXES = "Indexes and limits"
STRING_DECODER = "org.apache.kafka.tools.api.StringDecoder"
_INT32 = click.IntRange(0, 0x7FFFFFFF)
_MOST_LINES = 200


@click.command(name=PROGRAM, cls=Command)
@option(
    "--files",
    required=True,
    metavar="FILE[,FILE...]",
    help="The files, in this order: .log, .index, .timeindex, .txnindex, .snapshot (producers), .checkpoint (KRaft "
    "snapshots). Example: --files data/orders-0/00000000000000000000.log",
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
    flag_value=STRING_DECODER,
    metavar="[NAME]",
    section=CONTENT,
    help="How keys are shown: org.apache.kafka.tools.api.StringDecoder (the default), .LongDecoder, .IntegerDecoder or "
    ".DefaultDecoder (hexadecimal), or a Python callable of bytes as module:attribute.",
)
@option(
    "--value-decoder-class",
    is_flag=False,
    flag_value=STRING_DECODER,
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
@option("--debug", is_flag=True, hidden=True)
def command(
    files: str,
    print_data_log: bool,
    deep_iteration: bool,
    skip_record_metadata: bool,
    key_decoder_class: str | None,
    value_decoder_class: str | None,
    offsets_decoder: bool,
    transaction_log_decoder: bool,
    cluster_metadata_decoder: bool,
    remote_log_metadata_decoder: bool,
    share_group_state_decoder: bool,
    verify_index_only: bool,
    index_sanity_check: bool,
    max_message_size: int,
    max_bytes: int,
    debug: bool,
) -> int:
    """Print the batches, records and index entries in a log directory's files."""
    from kafka_tools.output.dump_endings import TextEnding
    from kafka_tools.output.dump_files import Dump, DumpOptions, java_split

    internal = {
        "offsets": offsets_decoder,
        "transaction_log": transaction_log_decoder,
        "cluster_metadata": cluster_metadata_decoder,
        "remote_log_metadata": remote_log_metadata_decoder,
        "share_group_state": share_group_state_decoder,
    }
    wants_contents = print_data_log or key_decoder_class or value_decoder_class or any(internal.values())
    decoder = _decoder(internal, key_decoder_class, value_decoder_class) if wants_contents else None
    options = DumpOptions(verify_index_only, index_sanity_check, max_message_size, max_bytes)
    with Output() as output:
        deep = deep_iteration or decoder is not None
        dump = Dump(options, TextEnding(output, decoder, deep=deep, skip_metadata=skip_record_metadata))
        try:
            for file in java_split(files):
                if not dump.file(file):
                    output.flush()
                    _run.note(f"Ignoring unknown file {file}")
        except (LogError, OSError):
            output.flush()
            _report(dump)
            raise
    return _report(dump)


def _decoder(internal: dict[str, bool], key_decoder: str | None, value_decoder: str | None) -> Decoder:
    """The first internal topic that was asked for, as in Kafka's tool; else decoders of keys and values."""
    from kafka_tools.output import dump_decoders

    for name, wanted in internal.items():
        if wanted:
            decoder: Decoder = getattr(dump_decoders, name)()
            return decoder
    return dump_decoders.plain(
        dump_decoders.field_decoder(key_decoder or STRING_DECODER),
        dump_decoders.field_decoder(value_decoder or STRING_DECODER),
    )


def _report(dump: Dump) -> int:
    """Damage and gaps to stderr; the exit status."""
    from kafka_tools.output.dump_text import gaps

    damage = [finding for finding in dump.notes.findings if finding.is_damage]
    for finding in damage[:_MOST_LINES]:
        _run.complain(PROGRAM, str(finding))
    left = len(damage) - _MOST_LINES + dump.notes.unlisted
    for path, pairs in dump.notes.gaps.items():
        _run.note(gaps(path, pairs.items()).rstrip("\n"))
    if left > 0:
        _run.complain(PROGRAM, f"{left} more findings are not listed")
    return _run.FAILED if damage else 0


class Output:
    """Standard output as bytes, in large pieces: a line at a time costs more than reading the log."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *problem: object) -> None:
        self.flush()

    def write(self, text: str) -> None:
        self._parts.append(text)
        self._size += len(text)
        if self._size > 1 << 20:
            self.flush()

    def write_bytes(self, data: bytes) -> None:
        self.flush()
        sys.stdout.buffer.write(data)

    def flush(self) -> None:
        data = "".join(self._parts).encode("utf-8", "replace")
        self._parts.clear()
        self._size = 0
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def main() -> NoReturn:
    """Entry of the ``kafka-dump-log`` console script."""
    _run.main(command, PROGRAM)
