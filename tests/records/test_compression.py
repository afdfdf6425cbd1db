"""Codecs: round trips, other writers' framings, and bounds that hold against what the data claim."""

from __future__ import annotations

import gzip
import zlib

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.errors import CorruptBatch, UnsupportedCodec
from kafka_tools.protocol.enums import CODECS
from kafka_tools.records.compression import codec_id, compress, decompress
from kafka_tools.records.crc32c import crc32c
from kafka_tools.records.lz4_frame import with_old_checksum, with_standard_checksum
from kafka_tools.records.text import JAVA_ERRORS, java_text


@given(data=st.binary(max_size=5000), codec=st.sampled_from(CODECS))
def test_what_was_compressed_comes_back(data: bytes, codec: str) -> None:
    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_several_blocks_come_back(codec: str) -> None:
    data = bytes(range(256)) * 2000
    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize(("codec", "levels"), [("gzip", (1, 9)), ("lz4", (1, 17)), ("zstd", (1, 19))])
def test_levels_come_back(codec: str, levels: tuple[int, int]) -> None:
    data = b"operators look at logs at three in the morning " * 3000
    for level in levels:
        assert decompress(codec, compress(codec, data, level=level)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_the_limit_is_exact(codec: str) -> None:
    data = bytes(100_000)
    packed = compress(codec, data)
    assert decompress(codec, packed, limit_bytes=100_000) == data
    with pytest.raises(CorruptBatch, match="the limit of 99999 bytes"):
        decompress(codec, packed, limit_bytes=99_999)


@pytest.mark.parametrize("codec", CODECS[1:])
def test_cut_data_are_an_error(codec: str) -> None:
    packed = compress(codec, b"some bytes that do not compress at all: 0123456789abcdef")
    for cut in range(len(packed)):
        if codec == "snappy" and cut == 16:
            continue  # the header alone is an empty stream
        with pytest.raises(CorruptBatch):
            decompress(codec, packed[:cut])


def test_snappy_may_be_one_raw_block_or_several_streams() -> None:
    data = b"raw " * 1000
    assert decompress("snappy", bytes(cramjam.snappy.compress_raw(data))) == data
    assert decompress("snappy", compress("snappy", data) + compress("snappy", b"more")) == data + b"more"


def test_a_snappy_length_that_lies_costs_nothing() -> None:
    with pytest.raises(CorruptBatch, match=r"claims|exceed the limit"):
        decompress("snappy", b"\xff\xff\xff\x7f" + b"\x00" * 4)


def test_gzip_members_may_follow_one_another() -> None:
    assert decompress("gzip", gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


def test_a_gzip_bomb_stops_at_the_limit() -> None:
    stream = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(stream.compress(bytes(1 << 20)) for _ in range(64)) + stream.flush()
    with pytest.raises(CorruptBatch, match="the limit of 1048576 bytes"):
        decompress("gzip", bomb, limit_bytes=1 << 20)


def test_a_zstd_bomb_stops_at_the_limit() -> None:
    bomb = bytes(cramjam.zstd.compress(bytes(64 << 20)))
    with pytest.raises(CorruptBatch, match="the limit of 1048576 bytes"):
        decompress("zstd", bomb, limit_bytes=1 << 20)


def test_lz4_headers_of_both_checksums_are_read() -> None:
    frame = compress("lz4", b"text" * 100)
    old = with_old_checksum(frame)
    assert old != frame and with_standard_checksum(old) == frame and with_standard_checksum(frame) == frame
    assert old == compress("lz4", b"text" * 100, old_lz4_checksum=True)
    assert decompress("lz4", old) == b"text" * 100
    wrong = bytearray(frame)
    wrong[6] ^= 0x55
    with pytest.raises(CorruptBatch, match="checksum"):
        decompress("lz4", bytes(wrong))


def test_checksums_are_those_of_their_specifications() -> None:
    # RFC 3720 B.4
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(bytearray(range(32))) == 0x46DD794E
    assert crc32c(memoryview(b"123456789")) == 0xE3069283


def test_unknown_codecs_are_named() -> None:
    with pytest.raises(UnsupportedCodec, match="'brotli'"):
        codec_id("brotli")
    with pytest.raises(UnsupportedCodec, match="id 6"):
        decompress(6, b"")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"caf\xc3\xa9", "café"),
        (b"\xff", "\ufffd"),
        (b"\xed\xa0\x80", "\ufffd"),  # one for an encoded surrogate, where Python has three
        (b"\xed\xa0\x80\xed\xb0\x80!", "\ufffd\ufffd!"),
        (b"\xed\xa0A", "\ufffdA"),
        (b"\xe2\x82", "\ufffd"),
        (b"\xf0\x9f\x98", "\ufffd"),
        (b"\xe0\x80\x80", "\ufffd\ufffd\ufffd"),
        (b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),
    ],
)
def test_text_is_replaced_as_java_does(data: bytes, text: str) -> None:
    assert java_text(data) == data.decode(errors=JAVA_ERRORS) == text
    assert str(memoryview(data), "utf-8", JAVA_ERRORS) == text


LEADS = bytes([*range(0xE0, 0x100), 0x80, 0x90, 0xA0, 0xBF])
"""What sequences of several bytes are made of."""


@given(st.binary(max_size=12) | st.lists(st.sampled_from(LEADS)).map(bytes))
def test_text_is_replaced_alike_by_both_ways(data: bytes) -> None:
    assert java_text(data) == data.decode(errors=JAVA_ERRORS)
