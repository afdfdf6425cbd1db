"""IncrementalAlterConfigs (44): set, delete, append and subtract configs; each resource for itself."""

from __future__ import annotations

from kafka_tools.broker_embedded.config_alter import Change, incremental
from kafka_tools.broker_embedded.dispatch import Call
from kafka_tools.broker_embedded.handlers._alter_resources import alter_each
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse

VERSIONS = (0, 1)
AUTHORIZE: tuple[tuple[str, str], ...] = ()  # per resource


def handle(call: Call) -> IncrementalAlterConfigsResponse:
    configs = call.broker.configs
    results = alter_each(
        call,
        lambda resource: incremental(
            configs,
            resource.resource_type,
            resource.resource_name,
            [Change(config.name, config.config_operation, config.value) for config in resource.configs],
        ),
    )
    entry = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    return IncrementalAlterConfigsResponse(responses=[entry(**result._asdict()) for result in results])
