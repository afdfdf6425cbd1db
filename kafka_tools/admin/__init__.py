"""Operators' calls as a library: ``AdminClient("localhost:9092")``."""

from kafka_tools._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient as AdminClient

__getattr__, __dir__ = lazy_names(__name__, {"AdminClient": "kafka_tools.admin.client"})
