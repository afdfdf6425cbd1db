"""A remark beside an empty list for a principal with limited rights: brokers leave out what it may not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.errors import UnsupportedVersion

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

_FOR_ALL = {"DESCRIBE", "ALTER", "CREATE"}
"""The operations on the cluster of an unlimited principal; brokers without an authorizer report them for everybody."""


def note_if_limited(admin: AdminClient, what: str, right: str) -> None:
    """Say on stderr, where the principal's rights are limited, that ``what`` may be missing from an empty list.

    Brokers before 2.3 do not tell what the principal may do, and controllers are not asked.
    """
    if admin.config.is_controllers:
        return
    try:
        allowed = admin.describe_cluster(include_authorized_operations=True).authorized_operations
    except UnsupportedVersion:
        return
    if allowed is not None and not {*allowed} >= _FOR_ALL:
        running.note(f"no {what} are listed; the principal may lack the right to see some ({right})")
