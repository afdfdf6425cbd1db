"""AdminClient: one short method per operation, each over ``calls/*`` and ``driver``.

Connects on its first call. Every method takes ``timeout_s``, or a ``deadline`` shared by several calls; the default
is the client's ``timeout_s``, else ``default.api.timeout.ms``. Methods over keys return Outcomes, where the failure
of one key is a value. Errors of the whole call (no server answers, authentication failed) are raised. The methods
are in ``operations/*``, the values they take and return in ``calls/*``. Both can be imported from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_tools._lazy import lazy_names
from kafka_tools.admin.operations.configs import ConfigOperations
from kafka_tools.admin.operations.groups import GroupOperations
from kafka_tools.admin.operations.security import SecurityOperations
from kafka_tools.admin.operations.topics import TopicOperations

if TYPE_CHECKING:
    from kafka_tools.admin.calls.acls import AclBinding as AclBinding
    from kafka_tools.admin.calls.acls import AclFilter as AclFilter
    from kafka_tools.admin.calls.cluster import ClusterDescription as ClusterDescription
    from kafka_tools.admin.calls.config_changes import ConfigChange as ConfigChange
    from kafka_tools.admin.calls.configs import ConfigEntry as ConfigEntry
    from kafka_tools.admin.calls.configs import ConfigResource as ConfigResource
    from kafka_tools.admin.calls.features import Features as Features
    from kafka_tools.admin.calls.features import FeatureUpdate as FeatureUpdate
    from kafka_tools.admin.calls.groups import GroupDescription as GroupDescription
    from kafka_tools.admin.calls.groups import GroupListing as GroupListing
    from kafka_tools.admin.calls.groups import MemberDescription as MemberDescription
    from kafka_tools.admin.calls.log_dirs import LogDirDescription as LogDirDescription
    from kafka_tools.admin.calls.log_dirs import ReplicaInfo as ReplicaInfo
    from kafka_tools.admin.calls.log_dirs import ReplicaLogDirs as ReplicaLogDirs
    from kafka_tools.admin.calls.log_dirs import ReplicaPlace as ReplicaPlace
    from kafka_tools.admin.calls.members import MemberIdentity as MemberIdentity
    from kafka_tools.admin.calls.offsets import CommittedOffset as CommittedOffset
    from kafka_tools.admin.calls.offsets import ListedOffset as ListedOffset
    from kafka_tools.admin.calls.quorum import QuorumDescription as QuorumDescription
    from kafka_tools.admin.calls.quorum import QuorumEndpoint as QuorumEndpoint
    from kafka_tools.admin.calls.quorum import QuorumReplica as QuorumReplica
    from kafka_tools.admin.calls.quotas import EffectiveQuota as EffectiveQuota
    from kafka_tools.admin.calls.quotas import QuotaEntity as QuotaEntity
    from kafka_tools.admin.calls.quotas import QuotaFilter as QuotaFilter
    from kafka_tools.admin.calls.quotas import Quotas as Quotas
    from kafka_tools.admin.calls.quotas import quota_entity as quota_entity
    from kafka_tools.admin.calls.reassignments import Reassignment as Reassignment
    from kafka_tools.admin.calls.scram import ScramChange as ScramChange
    from kafka_tools.admin.calls.scram import ScramCredentialInfo as ScramCredentialInfo
    from kafka_tools.admin.calls.scram import ScramDeletion as ScramDeletion
    from kafka_tools.admin.calls.scram import ScramUpsertion as ScramUpsertion
    from kafka_tools.admin.calls.share_groups import ShareOffset as ShareOffset
    from kafka_tools.admin.calls.streams_groups import StreamsGroupDescription as StreamsGroupDescription
    from kafka_tools.admin.calls.tokens import DelegationToken as DelegationToken
    from kafka_tools.admin.calls.tokens import Principal as Principal
    from kafka_tools.admin.calls.topic_changes import CreatedTopic as CreatedTopic
    from kafka_tools.admin.calls.topic_changes import NewPartitions as NewPartitions
    from kafka_tools.admin.calls.topic_changes import NewTopic as NewTopic
    from kafka_tools.admin.calls.topics import PartitionDescription as PartitionDescription
    from kafka_tools.admin.calls.topics import TopicDescription as TopicDescription
    from kafka_tools.admin.calls.topics import TopicKey as TopicKey
    from kafka_tools.admin.calls.topics import TopicListing as TopicListing
    from kafka_tools.admin.calls.transactions import AbortSpec as AbortSpec
    from kafka_tools.admin.calls.transactions import ProducerState as ProducerState
    from kafka_tools.admin.calls.transactions import TransactionDescription as TransactionDescription
    from kafka_tools.admin.calls.transactions import TransactionListing as TransactionListing

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        name: f"kafka_tools.admin.calls.{module}"
        for module, names in {
            "acls": ("AclBinding", "AclFilter"),
            "cluster": ("ClusterDescription",),
            "config_changes": ("ConfigChange",),
            "configs": ("ConfigEntry", "ConfigResource"),
            "features": ("Features", "FeatureUpdate"),
            "groups": ("GroupDescription", "GroupListing", "MemberDescription"),
            "log_dirs": ("LogDirDescription", "ReplicaInfo", "ReplicaLogDirs", "ReplicaPlace"),
            "members": ("MemberIdentity",),
            "offsets": ("CommittedOffset", "ListedOffset"),
            "quorum": ("QuorumDescription", "QuorumEndpoint", "QuorumReplica"),
            "quotas": ("EffectiveQuota", "QuotaEntity", "QuotaFilter", "Quotas", "quota_entity"),
            "reassignments": ("Reassignment",),
            "scram": ("ScramChange", "ScramCredentialInfo", "ScramDeletion", "ScramUpsertion"),
            "share_groups": ("ShareOffset",),
            "streams_groups": ("StreamsGroupDescription",),
            "tokens": ("DelegationToken", "Principal"),
            "topic_changes": ("CreatedTopic", "NewPartitions", "NewTopic"),
            "topics": ("PartitionDescription", "TopicDescription", "TopicKey", "TopicListing"),
            "transactions": ("AbortSpec", "ProducerState", "TransactionDescription", "TransactionListing"),
        }.items()
        for name in names
    },
)


class AdminClient(TopicOperations, ConfigOperations, GroupOperations, SecurityOperations):
    """Kafka's Admin interface; a context manager. See the module."""
