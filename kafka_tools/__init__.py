"""kafka_tools: the toolkit for people who operate Apache Kafka."""

from kafka_tools._lazy import lazy_names

__version__ = "0.1.0"
KAFKA_RELEASE = "4.4.0"
"""The Kafka release whose tools the commands follow."""
KAFKA_MINOR = KAFKA_RELEASE.rpartition(".")[0]
"""The release without its patch level. Names of clusters, APIs and documents contain it."""
VERSION_LINE = f"kafka-tools {__version__} (follows Kafka {KAFKA_RELEASE})"
"""The line that ``--version`` prints."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient as AdminClient
    from kafka_tools.broker_embedded.broker import EmbeddedBroker as EmbeddedBroker
    from kafka_tools.clients.consumer import Consumer as Consumer
    from kafka_tools.clients.producer import Producer as Producer
    from kafka_tools.clients.sharing.consumer import ShareConsumer as ShareConsumer

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AdminClient": "kafka_tools.admin.client",
        "Consumer": "kafka_tools.clients.consumer",
        "EmbeddedBroker": "kafka_tools.broker_embedded.broker",
        "Producer": "kafka_tools.clients.producer",
        "ShareConsumer": "kafka_tools.clients.sharing.consumer",
    },
)
