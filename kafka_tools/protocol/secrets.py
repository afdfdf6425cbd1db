"""Which fields of messages and stored records must not be shown, in whatever form: declared, or by a config's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_tools.protocol.enums import ConfigResourceType

if TYPE_CHECKING:
    from kafka_tools.protocol.schema import Field, Struct


def is_secret(struct: Struct, field: Field) -> bool:
    """Whether the value of a struct's field must not be shown: it is a secret, or the value of a config that is one."""
    if not field.config_value:
        return field.secret
    values: Any = struct
    return is_secret_config(values.name, getattr(values, "resource_type", None))


def is_secret_config(name: str, resource_type: int | None) -> bool:
    """Whether a config's value must not be shown; ``resource_type`` (``ConfigResourceType``) None: of any resource."""
    from kafka_tools.config_definitions import secrets

    of_broker = resource_type not in (
        ConfigResourceType.TOPIC,
        ConfigResourceType.BROKER_LOGGER,
        ConfigResourceType.CLIENT_METRICS,
        ConfigResourceType.GROUP,
    )
    return secrets.is_secret(name, of_broker=of_broker)
