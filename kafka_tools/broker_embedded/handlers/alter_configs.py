"""AlterConfigs (33): replace all configs of a resource; configs that are not named get their defaults.

Kafka keeps it for old clients; IncrementalAlterConfigs (44) changes single configs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.configs.alter import replacement
from kafka_tools.broker_embedded.handlers._alter_resources import alter_each
from kafka_tools.protocol.messages.alter_configs import AlterConfigsResponse
from kafka_tools.protocol.schema import Stored

VERSIONS = (0, 2)
AUTHORIZE = ()  # per resource


def handle(call: Call) -> AlterConfigsResponse:
    def records_of(resource: Any) -> Sequence[Stored]:
        wanted = {config.name: config.value for config in resource.configs}
        return replacement(call.broker.configs, resource.resource_type, resource.resource_name, wanted)

    return AlterConfigsResponse(responses=alter_each(call, AlterConfigsResponse.ResourceResponse, records_of))
