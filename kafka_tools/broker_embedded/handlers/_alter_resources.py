"""Shared by AlterConfigs and IncrementalAlterConfigs: checks each resource, commits all valid ones in one change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.configs.alter import RefusedByController, check_given
from kafka_tools.broker_embedded.configs.store import BROKER, CLIENT_METRICS, GROUP, TOPIC
from kafka_tools.broker_embedded.handlers._rights import check_configs
from kafka_tools.broker_embedded.refusals import bad_request, error_for
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.schema import Stored

_STORED_KINDS = (TOPIC, BROKER, CLIENT_METRICS, GROUP)


R = TypeVar("R")


def alter_each(
    call: Call,
    result: Callable[..., R],
    changes: Callable[[Any], Sequence[Stored]],
    kinds: Collection[int] = _STORED_KINDS,
) -> list[R]:
    """Commit what ``changes(resource)`` returns for every resource that is not refused; nothing with validate_only.

    ``kinds``: the resource types that the API knows. Returns a ``result`` (the struct of the response) for each.
    """
    resources = call.request.resources
    count = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    results: list[R] = []
    records: list[Stored] = []
    for resource in resources:
        kind, name = resource.resource_type, resource.resource_name
        code, message = error_codes.NONE, None
        try:
            if count[kind, name] > 1:
                raise bad_request("Each resource must appear at most once.")
            check_given(resource.configs)
            if kind not in kinds:
                raise bad_request(f"Unknown resource type {kind}")
            records += _wanted(call, resource, changes)
        except BrokerError as error:
            code, message = error.code.code, error.broker_message
        results.append(result(resource_type=kind, resource_name=name, error_code=code, error_message=message))
    if records and not call.request.validate_only:
        call.broker.journal.commit(records)
    return results


def _wanted(call: Call, resource: Any, changes: Callable[[Any], Sequence[Stored]]) -> Sequence[Stored]:
    """The records of one resource. As in Kafka, a broker validates its own configs before it checks the rights."""
    kind, name = resource.resource_type, resource.resource_name
    if kind == BROKER:
        try:
            wanted = changes(resource)
        except RefusedByController:
            check_configs(call, AclOperation.ALTER_CONFIGS, kind, name)
            raise
    check_configs(call, AclOperation.ALTER_CONFIGS, kind, name)
    if kind == BROKER:
        return wanted
    wanted = changes(resource)
    if kind == TOPIC and call.broker.cluster.topic(name) is None:
        raise error_for(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    return wanted
