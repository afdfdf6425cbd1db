"""Ctrl-C at every line of the code that sends: afterwards each record is acknowledged, once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.values import TopicPartition

FILES = ("clients/producing/sender.py", "clients/producing/produce_request.py")


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        yield running


def interrupted(call: Callable[[], object], at: int) -> bool:
    """Make the call and raise KeyboardInterrupt at line number ``at`` of those it runs; whether there were so many."""
    count = 0

    def in_line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count == at:
                raise KeyboardInterrupt
        return in_line

    def in_call(frame: FrameType, event: str, _: Any) -> Any:
        return in_line if frame.f_code.co_filename.endswith(FILES) else None

    before = sys.gettrace()
    sys.settrace(in_call)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_every_record_arrives_once(broker: EmbeddedBroker) -> None:
    with Producer(broker.bootstrap_servers, retry_backoff_ms=1, linger_ms=0) as producer:
        producer.send("interrupted", b"first").result(60.0)
        at, sent = 0, 1
        is_over = False
        while not is_over:
            at += 1
            delivery = producer.send("interrupted", b"%d" % at)
            sent += 1
            is_over = not interrupted(lambda: delivery.result(60.0), at)  # noqa: B023 - called in this round
            producer.flush(60.0)
            assert delivery.done and delivery.error is None, at
        assert at > 40
    partition = TopicPartition("interrupted", 0)
    with Consumer(broker.bootstrap_servers) as consumer:
        consumer.assign([partition])
        assert consumer.end_offsets([partition])[partition] == sent
