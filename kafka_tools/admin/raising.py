"""``kafka_tools.admin.AdminClient``: the admin client of programs, whose calls raise when any key failed.

The commands show the results of a call that succeeded in part. They use ``admin.client.AdminClient``, where the failure
of a key is a value. ``outcomes`` of this client is such a client, on the same connections.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from kafka_tools.admin.client import AdminClient
from kafka_tools.admin.lookups import ClusterAccess
from kafka_tools.admin.outcomes import Listing, Outcome, Outcomes
from kafka_tools.errors import KafkaToolsError

if TYPE_CHECKING:
    from kafka_tools.net.given_settings import Given


class RaisingAdminClient(AdminClient):
    """Kafka's Admin interface; a context manager. Takes what ``AdminClient`` takes, and has its methods.

    A method over keys returns Outcomes in which every key succeeded. If one key failed it raises that key's error, if
    several failed PartialFailure, whose ``outcomes`` has the result of every key. A key of which a part failed (one
    partition of a group, one entry that a filter of ACLs matched) has failed. A list gathered from several nodes is
    complete, or the error of a node is raised. ``admin.outcomes.delete_topics(...)`` raises nothing for single keys.
    """

    def __init__(self, config: Given = None, **options: Any) -> None:
        self.outcomes = AdminClient(config, **options)
        """The same client with an outcome for each key: it does not raise errors of single keys."""
        self.config = self.outcomes.config

    @property
    def cluster(self) -> ClusterAccess:
        """The connections and metadata, which are those of ``outcomes``."""
        return self.outcomes.cluster


def _raise_any(found: Outcomes[Any, Any]) -> None:
    """Raise for the keys, then for the parts of keys: partitions of groups, entries that a filter of ACLs matched."""
    found.raise_any()
    checked: dict[Any, Outcome[Any]] = {}
    for key, value in found.succeeded().items():
        checked[key] = Outcome(value)
        parts = Outcomes(value) if isinstance(value, list) and value and _is_part(value[0]) else value
        if isinstance(parts, Outcomes):
            try:
                _raise_any(parts)
            except KafkaToolsError as error:
                checked[key] = Outcome(None, error)
    Outcomes(checked.items()).raise_any()


def _is_part(item: object) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Outcome)


def _raising(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: RaisingAdminClient, *arguments: Any, **options: Any) -> Any:
        # By the other client, so that what a method asks in between has its outcomes.
        found = getattr(self.outcomes, name)(*arguments, **options)
        if isinstance(found, Outcomes):
            _raise_any(found)
        elif isinstance(found, Listing):
            found.complete()
        return found

    return call


for _name in dir(AdminClient):
    _method = getattr(AdminClient, _name)
    if not _name.startswith("_") and callable(_method):
        setattr(RaisingAdminClient, _name, _raising(_name, _method))
