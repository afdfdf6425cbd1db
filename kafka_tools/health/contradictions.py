"""Checks of configs that contradict each other, or that promise less than people think."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafka_tools.health.facts import Facts
from kafka_tools.health.finding import ERROR, INFO, WARNING, Diagnosis, named, of
from kafka_tools.protocol.enums import CONSUMER_OFFSETS, TRANSACTION_STATE

_SAFE_REPLICAS = 3
_OVERHEAD_BYTES = 12
"""The offset and the size of a batch. The default of message.max.bytes counts them, that of the other config not."""
_SAME = ("message.max.bytes", "min.insync.replicas", "unclean.leader.election.enable", "default.replication.factor")
"""Configs that should have one value on all brokers."""


def check(facts: Facts) -> Iterator[Diagnosis]:
    """Findings about configs."""
    yield from _topics(facts)
    yield from _brokers(facts)


def _topics(facts: Facts) -> Iterator[Diagnosis]:
    impossible, rigid = [], []
    for name, topic in sorted(facts.topics.items()):
        least = _number(facts.topic_configs.get(name, {}), "min.insync.replicas")
        replicas = min((len(each.replicas) for each in topic.partitions), default=0)
        if least is None or not replicas:
            continue
        if least > replicas:
            impossible.append(f"{name} ({least} of {replicas})")
        elif least == replicas > 1:
            rigid.append(f"{name} ({least} of {replicas})")
    if impossible:
        yield Diagnosis(
            "configs", ERROR, f"{of(len(impossible), len(facts.topics), 'topic')} with min.insync.replicas above the "
            "number of replicas: writes with acks=all always fail", named(impossible), "",
            "kafka-configs -b $B --alter --topic TOPIC --add-config min.insync.replicas=N",
        )  # fmt: skip
    if rigid:
        yield Diagnosis(
            "configs", WARNING, f"{of(len(rigid), len(facts.topics), 'topic')} with min.insync.replicas equal to the "
            "number of replicas: writes with acks=all fail while any broker is down", named(rigid), "",
            "kafka-configs -b $B --alter --topic TOPIC --add-config min.insync.replicas=N",
        )  # fmt: skip


def _brokers(facts: Facts) -> Iterator[Diagnosis]:
    configs = facts.broker_configs
    for name in _SAME:
        values = {broker: found[name] for broker, found in configs.items() if name in found}
        if len(set(values.values())) > 1:
            yield Diagnosis(
                "configs", WARNING, f"{name} differs between brokers",
                named([f"broker {broker} {value}" for broker, value in sorted(values.items())]),
                "a change was made on some brokers only", "kafka-configs -b $B --describe --all --entity-type brokers",
            )  # fmt: skip
    if not configs:
        return
    broker, first = sorted(configs.items())[0]
    largest, fetched = _number(first, "message.max.bytes"), _number(first, "replica.fetch.max.bytes")
    if largest is not None and fetched is not None and largest > fetched + _OVERHEAD_BYTES:
        yield Diagnosis(
            "configs", INFO, f"message.max.bytes ({largest}) is above replica.fetch.max.bytes ({fetched}): "
            "followers fetch large batches one at a time", f"broker {broker}", "",
            "kafka-tools explain replica.fetch.max.bytes",
        )  # fmt: skip
    if first.get("unclean.leader.election.enable") == "true":
        yield Diagnosis(
            "configs", WARNING, "unclean.leader.election.enable is true: an election may lose acknowledged records",
            f"broker {broker}", "", "kafka-tools explain unclean.leader.election.enable",
        )  # fmt: skip
    if len(facts.cluster.nodes) >= _SAFE_REPLICAS:
        for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE):
            found = facts.topics.get(topic)
            replicas = min((len(each.replicas) for each in found.partitions), default=0) if found else _SAFE_REPLICAS
            if 0 < replicas < _SAFE_REPLICAS:
                yield Diagnosis(
                    "configs", WARNING, f"{topic} has {replicas} replica{'s' if replicas > 1 else ''} on a cluster of "
                    f"{len(facts.cluster.nodes)} brokers", "", "the topic was created when the cluster was smaller",
                    f"kafka-topics -b $B --describe --topic {topic}",
                )  # fmt: skip


def _number(configs: Mapping[str, str | None], name: str) -> int | None:
    value = configs.get(name)
    return int(value) if value is not None and value.lstrip("-").isdigit() else None
