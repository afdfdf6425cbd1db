"""Requests are cut out of what comes, and nobody looks for one before it can be there."""

from __future__ import annotations

import random

import pytest

from kafka_tools.broker_embedded.listeners.receiving import SMALL_BYTES, Receiver, Scratch
from kafka_tools.errors import DecodeError

SCRATCH = Scratch()


def feed(receiver: Receiver, data: bytes) -> None:
    feed_scratch(receiver, SCRATCH, data)


def feed_scratch(receiver: Receiver, scratch: Scratch, data: bytes) -> None:
    while data:
        room = receiver.room(scratch)
        taken = min(len(room), len(data))
        room[:taken] = data[:taken]
        receiver.received(scratch, taken)
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


@pytest.mark.parametrize("size", [SMALL_BYTES // 2, 65_000, SMALL_BYTES - 600])
def test_requests_stay_where_they_came_in(size: int) -> None:
    """Nothing is copied, and memory is used again, also if who reads (asyncio) has it while a request is served."""
    scratch, receiver = Scratch(), Receiver()
    places = []
    data = b"".join(framed(bytes([number]) * size) for number in range(6))
    while data:
        came_in = scratch.view.obj
        room = receiver.room(scratch)
        taken = min(len(room), len(data))
        room[:taken] = data[:taken]
        is_all = taken == len(room)
        assert receiver.received(scratch, taken) == is_all  # the event loop has the room still
        data = data[taken:]
        while (request := receiver.next(1 << 20)) is not None:
            assert bytes(request) == bytes([len(places)]) * size
            memory = request.obj if isinstance(request, memoryview) else None
            places.append((memory, memory is came_in))
            del request
            scratch.give_back(memory)
    assert [was_there for _, was_there in places[2:]] == [True] * 4  # a part of the second came behind the first
    assert len({id(memory) for memory, _ in places[2:]}) == 2


@pytest.mark.parametrize("size", [32 * 1024, 40_000, 65_000])
def test_what_waits_takes_no_more_memory_than_is_said(size: int) -> None:
    scratch, receiver = Scratch(), Receiver()
    data = framed(bytes(size)) + framed(bytes(60_000)) * 2
    while not receiver.is_full:
        room = receiver.room(scratch)
        room[:], data = data[: len(room)], data[len(room) :]
        receiver.received(scratch, len(room))
    assert isinstance(receiver._whole, memoryview)
    assert len(receiver._whole.obj) + len(receiver._small) <= 112 * 1024  # type: ignore[arg-type]
    assert receiver.pending_bytes <= SMALL_BYTES + 4


def test_memory_of_which_somebody_has_a_part_is_not_used_again() -> None:
    scratch, receiver = Scratch(), Receiver()
    feed_scratch(receiver, scratch, framed(b"a" * 40_000))
    request = receiver.next(1 << 20)
    assert isinstance(request, memoryview)
    kept, memory = request[10:20], request.obj
    del request
    scratch.give_back(memory)
    for _ in range(3):
        feed_scratch(receiver, scratch, framed(b"b" * 40_000))
        other = receiver.next(1 << 20)
        assert isinstance(other, memoryview) and other.obj is not memory
        assert kept == b"a" * 10


@pytest.mark.parametrize("size", [9_000, 40_000])
def test_what_comes_behind_a_request_that_waits_is_read_in_few_steps(size: int) -> None:
    """Its client does not take answers, say: what is read ahead is not read by the four bytes."""
    scratch, receiver = Scratch(), Receiver()
    data = framed(bytes(size)) + framed(b"next") * 10_000
    feed_scratch(receiver, scratch, data[:1000])
    assert receiver.next(1 << 20) is None
    came, steps = 1000, 0
    while not receiver.is_full:
        room = receiver.room(scratch)
        room[:] = data[came : came + len(room)]
        receiver.received(scratch, len(room))
        came, steps = came + len(room), steps + 1
    assert SMALL_BYTES <= came <= SMALL_BYTES + 4 and steps <= 3
    assert bytes(receiver.next(1 << 20) or b"") == bytes(size)
    assert bytes(receiver.next(1 << 20) or b"") == b"next"


def test_requests_of_several_clients_come_in_between_one_another() -> None:
    rng = random.Random(7)
    scratch = Scratch()
    sent = [[rng.randbytes(rng.choice((3, 500, 9_000, 40_000, 65_000, 100_000))) for _ in range(12)] for _ in range(4)]
    streams = [b"".join(map(framed, payloads)) for payloads in sent]
    receivers = [Receiver() for _ in sent]
    got: list[list[bytes]] = [[] for _ in sent]
    while got != sent:
        number = rng.randrange(len(sent))
        receiver = receivers[number]
        if not receiver.is_full and streams[number]:
            room = receiver.room(scratch)
            taken = min(len(room), len(streams[number]), rng.choice((1, 100, 30_000, 72_000)))
            room[:taken] = streams[number][:taken]
            receiver.received(scratch, taken)
            streams[number] = streams[number][taken:]
        while rng.random() < 0.5 and (request := receiver.next(1 << 20)) is not None:
            got[number].append(bytes(request))
            memory = request.obj if isinstance(request, memoryview) else None
            if rng.random() < 0.5:
                del request
            scratch.give_back(memory)
