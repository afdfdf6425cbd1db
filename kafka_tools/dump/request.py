"""The request for a dump: the files, the start position, the selected contents, and the form.

``commands/logs/dump_log.py`` creates it from the options of the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.dump.files import ALL_BYTES, MAX_MESSAGE_BYTES, DumpOptions
from kafka_tools.dump.inputs import begin_at, files_of, java_split, matches_of, whole_partition
from kafka_tools.dump.run import DumpRun, Reading
from kafka_tools.errors import UsageError
from kafka_tools.records.compression import LIMIT_BYTES

if TYPE_CHECKING:
    from kafka_tools.dump.decoders import Decoder
    from kafka_tools.dump.endings import Ending, Sink
    from kafka_tools.dump.json.lines import Contents
    from kafka_tools.dump.selection import DumpSelection

STRING_DECODER = "org.apache.kafka.tools.api.StringDecoder"


class DumpRequest(NamedTuple):
    """The options of kafka-dump-log under their names. ``form`` None: Kafka's text."""

    paths: tuple[str, ...] = ()
    """Files and directories, as separate arguments. ``files`` is a list with commas, as in Kafka's tool."""
    files: str | None = None
    partition_dir: str | None = None
    offsets: str | None = None
    times: str | None = None
    key: str | None = None
    from_position: str | None = None
    follow: bool = False

    print_data_log: bool = False
    deep_iteration: bool = False
    skip_record_metadata: bool = False
    key_decoder_class: str | None = None
    value_decoder_class: str | None = None
    offsets_decoder: bool = False
    transaction_log_decoder: bool = False
    cluster_metadata_decoder: bool = False
    remote_log_metadata_decoder: bool = False
    share_group_state_decoder: bool = False

    verify_index_only: bool = False
    index_sanity_check: bool = False
    max_message_size: int = MAX_MESSAGE_BYTES
    max_bytes: int = ALL_BYTES
    max_decompressed_bytes: int = LIMIT_BYTES

    form: str | None = None
    bytes_as: str | None = None
    summary: bool = False
    keep_going: bool = False

    @property
    def internal(self) -> str | None:
        """The internal topic to decode: the first selected one, in the order of Kafka's tool."""
        topics = ("offsets", "transaction_log", "cluster_metadata", "remote_log_metadata", "share_group_state")
        return next((name for name in topics if getattr(self, f"{name}_decoder")), None)

    @property
    def contents(self) -> bool:
        """Whether keys and values are shown."""
        decoders = self.key_decoder_class or self.value_decoder_class or self.internal
        return bool(self.print_data_log or decoders or self.key is not None)

    @property
    def deep(self) -> bool:
        """Whether records are shown."""
        return self.deep_iteration or self.contents

    @property
    def strict(self) -> bool:
        """Whether damage ends the dump, as it ends Kafka's tool."""
        return not (self.form or self.summary or self.keep_going or self.partition_dir or self.follow)

    @property
    def _arguments(self) -> list[str]:
        return [*self.paths] if self.paths else java_split(self.files or "")

    def named(self) -> list[str]:
        """The named files and directories, and the matches of patterns. Raises InputError."""
        return [self.partition_dir] if self.partition_dir is not None else matches_of(self._arguments)

    def readings(self) -> list[Reading]:
        """The files to read, each with its first byte. Raises InputError, UsageError, OSError."""
        paths = whole_partition(self.partition_dir) if self.partition_dir is not None else files_of(self._arguments)
        readings = [Reading(path) for path in paths]
        if self.from_position is not None:
            from kafka_tools.dump.ranges import position

            readings = [Reading(path, start) for path, start in begin_at(paths, position(self.from_position))]
        return self._followed(readings) if self.follow else readings

    def _followed(self, readings: list[Reading]) -> list[Reading]:
        from kafka_tools.dump.follow import logs_only

        readings = logs_only(readings)
        if not readings:
            raise UsageError("--follow needs a log: none of the files ends in .log")
        if self.partition_dir is None and len(readings) > 1:
            raise UsageError("--follow takes one log, or --partition-dir")
        return readings

    def run(self) -> DumpRun:
        """The run that reads and shows the files. Raises UsageError, also for a decoder that cannot be loaded."""
        decoder = self._decoder() if self.contents and (self.form is None or self.key) else None
        options = DumpOptions(
            self.verify_index_only,
            self.index_sanity_check,
            self.max_message_size,
            self.max_bytes,
            self._selection(decoder if self.internal or self.key_decoder_class else None),
            self.max_decompressed_bytes,
        )
        return DumpRun(options, lambda sink: self._ending(sink, decoder), strict=self.strict)

    def _ending(self, sink: Sink, decoder: Decoder | None) -> Ending:
        if self.summary:
            from kafka_tools.dump.summary import SummaryEnding

            return SummaryEnding(deep=self.deep)
        skip_metadata = self.skip_record_metadata
        if self.form is None:
            from kafka_tools.dump.endings import TextEnding

            return TextEnding(sink, decoder, deep=self.deep, skip_metadata=skip_metadata, strict=self.strict)
        from kafka_tools.dump.json.ending import JsonEnding

        bytes_as = self.bytes_as or "auto"
        contents = self._json_contents(bytes_as) if self.contents else None
        return JsonEnding(sink, contents, bytes_as, deep=self.deep, skip_metadata=skip_metadata)

    def _decoder(self) -> Decoder:
        """The decoder of the internal topic, else the decoder of keys and values."""
        from kafka_tools.dump import decoders, internal_decoders

        if self.internal:
            decoder: Decoder = getattr(internal_decoders, self.internal)()
            return decoder
        return decoders.plain(
            decoders.field_decoder(self.key_decoder_class or STRING_DECODER),
            decoders.field_decoder(self.value_decoder_class or STRING_DECODER),
        )

    def _json_contents(self, bytes_as: str) -> Contents:
        from kafka_tools.dump import decoders
        from kafka_tools.dump.json import contents as json_contents
        from kafka_tools.dump.json import lines as json_lines

        field = json_lines.FIELDS[bytes_as]
        if self.internal:
            return json_contents.internal(self.internal, field)
        key, value = (name or STRING_DECODER for name in (self.key_decoder_class, self.value_decoder_class))
        return json_contents.plain(decoders.field_decoder(key), decoders.field_decoder(value), field)

    def _selection(self, decoder: Decoder | None) -> DumpSelection | None:
        """The selection of --offsets, --time and --key. ``decoder`` None: keys are compared as text."""
        if self.offsets is None and self.times is None and self.key is None:
            return None
        from kafka_tools.clock import SystemClock
        from kafka_tools.dump.ranges import offset_range, time_range
        from kafka_tools.dump.selection import DumpSelection, decoded_key, key_pattern

        offsets = offset_range(self.offsets) if self.offsets is not None else (None, None)
        times = time_range(self.times, SystemClock().now_ms()) if self.times is not None else (None, None)
        key = key_pattern(self.key) if self.key is not None else None
        return DumpSelection(*offsets, *times, key, decoded_key(decoder) if decoder is not None else None)
