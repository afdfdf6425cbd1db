"""Right requests about topics, their records and configs."""

from __future__ import annotations

from typing import Any

from tests.against_kafka.compare_answers.brokers import Known
from tests.against_kafka.compare_answers.cases import INVALID_NAMES, Case, Pools, recipe
from tests.against_kafka.compare_answers.world import (
    LONG_AGO_MS,
    TOPICS,
    all_topics,
    ask,
    batch,
    configs_of,
    create,
    offsets_of,
    records_of,
)

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
_TOPIC_CONFIGS = (
    ("retention.ms", ("1000", "-1", "-2", "x", "", "99999999999999999999", " 5000 ")),
    ("cleanup.policy", ("compact", "delete", "compact,delete", "", "other", "delete,delete", "delete, compact")),
    ("min.insync.replicas", ("1", "2", "0", "x")),
    ("compression.type", ("zstd", "none", "uncompressed", "GZIP", "")),
    ("compression.gzip.level", ("1", "9", "0", "-1", "10")),
    ("segment.bytes", ("1048576", "100", "0", "2147483648")),
    ("max.message.bytes", ("0", "1", "-1", "1.5")),
    ("message.timestamp.type", ("CreateTime", "LogAppendTime", "createtime")),
    ("min.cleanable.dirty.ratio", ("0", "1", "0.25", "1.1", "NaN", "1e-3")),
    ("unclean.leader.election.enable", ("true", "TRUE", "no", "")),
    ("follower.replication.throttled.replicas", ("*", "0:1", "0:1,1:1", "x", "")),
    ("min.compaction.lag.ms", ("1", "9223372036854775807", "-1")),
    ("max.compaction.lag.ms", ("1", "0", "9223372036854775807")),
    ("remote.storage.enable", ("true", "false")),
    ("preallocate", ("true", "1")),
    ("message.format.version", ("3.0",)),
    ("internal.segment.bytes", ("100",)),
    ("nosuch.config", ("1",)),
    ("", ("1",)),
)
_BROKER_CONFIGS = (
    ("log.retention.ms", ("700000000", "-1", "0", "x")),
    ("log.cleaner.threads", ("1", "2", "3", "0", "-1", "100")),
    ("num.io.threads", ("8", "4", "16", "17", "3", "0", "x")),
    ("background.threads", ("10", "5", "4", "21")),
    ("num.recovery.threads.per.data.dir", ("1", "2", "3", "0")),
    ("num.replica.fetchers", ("1", "2", "3", "0")),
    ("min.insync.replicas", ("1", "2", "0")),
    ("message.max.bytes", ("1048588", "-1", "0")),
    ("log.cleanup.policy", ("compact", "", "other")),
    ("compression.type", ("gzip", "other")),
    ("log.segment.bytes", ("1048576", "1")),
    ("unclean.leader.election.enable", ("true", "maybe")),
    ("log.cleaner.io.max.bytes.per.second", ("1.5", "0", "-1")),
    ("log.cleaner.dedupe.buffer.size", ("8388608", "1")),
    ("log.cleaner.min.cleanable.ratio", ("0.3", "2")),
    ("log.message.timestamp.type", ("LogAppendTime", "Other")),
    ("follower.replication.throttled.rate", ("1000", "-1")),
    ("log.flush.interval.ms", ("9223372036854775807", "-1")),
    ("producer.id.expiration.ms", ("86400000", "0")),
    ("transaction.partition.verification.enable", ("true", "x")),
    ("broker.id", ("5",)),
    ("log.dirs", ("/x",)),
    ("num.partitions", ("3",)),
    ("sasl.enabled.mechanisms", ("PLAIN",)),
    ("listener.name.plaintext.ssl.client.auth", ("none",)),
    ("ssl.keystore.location", ("/x",)),
    ("nosuch.config", ("secret",)),
)
_GROUP_CONFIGS = (
    ("consumer.session.timeout.ms", ("45000", "60000", "1", "x", "3000")),
    ("consumer.heartbeat.interval.ms", ("5000", "15000", "1")),
    ("share.auto.offset.reset", ("earliest", "latest", "by_duration:PT1H", "x")),
    ("share.record.lock.duration.ms", ("30000", "1")),
    ("streams.num.standby.replicas", ("0", "1", "9")),
    ("nosuch.config", ("1",)),
)
_METRICS_CONFIGS = (
    ("interval.ms", ("1000", "99", "3600001", "x")),
    ("metrics", ("a.b", "", "*")),
    ("match", ("client_id=a", "client_id", "nosuch=a", "client_id=[", "client_id=a,client_software_name=b")),
    ("nosuch", ("1",)),
)
CONFIGS = {
    TOPIC: _TOPIC_CONFIGS,
    BROKER: _BROKER_CONFIGS,
    GROUP: _GROUP_CONFIGS,
    CLIENT_METRICS: _METRICS_CONFIGS,
    BROKER_LOGGER: (("kafka.server.KafkaApis", ("DEBUG", "x")), ("root", ("INFO",)), ("nosuch", ("INFO",))),
}


_WRONG_REPLICAS: tuple[list[int], ...] = ([], [1, 1], [9], [-1])


@recipe
def create_topics(pools: Pools, version: int) -> Case:
    names: list[str] = []

    def topic() -> dict[str, Any]:
        name = pools.one(*(f"new{at}-{pools.n}" for at in range(6)), "t1", "one_x", "dot.x", "dot_x", pools.topic())
        names.append(name)
        found: dict[str, Any] = {
            "name": name,
            "num_partitions": pools.one(1, 3, 3, -1, 0, 10_001),
            "replication_factor": 1,
        }
        found["replication_factor"] = pools.one(1, 1, 1, -1, 2, 0, 32767)
        if pools.rng.random() < 0.3:
            found |= {"num_partitions": pools.one(-1, -1, -1, 2), "replication_factor": pools.one(-1, -1, -1, 1)}
            found["assignments"] = [
                {
                    "partition_index": pools.one(at, at, at, 0, 5),
                    "broker_ids": pools.one([1], [1], [1], [], [1, 1], [9], [-1]),
                }
                for at in range(pools.one(1, 2))
            ]
        found["configs"] = [
            {"name": name, "value": pools.one(*values, *values, None)}
            for name, values in pools.few(lambda: pools.one(*_TOPIC_CONFIGS), 0, 2)
        ]
        return found

    topics = pools.few(topic, 1, 3)
    if pools.rng.random() < 0.1:
        topics.append(dict(topics[0]))
    question = ask(
        "create_topics",
        version,
        pools.user(),
        topics=topics,
        timeout_ms=30_000,
        validate_only=pools.one(False, False, True),
    )
    new = [name for name in dict.fromkeys(names) if name not in TOPICS and name not in INVALID_NAMES]
    state = [*all_topics(), *(configs_of(TOPIC, name) for name in new)]
    return Case(question, state=state, may_make=new)


@recipe
def delete_topics(pools: Pools, version: int) -> Case:
    made = [f"del{at}-{pools.n}" for at in range(2)]
    names = pools.few(lambda: pools.one(*made, *made, "missing", "gone", "", "a b", "__consumer_offsets0"), 1, 3)
    states = [{"name": None, "topic_id": Known(f"topic {name}")} if pools.flag() else {"name": name} for name in names]
    data = {"topic_names": names} if version < 6 else {"topics": states}
    question = ask("delete_topics", version, pools.user(), timeout_ms=30_000, **data)
    return Case(question, before=[create(name) for name in made], made=made, state=all_topics())


@recipe
def create_partitions(pools: Pools, version: int) -> Case:
    name = f"grow-{pools.n}"

    def topic() -> dict[str, Any]:
        count = pools.one(4, 5, 3, 2, 0, -1)
        assignments = [{"broker_ids": pools.one([1], [1], [], [9], [1, 1])} for _ in range(pools.one(1, 1, 2))]
        return {
            "name": pools.one(name, name, name, "missing", "", "a b"),
            "count": count,
            "assignments": pools.one(None, None, assignments, []),
        }

    question = ask(
        "create_partitions", version, pools.user(), topics=pools.few(topic, 1, 2), timeout_ms=30_000,
        validate_only=pools.one(False, False, True),
    )  # fmt: skip
    return Case(question, before=[create(name)], made=[name], state=all_topics())


@recipe
def metadata(pools: Pools, version: int) -> dict[str, Any]:
    def topic() -> dict[str, Any]:
        if version >= 10 and pools.flag():
            name = pools.one(*[None] * 5, "t1") if version >= 12 else ""
            return {"name": name, "topic_id": pools.topic_id()}
        # Up to v3 every unknown name is made.
        return {"name": pools.topic() if version >= 4 else pools.one(*TOPICS)}

    topics = pools.one(None, []) if version >= 1 and pools.rng.random() < 0.2 else pools.few(topic, 1, 4)
    return {
        "topics": topics,
        "allow_auto_topic_creation": False,
        "include_cluster_authorized_operations": pools.flag(),
        "include_topic_authorized_operations": pools.flag(),
    }


@recipe
def describe_topic_partitions(pools: Pools, version: int) -> dict[str, Any]:
    cursor = {"topic_name": pools.topic(), "partition_index": pools.partition()}
    return {
        "topics": pools.one([], pools.few(lambda: {"name": pools.topic()}, 1, 4)),
        "response_partition_limit": pools.one(2000, 2, 1, 0, -1),
        "cursor": pools.one(None, None, cursor),
    }


@recipe
def describe_configs(pools: Pools, version: int) -> dict[str, Any]:
    def resource() -> dict[str, Any]:
        kind = pools.one(*CONFIGS, TOPIC, TOPIC, BROKER, 0, 1, 3, 99, -1)
        keys = [pools.one(*CONFIGS.get(kind, _TOPIC_CONFIGS))[0] for _ in range(2)]
        return {
            "resource_type": kind,
            "resource_name": resource_name(pools, kind),
            "configuration_keys": pools.one(None, keys, keys, []),
        }

    return {
        "resources": pools.few(resource, 1, 3),
        "include_synonyms": pools.flag(),
        "include_documentation": False,
    }


def resource_name(pools: Pools, kind: int) -> str:
    names = {
        TOPIC: (pools.topic(),),
        BROKER: ("1", "1", "1", "", "", "2", "x", "-1"),
        BROKER_LOGGER: ("1", "1", "", "2", "x"),
        CLIENT_METRICS: ("cm1", "cm1", "other", ""),
        GROUP: ("g1", "g1", "other", ""),
    }
    return str(pools.one(*names.get(kind, ("t1", "1"))))


def _alter(pools: Pools, version: int, stem: str) -> Case:
    kinds = pools.few(lambda: pools.one(TOPIC, TOPIC, TOPIC, BROKER, BROKER, GROUP, CLIENT_METRICS, 0, 99), 1, 2)
    if pools.rng.random() < 0.05:
        kinds.append(BROKER_LOGGER)
    resources, named = [], []
    for kind in kinds:
        name = resource_name(pools, kind)
        configs = []
        rows = CONFIGS.get(kind, _TOPIC_CONFIGS)
        for key, values in dict(pools.rng.sample(rows, pools.one(0, 1, 2))).items():
            config = {"name": key, "value": pools.one(*values, *values, *values, None)}
            if stem == "incremental_alter_configs":
                config["config_operation"] = pools.one(0, 0, 0, 0, 1, 1, 2, 3, 9)
                if config["config_operation"] == 1 and pools.flag():
                    config["value"] = None
            configs.append(config)
        resources.append({"resource_type": kind, "resource_name": name, "configs": configs})
        if kind in CONFIGS and kind != BROKER_LOGGER:
            named.append((kind, name))
    question = ask(stem, version, pools.user(), resources=resources, validate_only=pools.one(False, False, True))
    state = [configs_of(kind, name) for kind, name in dict.fromkeys(named)]
    return Case(question, state=state, undo=[restored(kind, name) for kind, name in dict.fromkeys(named)])


def restored(kind: int, name: str) -> Any:
    """The request that gives a resource back the configs that ``world`` gave it."""
    given = {
        **{(TOPIC, topic): configs for topic, configs in TOPICS.items()},
        (GROUP, "g1"): {"consumer.session.timeout.ms": "50000"},
        (CLIENT_METRICS, "cm1"): {"interval.ms": "1000"},
        (BROKER, ""): {"log.retention.ms": "600000000", "min.insync.replicas": "1"},
        (BROKER, "1"): {"log.cleaner.backoff.ms": "14000"},
    }.get((kind, name), {})
    configs = [{"name": key, "value": value} for key, value in given.items()]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    return ask("alter_configs", 2, resources=[resource], validate_only=False)


@recipe
def alter_configs(pools: Pools, version: int) -> Case:
    return _alter(pools, version, "alter_configs")


@recipe
def incremental_alter_configs(pools: Pools, version: int) -> Case:
    return _alter(pools, version, "incremental_alter_configs")


@recipe
def list_config_resources(pools: Pools, version: int) -> dict[str, Any]:
    return {
        "resource_types": pools.one(
            [], [TOPIC], [GROUP, CLIENT_METRICS], [BROKER, BROKER_LOGGER], [0], [99], [TOPIC, TOPIC]
        )
    }


@recipe
def produce(pools: Pools, version: int) -> Case:
    name = f"log-{pools.n}"
    kind = pools.one("t1", "t1", "t1", "strict", "compact", "appendtime", "one.x")
    numbered = {"producer_id": 9_999_999, "producer_epoch": pools.one(0, 0, 0, 5, -1)}
    first = batch(2, base_sequence=0, producer_id=9_999_999, producer_epoch=0)
    now = LONG_AGO_MS

    def records() -> Any:
        choice = pools.rng.randrange(20)
        if choice < 4:
            return batch(pools.one(1, 2, 50), codec=pools.one("none", "gzip", "snappy", "lz4", "zstd"))
        if choice < 8:
            return batch(2, base_sequence=pools.one(0, 0, 2, 2, 1, 7, -1), **numbered)
        if choice == 8:
            return batch(2, at_ms=pools.one(now + 10**12, -1, 0))
        if choice == 9:
            return batch(2, key=None)
        if choice == 10:
            return batch(1) + batch(1)
        if choice == 11:
            return batch(2, transactional=True, base_sequence=0, **numbered)
        if choice == 12:
            return batch(1, control=True)
        if choice == 13:
            return pools.one(None, b"", b"\0" * 10, b"x" * 100)
        if choice == 14:
            damaged = bytearray(batch(2))
            damaged[pools.one(16, 17, 21, 22, 23, 60, 70)] ^= pools.one(1, 7, 0x80)
            return bytes(damaged)
        if choice == 15:
            return batch(2, magic=pools.one(0, 1))
        if choice == 16:
            return batch(2, base_offset=5)
        if choice == 17:
            return batch(2, timestamp_type=1, append_time_ms=now)
        if choice == 18:
            return batch(300)
        return batch(2, leader_epoch=3)

    def topic(named: str) -> dict[str, Any]:
        numbers = pools.one([0], [0], [0], [1], [0, 1], [5], [-1, 0])
        partitions = [{"index": number, "records": records()} for number in numbers]
        known = {"topic_id": Known(f"topic {named}")} if version >= 13 else {"name": named}
        return known | {"partition_data": partitions}

    others = "missing", "a b", "__consumer_offsets", "gone"
    topics = pools.one([name], [name], [name], [name, pools.one(*others)], [pools.one(*others)])
    question = ask(
        "produce", version, pools.user(), acks=pools.one(-1, -1, 1, 1, 2, -2), timeout_ms=10_000,
        topic_data=[topic(named) for named in topics], transactional_id=None,
    )  # fmt: skip
    partition = {"index": 0, "records": first}
    opening = ask("produce", 9, acks=-1, timeout_ms=9000, topic_data=[{"name": name, "partition_data": [partition]}])
    state = [*offsets_of([name]), records_of(name, 0), records_of(name, 1)]
    return Case(question, before=[create(name, configs=TOPICS[kind]), opening], made=[name], state=state)


@recipe
def fetch(pools: Pools, version: int) -> dict[str, Any]:
    def partition() -> dict[str, Any]:
        return {
            "partition": pools.partition(),
            "current_leader_epoch": pools.one(-1, -1, 0, 5),
            "fetch_offset": pools.one(0, 0, 1, 3, 5, 6, 100, -1),
            "last_fetched_epoch": pools.one(-1, -1, -1, 0, 7),
            "partition_max_bytes": pools.one(1 << 20, 1 << 20, 1, 0, 100, -1),
        }

    def topic() -> dict[str, Any]:
        name = {"topic_id": pools.topic_id()} if version >= 13 else {"topic": pools.topic()}
        return name | {"partitions": pools.few(partition, 1, 3)}

    return {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": pools.one(0, 1, 1 << 30),
        "max_bytes": pools.one(1 << 20, 1 << 20, 1, 100),
        "isolation_level": pools.one(0, 1),
        "session_id": pools.one(0, 0, 0, 12345),
        "session_epoch": pools.one(-1, -1, 0, 1),
        "topics": pools.few(topic, 0, 3),
    }


@recipe
def list_offsets(pools: Pools, version: int) -> dict[str, Any]:
    def partition() -> dict[str, Any]:
        times = (-1, -2, -3, -4, -5, -6, -7, -100, 0, LONG_AGO_MS, LONG_AGO_MS + 1, LONG_AGO_MS + 10**9)
        return {
            "partition_index": pools.partition(),
            "current_leader_epoch": pools.one(-1, -1, 0, 5),
            "timestamp": pools.one(*times),
            "max_num_offsets": 1,
        }

    topics = pools.few(lambda: {"name": pools.topic(), "partitions": pools.few(partition, 1, 4)}, 1, 3)
    return {"replica_id": -1, "isolation_level": pools.one(0, 1), "topics": topics, "timeout_ms": 10_000}


@recipe
def delete_records(pools: Pools, version: int) -> Case:
    name = f"cut-{pools.n}"

    def topic() -> dict[str, Any]:
        offsets = pools.few(
            lambda: {"partition_index": pools.one(0, 0, 1, 7, -1), "offset": pools.one(0, 1, 2, 3, 4, -1, -2)}
        )
        named = pools.one(name, name, name, "compact", "keptforever", "deleting", "missing", "__consumer_offsets", "")
        return {"name": named, "partitions": offsets[: pools.one(1, 1, 2)]}

    question = ask("delete_records", version, pools.user(), topics=pools.few(topic, 1, 2), timeout_ms=30_000)
    partition = {"index": 0, "records": batch(3)}
    filling = ask("produce", 9, acks=-1, timeout_ms=9000, topic_data=[{"name": name, "partition_data": [partition]}])
    return Case(question, before=[create(name), filling], made=[name], state=offsets_of([name]))


@recipe
def offset_for_leader_epoch(pools: Pools, version: int) -> dict[str, Any]:
    def partition() -> dict[str, Any]:
        epochs = {"current_leader_epoch": pools.one(-1, 0, 5), "leader_epoch": pools.one(0, 0, 1, -1, 7)}
        return {"partition": pools.partition(), **epochs}

    topics = pools.few(lambda: {"topic": pools.topic(), "partitions": pools.few(partition)})
    return {"replica_id": -2 if version >= 3 else -1, "topics": topics}


@recipe
def describe_producers(pools: Pools, version: int) -> dict[str, Any]:
    return {"topics": pools.few(lambda: {"name": pools.topic(), "partition_indexes": pools.few(pools.partition)})}


@recipe
def describe_log_dirs(pools: Pools, version: int) -> dict[str, Any]:
    # Kafka lists every partition of the directory: some with names are enough, since others come and go.
    return {"topics": pools.few(lambda: {"topic": pools.topic(), "partitions": pools.few(pools.partition)}, 1, 3)}


@recipe
def elect_leaders(pools: Pools, version: int) -> dict[str, Any]:
    topics = pools.few(lambda: {"topic": pools.topic(), "partitions": pools.few(pools.partition)})
    return {
        "election_type": pools.one(0, 0, 1, 1, 2, -1),
        "topic_partitions": pools.one(None, [], topics, topics, topics),
        "timeout_ms": 30_000,
    }


@recipe
def alter_partition_reassignments(pools: Pools, version: int) -> dict[str, Any]:
    def partition() -> dict[str, Any]:
        return {
            "partition_index": pools.partition(),
            "replicas": pools.one([1], [1], None, [], [1, 1], [9], [1, 2], [-1]),
        }

    topics = pools.few(lambda: {"name": pools.topic(), "partitions": pools.few(partition)})
    return {"topics": topics, "timeout_ms": 30_000, "allow_replication_factor_change": True}


@recipe
def list_partition_reassignments(pools: Pools, version: int) -> dict[str, Any]:
    topics = pools.few(lambda: {"name": pools.topic(), "partition_indexes": pools.few(pools.partition)})
    return {"topics": pools.one(None, [], topics, topics), "timeout_ms": 30_000}
