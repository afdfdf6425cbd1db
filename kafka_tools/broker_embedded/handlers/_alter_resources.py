"""What AlterConfigs and IncrementalAlterConfigs share: resources one by one, all good ones in one change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kafka_tools.broker_embedded.config_alter import check_topic_name
from kafka_tools.broker_embedded.config_store import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from kafka_tools.broker_embedded.dispatch import Call, refuse
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.schema import Stored


class AlterResult(NamedTuple):
    """The fields of a resource's entry in either response."""

    resource_type: int
    resource_name: str
    error_code: int
    error_message: str | None


def alter_each(call: Call, changes: Callable[[Any], Sequence[Stored]]) -> list[AlterResult]:
    """Commit what ``changes(resource)`` returns for every resource that is not refused; nothing with validate_only."""
    resources = call.request.resources
    count = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    results: list[AlterResult] = []
    records: list[Stored] = []
    for resource in resources:
        kind, name = resource.resource_type, resource.resource_name
        try:
            if count[kind, name] > 1:
                raise refuse(error_codes.INVALID_REQUEST, "Each resource must appear at most once.")
            _check_allowed(call, kind, name)
            if kind == TOPIC and name:
                check_topic_name(name)
            wanted = changes(resource)
            if kind == TOPIC and call.broker.cluster.topic(name) is None:
                raise refuse(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
            records += wanted
            results.append(AlterResult(kind, name, error_codes.NONE, None))
        except BrokerError as error:
            results.append(AlterResult(kind, name, error.code.code, error.broker_message))
    if records and not call.request.validate_only:
        call.broker.commit(records)
    return results


def _check_allowed(call: Call, kind: int, name: str) -> None:
    if kind in (BROKER, BROKER_LOGGER, CLIENT_METRICS):
        if not call.allowed("ALTER_CONFIGS", "CLUSTER", "kafka-cluster"):
            raise refuse(error_codes.CLUSTER_AUTHORIZATION_FAILED)
    elif kind == TOPIC:
        if not call.allowed("ALTER_CONFIGS", "TOPIC", name):
            raise refuse(error_codes.TOPIC_AUTHORIZATION_FAILED)
    elif kind == GROUP:
        if not call.allowed("ALTER_CONFIGS", "GROUP", name):
            raise refuse(error_codes.GROUP_AUTHORIZATION_FAILED)
    else:
        raise refuse(error_codes.INVALID_REQUEST, f"Unknown resource type {kind}")
