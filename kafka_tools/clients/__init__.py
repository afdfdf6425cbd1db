"""Producing and consuming as a library: ``Producer("localhost:9092")``, ``Consumer("localhost:9092")``."""

from kafka_tools._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kafka_tools.clients.consumer import Consumer as Consumer
    from kafka_tools.clients.producer import Producer as Producer

__getattr__, __dir__ = lazy_names(
    __name__, {"Consumer": "kafka_tools.clients.consumer", "Producer": "kafka_tools.clients.producer"}
)
