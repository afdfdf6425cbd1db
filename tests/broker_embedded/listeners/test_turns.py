"""Whose request is served when: what was due before a request came happens before it."""

from __future__ import annotations

import threading
import time

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.protocol import error_codes as codes
from kafka_tools.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_tools.protocol.messages.join_group import JoinGroupRequest
from tests.broker_embedded.wire_client import WireClient

SESSION_MS = 1_000


def test_a_session_that_is_over_has_ended_before_a_request_that_came_later() -> None:
    """librdkafka's 0081: a group is deleted as soon as its member's session is over, whatever held the broker up."""
    settings = {"group.min.session.timeout.ms": 100, "group.initial.rebalance.delay.ms": 0}
    with EmbeddedBroker(config=settings) as broker, WireClient(broker.bootstrap_servers) as client:
        protocol = JoinGroupRequest.RequestProtocol(name="range", metadata=b"")
        join = JoinGroupRequest(
            group_id="g", session_timeout_ms=SESSION_MS, rebalance_timeout_ms=60_000, group_instance_id="static",
            protocol_type="consumer", protocols=[protocol],
        )  # fmt: skip
        assert client.call(join, 5).error_code == codes.NONE
        broker.call(lambda _: None)  # the round in which the join was served is over
        joined_s = time.monotonic()
        holding = threading.Event()

        def hold(_: object) -> None:
            holding.set()
            time.sleep(max(0.1, joined_s + 1.1 * SESSION_MS / 1000 - time.monotonic()))

        held = threading.Thread(target=broker.call, args=(hold,))
        held.start()
        assert holding.wait(30)
        delete = DeleteGroupsRequest(groups_names=["g"])
        client.send(delete, 2)
        _, response = client.receive_response(delete, 2)
        held.join()
    assert [result.error_code for result in response.results] == [codes.NONE]
