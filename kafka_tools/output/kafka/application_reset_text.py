"""The output of Kafka's StreamsResetter. Topics and partitions are sorted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka_tools.values import TopicPartition

DRY_RUN = "----Dry run displays the actions which will be performed when running Streams Reset Tool----\n"
NO_TOPICS = "No input or intermediate topics specified. Skipping seek.\n"
DEPRECATED_INTERMEDIATE = "WARN: `--intermediate-topics` is deprecated and will be removed in a future release\n"
DONE = "Done.\n"


def forced(group: str) -> str:
    """The text before members are removed."""
    return f"Force deleting all active members in the group: {group}\n"


def named_topics(inputs: Sequence[str], intermediates: Sequence[str]) -> str:
    """The topics of the command line."""
    text = f"Reset-offsets for input topics {_list(inputs)}\n" if inputs else ""
    return text + (f"Seek-to-end for intermediate topics {_list(intermediates)}\n" if intermediates else "")


def not_found(inputs: Sequence[str], intermediates: Sequence[str]) -> str:
    """The topics that do not exist."""
    text = "".join(f"Topic: {topic}\n" for topic in inputs)
    text = f"Following input topics are not found, skipping them\n{text}" if inputs else ""
    if intermediates:
        text += "Following intermediate topics are not found, skipping them\n"
    return text + "".join(f"Topic:{topic}\n" for topic in intermediates)


def heading(group: str) -> str:
    """The heading of the new offsets of input topics."""
    return f"Following input topics offsets will be reset to (for consumer group {group})\n"


def outside(offset: int, is_lower: bool, instead: int) -> str:
    """A warning for an offset outside the log. Kafka also prints it for the log's first and last offset."""
    which = "lower than earliest" if is_lower else "higher than latest"
    return f"New offset ({offset}) is {which} offset. Value will be set to {instead}\n"


def empty(key: TopicPartition) -> str:
    """A warning for a partition without a record at or after the given time."""
    return (
        f"Partition {key.partition} from topic {key.topic} is empty, without a committed record. "
        "Falling back to latest known offset.\n"
    )


def new_offsets(offsets: Mapping[TopicPartition, int]) -> str:
    """A line for each partition of input topics."""
    return "".join(
        f"Topic: {key.topic} Partition: {key.partition} Offset: {offset}\n" for key, offset in sorted(offsets.items())
    )


def at_their_ends(group: str, keys: Iterable[TopicPartition]) -> str:
    """A line for each partition of intermediate topics."""
    text = "".join(f"Topic: {key.topic}\n" for key in sorted(keys))
    head = f"Following intermediate topics offsets will be reset to end (for consumer group {group})\n"
    return head + text if text else ""


def deleted(topics: Sequence[str], are_named: bool) -> str:
    """The internal topics to delete."""
    return f"Deleting {'specified' if are_named else 'inferred'} internal topics {_list(topics)}\n"


def _list(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"
