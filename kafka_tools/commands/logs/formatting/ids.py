"""Ids of new clusters and directories (``Uuid.randomUuid`` of Kafka)."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from kafka_tools.values import uuid_text

RESERVED_IDS = 100
"""Lower directory ids have a special meaning (``DirectoryId``)."""


def new_id(taken: Collection[str | None] = ()) -> str:
    """A random id that does not start with ``-``, so that it cannot be taken for an option."""
    while True:
        made = uuid.uuid4()
        text = uuid_text(made)
        if not text.startswith("-") and made.int >= RESERVED_IDS and text not in taken:
            return text
