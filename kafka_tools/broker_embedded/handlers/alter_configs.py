"""AlterConfigs (33): replace all configs of a resource; what is not named goes back to its default.

Kafka keeps it for old clients; IncrementalAlterConfigs (44) changes single configs.
"""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.configs.alter import replacement
from kafka_tools.broker_embedded.handlers._alter_resources import alter_each
from kafka_tools.protocol.messages.alter_configs import AlterConfigsResponse

VERSIONS = (0, 2)
AUTHORIZE = ()  # per resource


def handle(call: Call) -> AlterConfigsResponse:
    configs = call.broker.configs
    results = alter_each(
        call,
        lambda resource: replacement(
            configs,
            resource.resource_type,
            resource.resource_name,
            [(config.name, config.value) for config in resource.configs],
        ),
    )
    entry = AlterConfigsResponse.ResourceResponse
    return AlterConfigsResponse(responses=[entry(**result._asdict()) for result in results])
