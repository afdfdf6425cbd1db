"""The exact texts of Kafka's tools: one function per form, with the class that it follows.

Functions convert the rows of ``-o json`` to text. The oddities (trailing spaces, blank lines, doubles in Java's
notation) are Kafka's. tests/against_kafka compares the texts with Kafka's tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kafka_tools.output.cells import Row
from kafka_tools.texts.java_numbers import java_double


def topic_list(names: Iterable[str]) -> str:
    """``kafka-topics --list`` (TopicCommand.listTopics): one name a line, an empty line for no topics."""
    return "\n".join(names) + "\n"


def topic_line(topic: Row) -> str:
    """The first line of a described topic (TopicCommand.TopicDescription)."""
    parts = [f"Topic: {topic['topic']}"]
    if topic["topic_id"]:
        parts.append(f"TopicId: {topic['topic_id']}")
    configs = ",".join(f"{name}={_java_null(value)}" for name, value in topic["configs"].items())
    parts += [
        f"PartitionCount: {topic['partition_count']}",
        f"ReplicationFactor: {topic['replication_factor']}",
        f"Configs: {configs}",
    ]
    return "\t".join(parts) + "\n"


def partition_line(topic: str, partition: Row) -> str:
    """The line of one partition (TopicCommand.PartitionDescription)."""
    leader, elr, last_known = partition["leader"], partition["elr"], partition["last_known_elr"]
    moving = ""
    if partition["adding_replicas"] or partition["removing_replicas"]:
        adding, removing = _ids(partition["adding_replicas"]), _ids(partition["removing_replicas"])
        moving = f"\tAdding Replicas: {adding}\tRemoving Replicas: {removing}"
    return (
        f"\tTopic: {topic}\tPartition: {partition['partition']}\tLeader: {'none' if leader is None else leader}"
        f"\tReplicas: {_ids(partition['replicas'])}\tIsr: {_ids(partition['isr'])}{moving}"
        f"\tElr: {'N/A' if elr is None else _ids(elr)}"
        f"\tLastKnownElr: {'N/A' if last_known is None else _ids(last_known)}\n"
    )


def partition_lines(topic: Row) -> str:
    """The lines of all partitions of a described topic."""
    name = topic["topic"]
    return "".join([partition_line(name, partition) for partition in topic["partitions"]])


def config_heading(entity_type: str, entity_name: str, all_configs: bool) -> str:
    """The line above the configs of a resource (ConfigCommand.describeResourceConfig). ``entity_type`` is plural."""
    if not entity_name:
        return f"Default configs for {entity_type} in the cluster are:\n"
    return f"{'All' if all_configs else 'Dynamic'} configs for {entity_type[:-1]} {entity_name} are:\n"


def config_line(config: Row) -> str:
    """One config with its synonyms (ConfigCommand.describeResourceConfig)."""
    synonyms = ", ".join(f"{each['source']}:{each['name']}={_java_null(each['value'])}" for each in config["synonyms"])
    sensitive = "true" if config["sensitive"] else "false"
    return f"  {config['name']}={_java_null(config['value'])} sensitive={sensitive} synonyms={{{synonyms}}}\n"


def config_updated(entity_type: str, entity_name: str) -> str:
    """The last line of ``kafka-configs --alter`` (ConfigCommand.alterConfig). ``entity_type`` is plural."""
    if entity_name:
        return f"Completed updating config for {entity_type[:-1]} {entity_name}.\n"
    return f"Completed updating default config for {entity_type} in the cluster.\n"


QUOTA_ENTITY_NAMES = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}


def quota_line(entity: dict[str, str | None], quotas: dict[str, float]) -> str:
    """The quotas of an entity (ConfigCommand.describeQuotaConfigs). The name None is the default."""
    names = []
    for kind in (*QUOTA_ENTITY_NAMES, *(each for each in entity if each not in QUOTA_ENTITY_NAMES)):
        if kind in entity:
            name, text = entity[kind], QUOTA_ENTITY_NAMES.get(kind, kind)
            names.append(f"the default {text}" if name is None else f"{text} '{name}'")
    values = ", ".join(f"{key}={java_double(value)}" for key, value in quotas.items())
    return f"Quota configs for {', '.join(names)} are {values}\n"


def scram_line(user: str, credentials: Sequence[Row]) -> str:
    """The SCRAM credentials of a user (ConfigCommand.describeClientQuotaAndUserScramCredentialConfigs)."""
    listed = ", ".join(f"{each['mechanism']}=iterations={each['iterations']}" for each in credentials)
    return f"SCRAM credential configs for user-principal '{user}' are {listed}\n"


def low_watermark_line(partition: object, low_watermark: int | None, error: object) -> str:
    """The result of one partition (DeleteRecordsCommand.execute): its new log start offset, or its error."""
    if error is None:
        return f"partition: {partition}\tlow_watermark: {low_watermark}\n"
    return f"partition: {partition}\terror: {error}\n"


def api_versions(node: Row, error: object = None) -> str:
    """The versions of one broker, or its error (BrokerApiVersionsCommand, NodeApiVersions.toString)."""
    fenced = "true" if node["fenced"] else "false"
    head = f"{node['host']}:{node['port']} (id: {node['id']} rack: {_java_null(node['rack'])} isFenced: {fenced})"
    if error is not None:
        return f"{head} -> ERROR: {error}\n"
    return f"{head} -> (\n\t" + ",\n\t".join(_api_line(api) for api in node["apis"]) + "\n)\n"


def _api_line(api: Row) -> str:
    name = f"{api['name'] or 'UNKNOWN'}({api['key']}): "
    if api["min_version"] is None:
        return f"{name}UNSUPPORTED"
    span = str(api["min_version"])
    if api["max_version"] != api["min_version"]:
        span += f" to {api['max_version']}"
    if api["name"] is None:
        return name + span
    if api["usable"] is None:
        return f"{name}{span} [unusable: node too {'new' if api['min_version'] > 0 else 'old'}]"
    return f"{name}{span} [usable: {api['usable']}]"


def cluster_id(rows: Sequence[Row]) -> str:
    """``kafka-cluster cluster-id`` (ClusterTool.clusterIdCommand)."""
    if rows[0]["cluster_id"] is None:
        return "No cluster ID found. The Kafka version is probably too old.\n"
    return f"Cluster ID: {rows[0]['cluster_id']}\n"


def endpoints(rows: Sequence[Row], controllers: bool) -> str:
    """``kafka-cluster list-endpoints`` (ClusterTool.listEndpoints). Controllers have no state column."""
    host_width = max((len(row["host"]) for row in rows), default=100)
    rack_width = max((len(row["rack"]) for row in rows if row["rack"] is not None), default=10)
    titles = ["ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE"]
    widths = [10, host_width, 10, rack_width, 10, 15]
    keys = ["id", "host", "port", "rack", "state", "endpoint_type"]
    if controllers:
        del titles[4], widths[4], keys[4]
    table = [titles, *([_java_null(row[key]) for key in keys] for row in rows)]
    return "".join(pad(widths, values) + "\n" for values in table)


def _ids(values: Sequence[int]) -> str:
    return ",".join(map(str, values))


def _java_null(value: Any) -> str:
    return "null" if value is None else str(value)


def pad(widths: Sequence[int], values: Sequence[Any]) -> str:
    """Java's ``%-Ns`` columns with one space between; a width of 0 does not pad."""
    return " ".join(str(value).ljust(width) for value, width in zip(values, widths, strict=True))


def tabbed_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, each followed by a tab (ToolsUtils.prettyPrintTable)."""
    table = [titles, *rows]
    widths = [max(len(line[column]) for line in table) for column in range(len(titles))]
    return "".join(
        "".join(f"{cell:<{width}}\t" for cell, width in zip(line, widths, strict=True)) + "\n" for line in table
    )
