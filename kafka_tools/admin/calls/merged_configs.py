"""Configurations and lists after changes, for brokers that only replace (before 2.3) or append items twice (before
3.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_tools.admin.calls.config_changes import ConfigChange, operation_id
from kafka_tools.admin.calls.configs import DEFAULT_CONFIG, TOPIC_CONFIG, ConfigEntry, ConfigResource
from kafka_tools.errors import InputError
from kafka_tools.protocol.enums import ConfigSource

BROKER_CONFIG = ConfigSource.word(ConfigSource.DYNAMIC_BROKER_CONFIG)
BROKERS_DEFAULT = ConfigSource.word(ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)


def merge_changes(
    resource: ConfigResource, current: Iterable[ConfigEntry], changes: Sequence[ConfigChange]
) -> dict[str, str | None]:
    """The whole configuration after ``changes``, for brokers that only replace; ``current`` with synonyms.

    InputError when a sensitive value that is set now is not among the changes: it cannot be read, so replacing
    would silently drop it.
    """
    if resource.type not in ("topic", "broker"):
        raise InputError(f"{resource}: brokers before 2.3 cannot change this")
    own = own_source(resource)
    entries = {entry.name: entry for entry in current}
    kept = {entry.name: entry.value for entry in entries.values() if entry.source == own}
    given = {change.name for change in changes if change.operation in ("set", "delete")}
    lost = [name for name in kept if entries[name].is_sensitive and name not in given]
    if lost:
        raise InputError(
            f"{resource}: brokers before 2.3 replace the whole configuration and do not return sensitive values, "
            f"so this change would drop {', '.join(sorted(lost))}",
            hint="give these configs again in the same call, or use that release's own tool",
        )
    for change in changes:
        operation_id(change)
        if change.operation == "set":
            kept[change.name] = change.value
        elif change.operation == "delete":
            kept.pop(change.name, None)
        else:
            now = kept[change.name] if change.name in kept else _list_now(entries.get(change.name), own)
            kept[change.name] = changed_list(now, change)
    return kept


def append_what_is_missing(
    resource: ConfigResource, current: Iterable[ConfigEntry], changes: Sequence[ConfigChange]
) -> list[ConfigChange]:
    """The changes for brokers before 3.3, whose APPEND adds existing items again (KAFKA-13862).

    ``current`` with synonyms. Where nothing is missing the list is set as it is, as later brokers do.
    """
    own = own_source(resource)
    entries = {entry.name: entry for entry in current}
    adjusted = []
    for change in changes:
        entry = entries.get(change.name)
        if change.operation == "append" and (entry is None or entry.type in (None, "LIST")):
            now = _list_now(entry, own)
            there = _items(now)
            missing = [item for item in dict.fromkeys(_items(change.value)) if item not in there]
            change = change._replace(value=",".join(missing)) if missing else ConfigChange(change.name, "set", now)
        adjusted.append(change)
    return adjusted


def own_source(resource: ConfigResource) -> str:
    """The ConfigSource of settings of this topic or broker itself."""
    return {"topic": TOPIC_CONFIG, "broker": BROKER_CONFIG if resource.name else BROKERS_DEFAULT}[resource.type]


def _list_now(entry: ConfigEntry | None, own: str) -> str | None:
    """The value that brokers append to and subtract from: the one that is set, else Kafka's default."""
    if entry is None:
        return None
    if entry.source == own:
        return entry.value
    default = next((each.value for each in entry.synonyms if each.source == DEFAULT_CONFIG), None)
    return entry.value if entry.is_default else default


def changed_list(now: str | None, change: ConfigChange) -> str:
    """A list after APPEND or SUBTRACT. As on brokers, existing items are not added again."""
    items, given = _items(now), _items(change.value)
    if change.operation == "append":
        return ",".join(dict.fromkeys([*items, *given]))
    return ",".join(item for item in items if item not in given)


def _items(text: str | None) -> list[str]:
    return [item.strip() for item in (text or "").split(",") if item.strip()]
