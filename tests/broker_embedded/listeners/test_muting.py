"""When a connection is served again: after its delay, and after the answer that is due, whichever comes last."""

from __future__ import annotations

import pytest

from tests.broker_embedded.listeners.wire import Wire


@pytest.mark.req("NET-19")
def test_an_answer_before_the_delay_is_over_does_not_reopen_the_connection() -> None:
    wire = Wire()
    wire.delays_s[b"one"] = 5.0
    wire.send(b"one", b"two")
    assert wire.written[-1] == b"answer to one"
    assert wire.served == [b"one"]
    wire.wait_until(4.9)
    wire.send(b"three")
    assert wire.served == [b"one"]
    wire.wait_until(5.0)
    assert wire.served == [b"one", b"two", b"three"]


@pytest.mark.req("NET-19")
def test_the_end_of_a_delay_does_not_reopen_a_connection_whose_answer_is_due() -> None:
    wire = Wire()
    wire.delays_s[b"one"] = 5.0
    wire.parks = {b"two"}
    wire.send(b"one", b"two", b"three")
    wire.wait_until(5.0)
    wire.delays_s[b"two"] = 2.0
    wire.wait_until(20.0)
    assert wire.served == [b"one", b"two"]
    wire.finish(b"two")
    assert wire.served == [b"one", b"two"], "the answer costs a delay of its own"
    wire.wait_until(22.0)
    assert wire.served == [b"one", b"two", b"three"]


@pytest.mark.req("NET-21")
def test_a_produce_without_an_answer_counts_as_answered() -> None:
    wire = Wire()
    wire.silent = {b"one", b"two"}
    wire.delays_s[b"two"] = 3.0
    wire.send(b"one", b"two", b"three")
    assert wire.served == [b"one", b"two"]
    assert wire.written == []
    wire.wait_until(3.0)
    assert wire.served == [b"one", b"two", b"three"]
