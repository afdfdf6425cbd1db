"""Changes of configs: single keys (KIP-339), or all keys of a resource on brokers that support nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.admin.calls.configs import TYPE_NAMES, ConfigResource, refuse_unknown_types, type_id
from kafka_tools.admin.driver import AdminCall, Reply
from kafka_tools.admin.lookups import Lookup
from kafka_tools.clock import Deadline
from kafka_tools.errors import InputError
from kafka_tools.net.versions import NodeVersions
from kafka_tools.protocol.enums import ConfigOperation
from kafka_tools.protocol.schema import Request

if TYPE_CHECKING:
    from kafka_tools.protocol.messages.alter_configs import AlterConfigsResponse
    from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse


OPERATIONS = {name.lower(): number for name, number in ConfigOperation.numbers.items()}


class ConfigChange(NamedTuple):
    """One change; ``operation`` is set, delete, append or subtract. Values may be passwords and stay out of repr."""

    name: str
    operation: str = "set"
    value: str | None = None

    def __repr__(self) -> str:
        return f"ConfigChange({self.operation} {self.name})"


class IncrementalAlterConfigs(AdminCall[ConfigResource, None, "IncrementalAlterConfigsResponse"]):
    """Resource -> changes, all of them or none (2.3 and later)."""

    name = "alter configs"

    changes: Mapping[ConfigResource, Sequence[ConfigChange]]
    validate_only: bool
    lookup: Lookup[ConfigResource]

    def build(self, keys: list[ConfigResource], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

        refuse_unknown_types(keys, versions)
        versions.require(IncrementalAlterConfigsRequest, 0, "an incremental change")
        Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        resources = [
            Resource(
                resource_type=type_id(key),
                resource_name=key.name,
                configs=[
                    Resource.AlterableConfig(
                        name=change.name, config_operation=operation_id(change), value=_each_once(change)
                    )
                    for change in self.changes[key]
                ],
            )
            for key in keys
        ]
        return IncrementalAlterConfigsRequest(resources=resources, validate_only=self.validate_only)

    def interpret(
        self, reply: Reply[ConfigResource, None, IncrementalAlterConfigsResponse | AlterConfigsResponse]
    ) -> None:
        for item in reply.response.responses:
            key = ConfigResource(TYPE_NAMES.get(item.resource_type, ""), item.resource_name)
            reply.settle(key, item.error_code, item.error_message, None)


def _each_once(change: ConfigChange) -> str | None:
    """The value. An appended list contains each item once, because brokers with ZooKeeper would add duplicates."""
    if change.operation != "append" or change.value is None:
        return change.value
    return ",".join(dict.fromkeys(change.value.split(",")))


def operation_id(change: ConfigChange) -> int:
    """The wire's number of a change's operation; InputError for another word."""
    found = OPERATIONS.get(change.operation)
    if found is None:
        raise InputError(f"invalid operation on a config '{change.operation}': expected one of {', '.join(OPERATIONS)}")
    return found


class ReplaceConfigs(AdminCall[ConfigResource, None, "AlterConfigsResponse"]):
    """Resource -> its whole configuration: settings that are not named return to their defaults (AlterConfigs)."""

    name = "replace configs"

    configs: Mapping[ConfigResource, Mapping[str, str | None]]
    validate_only: bool
    lookup: Lookup[ConfigResource]

    def build(self, keys: list[ConfigResource], versions: NodeVersions, deadline: Deadline) -> Request:
        from kafka_tools.protocol.messages.alter_configs import AlterConfigsRequest

        Resource = AlterConfigsRequest.Resource
        resources = [
            Resource(
                resource_type=type_id(key),
                resource_name=key.name,
                configs=[Resource.AlterableConfig(name=name, value=value) for name, value in self.configs[key].items()],
            )
            for key in keys
        ]
        return AlterConfigsRequest(resources=resources, validate_only=self.validate_only)

    interpret = IncrementalAlterConfigs.interpret
