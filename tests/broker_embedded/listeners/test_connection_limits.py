"""How many connections the broker takes and how fast, counted on a clock that stands still, and on real sockets."""

from __future__ import annotations

import socket

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.broker_embedded.listeners.admission import Admission
from kafka_tools.broker_embedded.listeners.connection_limits import ConnectionLimits
from kafka_tools.protocol.headers import encode_request
from kafka_tools.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.values import parse_address
from tests.broker_embedded.memory_broker import MemoryBroker
from tests.broker_embedded.wire_client import WireClient

ONE = {"PLAINTEXT": "PLAINTEXT"}


def limits(listeners: dict[str, str] | None = None, **configs: object) -> tuple[MemoryBroker, ConnectionLimits]:
    broker = MemoryBroker({name.replace("_", "."): str(value) for name, value in configs.items()})
    return broker, ConnectionLimits(broker.core.quotas, broker.core.configs, broker.clock, listeners or ONE)


def ip_limit(address: str | None, rate: float) -> AlterClientQuotasRequest:
    Entry = AlterClientQuotasRequest.EntryData
    entry = Entry(entity=[Entry.EntityData(entity_type="ip", entity_name=address)])
    entry.ops = [Entry.OpData(key="connection_creation_rate", value=rate)]
    return AlterClientQuotasRequest(entries=[entry])


def broker_config(name: str, value: str) -> IncrementalAlterConfigsRequest:
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    resource = Resource(resource_type=4, resource_name="")
    resource.configs = [Resource.AlterableConfig(name=name, config_operation=0, value=value)]
    return IncrementalAlterConfigsRequest(resources=[resource])


def test_one_address_has_a_limit_and_some_have_their_own() -> None:
    _, doors = limits(max_connections_per_ip=1, max_connections_per_ip_overrides="10.0.0.1:2, 10.0.0.2:0")
    for ip, most in (("10.0.0.9", 1), ("10.0.0.1", 2), ("10.0.0.2", 0)):
        for _ in range(most):
            assert doors.refusal_ms("PLAINTEXT", ip) is None
            doors.opened("PLAINTEXT", ip)
        assert doors.refusal_ms("PLAINTEXT", ip) == 0
    doors.closed("PLAINTEXT", "10.0.0.9")
    assert doors.refusal_ms("PLAINTEXT", "10.0.0.9") is None


def test_the_broker_and_each_listener_have_a_limit() -> None:
    listeners = {"PLAINTEXT": "PLAINTEXT", "OTHER": "SSL"}
    properties = {"max.connections": "2", "listener.name.other.max.connections": "1"}
    broker = MemoryBroker(properties)
    doors = ConnectionLimits(broker.core.quotas, broker.core.configs, broker.clock, listeners)
    doors.opened("OTHER", "10.0.0.1")
    assert not doors.has_room("OTHER")
    assert doors.has_room("PLAINTEXT")
    doors.opened("PLAINTEXT", "10.0.0.1")
    assert doors.spared_listener() is None
    assert doors.has_room("PLAINTEXT")  # brokers talk there; a connection of the other listener ends in its place
    doors.opened("PLAINTEXT", "10.0.0.1")
    assert doors.spared_listener() == "PLAINTEXT"


@pytest.mark.parametrize(
    "name", ["max.connection.creation.rate", "listener.name.plaintext.max.connection.creation.rate"]
)
def test_who_comes_too_early_waits_a_window_at_most(name: str) -> None:
    broker = MemoryBroker({name: "2"})
    doors = ConnectionLimits(broker.core.quotas, broker.core.configs, broker.clock, ONE)
    assert [doors.arrival_delay_ms("PLAINTEXT") for _ in range(20)] == [0] * 20  # ten windows of one second
    assert doors.arrival_delay_ms("PLAINTEXT") == 500
    assert [doors.arrival_delay_ms("PLAINTEXT") for _ in range(3)][-1] == 1000
    broker.clock.advance(60)
    assert doors.arrival_delay_ms("PLAINTEXT") == 0


def test_a_rate_may_be_as_small_as_one_likes() -> None:
    """The quotient by which Kafka counts is infinite then; it once was an error, and nobody came in any more."""
    broker, doors = limits(max_connection_creation_rate=0)
    broker.call(ip_limit("10.0.0.1", 1e-310))
    assert doors.arrival_delay_ms("PLAINTEXT") == doors.refusal_ms("PLAINTEXT", "10.0.0.1") == 1000


class Caller:
    """Who comes to a listener; ``when`` it was let in, in seconds."""

    def __init__(self, broker: MemoryBroker, listener: str = "PLAINTEXT") -> None:
        self.listener = listener
        self.ip = "10.0.0.1"
        self.is_open = True
        self.when: float | None = None
        self._clock = broker.clock

    def hold(self) -> None: ...

    def let_in(self) -> None:
        self.when = self._clock.monotonic_s()

    def close(self) -> None:
        self.is_open = False


def test_who_has_to_wait_holds_up_those_behind_who_count_when_it_is_their_turn() -> None:
    broker = MemoryBroker({"listener.name.plaintext.max.connection.creation.rate": "2"})
    listeners = {"PLAINTEXT": "PLAINTEXT", "OTHER": "SSL"}
    doors = ConnectionLimits(broker.core.quotas, broker.core.configs, broker.clock, listeners)
    admission = Admission(doors, broker.core.timers, [])
    callers = [Caller(broker) for _ in range(25)]
    began_s = broker.clock.monotonic_s()
    for caller in callers:
        admission.arrived(caller)
    callers[22].is_open = False  # it went before its turn
    other = Caller(broker, "OTHER")
    admission.arrived(other)
    assert [caller.when for caller in (*callers[:20], other)] == [began_s] * 21
    for _ in broker.core.timers.advance(broker.clock, 6):
        pass
    waited = [None if caller.when is None else caller.when - began_s for caller in callers[20:]]
    assert waited == pytest.approx([0.5, 1.0, None, 2.0, 3.0])


def test_who_waits_for_room_is_let_in_before_those_who_came_later() -> None:
    broker, doors = limits(max_connections=1)
    admission = Admission(doors, broker.core.timers, [])
    callers = [Caller(broker) for _ in range(4)]
    for caller in callers:
        admission.arrived(caller)
    for gone in (1, 2, 3):
        assert [caller.when is None for caller in callers] == [number >= gone for number in range(4)]
        admission.left(callers[gone - 1])


def test_an_address_over_its_quota_is_refused_after_the_delay_and_not_counted() -> None:
    broker, doors = limits()
    broker.call(ip_limit(None, 1))
    broker.call(ip_limit("10.0.0.1", 2))
    assert [doors.refusal_ms("PLAINTEXT", "10.0.0.1") for _ in range(20)] == [None] * 20
    assert [doors.refusal_ms("PLAINTEXT", "10.0.0.1") for _ in range(2)] == [500, 500]
    assert [doors.refusal_ms("PLAINTEXT", "10.0.0.2") for _ in range(11)] == [None] * 10 + [1000]


def test_an_address_has_one_limit_however_it_is_written() -> None:
    broker, doors = limits(max_connections_per_ip_overrides="0:0:0:0:0:0:0:1:0, localhost:0")
    broker.call(ip_limit("2001:DB8:0::1", 1))
    assert [doors.refusal_ms("PLAINTEXT", "2001:db8::1") for _ in range(11)] == [None] * 10 + [1000]
    assert doors.refusal_ms("PLAINTEXT", "::1") == doors.refusal_ms("PLAINTEXT", "127.0.0.1") == 0
    broker.call(ip_limit("::ffff:1.2.3.4", 1))
    assert [doors.refusal_ms("PLAINTEXT", "1.2.3.4") for _ in range(11)] == [None] * 10 + [1000]


def test_who_is_not_let_in_does_not_count_for_others() -> None:
    broker = MemoryBroker(
        {"max.connection.creation.rate": "2", "listener.name.other.max.connection.creation.rate": "2"}
    )
    listeners = {"PLAINTEXT": "PLAINTEXT", "OTHER": "SSL"}
    doors = ConnectionLimits(broker.core.quotas, broker.core.configs, broker.clock, listeners)
    broker.call(ip_limit("10.0.0.1", 1))
    for _ in range(19):
        assert doors.arrival_delay_ms("OTHER") == 0
    assert [doors.refusal_ms("OTHER", "10.0.0.1") for _ in range(12)] == [None] * 10 + [1000] * 2
    assert [doors.arrival_delay_ms("OTHER") for _ in range(4)] == [0, 0, 0, 500]


def test_the_listener_of_brokers_does_not_wait_for_the_brokers_rate() -> None:
    broker = MemoryBroker({"max.connection.creation.rate": "1"})
    listeners = {"PLAINTEXT": "PLAINTEXT", "OTHER": "SSL"}
    doors = ConnectionLimits(broker.core.quotas, broker.core.configs, broker.clock, listeners)
    assert [doors.arrival_delay_ms("OTHER") for _ in range(11)] == [0] * 10 + [1000]
    assert doors.arrival_delay_ms("PLAINTEXT") == 0


def test_one_connection_too_many_waits_until_another_one_ends() -> None:
    with EmbeddedBroker(config={"max.connections": "1"}) as broker:
        first = WireClient(broker.bootstrap_servers)
        first.call(ApiVersionsRequest(), 0)
        with WireClient(broker.bootstrap_servers) as second:
            sent = second.send(ApiVersionsRequest(), 0)
            first.call(ApiVersionsRequest(), 0)  # the broker has seen the second by now, and still serves the first
            first.__exit__(None, None, None)
            assert second.receive_response(ApiVersionsRequest(), 0)[0] == sent


def test_a_raised_limit_lets_in_who_waits() -> None:
    with (
        EmbeddedBroker(config={"max.connections": "1"}) as broker,
        WireClient(broker.bootstrap_servers) as first,
        WireClient(broker.bootstrap_servers) as second,
    ):
        first.call(ApiVersionsRequest(), 0)
        sent = second.send(ApiVersionsRequest(), 0)
        assert first.call(broker_config("max.connections", "2"), 1).responses[0].error_code == 0
        assert second.receive_response(ApiVersionsRequest(), 0)[0] == sent


def test_one_connection_too_many_from_an_address_is_closed() -> None:
    with (
        EmbeddedBroker(config={"max.connections.per.ip": "1"}) as broker,
        WireClient(broker.bootstrap_servers) as first,
    ):
        first.call(ApiVersionsRequest(), 0)
        with WireClient(broker.bootstrap_servers) as second:
            assert second.closed_by_broker
        first.call(ApiVersionsRequest(), 0)


def test_the_listener_of_brokers_is_let_in_at_the_cost_of_another_listener() -> None:
    two = "PLAINTEXT://127.0.0.1:0,CLIENT://127.0.0.1:0"
    configs = {"max.connections": "1", "listener.security.protocol.map": "CLIENT:PLAINTEXT,PLAINTEXT:PLAINTEXT"}
    configs["inter.broker.listener.name"] = "PLAINTEXT"
    with EmbeddedBroker(listeners=two, config=configs) as broker:
        host, port = broker.call(lambda core: core.registration.endpoints["CLIENT"])
        with WireClient(f"{host}:{port}") as client:
            client.call(ApiVersionsRequest(), 0)
            with WireClient(broker.bootstrap_servers) as other_broker:
                other_broker.call(ApiVersionsRequest(), 0)
                assert client.closed_by_broker


GONE = 30


def test_those_who_have_gone_while_they_waited_are_not_waited_for() -> None:
    """Else a flood of clients that give up after a while would shut everybody out long after its end."""
    config = {"max.connection.creation.rate": "1", "quota.window.num": "2"}
    with EmbeddedBroker(config=config) as broker:
        address = parse_address(broker.bootstrap_servers)
        for gone in [socket.create_connection(address) for _ in range(GONE)]:
            gone.close()
        payload = encode_request(ApiVersionsRequest(), 0, 1, "a")
        seconds = 0
        with socket.create_connection(address) as late:
            late.sendall(len(payload).to_bytes(4, "big") + payload)
            late.settimeout(0.2)
            while True:
                try:
                    assert late.recv(1)
                    break
                except TimeoutError:
                    seconds += 1
                    broker.advance(1)
        assert seconds < GONE // 3
