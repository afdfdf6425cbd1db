"""Operations on configurations and client quotas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_tools.admin.connected import Connected
from kafka_tools.admin.outcomes import Outcome, Outcomes
from kafka_tools.clock import Deadline
from kafka_tools.errors import KafkaToolsError, UnsupportedVersion

if TYPE_CHECKING:
    from kafka_tools.admin.calls.configs import ConfigChange, ConfigEntry, ConfigResource
    from kafka_tools.admin.calls.quotas import EffectiveQuota, QuotaEntity, QuotaFilter, Quotas

MERGE_WARNING = (
    "this broker has no incremental changes (Kafka 2.3 brought them): the configuration of {resources} is read, "
    "changed and written back as a whole; a change that somebody else makes in between is lost"
)


class ConfigOperations(Connected):
    """See the module."""

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
            if self.warn is not None:
                self.warn(MERGE_WARNING.format(resources=", ".join(str(resource) for resource in whole)))
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
