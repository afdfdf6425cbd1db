"""Which fields of messages and stored records must not be shown, in whatever form: declared, or by a config's name."""

from __future__ import annotations

from typing import Any

from kafka_tools.protocol.enums import ConfigResourceType
from kafka_tools.protocol.fields import Field
from kafka_tools.shown_text import MASK


def is_secret(struct: Any, field: Field) -> bool:
    """Whether the value of a struct's field must not be shown: it is a secret, or the value of a config that is one."""
    if not field.config_value:
        return field.secret
    return is_secret_config(struct.name, getattr(struct, "resource_type", None))


def shown_value(struct: Any, field: Field) -> str:
    """The ``repr`` of a field's value, or the mask of a secret."""
    return MASK if is_secret(struct, field) else repr(getattr(struct, field.name))


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
