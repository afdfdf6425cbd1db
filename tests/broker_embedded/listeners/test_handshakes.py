"""TLS connections before their handshake is done are bounded, and an honest client gets in among any number of them."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable

import pytest
import trustme

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.listeners.handshakes import Handshakes
from kafka_tools.clock import Deadline, ManualClock, SystemClock
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.broker_embedded.wire_client import WireClient

FEW = 20


class Stranger:
    """A connection before its handshake is done."""

    def __init__(self, waiting: Handshakes) -> None:
        self._waiting = waiting
        self.steps = 0
        self.reasons: list[str] = []
        waiting.began(self)

    def give_up(self, reason: str) -> None:
        self.reasons.append(reason)
        self._waiting.ended(self)

    def shake_hands(self) -> None:
        self.steps += 1


def test_one_step_is_done_in_each_round_of_the_loop_and_none_for_who_has_gone() -> None:
    rounds: list[Callable[[], None]] = []
    waiting = Handshakes(ManualClock().monotonic_s, rounds.append)
    first, second, third = (Stranger(waiting) for _ in range(3))
    for each in (first, second, third):
        waiting.sent(each)
    assert len(rounds) == 1
    waiting.ended(second)
    for steps in ((1, 0, 0), (1, 0, 0), (1, 0, 1)):
        rounds.pop()()
        assert (first.steps, second.steps, third.steps) == steps
    assert not rounds
    waiting.sent(first)
    assert len(rounds) == 1


def test_who_has_said_nothing_for_longest_goes_first_and_ends_nobody_who_speaks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    waiting = Handshakes(clock.monotonic_s, lambda step: None, BrokerLimits(silent_handshakes=3, handshakes=2))
    speaks = Stranger(waiting)
    waiting.sent(speaks)
    silent = [Stranger(waiting) for _ in range(5)]
    assert [bool(each.reasons) for each in silent] == [True, True, False, False, False]
    assert not speaks.reasons
    for each in silent[2:4]:  # two more speak: one of three goes, the one that spoke first
        waiting.sent(each)
    assert speaks.reasons and not silent[2].reasons
    waiting.sent(silent[2])
    waiting.sent(silent[4])
    assert silent[3].reasons and not silent[2].reasons, "it has sent something since"
    assert len(waiting) == 2
    waiting.ended(silent[2])
    waiting.ended(silent[2])
    assert len(waiting) == 1
    assert len([record for record in caplog.records if "waiting for their handshake" in record.message]) == 1, (
        "not for each"
    )


def test_a_handshake_has_its_time_however_often_something_comes() -> None:
    clock = ManualClock()
    waiting = Handshakes(clock.monotonic_s, lambda step: None)
    first, second = Stranger(waiting), Stranger(waiting)
    clock.advance(50)
    third = Stranger(waiting)
    waiting.sent(first)
    waiting.end_late(60)
    assert not first.reasons + second.reasons
    clock.advance(10)
    waiting.end_late(60)
    assert first.reasons == second.reasons == ["not completed after 60 s"]
    assert not third.reasons
    waiting.end_all()
    assert len(waiting) == 0


@pytest.mark.parametrize("says", ["nothing", "a hello"])
def test_an_honest_client_gets_in_among_many_that_do_not_go_on(monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    monkeypatch.setattr(EmbeddedBroker, "limits", BrokerLimits(silent_handshakes=FEW, handshakes=FEW))
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost").private_key_and_cert_chain_pem.bytes().decode()
    begin = certificate.index("-----BEGIN CERT")
    config = {"ssl.keystore.type": "PEM", "ssl.keystore.key": certificate[:begin]}
    config["ssl.keystore.certificate.chain"] = certificate[begin:]
    context = ssl.create_default_context()
    authority.configure_trust(context)
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    hello = outgoing.read()
    with EmbeddedBroker(listeners="SSL://127.0.0.1:0", config=config) as broker, contextlib.ExitStack() as stack:
        strangers = []
        for number in range(6 * FEW):
            strangers.append(stack.enter_context(WireClient(broker.bootstrap_servers)))
            if says == "a hello":
                with contextlib.suppress(ConnectionError):  # its place may be another's already
                    strangers[-1].send_raw(hello)
            if not number % FEW:
                with WireClient(broker.bootstrap_servers, tls=context) as honest:
                    assert honest.call(MetadataRequest(topics=[]), 1).brokers
        server = broker._running.server  # type: ignore[union-attr]
        deadline = Deadline(SystemClock(), 60)
        while len(server.shared.handshakes) > 2 * FEW:  # type: ignore[union-attr]
            assert not deadline.expired
        with contextlib.suppress(ConnectionError):
            while strangers[0].receive_raw():  # what was said to its hello, then the end
                pass
