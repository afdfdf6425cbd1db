"""Options of Kafka's tools from 1.1 to 4.2 that 4.3 no longer has, with their replacement.

This module is imported only if a command finds an unknown option. The table comes from the sources of each release.
"""

from __future__ import annotations

from typing import NamedTuple


class Removed(NamedTuple):
    """``since``: the first release without the option."""

    since: str
    instead: str


_BROKER = "give --bootstrap-server HOST:PORT of a broker"
_NEEDLESS = "leave it out"
_ACLS_OF_BROKERS = "give --bootstrap-server HOST:PORT: brokers change the ACLs of their authorizer themselves"

REMOVED: dict[str, dict[str, Removed]] = {
    "kafka-topics": {
        "--zookeeper": Removed("3.0", _BROKER),
        "--force": Removed("3.0", f"{_NEEDLESS}: no confirmation is asked for"),
        "--disable-rack-aware": Removed("3.5", "give --replica-assignment to place replicas independently of racks"),
    },
    "kafka-reassign-partitions": {
        "--zookeeper": Removed("3.0", f"{_BROKER}; brokers before 2.4 need the script of their own release"),
    },
    "kafka-consumer-groups": {
        "--zookeeper": Removed("2.0", f"groups are stored on brokers: {_BROKER}"),
        "--new-consumer": Removed("2.0", f"{_NEEDLESS}: all groups are stored on brokers"),
    },
    "kafka-streams-application-reset": {
        "--zookeeper": Removed("3.0", f"{_BROKER}: ZooKeeper is not used"),
    },
    "kafka-acls": {
        "--authorizer": Removed("4.0", _ACLS_OF_BROKERS),
        "--authorizer-properties": Removed("4.0", _ACLS_OF_BROKERS),
        "--zk-tls-config-file": Removed("4.0", _ACLS_OF_BROKERS),
    },
    "kafka-get-offsets": {
        "--offsets": Removed("3.0", f"{_NEEDLESS}: one offset of each partition is shown"),
        "--max-wait-ms": Removed("3.0", "give --timeout TIME"),
    },
    "kafka-features": {
        "--describe": Removed("3.3", "write kafka-features describe"),
        "--upgrade-all": Removed("3.3", "write kafka-features upgrade --release-version VERSION"),
        "--downgrade-all": Removed("3.3", "write kafka-features downgrade --release-version VERSION"),
    },
    "kafka-console-producer": {
        "--old-producer": Removed("2.0", f"{_NEEDLESS}: the old producer no longer exists"),
        "--key-serializer": Removed("2.0", f"{_NEEDLESS}: keys are sent unchanged"),
        "--value-serializer": Removed("2.0", f"{_NEEDLESS}: values are sent unchanged"),
        "--queue-size": Removed("2.0", "give --batch-size BYTES or --max-memory-bytes BYTES"),
        "--queue-enqueuetimeout-ms": Removed("2.0", "give --max-block-ms MS"),
    },
    "kafka-console-consumer": {
        "--zookeeper": Removed("2.0", _BROKER),
        "--new-consumer": Removed("2.0", f"{_NEEDLESS}: the new consumer is the only one"),
        "--blacklist": Removed("2.0", "give --include REGEX to select topics"),
        "--delete-consumer-offsets": Removed(
            "2.0", "write kafka-consumer-groups --delete --group GROUP, or give --from-beginning with a new group"
        ),
        "--csv-reporter-enabled": Removed("2.0", f"{_NEEDLESS}: no metrics are written"),
        "--metrics-dir": Removed("2.0", f"{_NEEDLESS}: no metrics are written"),
    },
    "kafka-consumer-perf-test": {
        "--zookeeper": Removed("2.0", _BROKER),
        "--new-consumer": Removed("2.0", f"{_NEEDLESS}: there is one consumer"),
        "--threads": Removed("4.0", f"{_NEEDLESS}: start the command several times with one --group"),
        "--num-fetch-threads": Removed("4.0", f"{_NEEDLESS}: it had no effect"),
    },
}
"""Command -> option -> its removal."""


def explanation(command: str, option: str) -> str | None:
    """The sentence about a removed option; None for an option that never existed. ``command``: kafka-topics."""
    found = REMOVED.get(command, {}).get(option)
    return found and f"{option} was removed in Kafka {found.since}: {found.instead}."
