"""All beans of a broker: what ``EmbeddedBroker.metrics`` returns and the metrics port shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from kafka_tools.broker_embedded.metrics.tables.bean import Beans
from kafka_tools.broker_embedded.metrics.tables.cluster import controller_beans, metadata_beans, process_beans
from kafka_tools.broker_embedded.metrics.tables.coordinators import group_beans, quota_beans
from kafka_tools.broker_embedded.metrics.tables.listeners import listener_beans
from kafka_tools.broker_embedded.metrics.tables.partitions import directory_beans, partition_beans, replica_beans
from kafka_tools.broker_embedded.metrics.tables.requests import request_beans, topic_beans, waiting_beans
from kafka_tools.broker_embedded.metrics.tables.telemetry import pushed_beans, telemetry_beans

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core
    from kafka_tools.broker_embedded.listeners.shared import Shared

BeanValues = dict[str, dict[str, Any]]
"""Name of a bean -> attribute -> value."""

MOST_CLIENTS = 1000
"""The maximum number of owners of quotas with beans of their own: clients choose their ids."""


def all_beans(core: Core, shared: Shared | None) -> Beans:
    """Every bean. Must run on the broker's thread, but can be interrupted between two beans."""
    yield from topic_beans(core)
    yield from request_beans(core)
    yield from waiting_beans(core)
    yield from replica_beans(core)
    yield from controller_beans(core)
    yield from metadata_beans(core)
    yield from group_beans(core)
    yield from islice(quota_beans(core), MOST_CLIENTS)
    yield from telemetry_beans(core)
    yield from pushed_beans(core)
    yield from listener_beans(core, shared)
    yield from directory_beans(core)
    yield from process_beans(core)
    yield from partition_beans(core)


def read(core: Core, shared: Shared | None) -> BeanValues:
    """All beans now. A bean that several tables contribute to has the attributes of all."""
    found: BeanValues = {}
    for name, values in all_beans(core, shared):
        found.setdefault(name, {}).update(values)
    return found


def in_steps(core: Core, shared: Shared | None, found: BeanValues, step: int = 100) -> Iterator[None]:
    """Like ``read``, into ``found``, with a pause after each ``step`` beans: other work can run in between."""
    for number, (name, values) in enumerate(all_beans(core, shared), 1):
        found.setdefault(name, {}).update(values)
        if not number % step:
            yield
