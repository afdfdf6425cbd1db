"""Decoders of internal topics where they meet what no broker means to write; the rest is compared with Kafka's tool."""

from __future__ import annotations

from kafka_tools.output import dump_decoders
from kafka_tools.protocol.codec import encode, encode_versioned
from kafka_tools.protocol.stored.cluster_metadata import TopicRecord
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue

NO_TEXT = b"a\xff\xed\xa0\x80\xc3"
SHOWN = "a\ufffd\ufffd\ufffd"


def spoilt(data: bytes) -> bytes:
    return data.replace(b"Q" * len(NO_TEXT), NO_TEXT)


def test_names_that_are_not_utf_8_are_shown_as_java_shows_them() -> None:
    """As Kafka reads every string; the record is no damage."""
    name = "Q" * len(NO_TEXT)
    key = b"\x00\x01" + spoilt(encode(OffsetCommitKey(group=name, topic="orders", partition=1), 0))
    value = spoilt(encode_versioned(OffsetCommitValue(offset=5, metadata=name, commit_timestamp=7), 3))
    assert dump_decoders.offsets()(0, key, value) == (
        f'{{"type":"1","data":{{"group":"{SHOWN}","topic":"orders","partition":1}}}}',
        f'{{"version":"3","data":{{"offset":5,"leaderEpoch":-1,"metadata":"{SHOWN}","commitTimestamp":7}}}}',
    )
    topic = b"\x01\x02\x00" + spoilt(encode(TopicRecord(name=name), 0))
    _, shown = dump_decoders.cluster_metadata()(0, None, topic)
    assert shown is not None
    assert f'"name":"{SHOWN}"' in shown
