"""Operators' calls as a library: ``AdminClient("localhost:9092")``, whose calls raise when any key failed.

``kafka_tools.admin.client`` has the values that calls take and return, and the ``AdminClient`` of the commands, where
the failure of a key is a value.
"""

from kafka_tools._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kafka_tools.admin.raising import RaisingAdminClient

    AdminClient = RaisingAdminClient

__getattr__, __dir__ = lazy_names(__name__, {"AdminClient": "kafka_tools.admin.raising:RaisingAdminClient"})
