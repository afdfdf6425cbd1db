"""What type checkers accept and refuse; ``test_single_things`` runs mypy on this file. It is never executed."""

from __future__ import annotations

from kafka_tools.admin.client import AdminClient
from kafka_tools.clients import Consumer
from kafka_tools.values import TopicPartition


def accepted(admin: AdminClient, consumer: Consumer, names: dict[str, int], partition: TopicPartition) -> None:
    admin.delete_topics(["orders"])
    admin.delete_topics(("orders",))
    admin.delete_topics({"orders"})
    admin.delete_topics(names)
    admin.delete_topics(names.keys())
    admin.delete_topics(name for name in names)
    consumer.subscribe(["orders"])
    consumer.assign([partition])


def refused(admin: AdminClient, consumer: Consumer, partition: TopicPartition) -> None:
    admin.delete_topics("orders")  # type: ignore[arg-type]
    admin.describe_topics("orders")  # type: ignore[arg-type]
    admin.delete_groups("group")  # type: ignore[arg-type]
    admin.describe_groups("group")  # type: ignore[arg-type]
    admin.fence_producers("id")  # type: ignore[arg-type]
    admin.list_groups("Stable")  # type: ignore[arg-type]
    admin.delete_share_group_offsets("group", "orders")  # type: ignore[arg-type]
    admin.describe_user_scram_credentials("alice")  # type: ignore[arg-type]
    admin.delete_topics(b"orders")  # type: ignore[arg-type]
    consumer.subscribe("orders")  # type: ignore[arg-type]
    consumer.assign("orders")  # type: ignore[arg-type]
    consumer.assign(partition)  # type: ignore[arg-type]
