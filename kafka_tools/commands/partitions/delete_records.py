"""``kafka-delete-records``: move the log start offset of partitions forward, as a JSON file says.

Reads the file through ``documents``, asks the partition leaders through the admin client, prints what Kafka's
DeleteRecordsCommand prints. Unlike that tool, exits 1 when a partition failed.
"""

from __future__ import annotations

import click

from kafka_tools.commands import running
from kafka_tools.commands.options.command import Command, option
from kafka_tools.commands.options.connection import ConnectionOptions, connection_options
from kafka_tools.commands.options.output import output_options
from kafka_tools.commands.options.values import read_text


@click.command(name="kafka-delete-records", cls=Command)
@option(
    "--offset-json-file",
    required=True,
    metavar="FILE",
    help='Partitions with the offset to delete before, -1 for the high watermark: {"partitions": [{"topic": "orders", '
    '"partition": 0, "offset": 1200}], "version": 1}. - reads standard input.',
)
@connection_options()
@output_options("deleted-records")
def command(offset_json_file: str, connection: ConnectionOptions, output_format: str | None) -> int:
    """Delete the records of partitions below an offset."""
    from kafka_tools.commands.documents import read_delete_records
    from kafka_tools.output.kafka import text as kafka_text
    from kafka_tools.output.rows import ItemError, Rows

    connection.check()
    offsets = read_delete_records(read_text(offset_json_file, "offsets file"), offset_json_file)
    if output_format is None:
        print("Executing records delete operation", flush=True)
    with connection.admin() as admin:
        outcomes = admin.delete_records(offsets)
    if output_format is None:
        print("Records delete operation completed:")
        running.emit("".join(kafka_text.low_watermark_line(partition, *each) for partition, each in outcomes.items()))
    rows = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "low_watermark": low_watermark,
            "result": "deleted",
        }
        for partition, low_watermark in outcomes.succeeded().items()
    ]
    errors = [ItemError.of(partition, error) for partition, error in outcomes.failures().items()]
    return running.finish(Rows("deleted-records", rows, errors), output_format, "could not delete records of")
