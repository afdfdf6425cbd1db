"""What is shown of many batches at once is what is shown of them one by one, whatever is in them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.dump import decoders, internal_decoders, text_columns
from kafka_tools.dump.decoders import Decoder
from kafka_tools.dump.endings import Ending, TextEnding
from kafka_tools.dump.json import contents as json_contents
from kafka_tools.dump.json.ending import JsonEnding
from kafka_tools.dump.json.lines import FIELDS
from kafka_tools.dump.offset_columns import OffsetCommits
from kafka_tools.dump.text_columns import TextWindow
from kafka_tools.protocol.codec import encode_versioned
from kafka_tools.protocol.enums import CODECS
from kafka_tools.protocol.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafka_tools.records.batches import BatchView, batches
from kafka_tools.records.build import build_batch
from kafka_tools.records.columns import decode, new_arena

NAME = st.sampled_from(["", "trace", "ключ"])
BYTES = st.none() | st.binary(max_size=20) | st.text(max_size=9).map(str.encode) | st.just(b"wide" * 200)
ROW = st.tuples(st.integers(0, 2**41), BYTES, BYTES, st.lists(st.tuples(NAME, BYTES), max_size=2).map(tuple))
MARKER = (5, b"\0\0\0\1", b"\0\0\0\0\0\7", ())
BATCH = st.fixed_dictionaries(
    {
        "codec": st.sampled_from(CODECS),
        "base_offset": st.integers(0, 10**12),
        "timestamp_type": st.integers(0, 1),
        "append_time_ms": st.just(77),
        "producer_id": st.sampled_from([-1, 4000]),
        "base_sequence": st.integers(-1, 2**31 - 1),
    }
)
GROUPS = st.lists(st.tuples(st.lists(ROW, min_size=1, max_size=5) | st.just([MARKER]), BATCH), min_size=1, max_size=6)
DECODERS = {
    "none": None,
    "text": decoders.plain_text,
    "hexadecimal": decoders.plain(bytes.hex, decoders.java_text),
}

Groups = list[tuple[list[tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]], dict[str, int]]]


class Lines:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def write_bytes(self, data: bytes) -> None:
        self.text += data.decode()


def views_of(groups: Groups) -> list[BatchView]:
    data = b""
    for rows, options in groups:
        chosen = dict(options)
        if not chosen["timestamp_type"]:
            chosen["append_time_ms"] = None  # type: ignore[assignment]
        if chosen["producer_id"] < 0:
            chosen["base_sequence"] = -1
        data += build_batch(rows, control=rows == [MARKER], **chosen)  # type: ignore[arg-type]
    return list(batches(data))


def text_ending(decoder: Decoder | None, skip: bool = False) -> TextEnding:
    return TextEnding(Lines(), decoder, deep=True, skip_metadata=skip)


def at_once(ending: Ending, views: Sequence[BatchView]) -> TextWindow | None:
    return ending.window(views, [view.crc_ok() for view in views], [()] * len(views))


def shown(window: TextWindow | None) -> str:
    assert window is not None
    return b"".join(window.parts).decode()


def one_by_one(ending: Ending, views: Sequence[BatchView]) -> str:
    sink = Lines()
    vars(ending).update(_sink=sink, _write=sink.write)
    for view in views:
        ending.line(ending.batch(view, view.crc_ok()))
        for record in view.records():
            ending.record(view, record)
    return sink.text


@given(groups=GROUPS, decoder=st.sampled_from(list(DECODERS)), skip=st.booleans(), slab=st.sampled_from([1, 3, 2048]))
def test_lines_of_random_batches_are_those_of_the_scalar_way(
    groups: Groups, decoder: str, skip: bool, slab: int
) -> None:
    views = views_of(groups)
    ending = text_ending(DECODERS[decoder], skip)
    kept, text_columns.SLAB_ROWS = text_columns.SLAB_ROWS, slab
    try:
        window = at_once(ending, views)
    finally:
        text_columns.SLAB_ROWS = kept
    assert window is not None and window.batch_count == len(views)
    assert shown(window) == one_by_one(ending, views)
    offsets = [record.offset for view in views for record in view.records()]
    assert window.last_offset == offsets[-1]
    pairs = list(zip([offsets[0] - 2, *offsets], offsets, strict=False))
    assert window.gaps(offsets[0] - 2) == [(a, b) for a, b in pairs if b != a + 1 and a >= 0]


@given(
    groups=GROUPS,
    decoder=st.sampled_from(["none", "plain", "hexadecimal", "offsets"]),
    bytes_as=st.sampled_from(list(FIELDS)),
    skip=st.booleans(),
)
def test_json_lines_of_random_batches_are_those_of_the_scalar_way(
    groups: Groups, decoder: str, bytes_as: str, skip: bool
) -> None:
    field = FIELDS[bytes_as]
    contents = {
        "none": None,
        "plain": json_contents.plain(decoders.java_text, decoders.java_text, field),
        "hexadecimal": json_contents.plain(bytes.hex, decoders.java_text, field),
        "offsets": json_contents.internal("offsets", field),
    }[decoder]
    views = views_of(groups)
    ending = JsonEnding(Lines(), contents, bytes_as, deep=True, skip_metadata=skip)
    window = at_once(ending, views)
    if window is None:
        assert skip and contents is None and any(view.is_control for view in views)
    else:
        assert shown(window) == one_by_one(ending, views)


NAMES_IN_COMMITS = st.sampled_from(["g", "payments-eu.v2", "Ünicode", 'a"b', "", "x" * 250])
COMMITS = st.builds(
    lambda group, topic, partition, offset, epoch, metadata, time, topic_id, version: (
        0,
        encode_versioned(OffsetCommitKey(group=group, topic=topic, partition=partition), 0),
        encode_versioned(
            OffsetCommitValue(
                offset=offset, leader_epoch=epoch, metadata=metadata, commit_timestamp=time, expire_timestamp=-1,
                topic_id=topic_id if version == 4 else UUID(int=0),
            ),
            version,
        ),
        (),
    ),
    NAMES_IN_COMMITS,
    NAMES_IN_COMMITS,
    st.integers(-1, 2**31 - 1),
    st.integers(-1, 2**63 - 1),
    st.integers(-1, 2**31 - 1) | st.just(-1),
    st.sampled_from(["", "", "", "note", 'a"b']),
    st.integers(-1, 2**63 - 1),
    st.uuids() | st.just(UUID(int=0)),
    st.integers(3, 4),
)  # fmt: skip
CUT = st.tuples(COMMITS, st.integers(0, 60), st.integers(0, 60)).map(
    lambda given: (0, given[0][1][: given[1]], given[0][2][: given[2]], ())
)
TOMBSTONE = COMMITS.map(lambda row: (0, row[1], None, ()))


@given(rows=st.lists(COMMITS | CUT | TOMBSTONE, min_size=1, max_size=8), as_json=st.booleans(), skip=st.booleans())
def test_commits_are_shown_as_the_scalar_way_shows_them(
    rows: list[tuple[int, bytes, bytes | None, tuple[()]]], as_json: bool, skip: bool
) -> None:
    views = list(batches(build_batch(rows)))
    ending: Ending = text_ending(internal_decoders.offsets(), skip)
    if as_json:
        contents = json_contents.internal("offsets", FIELDS["auto"])
        ending = JsonEnding(Lines(), contents, "auto", deep=True, skip_metadata=skip)
    assert shown(at_once(ending, views)) == one_by_one(ending, views)


@pytest.mark.parametrize("codec", CODECS)
def test_a_window_shows_as_many_batches_as_its_memory_holds(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(1, b"key", b"value " * 20, ())] * 10
    views = list(batches(b"".join(build_batch(rows, base_offset=10 * n, codec=codec) for n in range(5))))
    monkeypatch.setattr(text_columns, "_arena", lambda: new_arena(3000))
    ending = text_ending(decoders.plain_text)
    text, left = "", views
    while left:
        window = at_once(ending, left)
        assert window is not None and window.batch_count in (1, 2)
        text += shown(window)
        left = left[window.batch_count :]
    assert text == one_by_one(ending, views)


def test_a_batch_beyond_the_memory_is_left_to_the_scalar_way(monkeypatch: pytest.MonkeyPatch) -> None:
    views = list(batches(build_batch([(1, None, bytes(5000), ())], codec="zstd")))
    monkeypatch.setattr(text_columns, "_arena", lambda: new_arena(3000))
    assert at_once(text_ending(None), views) is None


@pytest.mark.parametrize("version", [3, 4])
def test_what_brokers_write_for_commits_is_plain(version: int) -> None:
    key = encode_versioned(OffsetCommitKey(group="payments", topic="orders.v1", partition=11), 0)
    topic_id = UUID(int=7 << 64) if version == 4 else UUID(int=0)
    value = encode_versioned(OffsetCommitValue(offset=5, commit_timestamp=77, topic_id=topic_id), version)
    found = decode(list(batches(build_batch([(0, key, value, ())] * 3 + [(0, b"other", value, ())]))))
    assert found is not None
    assert OffsetCommits(found, None).plain.tolist() == [True, True, True, False]
