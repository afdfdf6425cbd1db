"""AdminClient: one short method per operation, each over ``calls/*`` and ``driver``.

Connects on its first call. Every method takes ``timeout_s``, or a ``deadline`` shared by several calls; the default
is the client's ``timeout_s``, else ``default.api.timeout.ms``. Methods over keys return Outcomes, where the failure
of one key is a value; what concerns everything (no server answers, authentication failed) is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_tools._lazy import lazy_names
from kafka_tools.admin import driver
from kafka_tools.admin.driver import Call
from kafka_tools.admin.lookups import Cluster, versions_of
from kafka_tools.admin.metadata import ClusterMetadata
from kafka_tools.admin.outcomes import Listing, Outcome, Outcomes
from kafka_tools.clock import Clock, Deadline, SystemClock
from kafka_tools.errors import BrokerError, InputError, KafkaToolsError, UnsupportedVersion
from kafka_tools.net.config import ClientConfig
from kafka_tools.net.exchange import Exchange
from kafka_tools.protocol import error_codes
from kafka_tools.values import Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.admin.calls.cluster import ClusterDescription as ClusterDescription
    from kafka_tools.admin.calls.configs import ConfigChange as ConfigChange
    from kafka_tools.admin.calls.configs import ConfigEntry as ConfigEntry
    from kafka_tools.admin.calls.configs import ConfigResource as ConfigResource
    from kafka_tools.admin.calls.groups import GroupDescription as GroupDescription
    from kafka_tools.admin.calls.groups import GroupListing as GroupListing
    from kafka_tools.admin.calls.groups import MemberDescription as MemberDescription
    from kafka_tools.admin.calls.offsets import CommittedOffset as CommittedOffset
    from kafka_tools.admin.calls.offsets import ListedOffset as ListedOffset
    from kafka_tools.admin.calls.quotas import EffectiveQuota as EffectiveQuota
    from kafka_tools.admin.calls.quotas import QuotaEntity as QuotaEntity
    from kafka_tools.admin.calls.quotas import QuotaFilter as QuotaFilter
    from kafka_tools.admin.calls.quotas import Quotas as Quotas
    from kafka_tools.admin.calls.quotas import quota_entity as quota_entity
    from kafka_tools.admin.calls.scram import ScramChange as ScramChange
    from kafka_tools.admin.calls.scram import ScramCredentialInfo as ScramCredentialInfo
    from kafka_tools.admin.calls.scram import ScramDeletion as ScramDeletion
    from kafka_tools.admin.calls.scram import ScramUpsertion as ScramUpsertion
    from kafka_tools.admin.calls.topics import CreatedTopic as CreatedTopic
    from kafka_tools.admin.calls.topics import NewPartitions as NewPartitions
    from kafka_tools.admin.calls.topics import NewTopic as NewTopic
    from kafka_tools.admin.calls.topics import PartitionDescription as PartitionDescription
    from kafka_tools.admin.calls.topics import TopicDescription as TopicDescription
    from kafka_tools.admin.calls.topics import TopicKey as TopicKey
    from kafka_tools.admin.calls.topics import TopicListing as TopicListing
    from kafka_tools.net.session import VersionRange
    from kafka_tools.net.trace import Trace

_CALLS = "kafka_tools.admin.calls"
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        name: f"{_CALLS}.{module}"
        for module, names in {
            "cluster": ("ClusterDescription",),
            "configs": ("ConfigChange", "ConfigEntry", "ConfigResource"),
            "groups": ("GroupDescription", "GroupListing", "MemberDescription"),
            "offsets": ("CommittedOffset", "ListedOffset"),
            "quotas": ("EffectiveQuota", "QuotaEntity", "QuotaFilter", "Quotas", "quota_entity"),
            "scram": ("ScramChange", "ScramCredentialInfo", "ScramDeletion", "ScramUpsertion"),
            "topics": (
                "CreatedTopic",
                "NewPartitions",
                "NewTopic",
                "PartitionDescription",
                "TopicDescription",
                "TopicKey",
                "TopicListing",
            ),
        }.items()
        for name in names
    },
)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MERGE_WARNING = (
    "this broker has no incremental changes (Kafka 2.3 brought them): the configuration of {resources} is read, "
    "changed and written back as a whole; a change that somebody else makes in between is lost"
)


class AdminClient:
    """See the module. ``warn`` gets lines for the operator, such as that a change cannot be made atomically."""

    def __init__(
        self,
        config: ClientConfig,
        *,
        timeout_s: float | None = None,
        clock: Clock | None = None,
        trace: Trace | None = None,
        warn: Callable[[str], object] | None = None,
    ) -> None:
        config.require_bootstrap()
        self.config = config
        self._clock: Clock = clock or SystemClock()
        self._timeout_s = config.number("default.api.timeout.ms") / 1000 if timeout_s is None else timeout_s
        self._trace = trace
        self._warn = warn
        self._cluster: Cluster | None = None

    def __enter__(self) -> AdminClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        if self._cluster is not None:
            self._cluster.exchange.close()
            self._cluster = None

    @property
    def cluster(self) -> Cluster:
        """The connections and what is known of the cluster; made on first use."""
        if self._cluster is None:
            exchange = Exchange(self.config, clock=self._clock, trace=self._trace)
            self._cluster = Cluster(exchange, ClusterMetadata(exchange))
        return self._cluster

    def deadline(self, timeout_s: float | None = None) -> Deadline:
        """A deadline for several calls together."""
        return Deadline(self._clock, self._timeout_s if timeout_s is None else timeout_s)

    def run(
        self, call: Call[K, V], keys: Iterable[K], timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[K, V]:
        """Run any call over keys."""
        return driver.run(call, keys, self.cluster, deadline or self.deadline(timeout_s))

    def ask(self, call: Call[str, V], timeout_s: float | None = None, deadline: Deadline | None = None) -> V:
        """Run a call that has one answer; raises its error."""
        return driver.ask(call, self.cluster, deadline or self.deadline(timeout_s))

    # cluster

    def describe_cluster(
        self, *, include_fenced_brokers: bool = False, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> ClusterDescription:
        """Cluster id, controller and nodes: brokers, or controllers with bootstrap controllers."""
        from kafka_tools.admin.calls.cluster import DescribeCluster

        call = DescribeCluster(controllers=self.config.is_controllers, include_fenced_brokers=include_fenced_brokers)
        return self.ask(call, timeout_s, deadline)

    def nodes(self, *, timeout_s: float | None = None, deadline: Deadline | None = None) -> list[Node]:
        """Every live node, by id."""
        return list(self.describe_cluster(timeout_s=timeout_s, deadline=deadline).nodes)

    def api_versions(
        self, *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[Node, dict[int, VersionRange]]:
        """Node -> API key -> (oldest, newest version)."""
        from kafka_tools.admin.calls.cluster import ApiVersions

        deadline = deadline or self.deadline(timeout_s)
        return self.run(ApiVersions(), self.nodes(deadline=deadline), deadline=deadline)

    # topics

    def list_topics(
        self, *, include_internal: bool = True, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> list[TopicListing]:
        """All topics that the principal may see, by name."""
        from kafka_tools.admin.calls.topics import ListTopics

        return self.ask(ListTopics(include_internal), timeout_s, deadline)

    def describe_topics(
        self,
        topics: Iterable[TopicKey],
        *,
        page_size: int | None = None,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicKey, TopicDescription]:
        """Topics by name or id (2.8). ``page_size`` bounds the partitions per response (3.7 and later)."""
        from kafka_tools.admin.calls.topics import PAGE_PARTITIONS, DescribeTopics
        from kafka_tools.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest

        keys = list(dict.fromkeys(topics))
        deadline = deadline or self.deadline(timeout_s)
        names = [key for key in keys if isinstance(key, str) and key]
        if not names or not versions_of(self.cluster, deadline).has(DescribeTopicPartitionsRequest):
            return self.run(DescribeTopics(), keys, deadline=deadline)
        from kafka_tools.admin.topic_pages import describe_by_pages

        found = describe_by_pages(names, page_size or PAGE_PARTITIONS, self.cluster, deadline)
        rest = self.run(DescribeTopics(), [key for key in keys if key not in found], deadline=deadline)
        return Outcomes((key, found[key] if key in found else rest[key]) for key in keys)

    def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, CreatedTopic]:
        """Name -> what was created."""
        from kafka_tools.admin.calls.topics import CreateTopics, by_name

        named = by_name(topics)
        return self.run(CreateTopics(named, validate_only), named, timeout_s, deadline)

    def delete_topics(
        self, topics: Iterable[TopicKey], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[TopicKey, None]:
        """Topics by name, or by id (2.8)."""
        from kafka_tools.admin.calls.topics import DeleteTopics

        return self.run(DeleteTopics(), topics, timeout_s, deadline)

    def create_partitions(
        self,
        wanted: Mapping[str, NewPartitions],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, None]:
        """Raise topics to a total number of partitions."""
        from kafka_tools.admin.calls.topics import CreatePartitions

        return self.run(CreatePartitions(wanted, validate_only), wanted, timeout_s, deadline)

    # records and offsets

    def delete_records(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, int]:
        """Delete what is before an offset (-1: before the high watermark); the log start offset afterwards."""
        from kafka_tools.admin.calls.records import DeleteRecords

        return self.run(DeleteRecords(offsets), offsets, timeout_s, deadline)

    def list_offsets(
        self,
        specs: Mapping[TopicPartition, int],
        *,
        read_committed: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, ListedOffset]:
        """Partition -> timestamp in ms, or a constant of ``calls.offsets`` (LATEST, EARLIEST, ...)."""
        from kafka_tools.admin.calls.offsets import READ_COMMITTED, READ_UNCOMMITTED, ListOffsets

        call = ListOffsets(specs, READ_COMMITTED if read_committed else READ_UNCOMMITTED)
        return self.run(call, specs, timeout_s, deadline)

    # configs

    def describe_configs(
        self,
        resources: Iterable[ConfigResource] | Mapping[ConfigResource, Sequence[str] | None],
        *,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[ConfigResource, list[ConfigEntry]]:
        """Resource -> its settings by name; a mapping limits the names per resource."""
        from kafka_tools.admin.calls.configs import DescribeConfigs, owner_lookup

        names = dict(resources) if isinstance(resources, Mapping) else dict.fromkeys(resources)
        call = DescribeConfigs(
            names,
            include_synonyms=include_synonyms,
            include_documentation=include_documentation,
            lookup=owner_lookup(self.config.is_controllers),
        )
        return self.run(call, names, timeout_s, deadline)

    def alter_configs_incremental(
        self,
        changes: Mapping[ConfigResource, Sequence[ConfigChange]],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[ConfigResource, None]:
        """Change single settings. On brokers before 2.3 the whole configuration is read, changed and written back,
        with a warning, and refused when that would drop a sensitive value."""
        from kafka_tools.admin.calls.configs import IncrementalAlterConfigs, owner_lookup

        deadline = deadline or self.deadline(timeout_s)
        call = IncrementalAlterConfigs(changes, validate_only, owner_lookup(self.config.is_controllers))
        outcomes = self.run(call, changes, deadline=deadline)
        too_old = [key for key, error in outcomes.failures().items() if isinstance(error, UnsupportedVersion)]
        if not too_old:
            return outcomes
        merged = self._merge_configs({key: changes[key] for key in too_old}, validate_only, deadline)
        return Outcomes((key, merged.get(key, outcome)) for key, outcome in outcomes.items())

    def _merge_configs(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]], validate_only: bool, deadline: Deadline
    ) -> dict[ConfigResource, Outcome[None]]:
        from kafka_tools.admin.calls.configs import ReplaceConfigs, merge_changes, owner_lookup

        done: dict[ConfigResource, Outcome[None]] = {}
        whole: dict[ConfigResource, dict[str, str | None]] = {}
        for resource, outcome in self.describe_configs(changes.keys(), deadline=deadline).items():
            try:
                whole[resource] = merge_changes(resource, outcome.get(), changes[resource])
            except KafkaToolsError as error:
                done[resource] = Outcome(None, error)
        if whole:
            if self._warn is not None:
                self._warn(MERGE_WARNING.format(resources=", ".join(str(resource) for resource in whole)))
            call = ReplaceConfigs(whole, validate_only, owner_lookup(self.config.is_controllers))
            done.update(self.run(call, whole, deadline=deadline))
        return done

    def replace_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str | None]],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[ConfigResource, None]:
        """Replace whole configurations: a setting that is not named returns to its default."""
        from kafka_tools.admin.calls.configs import ReplaceConfigs, owner_lookup

        call = ReplaceConfigs(configs, validate_only, owner_lookup(self.config.is_controllers))
        return self.run(call, configs, timeout_s, deadline)

    def list_config_resources(
        self, types: Sequence[str] = (), *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> list[ConfigResource]:
        """Resources with a configuration of their own (4.1; client metrics from 3.7); no types means all."""
        from kafka_tools.admin.calls.configs import ListConfigResources

        return self.ask(ListConfigResources(types), timeout_s, deadline)

    # quotas

    def describe_client_quotas(
        self,
        components: Sequence[QuotaFilter] = (),
        *,
        strict: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Quotas:
        """Entities that match all components, with the quotas set on them; ``strict`` excludes further components."""
        from kafka_tools.admin.calls.quotas import DescribeClientQuotas

        return self.ask(DescribeClientQuotas(components, strict), timeout_s, deadline)

    def describe_quotas(
        self,
        user: str | None,
        client_id: str | None,
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> dict[str, EffectiveQuota]:
        """Quota name -> value and level that apply to a user and client id; None asks for the default entity."""
        from kafka_tools.admin.calls.quotas import CLIENT_ID, USER, QuotaFilter, effective

        deadline = deadline or self.deadline(timeout_s)
        everything = self.describe_client_quotas([QuotaFilter(USER)], deadline=deadline)
        everything |= self.describe_client_quotas([QuotaFilter(CLIENT_ID)], deadline=deadline)
        return effective(everything, user, client_id)

    def alter_client_quotas(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[QuotaEntity, None]:
        """Set quotas; None or NaN removes one, quotas that are not named stay."""
        from kafka_tools.admin.calls.quotas import AlterClientQuotas, quota_entity

        ordered = {quota_entity(entity): values for entity, values in changes.items()}
        return self.run(AlterClientQuotas(ordered, validate_only), ordered, timeout_s, deadline)

    # SCRAM

    def describe_user_scram_credentials(
        self, users: Sequence[str] | None = None, *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[str, list[ScramCredentialInfo]]:
        """User -> mechanisms and iterations; None means every user who has a credential."""
        from kafka_tools.admin.calls.scram import DescribeScram

        return Outcomes(self.ask(DescribeScram(users), timeout_s, deadline).items())

    def alter_user_scram_credentials(
        self, changes: Sequence[ScramChange], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[str, None]:
        """Store and remove credentials. InputError, before anything is sent, for what brokers would refuse."""
        from kafka_tools.admin.calls.scram import AlterScram, by_user

        users = by_user(changes)
        deadline = deadline or self.deadline(timeout_s)
        outcomes = dict(self.run(AlterScram(users), users, deadline=deadline))
        for user, outcome in outcomes.items():
            if len(users[user]) > 1 and _has_code(outcome, error_codes.DUPLICATE_RESOURCE):
                # KRaft controllers take one change per user and request, and have done nothing of this one.
                outcomes[user] = self._alter_one_by_one(user, users[user], deadline)
        return Outcomes(outcomes.items())

    def _alter_one_by_one(self, user: str, changes: Sequence[ScramChange], deadline: Deadline) -> Outcome[None]:
        from kafka_tools.admin.calls.scram import AlterScram

        done: list[str] = []
        for change in changes:
            outcome = self.run(AlterScram({user: [change]}), [user], deadline=deadline)[user]
            if outcome.error is not None:
                if done:
                    outcome.error.hint = f"done before that for {user}: {', '.join(done)}"
                return outcome
            done.append(change.mechanism)
        return Outcome(None)

    # groups

    def list_groups(
        self,
        states: Sequence[str] = (),
        types: Sequence[str] = (),
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Listing[GroupListing]:
        """The groups of every broker, by id; ``errors`` of the result says which brokers could not tell theirs."""
        from kafka_tools.admin.calls.groups import ListGroups

        deadline = deadline or self.deadline(timeout_s)
        outcomes = self.run(ListGroups(states, types), self.nodes(deadline=deadline), deadline=deadline)
        failures = list(outcomes.failures().values())
        if failures and len(failures) == len(outcomes):
            raise failures[0]
        groups = {group.group_id: group for found in outcomes.succeeded().values() for group in found}
        return Listing((groups[group_id] for group_id in sorted(groups)), failures)

    def describe_groups(
        self, group_ids: Iterable[str], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[str, GroupDescription]:
        """Group -> members and state, of the new and of the classic protocol."""
        from kafka_tools.admin.calls.groups import DescribeClassicGroups, DescribeConsumerGroups
        from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest

        keys = list(dict.fromkeys(group_ids))
        deadline = deadline or self.deadline(timeout_s)
        found: dict[str, Outcome[GroupDescription]] = {}
        if keys and versions_of(self.cluster, deadline).has(ConsumerGroupDescribeRequest):
            outcomes = self.run(DescribeConsumerGroups(), keys, deadline=deadline)
            found = {key: outcome for key, outcome in outcomes.items() if not _is_other_kind(outcome)}
        rest = self.run(DescribeClassicGroups(), [key for key in keys if key not in found], deadline=deadline)
        return Outcomes((key, found[key] if key in found else rest[key]) for key in keys)

    def delete_groups(
        self, group_ids: Iterable[str], *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> Outcomes[str, None]:
        """Delete groups without members, with their offsets."""
        from kafka_tools.admin.calls.groups import DeleteGroups

        return self.run(DeleteGroups(), group_ids, timeout_s, deadline)

    def list_group_offsets(
        self,
        group_id: str,
        partitions: Sequence[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, CommittedOffset | None]:
        """Partition -> what the group committed, None for nothing; all its partitions unless some are named."""
        outcomes = self.list_groups_offsets(
            {group_id: partitions}, require_stable=require_stable, timeout_s=timeout_s, deadline=deadline
        )
        return outcomes[group_id].get()

    def list_groups_offsets(
        self,
        wanted: Mapping[str, Sequence[TopicPartition] | None],
        *,
        require_stable: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[str, Outcomes[TopicPartition, CommittedOffset | None]]:
        """The same for many groups at once."""
        from kafka_tools.admin.calls.offsets import FetchGroupOffsets

        return self.run(FetchGroupOffsets(wanted, require_stable), wanted, timeout_s, deadline)

    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int | CommittedOffset],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Commit offsets for a group that has no members."""
        from kafka_tools.admin.calls.offsets import CommitGroupOffsets, CommittedOffset

        if not offsets:
            return Outcomes(())
        values = {key: CommittedOffset(value) if isinstance(value, int) else value for key, value in offsets.items()}
        negative = next((key for key, value in values.items() if value.offset < 0), None)
        if negative is not None:
            raise InputError(f"{negative}: offset {values[negative].offset} cannot be committed: it is below 0")
        return self.run(CommitGroupOffsets(group_id, values), [group_id], timeout_s, deadline)[group_id].get()

    def delete_group_offsets(
        self,
        group_id: str,
        partitions: Sequence[TopicPartition],
        *,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Forget what a group committed for some partitions (2.4)."""
        from kafka_tools.admin.calls.offsets import DeleteGroupOffsets

        if not partitions:
            return Outcomes(())
        call = DeleteGroupOffsets(group_id, partitions)
        return self.run(call, [group_id], timeout_s, deadline)[group_id].get()


def _has_code(outcome: Outcome[Any], code: int) -> bool:
    return isinstance(outcome.error, BrokerError) and outcome.error.code.code == code


def _is_other_kind(outcome: Outcome[Any]) -> bool:
    """Whether a group is none of the new protocol, or its coordinator does not know that protocol."""
    other = (error_codes.GROUP_ID_NOT_FOUND, error_codes.UNSUPPORTED_VERSION)
    return any(_has_code(outcome, code) for code in other) or isinstance(outcome.error, UnsupportedVersion)
