"""Producing and consuming as a library: ``Producer("localhost:9092")``, ``Consumer("localhost:9092")``.

``ShareConsumer`` reads in a share group (KIP-932).
"""

from kafka_tools._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kafka_tools.clients.consumer import Consumer as Consumer
    from kafka_tools.clients.fetched_data import ConsumedRecord as ConsumedRecord
    from kafka_tools.clients.interceptors import ConsumerInterceptor as ConsumerInterceptor
    from kafka_tools.clients.interceptors import OutgoingRecord as OutgoingRecord
    from kafka_tools.clients.interceptors import ProducerInterceptor as ProducerInterceptor
    from kafka_tools.clients.producer import Producer as Producer
    from kafka_tools.clients.producing.deliveries import Deliveries as Deliveries
    from kafka_tools.clients.producing.deliveries import RecordsFailed as RecordsFailed
    from kafka_tools.clients.sharing.consumer import ShareConsumer as ShareConsumer
    from kafka_tools.clients.sharing.held_records import AcknowledgeType as AcknowledgeType
    from kafka_tools.clients.subscription import SubscriptionPattern as SubscriptionPattern

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AcknowledgeType": "kafka_tools.clients.sharing.held_records",
        "ConsumedRecord": "kafka_tools.clients.fetched_data",
        "Consumer": "kafka_tools.clients.consumer",
        "ConsumerInterceptor": "kafka_tools.clients.interceptors",
        "Deliveries": "kafka_tools.clients.producing.deliveries",
        "OutgoingRecord": "kafka_tools.clients.interceptors",
        "Producer": "kafka_tools.clients.producer",
        "ProducerInterceptor": "kafka_tools.clients.interceptors",
        "RecordsFailed": "kafka_tools.clients.producing.deliveries",
        "ShareConsumer": "kafka_tools.clients.sharing.consumer",
        "SubscriptionPattern": "kafka_tools.clients.subscription",
    },
)
