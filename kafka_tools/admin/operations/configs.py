"""Operations on configurations and client quotas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin.connected import Connected
from kafka_tools.admin.lookups import versions_of
from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.clock import Deadline
from kafka_tools.errors import KafkaToolsError, UnsupportedVersion
from kafka_tools.values import Many, check_keys, several

if TYPE_CHECKING:
    from kafka_tools.admin.calls.config_changes import ConfigChange
    from kafka_tools.admin.calls.configs import ConfigEntry, ConfigResource
    from kafka_tools.admin.calls.quotas import EffectiveQuota, QuotaEntity, QuotaFilter, Quotas

MERGE_WARNING = (
    "this broker does not support incremental changes (new in Kafka 2.3): the configs of {resources} are read, "
    "changed and written back as a whole; concurrent changes are lost"
)
MERGE_REMARK = (
    "this broker does not support incremental changes (new in Kafka 2.3): the configs of {resources} would be "
    "read, changed and written back as a whole"
)
"""Replaces the warning if nothing is written."""


class ConfigOperations(Connected):
    """See the module."""

    def describe_configs(
        self,
        resources: Many[ConfigResource] | Mapping[ConfigResource, Sequence[str] | None],
        *,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        include_defaults: bool = True,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Outcomes[ConfigResource, list[ConfigEntry]]:
        """Resource -> its settings by name; a mapping limits the names per resource.

        Without ``include_defaults`` only settings that are set: for the resource, for brokers or in their files.
        """
        from kafka_tools.admin.calls.configs import DescribeConfigs, owner_lookup

        names: dict[ConfigResource, Sequence[str] | None]
        if isinstance(resources, Mapping):
            check_keys("resources", resources, "ConfigResource", values="str")
            names = dict(resources)
        else:
            names = dict.fromkeys(several("resources", resources, "ConfigResource"))
        deadline = deadline or self.deadline(timeout_s)
        missing = self._missing_topics(names, deadline)
        call = DescribeConfigs(
            names,
            include_synonyms=include_synonyms,
            include_documentation=include_documentation,
            include_defaults=include_defaults,
            lookup=owner_lookup(self.config.is_controllers),
        )
        found = self.run(call, [key for key in names if key not in missing], deadline=deadline)
        return Outcomes((key, missing[key] if key in missing else found[key]) for key in names)

    def _missing_topics(
        self, resources: Iterable[ConfigResource], deadline: Deadline
    ) -> dict[ConfigResource, Outcome[list[ConfigEntry]]]:
        """Errors for topics that do not exist; brokers before 2.0 describe any topic."""
        from kafka_tools.admin.calls.topics import ListTopics
        from kafka_tools.net.broker_errors import broker_error
        from kafka_tools.protocol import error_codes
        from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest

        topics = [key for key in resources if key.type == "topic"]
        if not topics or versions_of(self.cluster, deadline).has(DescribeConfigsRequest, 2):
            return {}
        existing = {topic.name for topic in self.ask(ListTopics(True), deadline=deadline)}
        return {
            key: Outcome(
                None, broker_error(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{key.name}' does not exist.")
            )
            for key in topics
            if key.name not in existing
        }

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
        check_keys("changes", changes, "ConfigResource", values="ConfigChange")
        from kafka_tools.admin.calls.config_changes import IncrementalAlterConfigs
        from kafka_tools.admin.calls.configs import owner_lookup

        deadline = deadline or self.deadline(timeout_s)
        lists = [key for key, each in changes.items() if any(change.operation == "append" for change in each)]
        adjusted = self._append_what_is_missing({key: changes[key] for key in lists}, deadline) if lists else {}
        call = IncrementalAlterConfigs({**changes, **adjusted}, validate_only, owner_lookup(self.config.is_controllers))
        outcomes = self.run(call, changes, deadline=deadline)
        too_old = [key for key, error in outcomes.failures().items() if isinstance(error, UnsupportedVersion)]
        if not too_old:
            return outcomes
        merged = self._merge_configs({key: changes[key] for key in too_old}, validate_only, deadline)
        return Outcomes((key, merged.get(key, outcome)) for key, outcome in outcomes.items())

    def _append_what_is_missing(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]], deadline: Deadline
    ) -> dict[ConfigResource, list[ConfigChange]]:
        """The changes for brokers from 2.3 to 3.2. They refuse changes of resources that cannot be described."""
        from kafka_tools.admin.calls.merged_configs import append_what_is_missing
        from kafka_tools.protocol.messages.describe_acls import DescribeAclsRequest
        from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

        versions = versions_of(self.cluster, deadline)
        # Kafka 3.3 introduced DescribeAcls v3 and the fix.
        if versions.has(DescribeAclsRequest, 3) or not versions.has(IncrementalAlterConfigsRequest):
            return {}
        kinds = [key for key in changes if key.type in ("topic", "broker")]
        described = self.describe_configs(kinds, include_synonyms=True, deadline=deadline).succeeded()
        return {key: append_what_is_missing(key, entries, changes[key]) for key, entries in described.items()}

    def _merge_configs(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]], validate_only: bool, deadline: Deadline
    ) -> dict[ConfigResource, Outcome[None]]:
        from kafka_tools.admin.calls.config_changes import ReplaceConfigs
        from kafka_tools.admin.calls.configs import owner_lookup
        from kafka_tools.admin.calls.merged_configs import merge_changes

        done: dict[ConfigResource, Outcome[None]] = {}
        whole: dict[ConfigResource, dict[str, str | None]] = {}
        for resource, outcome in self.describe_configs(
            changes.keys(), include_synonyms=True, deadline=deadline
        ).items():
            try:
                whole[resource] = merge_changes(resource, outcome.get(), changes[resource])
            except KafkaToolsError as error:
                done[resource] = Outcome(None, error)
        if whole:
            if self.warn is not None:
                said = MERGE_REMARK if validate_only else MERGE_WARNING
                self.warn(said.format(resources=", ".join(str(resource) for resource in whole)))
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
        check_keys("configs", configs, "ConfigResource")
        from kafka_tools.admin.calls.config_changes import ReplaceConfigs
        from kafka_tools.admin.calls.configs import owner_lookup

        call = ReplaceConfigs(configs, validate_only, owner_lookup(self.config.is_controllers))
        return self.run(call, configs, timeout_s, deadline)

    def list_config_resources(
        self, types: Many[str] = (), *, timeout_s: float | None = None, deadline: Deadline | None = None
    ) -> list[ConfigResource]:
        """Resources with a configuration of their own (4.1; client metrics from 3.7); no types means all."""
        types = several("types", types, "str")
        from kafka_tools.admin.calls.configs import ListConfigResources

        return self.ask(ListConfigResources(types), timeout_s, deadline)

    # quotas

    def describe_client_quotas(
        self,
        components: Many[QuotaFilter] = (),
        *,
        strict: bool = False,
        timeout_s: float | None = None,
        deadline: Deadline | None = None,
    ) -> Quotas:
        """Entities that match all components, with the quotas set on them; ``strict`` excludes further components."""
        components = several("components", components, "QuotaFilter")
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
        from kafka_tools.admin.calls.quotas import QuotaFilter, effective
        from kafka_tools.config_definitions.quota_entities import CLIENT_ID, USER

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
        check_keys("changes", changes, "tuple")
        from kafka_tools.admin.calls.quotas import AlterClientQuotas, quota_entity

        ordered = {quota_entity(entity): values for entity, values in changes.items()}
        return self.run(AlterClientQuotas(ordered, validate_only), ordered, timeout_s, deadline)
