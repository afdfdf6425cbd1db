"""Operators' calls as a library: ``AdminClient("localhost:9092")``, whose calls raise when any key failed.

``kafka_tools.admin.client`` contains the values that calls take and return, and the ``AdminClient`` of the commands,
which returns the failure of a key as a value.
"""

from kafka_tools._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kafka_tools.admin.raising import RaisingAdminClient

    AdminClient = RaisingAdminClient

__getattr__, __dir__ = lazy_names(__name__, {"AdminClient": "kafka_tools.admin.raising:RaisingAdminClient"})
