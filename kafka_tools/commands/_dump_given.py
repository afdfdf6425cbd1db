"""What the options of kafka-dump-log ask for: which files, from where, what of them, and how it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_tools.commands._dump_inputs import begin_at, files_of, whole_partition
from kafka_tools.commands._dump_ranges import offset_range, position, time_range
from kafka_tools.commands._dump_run import Reading, Run
from kafka_tools.errors import UsageError
from kafka_tools.output.dump_files import DumpOptions, java_split

if TYPE_CHECKING:
    from kafka_tools.output.dump_decoders import Decoder
    from kafka_tools.output.dump_endings import Ending, Sink
    from kafka_tools.output.dump_select import Selection

_INTERNAL = ("offsets", "transaction_log", "cluster_metadata", "remote_log_metadata", "share_group_state")
"""The topics that have decoders, in the order in which Kafka's tool looks at the options."""
_STRING_DECODER = "org.apache.kafka.tools.api.StringDecoder"


def run_of(given: dict[str, Any]) -> Run:
    """How things are shown and what is read, without the files."""
    internal = next((name for name in _INTERNAL if given[f"{name}_decoder"]), None)
    wants_contents = bool(
        given["print_data_log"]
        or given["key_decoder_class"]
        or given["value_decoder_class"]
        or given["key"] is not None
        or internal
    )
    deep = given["deep_iteration"] or wants_contents
    skip_metadata = given["skip_record_metadata"]
    decoder = _decoder(internal, given) if wants_contents and (given["form"] is None or given["key"]) else None
    options = DumpOptions(
        given["verify_index_only"],
        given["index_sanity_check"],
        given["max_message_size"],
        given["max_bytes"],
        _selection(given, decoder if internal or given["key_decoder_class"] else None),
    )
    strict = not (given["form"] or given["summary"] or given["keep_going"] or given["partition_dir"] or given["follow"])

    def make_ending(sink: Sink) -> Ending:
        if given["summary"]:
            from kafka_tools.output.dump_summary import SummaryEnding

            return SummaryEnding(deep=deep)
        if given["form"] is None:
            from kafka_tools.output.dump_endings import TextEnding

            return TextEnding(sink, decoder, deep=deep, skip_metadata=skip_metadata, strict=strict)
        from kafka_tools.output.dump_json_ending import JsonEnding

        bytes_as = given["bytes_as"] or "auto"
        contents = _json_contents(internal, given, bytes_as) if wants_contents else None
        return JsonEnding(sink, contents, bytes_as, deep=deep, skip_metadata=skip_metadata)

    return Run(options, make_ending, strict=strict)


def _decoder(internal: str | None, given: dict[str, Any]) -> Decoder:
    """The first internal topic that was asked for, as in Kafka's tool; else decoders of keys and values."""
    from kafka_tools.output import dump_decoders

    if internal:
        decoder: Decoder = getattr(dump_decoders, internal)()
        return decoder
    return dump_decoders.plain(
        dump_decoders.field_decoder(given["key_decoder_class"] or _STRING_DECODER),
        dump_decoders.field_decoder(given["value_decoder_class"] or _STRING_DECODER),
    )


def _json_contents(internal: str | None, given: dict[str, Any], bytes_as: str) -> Any:
    from kafka_tools.output import dump_decoders, dump_json, dump_json_contents

    field = dump_json.FIELDS[bytes_as]
    if internal:
        return dump_json_contents.internal(internal, field)
    key, value = (given[name] or _STRING_DECODER for name in ("key_decoder_class", "value_decoder_class"))
    return dump_json_contents.plain(dump_decoders.field_decoder(key), dump_decoders.field_decoder(value), field)


def _selection(given: dict[str, Any], decoder: Decoder | None) -> Selection | None:
    """What --offsets, --time and --key ask for. ``decoder`` None: keys are compared as text."""
    if given["offsets"] is None and given["times"] is None and given["key"] is None:
        return None
    from kafka_tools.clock import SystemClock
    from kafka_tools.output.dump_select import Selection, decoded_key, key_pattern

    offsets = offset_range(given["offsets"]) if given["offsets"] is not None else (None, None)
    times = time_range(given["times"], SystemClock().now_ms()) if given["times"] is not None else (None, None)
    key = key_pattern(given["key"]) if given["key"] is not None else None
    return Selection(*offsets, *times, key, decoded_key(decoder) if decoder is not None else None)


def readings_of(given: dict[str, Any]) -> list[Reading]:
    """The files to read, each with the byte to begin at."""
    if given["partition_dir"] is not None:
        paths = whole_partition(given["partition_dir"])
    else:
        paths = files_of(java_split(given["files"]))
    readings = [Reading(path) for path in paths]
    if given["from_position"] is not None:
        readings = [Reading(path, start) for path, start in begin_at(paths, position(given["from_position"]))]
    if given["follow"]:
        from kafka_tools.commands._dump_follow import logs_only

        readings = logs_only(readings)
        if not readings:
            raise UsageError("--follow needs a log: none of the files ends in .log")
        if given["partition_dir"] is None and len(readings) > 1:
            raise UsageError("--follow takes one log, or --partition-dir")
    return readings
