"""The table of TLS against the bundled broker: every form of store, and each thing that can be wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_tools.broker_embedded import EmbeddedBroker
from tests.net import tls_cases as cases
from tests.net.stores import FORMS, PASSWORD, write_stores

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cases.Place]:
    folder = tmp_path_factory.mktemp("tls")
    write_stores(folder)
    config = {
        "ssl.keystore.location": str(folder / "server.p12"),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": str(folder / "trust.jks"),
        "ssl.truststore.password": PASSWORD,
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.sasl_ssl.ssl.keystore.location": str(folder / "expired.p12"),
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN} user_alice="p";',
        "sasl.enabled.mechanisms": "PLAIN",
    }
    names = ("PLAINTEXT", "SSL", "SASL_SSL")
    with EmbeddedBroker(listeners=[f"{name}://127.0.0.1:0" for name in names], config=config) as broker:
        endpoints = broker.call(lambda core: core.registration.endpoints)
        yield cases.Place(folder, {name: endpoints[name][1] for name in names})


@pytest.mark.parametrize("form", FORMS)
def test_a_client_certificate_in_every_form(place: cases.Place, form: str) -> None:
    cases.check_form(place, form)


@pytest.mark.parametrize("case", cases.REFUSALS, ids=lambda case: case.name)
def test_each_fault_is_one_clear_line(place: cases.Place, case: cases.Refusal) -> None:
    cases.check_refusal(place, case)


@pytest.mark.parametrize("wanted", cases.ALLOWED)
def test_protocols_and_suites_under_kafka_s_names(place: cases.Place, wanted: str) -> None:
    cases.check_allowed(place, wanted)


def test_the_name_check_can_be_switched_off(place: cases.Place) -> None:
    cases.check_name_check_off(place)
