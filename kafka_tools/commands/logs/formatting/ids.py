"""Ids of new clusters and directories (``Uuid.randomUuid`` of Kafka)."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from kafka_tools.values import uuid_text

RESERVED_IDS = 100
"""Directory ids below it have a meaning of their own (``DirectoryId``)."""


def new_id(taken: Collection[str | None] = ()) -> str:
    """A random id that no option can be taken for: it does not begin with ``-``."""
    while True:
        made = uuid.uuid4()
        text = uuid_text(made)
        if not text.startswith("-") and made.int >= RESERVED_IDS and text not in taken:
            return text
