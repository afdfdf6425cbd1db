"""Requests are cut out of what comes, and nobody looks for one before it can be there."""

from __future__ import annotations

import random

import pytest

from kafka_tools.broker_embedded.listeners.receiving import SMALL_BYTES, Receiver
from kafka_tools.errors import DecodeError

SCRATCH = memoryview(bytearray(SMALL_BYTES))


def feed(receiver: Receiver, data: bytes) -> None:
    while data:
        room = receiver.room(SCRATCH)
        taken = min(len(room), len(data))
        room[:taken] = data[:taken]
        receiver.received(SCRATCH, taken)
        data = data[taken:]


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


@pytest.mark.parametrize("size", [0, 1, 5, 1000, SMALL_BYTES - 4, SMALL_BYTES - 3, SMALL_BYTES + 5, 200_000])
def test_there_are_news_once_a_request_is_whole(size: int) -> None:
    payload = random.Random(size).randbytes(size)
    receiver = Receiver()
    data = framed(payload)
    news = 0
    for at in range(0, len(data), max(1, len(data) // 20)):
        assert receiver.is_empty == (at == 0)
        feed(receiver, data[at : at + max(1, len(data) // 20)])
        if receiver.has_news:
            news += 1
            found = receiver.next(1 << 20)
            if found is not None:
                assert bytes(found) == payload
                break
    else:
        pytest.fail("the request was not found")
    assert receiver.is_empty and not receiver.has_news
    assert news <= 3  # its length, that it is a large one, and all of it


def test_requests_that_came_together_are_news_one_by_one() -> None:
    receiver = Receiver()
    feed(receiver, framed(b"one") + framed(b"two") + framed(b"three")[:-1])
    found = []
    while (request := receiver.next(100)) is not None:
        found.append(bytes(request))
        assert not receiver.is_empty
    assert found == [b"one", b"two"] and not receiver.has_news
    feed(receiver, b"e")
    assert receiver.has_news and bytes(receiver.next(100) or b"") == b"three" and receiver.is_empty


def test_an_impossible_length_is_news() -> None:
    receiver = Receiver()
    feed(receiver, (101).to_bytes(4, "big"))
    assert receiver.has_news
    with pytest.raises(DecodeError):
        receiver.next(100)


@pytest.mark.parametrize("size", [10, 9_000, SMALL_BYTES - 500])
def test_what_came_behind_a_request_is_not_in_its_memory(size: int) -> None:
    """Whoever serves a request may write to it."""
    first, second = b"a" * size, b"second"
    receiver = Receiver()
    feed(receiver, framed(first) + framed(second)[:7])
    taken = receiver.next(1 << 20)
    assert taken is not None
    assert taken == first
    taken[:] = b"x" * size
    feed(receiver, framed(second)[7:])
    assert bytes(receiver.next(1 << 20) or b"") == second and receiver.is_empty
