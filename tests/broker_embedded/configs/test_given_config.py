"""The config of an ``EmbeddedBroker``: what cannot be meant is refused where it is given."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_tools.admin import AdminClient
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.errors import ConfigError


@pytest.mark.parametrize(
    ("config", "message", "hint"),
    [
        (
            {"num.partition": 3},
            "config: unknown setting 'num.partition'",
            "did you mean num.partitions?",
        ),
        ({"nonsense": 3}, "config: unknown setting 'nonsense'", "pass check_config=False to keep names"),
        ({"num.partitions": "three"}, "Invalid value three for configuration num.partitions: Not a number", None),
        ({"num.partitions": 0}, "Invalid value 0 for configuration num.partitions: Value must be at least 1", None),
        ({"num.partitions": None}, "invalid value of num.partitions: expected a string, number, boolean, path", None),
        ({"super.users": b"User:a"}, "invalid value of super.users: .* not bytes", None),
        ({3: "x"}, "invalid config: expected names as str, not int", None),
        ([("num.partitions", 3)], "invalid config: expected a dict, not list", None),
    ],
)
def test_a_config_that_cannot_be_meant_is_refused_where_it_is_given(
    config: Any, message: str, hint: str | None
) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        EmbeddedBroker(config=config)
    assert (raised.value.hint or "").startswith(hint or "")
    assert raised.value.hint or hint is None


@pytest.mark.parametrize(
    "name",
    [
        "listener.name.sasl_ssl.ssl.keystore.location",
        "listener.name.sasl_ssl.plain.sasl.jaas.config",
        "listener.name.sasl_ssl.oauthbearer.sasl.oauthbearer.jwks.endpoint.url",
        "super.users",
    ],
)
def test_settings_of_listeners_mechanisms_and_plugins_are_known(name: str) -> None:
    EmbeddedBroker(config={name: "x"})


def test_settings_of_a_newer_kafka_can_be_kept() -> None:
    config = {"a.setting.to.come": "1", "num.partitions": 2}
    with EmbeddedBroker(config=config, check_config=False) as broker, AdminClient(broker.bootstrap_servers) as admin:
        assert admin.describe_cluster().cluster_id == broker.cluster_id
