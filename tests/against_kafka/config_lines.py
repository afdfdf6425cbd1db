"""Command lines of kafka-configs for the comparison with Kafka's ConfigCommand, in scenarios that leave no trace.

Each scenario is run by one tool to its end and then by the other on the same cluster. ``differs`` begins the reason on
the command's page, below "Differences from Kafka's tool"; a line without it prints the same text and ends with the same
status.
"""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """One command line. ``sort``: the order of the lines that it prints is no matter; ``differs``: why it differs."""

    text: str
    differs: str = ""
    sort: bool = False
    where: str = ""
    """The only kind of cluster on which it differs, KRaft or ZooKeeper; "" is both."""


USAGE = "An invalid command line exits 2"
MISSING = "An entity that does not exist"
FORCE = "`--force`"
MECHANISMS = "You can set several SCRAM mechanisms"
CONTROLLER = "`--bootstrap-controller` works for every request"
HEADING = "A heading appears only above a result"
OLD_BROKERS = "Configs of brokers before 2.3"
SEVERAL = "You can repeat names of entities"

TOPICS = (
    Line("--describe --topic cmp-a"),
    Line("--describe --topic cmp-a --all"),
    Line("--describe --entity-type topics --entity-name cmp-a"),
    Line("--describe --entity-type topics --entity-name cmp-a --all"),
    Line("--describe --entity-type topics", sort=True),
    Line("--alter --topic cmp-a --add-config retention.ms=1000000"),
    Line("--alter --entity-type topics --entity-name cmp-a --add-config retention.ms=2000000,flush.ms=9"),
    Line("--alter --topic cmp-a --add-config cleanup.policy=[compact,delete],segment.bytes=1048576"),
    Line("--alter --topic cmp-a --add-config leader.replication.throttled.replicas=[0:1,1:1]"),
    Line("--describe --topic cmp-a"),
    Line("--describe --topic cmp-a --all"),
    Line("--alter --topic cmp-a --add-config flush.ms=10 --delete-config retention.ms,segment.bytes"),
    Line("--alter --topic cmp-a --delete-config flush.ms --delete-config cleanup.policy"),
    Line("--alter --topic cmp-a --delete-config leader.replication.throttled.replicas"),
    Line("--alter --topic cmp-a --delete-config retention.ms"),
    Line("--alter --topic cmp-a --add-config-file {file}"),
    Line("--describe --topic cmp-a"),
    Line("--alter --topic cmp-a --delete-config retention.ms,flush.ms"),
    Line("--alter --topic cmp-a --add-config retention.ms=abc"),
    Line("--alter --topic cmp-a --add-config retention.ms=-2"),
    Line("--alter --topic cmp-a --add-config no.such.config=1"),
    Line("--alter --topic cmp-a --delete-config no.such.config"),
    Line("--alter --topic no-such --add-config flush.ms=9"),
    Line("--describe --topic no-such", MISSING),
    Line("--describe --topic cmp-a"),
    Line("--alter --topic cmp-a --add-config flush.ms=9 --force", FORCE),
    Line("--alter --topic cmp-a --delete-config flush.ms"),
)

BROKERS = (
    Line("--describe --broker 1"),
    Line("--describe --broker 1 --all"),
    Line("--describe --entity-type brokers --entity-name 1"),
    Line("--describe --entity-type brokers"),
    Line("--describe --broker-defaults"),
    Line("--describe --entity-type brokers --entity-default"),
    Line("--alter --broker 1 --add-config log.cleaner.threads=2"),
    Line("--alter --broker-defaults --add-config log.cleaner.backoff.ms=16000"),
    Line("--alter --entity-type brokers --entity-default --add-config log.cleaner.threads=2"),
    Line("--alter --broker 1 --add-config max.connections.per.ip.overrides=[127.0.0.7:100]"),
    Line("--describe --broker 1"),
    Line("--describe --broker 1 --all"),
    Line("--describe --broker-defaults"),
    Line("--describe --broker-defaults --all"),
    Line("--describe --entity-type brokers"),
    Line("--alter --broker 1 --delete-config log.cleaner.threads,max.connections.per.ip.overrides"),
    Line("--alter --broker-defaults --delete-config log.cleaner.backoff.ms,log.cleaner.threads"),
    Line("--alter --broker 1 --delete-config log.cleaner.threads"),
    Line("--alter --broker 1 --add-config node.id=7"),
    Line("--alter --broker 1 --add-config log.cleaner.threads=none"),
    Line("--describe --broker 1"),
    Line("--describe --broker 77 --command-config {quick}", MISSING),
    Line("--describe --broker one", USAGE),
)

LOGGERS = (
    Line("--alter --broker-logger 1 --add-config {logger}=WARN"),
    Line("--alter --entity-type broker-loggers --entity-name 1 --add-config root=WARN"),
    Line("--describe --broker-logger 1"),
    Line("--describe --entity-type broker-loggers --entity-name 1 --all"),
    Line("--alter --broker-logger 1 --delete-config {logger}"),
    Line("--alter --broker-logger 1 --add-config root=ERROR"),
    Line("--describe --broker-logger 1"),
    Line("--alter --broker-logger 1 --delete-config root"),
    Line("--alter --broker-logger 1 --add-config root=LOUD"),
    Line("--alter --broker-logger 1 --add-config no.such.Logger=INFO"),
    Line("--describe --entity-type broker-loggers", USAGE),
)

QUOTAS = (
    Line("--describe --user cmp-u"),
    Line("--alter --user cmp-u --add-config producer_byte_rate=1024,consumer_byte_rate=2048"),
    Line("--alter --entity-type users --entity-name cmp-u --add-config request_percentage=12.5"),
    Line("--alter --user cmp-u --client cmp-c --add-config controller_mutation_rate=2"),
    Line("--alter --client cmp-c --add-config consumer_byte_rate=1e9"),
    Line("--alter --user-defaults --add-config consumer_byte_rate=99999999"),
    Line("--alter --client-defaults --add-config consumer_byte_rate=99999999"),
    Line("--alter --user-defaults --client cmp-c --add-config producer_byte_rate=99999999"),
    Line("--alter --user cmp-u --client-defaults --add-config producer_byte_rate=12345678"),
    Line(
        "--alter --entity-type users --entity-default --entity-type clients --entity-default "
        "--add-config request_percentage=10000000"
    ),
    Line("--describe --user cmp-u"),
    Line("--describe --entity-type users", sort=True),
    Line("--describe --entity-type clients", sort=True),
    Line("--describe --entity-type users --entity-type clients", sort=True),
    Line("--describe --user cmp-u --client cmp-c"),
    Line("--describe --entity-type users --entity-name cmp-u --entity-type clients", sort=True),
    Line("--describe --entity-type clients --entity-name cmp-c --entity-type users", sort=True),
    Line("--describe --user-defaults"),
    Line("--describe --client-defaults"),
    Line("--describe --user-defaults --client-defaults"),
    Line("--describe --client cmp-c"),
    Line(
        "--alter --user cmp-u --delete-config producer_byte_rate,consumer_byte_rate --delete-config request_percentage"
    ),
    Line("--alter --user cmp-u --client cmp-c --delete-config controller_mutation_rate"),
    Line("--alter --client cmp-c --delete-config consumer_byte_rate"),
    Line("--alter --user-defaults --delete-config consumer_byte_rate"),
    Line("--alter --client-defaults --delete-config consumer_byte_rate"),
    Line("--alter --user-defaults --client cmp-c --delete-config producer_byte_rate"),
    Line("--alter --user cmp-u --client-defaults --delete-config producer_byte_rate"),
    Line(
        "--alter --entity-type users --entity-default --entity-type clients --entity-default "
        "--delete-config request_percentage"
    ),
    Line("--alter --user cmp-u --delete-config producer_byte_rate"),
    Line("--alter --user cmp-u --add-config producer_byte_rate=fast", USAGE),
    Line("--alter --user cmp-u --add-config producer_byte_rate=-1"),
    Line("--alter --user cmp-u --add-config no_such_quota=1", USAGE),
    Line("--alter --client cmp-c --add-config SCRAM-SHA-256=[password=x]", USAGE),
    Line("--alter --user cmp-u --client cmp-c --add-config SCRAM-SHA-256=[password=x]", USAGE),
    Line("--describe --entity-type users --entity-type clients", sort=True),
)

ADDRESSES = (
    Line("--alter --ip 127.0.0.9 --add-config connection_creation_rate=50"),
    Line("--alter --ip-defaults --add-config connection_creation_rate=100000"),
    Line("--describe --ip 127.0.0.9"),
    Line("--describe --ip-defaults"),
    Line("--describe --entity-type ips", sort=True),
    Line("--alter --ip 127.0.0.9 --delete-config connection_creation_rate"),
    Line("--alter --entity-type ips --entity-default --delete-config connection_creation_rate"),
    Line("--alter --ip 127.0.0.9 --add-config producer_byte_rate=1", USAGE),
    Line("--alter --ip not/an/address --add-config connection_creation_rate=1"),
    Line("--describe --ip 127.0.0.9"),
)

CREDENTIALS = (
    Line("--alter --user cmp-s --add-config SCRAM-SHA-256=[iterations=8192,password=alice-secret]"),
    Line("--alter --entity-type users --entity-name cmp-s --add-config SCRAM-SHA-512=[password=alice-secret]"),
    Line("--describe --user cmp-s"),
    Line("--describe --entity-type users --entity-name cmp-s"),
    Line("--alter --user cmp-s --add-config consumer_byte_rate=5000"),
    Line("--describe --user cmp-s"),
    Line("--describe --entity-type users", sort=True),
    Line("--alter --user cmp-s --delete-config consumer_byte_rate"),
    Line("--alter --user cmp-s --delete-config SCRAM-SHA-256"),
    Line("--alter --user cmp-s --delete-config SCRAM-SHA-512"),
    Line("--alter --user cmp-s --delete-config SCRAM-SHA-512"),
    Line("--alter --user cmp-s --add-config SCRAM-SHA-256=[iterations=100,password=x]", USAGE),
    Line("--alter --user cmp-s --add-config SCRAM-SHA-256=[iterations=99999,password=x]"),
    Line("--alter --user cmp-s --add-config SCRAM-SHA-256=password", USAGE),
    Line("--alter --user-defaults --add-config SCRAM-SHA-256=[password=x]", USAGE),
    Line("--alter --user cmp-s --add-config SCRAM-SHA-256=[password=x],consumer_byte_rate=1", USAGE),
    Line(
        "--alter --user cmp-s --add-config SCRAM-SHA-256=[password=x],SCRAM-SHA-512=[password=x]",
        MECHANISMS,
        where="KRaft",
    ),
    Line("--alter --user cmp-s --delete-config SCRAM-SHA-256,SCRAM-SHA-512", MECHANISMS, where="KRaft"),
)

GROUPS = (
    Line("--describe --group cmp-live"),
    Line("--describe --group cmp-live --all"),
    Line("--describe --entity-type groups --all", sort=True),
    Line("--describe --entity-type groups", sort=True),
    Line("--alter --group cmp-g --add-config consumer.session.timeout.ms=50000,consumer.heartbeat.interval.ms=6000"),
    Line("--describe --group cmp-g"),
    Line("--describe --group cmp-g --all"),
    Line("--describe --entity-type groups --entity-name cmp-g"),
    Line("--describe --entity-type groups", sort=True),
    Line("--alter --group cmp-g --delete-config consumer.session.timeout.ms"),
    Line("--alter --group cmp-g --delete-config consumer.heartbeat.interval.ms"),
    Line("--describe --group cmp-g", MISSING),
    Line("--describe --group cmp-g --all"),
    Line("--alter --group cmp-g --add-config consumer.session.timeout.ms=1"),
    Line("--alter --group cmp-g --add-config no.such=1"),
    Line("--describe --group cmp-no-such", MISSING),
    Line("--alter --client-metrics cmp-m --add-config interval.ms=60000,metrics=[org.apache.kafka.producer.,x]"),
    Line("--alter --client-metrics cmp-m --add-config match=[client_id=a.*]"),
    Line("--describe --client-metrics cmp-m"),
    Line("--describe --client-metrics cmp-m --all"),
    Line("--describe --entity-type client-metrics", sort=True),
    Line("--alter --client-metrics cmp-m --add-config interval.ms=5"),
    Line("--alter --client-metrics cmp-m --delete-config interval.ms,metrics,match"),
    Line("--describe --client-metrics cmp-m", MISSING),
    Line("--describe --client-metrics cmp-no-such", MISSING),
    Line("--describe --entity-type client-metrics", sort=True),
)

COMMAND_LINES = (
    Line("", USAGE),
    Line("--describe", USAGE),
    Line("--alter --topic cmp-a", USAGE),
    Line("--describe --alter --topic cmp-a", USAGE),
    Line("--describe --topic cmp-a --add-config flush.ms=9", USAGE),
    Line("--alter --topic cmp-a --add-config flush.ms", USAGE),
    Line("--alter --topic cmp-a --add-config flush.ms=1=2"),
    Line("--alter --topic cmp-a --add-config 'fl ush=1'", USAGE),
    Line("--alter --entity-type topics --add-config flush.ms=9", USAGE),
    Line("--alter --entity-type planets --entity-name x --add-config a=b", USAGE),
    Line("--describe --entity-type topics --entity-type users", USAGE),
    Line("--describe --entity-type users --topic cmp-a", USAGE),
    Line("--describe --topic cmp-a --user cmp-u", USAGE),
    Line("--describe --entity-name cmp-a", USAGE),
    Line("--describe --entity-type topics --entity-default", USAGE),
    Line("--alter --topic cmp-a --add-config flush.ms=9 --add-config-file {file}", USAGE),
    Line("--alter --topic cmp-a --add-config-file no-such-file"),
    Line("--alter --broker-logger 1 --add-config root=INFO --no-such-option", USAGE),
    Line("--describe --topic cmp-a --command-config no-such-file"),
    Line("--describe --entity-type users --entity-name a --entity-name b", SEVERAL),
    Line("--alter --topic cmp-a --delete-config flush.ms --add-config flush.ms=9", USAGE),
    Line("--describe --topic cmp-a"),
)

SCENARIOS = {
    "topics": TOPICS,
    "brokers": BROKERS,
    "broker loggers": LOGGERS,
    "quotas": QUOTAS,
    "addresses": ADDRESSES,
    "credentials": CREDENTIALS,
    "groups and client metrics": GROUPS,
    "command lines": COMMAND_LINES,
}
CONTROLLERS = (
    Line("--describe --entity-type brokers"),
    Line("--describe --broker 1"),
    Line("--describe --broker-defaults"),
    Line("--alter --broker-defaults --add-config log.cleaner.backoff.ms=16000"),
    Line("--describe --broker-defaults"),
    Line("--alter --broker-defaults --delete-config log.cleaner.backoff.ms"),
    Line("--alter --broker 1 --add-config log.cleaner.threads=2"),
    Line("--describe --broker 1"),
    Line("--alter --broker 1 --delete-config log.cleaner.threads"),
    Line("--describe --topic cmp-a", CONTROLLER),
    Line("--alter --topic cmp-a --add-config flush.ms=9"),
    Line("--alter --topic cmp-a --delete-config flush.ms"),
    Line("--describe --user cmp-u"),
    Line("--alter --user cmp-u --add-config producer_byte_rate=1024", CONTROLLER),
    Line("--alter --user cmp-u --delete-config producer_byte_rate", CONTROLLER),
    Line("--alter --user cmp-s --add-config SCRAM-SHA-256=[password=x]", CONTROLLER),
    Line("--alter --user cmp-s --delete-config SCRAM-SHA-256", CONTROLLER),
    Line("--describe --group cmp-live"),
)
"""With --bootstrap-controller in place of --bootstrap-server."""

NOT_EVERYWHERE = {
    "groups and client metrics": ("bundled", "kafka_new_three"),  # clusters with ZooKeeper have neither
    "command lines": ("kafka_new",),  # nearly all of them end before any cluster is asked
}
"""Scenario -> the clusters it is for, where it is not for all."""

BEFORE_2_3 = (
    Line("--describe --topic cmp-a"),
    Line("--alter --topic cmp-a --add-config flush.ms=9,cleanup.policy=[compact,delete]", OLD_BROKERS),
    Line("--describe --topic cmp-a"),
    Line("--describe --topic cmp-a --all"),
    Line("--describe --entity-type topics", sort=True),
    Line("--alter --topic cmp-a --delete-config flush.ms,cleanup.policy", OLD_BROKERS),
    Line("--alter --broker 1 --add-config log.cleaner.threads=2", OLD_BROKERS),
    Line("--alter --broker-defaults --add-config log.cleaner.backoff.ms=16000", OLD_BROKERS),
    Line("--describe --broker 1"),
    Line("--describe --broker 1 --all"),
    Line("--describe --broker-defaults"),
    Line("--describe --entity-type brokers"),
    Line("--alter --broker 1 --delete-config log.cleaner.threads", OLD_BROKERS),
    Line("--alter --broker-defaults --delete-config log.cleaner.backoff.ms", OLD_BROKERS),
    Line("--describe --broker 1"),
    Line("--describe --topic no-such", MISSING),
    Line("--describe --user cmp-u"),
    Line("--alter --user cmp-u --add-config producer_byte_rate=1024"),
    Line("--alter --user cmp-u --add-config SCRAM-SHA-256=[password=x]"),
    Line("--describe --broker-logger 1", HEADING),
    Line("--describe --entity-type groups", HEADING),
    Line("--describe --client-metrics cmp-m"),
    Line("--describe --ip 127.0.0.9"),
)
"""For brokers that the newest tool can ask but not change: here both tools run each line before the next."""
