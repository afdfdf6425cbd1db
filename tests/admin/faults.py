"""Error codes in the answers that an operation gets, at each level where an answer can hold one."""

from __future__ import annotations

from typing import Any

from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.schema import Struct
from tests.admin.virtual_cluster import VirtualCluster

TOP, ITEMS = "top", "items"


def with_code(cluster: VirtualCluster, request: Any, version: int, code: int, level: str) -> Any | None:
    """The truth with an error code at one level of the answer; None where the answer has none there."""
    response = cluster.truth(request, version)
    if response is None:  # ApiVersions
        response = error_reply(request, version, code)
        return response if level == TOP else None
    return response if set_code(response, version, code, level) else None


def set_code(item: Struct, version: int, code: int, level: str) -> bool:
    """Whether there was a place for the code."""
    found = False
    for field in item.FIELDS:
        if version not in field.versions:
            continue
        if field.name == "error_code" and level == TOP:
            item.error_code = code  # type: ignore[attr-defined]
            found = True
        elif field.kind == "array" and field.item.kind == "struct" and level == ITEMS:
            for inner in getattr(item, field.name) or ():
                found |= set_code(inner, version, code, ITEMS) | set_code(inner, version, code, TOP)
    return found
