"""Decides which configs are secret. Brokers use the same rule to hide values, and all output uses this module.

A config of Kafka's type PASSWORD is secret. A config that Kafka does not define may be a plugin's secret.
Source: ``ConfigurationControlManager`` and ``KafkaConfig.maybeSensitive``, ``ConfigDef.Type.PASSWORD``.
"""

from __future__ import annotations

import re

from kafka_tools.config_definitions import client_metrics, group, topic
from kafka_tools.config_definitions.broker_names import broker_row
from kafka_tools.config_definitions.values import SENSITIVE_TYPE

_SPEAKS_OF_SECRETS = re.compile(
    r"password|secret|jaas|credential|token|keystore\.key|certificate\.chain|passphrase|scram", re.IGNORECASE
)


def is_sensitive(name: str) -> bool:
    """Whether brokers hide the value of a broker config of this name."""
    row = broker_row(name)
    return row is None or row[0] == SENSITIVE_TYPE


def is_secret(name: str, *, of_broker: bool = True) -> bool:
    """Whether the value of a config must not be shown.

    ``of_broker``: whether it is, or may be, a broker's config. In Kafka, configs of topics, groups and client metrics
    are never secret. If their name is unknown (of another release, or misspelt), its words decide.
    """
    if any(name in each.TABLE for each in (topic, group, client_metrics)):
        return False
    return is_sensitive(name) and (of_broker or _SPEAKS_OF_SECRETS.search(name) is not None)
