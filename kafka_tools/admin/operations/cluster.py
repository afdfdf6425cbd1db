"""Operations on the cluster and its nodes: versions, log directories, transactions, features, the quorum."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin.connected import Connected
from kafka_tools.admin.lookups import AnyNodeLookup, GivenNodeLookup, LeaderLookup, Lookup
from kafka_tools.admin.outcomes import Outcomes
from kafka_tools.clock import Deadline
from kafka_tools.errors import BrokerError
from kafka_tools.values import Many, Node, TopicPartition, check_keys, several

if TYPE_CHECKING:
    from kafka_tools.admin.calls.cluster import ClusterDescription
    from kafka_tools.admin.calls.features import Features, FeatureUpdate
    from kafka_tools.admin.calls.log_dirs import LogDirs, ReplicaLogDirs, ReplicaPlace
    from kafka_tools.admin.calls.quorum import QuorumDescription, QuorumEndpoint
    from kafka_tools.admin.calls.transactions import (
        AbortSpec,
        ProducerState,
        TransactionDescription,
        TransactionListing,
    )
    from kafka_tools.net.versions import VersionRange


class ClusterOperations(Connected):
    """See the module."""

    def describe_cluster(
        self,
        *,
        include_fenced_brokers: bool = False,
        include_authorized_operations: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> ClusterDescription:
        """Cluster id, controller and nodes: brokers, or controllers with bootstrap controllers."""
        from kafka_tools.admin.calls.cluster import DescribeCluster

        call = DescribeCluster(
            controllers=self.config.is_controllers,
            include_fenced_brokers=include_fenced_brokers,
            include_authorized_operations=include_authorized_operations,
        )
        return self.ask(call, timeout_s, deadline)

    def nodes(self, *, timeout_s: float | None = None, deadline: Deadline | None = None) -> list[Node]:
        """Every live node, by id; waits while the cluster reports no node."""
        from kafka_tools.admin.calls.cluster import DescribeCluster

        call = DescribeCluster(controllers=self.config.is_controllers, needs_nodes=True)
        try:
            return list(self.ask(call, timeout_s, deadline).nodes)
        except BrokerError as error:
            error.hint = error.hint or "cannot ask brokers: the list of brokers is unknown"
            raise

    def api_versions(
        self, *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[Node, dict[int, VersionRange]]:
        """Node -> API key -> (oldest, newest version)."""
        from kafka_tools.admin.calls.cluster import ApiVersions

        deadline = deadline or self.deadline(timeout_s)
        return self.run(ApiVersions(), self.nodes(deadline=deadline), deadline=deadline)

    # log directories

    def describe_log_dirs(
        self,
        broker_ids: Many[int] | None = None,
        partitions: Many[TopicPartition] | Mapping[int, Sequence[TopicPartition]] | None = None,
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[int, LogDirs]:
        """Broker id -> path -> the directory with its replicas; all brokers and partitions unless some are named.

        ``partitions``: the same for every broker, or broker id -> partitions (all for other brokers).
        """
        broker_ids = None if broker_ids is None else several("broker_ids", broker_ids, "int")
        from kafka_tools.admin.calls.log_dirs import DescribeLogDirs

        deadline = deadline or self.deadline(timeout_s)
        ids = [node.id for node in self.nodes(deadline=deadline)] if broker_ids is None else list(broker_ids)
        if partitions is None:
            partitions = {}
        elif isinstance(partitions, Mapping):
            check_keys("partitions", partitions, "int", values="TopicPartition")
        else:
            partitions = dict.fromkeys(ids, several("partitions", partitions, "TopicPartition"))
        return self.run(DescribeLogDirs(partitions), ids, deadline=deadline)

    def describe_replica_log_dirs(
        self, replicas: Many[ReplicaPlace], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[ReplicaPlace, ReplicaLogDirs]:
        """Replica -> the directory it is in, and the one it moves to."""
        replicas = several("replicas", replicas, "ReplicaPlace")
        from kafka_tools.admin.calls.log_dirs import DescribeReplicaLogDirs

        return self.run(DescribeReplicaLogDirs(), replicas, timeout_s, deadline)

    def alter_replica_log_dirs(
        self,
        paths: Mapping[ReplicaPlace, str],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[ReplicaPlace, None]:
        """Move replicas to another log directory (an absolute path) of their broker."""
        check_keys("paths", paths, "ReplicaPlace")
        from kafka_tools.admin.calls.log_dirs import AlterReplicaLogDirs

        return self.run(AlterReplicaLogDirs(paths), paths, timeout_s, deadline)

    # transactions

    def list_transactions(
        self,
        states: Many[str] = (),
        producer_ids: Many[int] = (),
        *,
        longer_than_ms: int | None = None,
        pattern: str | None = None,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[Node, list[TransactionListing]]:
        """Node -> the transactional ids it coordinates (3.0)."""
        states = several("states", states, "str")
        producer_ids = several("producer_ids", producer_ids, "int")
        from kafka_tools.admin.calls.transactions import ListTransactions

        deadline = deadline or self.deadline(timeout_s)
        call = ListTransactions(states, producer_ids, longer_than_ms, pattern)
        return self.run(call, self.nodes(deadline=deadline), deadline=deadline)

    def describe_transactions(
        self, transactional_ids: Many[str], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[str, TransactionDescription]:
        """Transactional id -> its state (3.0)."""
        transactional_ids = several("transactional_ids", transactional_ids, "str")
        from kafka_tools.admin.calls.transactions import DescribeTransactions

        return self.run(DescribeTransactions(), transactional_ids, timeout_s, deadline)

    def describe_producers(
        self,
        partitions: Many[TopicPartition],
        broker_id: int | None = None,
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, list[ProducerState]]:
        """Partition -> its producers, as its leader or one given broker knows them (2.8)."""
        partitions = several("partitions", partitions, "TopicPartition")
        from kafka_tools.admin.calls.transactions import DescribeProducers

        lookup: Lookup[TopicPartition] = LeaderLookup() if broker_id is None else GivenNodeLookup(lambda _: broker_id)
        return self.run(DescribeProducers(lookup), partitions, timeout_s, deadline)

    def abort_transactions(
        self,
        specs: Mapping[TopicPartition, AbortSpec],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """End hanging transactions, each on one partition."""
        check_keys("specs", specs, "TopicPartition")
        from kafka_tools.admin.calls.transactions import AbortTransactions

        return self.run(AbortTransactions(specs), specs, timeout_s, deadline)

    def fence_producers(
        self, transactional_ids: Many[str], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[str, tuple[int, int]]:
        """Transactional id -> (producer id, epoch) that fence every producer that uses it now."""
        transactional_ids = several("transactional_ids", transactional_ids, "str")
        from kafka_tools.admin.calls.transactions import FenceProducers

        return self.run(FenceProducers(), transactional_ids, timeout_s, deadline)

    def terminate_transaction(
        self, transactional_id: str, *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> None:
        """End the transaction that a transactional id has open, even a prepared one (KIP-939), by fencing it."""
        self.fence_producers([transactional_id], timeout_s=timeout_s, deadline=deadline)[transactional_id].get()

    # features and quorum

    def describe_features(
        self, node_id: int | None = None, *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Features:
        """Supported and finalized features, from a given node or any node."""
        from kafka_tools.admin.calls.features import DescribeFeatures

        lookup: Lookup[str] = AnyNodeLookup() if node_id is None else GivenNodeLookup(lambda _: node_id)
        return self.ask(DescribeFeatures(lookup), timeout_s, deadline)

    def update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, None]:
        """Finalize other levels of features."""
        check_keys("updates", updates, "str")
        from kafka_tools.admin.calls.features import UpdateFeatures

        return self.run(UpdateFeatures(updates, validate_only), updates, timeout_s, deadline)

    def describe_quorum(self, *, timeout_s: float | None = None, deadline: Deadline | None = None) -> QuorumDescription:
        """Leader, voters and observers of the metadata quorum (KRaft, 3.3)."""
        from kafka_tools.admin.calls.quorum import DescribeQuorum

        return self.ask(DescribeQuorum(), timeout_s, deadline)

    def add_voter(
        self,
        voter_id: int,
        directory_id: uuid.UUID,
        endpoints: Many[QuorumEndpoint],
        *,
        cluster_id: str | None = None,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        """Make a controller a voter of the metadata quorum (3.9)."""
        endpoints = several("endpoints", endpoints, "QuorumEndpoint")
        from kafka_tools.admin.calls.quorum import AddVoter

        self.ask(AddVoter(voter_id, directory_id, endpoints, cluster_id), timeout_s, deadline)

    def remove_voter(
        self,
        voter_id: int,
        directory_id: uuid.UUID,
        *,
        cluster_id: str | None = None,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        """Make a voter of the metadata quorum an observer (3.9)."""
        from kafka_tools.admin.calls.quorum import RemoveVoter

        self.ask(RemoveVoter(voter_id, directory_id, cluster_id), timeout_s, deadline)

    def unregister_broker(
        self, broker_id: int, *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> None:
        """Unregister a broker that was removed permanently (KRaft)."""
        from kafka_tools.admin.calls.quorum import UnregisterBroker

        self.run(UnregisterBroker(), [broker_id], timeout_s, deadline)[broker_id].get()

    def unregister_controller(
        self, controller_id: int, *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> None:
        """Unregister a controller that was removed permanently (4.4). Remove a voter first."""
        from kafka_tools.admin.calls.quorum import UnregisterController

        self.run(UnregisterController(), [controller_id], timeout_s, deadline)[controller_id].get()
