"""DescribeConfigs (32): configs of topics, brokers, groups and client metrics, with the source of each value.

Each resource succeeds or fails alone, but an unknown resource type is an error of the whole request. v0: ``is_default``
instead of the source. v1: synonyms. v3: types (documentation is null: the texts are Kafka's own).
"""

from __future__ import annotations

from typing import Any

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.configs.describe import DEFAULT, DescribedConfig, describe
from kafka_tools.broker_embedded.configs.loggers import logger_levels
from kafka_tools.broker_embedded.configs.store import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, KINDS, TOPIC
from kafka_tools.broker_embedded.configs.validation import check_topic_name
from kafka_tools.broker_embedded.handlers._repeats import Repeats
from kafka_tools.broker_embedded.handlers._rights import check_configs
from kafka_tools.broker_embedded.refusals import bad_request, default_error, error_for
from kafka_tools.broker_embedded.slices import Work
from kafka_tools.errors import BrokerError
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import AclOperation, ConfigSource
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsResponse
from kafka_tools.texts.java_numbers import parse_int

VERSIONS = (0, 4)
AUTHORIZE = ()  # per resource, below

Result = DescribeConfigsResponse.Result
Told = dict[DescribedConfig, DescribeConfigsResponse.Result.ResourceResult]
"""Structs that a response shares: most topics have most values in common, and a response may contain thousands."""


def handle(call: Call) -> Work[DescribeConfigsResponse]:
    if any(resource.resource_type not in KINDS for resource in call.request.resources):
        raise default_error(error_codes.INVALID_REQUEST)  # one unknown type is an error of the whole request
    results = []
    told: Told = {}
    named = Repeats()  # a broker has some three hundred configs
    for resource in call.request.resources:
        yield
        keys = resource.configuration_keys
        if named.too_many((resource.resource_type, resource.resource_name, None if keys is None else tuple(keys))):
            continue
        results.append(_result(call, resource, told))
    return DescribeConfigsResponse(results=results)


def _result(call: Call, resource: Any, told: Told) -> DescribeConfigsResponse.Result:
    kind, name = resource.resource_type, resource.resource_name
    result = Result(resource_type=kind, resource_name=name)
    try:
        _check_resource(call, kind, name)
        if kind == BROKER_LOGGER:
            result.configs = _loggers(resource.configuration_keys)
            return result
        for entry in describe(call.broker.configs, kind, name, resource.configuration_keys):
            shown = entry if call.request.include_synonyms else entry._replace(synonyms=())
            if shown not in told:
                told[shown] = _shown(call, shown)
            result.configs.append(told[shown])
    except BrokerError as error:
        result.error_code, result.error_message = error.code.code, error.broker_message
    return result


def _shown(call: Call, entry: DescribedConfig) -> DescribeConfigsResponse.Result.ResourceResult:
    shown = Result.ResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        is_sensitive=entry.sensitive,
        config_source=entry.source,
        config_type=entry.config_type,
        documentation=None,
    )
    if call.version == 0:
        shown.is_default = entry.source == DEFAULT
    shown.synonyms = [Result.ResourceResult.Synonym(**synonym._asdict()) for synonym in entry.synonyms]
    return shown


def _loggers(names: list[str] | None) -> list[DescribeConfigsResponse.Result.ResourceResult]:
    return [
        Result.ResourceResult(name=name, value=level, config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG)
        for name, level in logger_levels().items()
        if not names or name in names
    ]


def _check_resource(call: Call, kind: int, name: str) -> None:
    """BrokerError for a resource that the caller may not describe or that does not exist."""
    check_configs(call, AclOperation.DESCRIBE_CONFIGS, kind, name)
    if kind == TOPIC:
        check_topic_name(name)
        if call.broker.cluster.topic(name) is None:
            raise error_for(error_codes.UNKNOWN_TOPIC_OR_PARTITION, "")
    elif kind == BROKER:
        _check_node(call, name, " or empty string,")
    elif kind == BROKER_LOGGER:
        if not name:
            raise bad_request("Broker id must not be empty")
        _check_node(call, name, "")
    elif kind == CLIENT_METRICS and not name:
        raise bad_request("Client metrics subscription name must not be empty")
    elif kind == GROUP and not name:
        raise bad_request("Group name must not be empty")


def _check_node(call: Call, name: str, alternative: str) -> None:
    own = call.broker.configs.node_name
    if not name:
        return
    number = parse_int(name)
    if number is None:
        raise bad_request(f"Broker id must be an integer, but it is: {name}")
    if str(number) != own:
        raise bad_request(f"Unexpected broker id, expected {own}{alternative} but received {name}")
