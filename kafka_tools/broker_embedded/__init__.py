"""A full broker in one process: real segment logs on disk, groups, configs, quotas."""

from kafka_tools._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kafka_tools.broker_embedded.broker import EmbeddedBroker as EmbeddedBroker

__getattr__, __dir__ = lazy_names(__name__, {"EmbeddedBroker": "kafka_tools.broker_embedded.broker"})
