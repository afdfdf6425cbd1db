"""A remark about an empty list for a principal with limited rights: brokers omit resources it may not describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools.commands import running
from kafka_tools.errors import UnsupportedVersion

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient

_FOR_ALL = {"DESCRIBE", "ALTER", "CREATE"}
"""The cluster operations of an unlimited principal. Brokers without an authorizer report them for every principal."""


def note_if_limited(admin: AdminClient, what: str, right: str) -> None:
    """If the principal's rights are limited, note on stderr that ``what`` may be missing from an empty list.

    Brokers before 2.3 do not report the principal's rights. The check skips controllers.
    """
    if admin.config.is_controllers:
        return
    try:
        allowed = admin.describe_cluster(include_authorized_operations=True).authorized_operations
    except UnsupportedVersion:
        return
    if allowed is not None and not {*allowed} >= _FOR_ALL:
        running.note(f"no {what} are listed; the principal may lack the right to see some ({right})")
