"""``kafka_tools.admin.AdminClient``: the admin client of programs, whose calls raise when any key failed.

The commands show the half of a call that worked: they use ``admin.client.AdminClient``, where the failure of a key is a
value. Both are one client, and ``outcomes`` of this one is that of the commands, on the same connections.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from kafka_tools.admin.client import AdminClient
from kafka_tools.admin.lookups import ClusterAccess
from kafka_tools.admin.outcomes import Listing, Outcomes

if TYPE_CHECKING:
    from kafka_tools.net.given_settings import Given


class RaisingAdminClient(AdminClient):
    """Kafka's Admin interface; a context manager. Takes what ``AdminClient`` takes, and has its methods.

    A method over keys returns Outcomes in which every key succeeded. If one key failed it raises that key's error, if
    several failed PartialFailure, whose ``outcomes`` has the result of every key. A list gathered from several nodes is
    complete, or the error of a node is raised. ``admin.outcomes.delete_topics(...)`` raises nothing for single keys.
    """

    def __init__(self, config: Given = None, **options: Any) -> None:
        self.outcomes = AdminClient(config, **options)
        """The same client with an outcome for each key: nothing is raised for what concerns one key."""
        self.config = self.outcomes.config

    @property
    def cluster(self) -> ClusterAccess:
        """The connections and metadata, which are those of ``outcomes``."""
        return self.outcomes.cluster


def _raising(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: RaisingAdminClient, *arguments: Any, **options: Any) -> Any:
        # By the other client, so that what a method asks in between has its outcomes.
        found = getattr(self.outcomes, name)(*arguments, **options)
        if isinstance(found, Outcomes):
            found.raise_any()
        elif isinstance(found, Listing):
            found.complete()
        return found

    return call


for _name in dir(AdminClient):
    _method = getattr(AdminClient, _name)
    if not _name.startswith("_") and callable(_method):
        setattr(RaisingAdminClient, _name, _raising(_name, _method))
