"""What any broker may answer: others are asked beside one that is silent, whose connection is given up."""

from __future__ import annotations

from typing import Any

from kafka_tools.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafka_tools.protocol.messages.metadata import MetadataRequest
from tests.admin.virtual_cluster import VirtualCluster
from tests.net.virtual import SILENCE


def test_another_node_than_the_silent_one_is_asked_about_the_cluster_afterwards() -> None:
    cluster = VirtualCluster()
    silent: set[int] = set()

    def fault(request: Any, version: int, node: Any) -> Any:
        if not isinstance(request, ListPartitionReassignmentsRequest):
            return None
        if not silent:
            silent.add(node.id)  # whoever is asked first
        return SILENCE if node.id in silent else ListPartitionReassignmentsResponse()

    cluster.fault = fault
    with cluster.admin() as admin:
        admin.list_partition_reassignments()
        asked = len(cluster.log)
        admin.list_partition_reassignments()
    _, told_by, request, _ = cluster.log[asked]
    assert isinstance(request, MetadataRequest)
    assert told_by not in silent
