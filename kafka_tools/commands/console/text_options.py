"""Options for the text of records, which the console consumers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_tools.commands.options.command import section
from kafka_tools.commands.options.values import key_value

text_option = section("Text")


def text_options(more_columns: str = "") -> Callable[[Any], Any]:
    """Add the options of formatters. ``more_columns``: further ``print.`` properties, for the help."""
    adders = (
        text_option(
            "--formatter",
            default="org.apache.kafka.tools.consumer.DefaultMessageFormatter",
            metavar="CLASS",
            help="Class that prints the records: DefaultMessageFormatter, NoOpMessageFormatter, "
            "OffsetsMessageFormatter, GroupMetadataMessageFormatter, TransactionLogMessageFormatter, "
            "ShareGroupMessageFormatter, ShareGroupStateMessageFormatter. The package can be left out.",
        ),
        text_option(
            "--formatter-property",
            "formatter_properties",
            type=key_value,
            multiple=True,
            metavar="KEY=VALUE",
            help="Property of the formatter, for example print.key=true. Keys: print.timestamp, print.partition, "
            f"print.offset, print.epoch, {more_columns}print.headers, print.key, print.value (true or false); "
            "key.separator, line.separator, headers.separator, null.literal; key.deserializer, value.deserializer, "
            "headers.deserializer.",
        ),
        text_option("--formatter-config", metavar="FILE", help="Properties file of formatter properties."),
        text_option(
            "--property",
            "old_formatter_properties",
            type=key_value,
            multiple=True,
            metavar="KEY=VALUE",
            help="Older name of --formatter-property.",
        ),
        text_option(
            "--key-deserializer",
            metavar="CLASS",
            help="Deserializer of keys: StringDeserializer, LongDeserializer, IntegerDeserializer, "
            "DoubleDeserializer, ...",
        ),
        text_option("--value-deserializer", metavar="CLASS", help="Deserializer of values, as in --key-deserializer."),
        text_option("--enable-systest-events", is_flag=True, help="Print 'shutdown_complete' at the end."),
    )

    def decorate(function: Any) -> Any:
        for add in reversed(adders):
            function = add(function)
        return function

    return decorate
