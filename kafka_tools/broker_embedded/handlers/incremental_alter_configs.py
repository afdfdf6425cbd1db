"""IncrementalAlterConfigs (44): set, delete, append and subtract configs; each resource succeeds or fails alone.

Log levels (KIP-412) are changed in the running broker only; all other configs are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.configs.alter import Change, check_operations, incremental
from kafka_tools.broker_embedded.configs.loggers import alter_loggers
from kafka_tools.broker_embedded.configs.store import BROKER_LOGGER, KINDS
from kafka_tools.broker_embedded.handlers._alter_resources import alter_each
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from kafka_tools.protocol.schema import Stored

VERSIONS = (0, 1)
AUTHORIZE = ()  # per resource


def handle(call: Call) -> IncrementalAlterConfigsResponse:
    configs = call.broker.configs

    def records_of(resource: Any) -> Sequence[Stored]:
        kind, name = resource.resource_type, resource.resource_name
        changes = [Change(config.name, config.config_operation, config.value) for config in resource.configs]
        if kind == BROKER_LOGGER:
            check_operations(changes)
            alter_loggers(configs.node_name, name, changes, validate_only=call.request.validate_only)
            return []
        return incremental(configs, kind, name, changes)

    Result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    return IncrementalAlterConfigsResponse(responses=alter_each(call, Result, records_of, KINDS))
