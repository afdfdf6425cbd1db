"""The scenarios: one tool runs all lines of one, then the other does, on the same cluster. They leave no trace."""

from __future__ import annotations

from tests.against_kafka.compare_commands.line import Line, lines, state
from tests.against_kafka.compare_commands.lines_of_partitions import (
    DELETE_RECORDS,
    GET_OFFSETS,
    LEADER_ELECTION,
    LOG_DIRS,
    REASSIGN,
)

TOPICS = lines("""
    topics --create --topic cmp-a --partitions 3 --replication-factor {rf}
    topics --delete --topic cmp-a
    topics --create --topic cmp-a --replica-assignment {placed}
    ? topics --describe --topic cmp-a
    topics --create --topic cmp-a --partitions 3
    topics --create --topic cmp-a --partitions 3 --if-not-exists
    topics --create --topic cmp-b --replica-assignment 1
    topics --create --topic cmp.c_d --replica-assignment 1,1 --config retention.ms=600000 --config flush.ms=9
    topics --create --topic cmp-e --replica-assignment 1,1,1
    ? topics --describe --topic cmp.*
    topics --list
    topics --list --exclude-internal
    topics --list --topic cmp.*
    topics --list --topic nothing.*
    topics --describe --topic cmp-a
    topics --describe --topic cmp.*
    topics --describe --topic cmp-a,cmp-b
    topics --describe --topic cmp-topic --partition-size-limit-per-response 1
    topics --describe --topics-with-overrides
    topics --describe --topics-with-overrides --topic cmp.c_d
    topics --describe --under-replicated-partitions
    topics --describe --unavailable-partitions
    topics --describe --under-min-isr-partitions
    topics --describe --at-min-isr-partitions
    topics --describe --exclude-internal
    topics --describe --topic cmp-no-such
    topics --describe --topic cmp-no-such --if-exists
    topics --alter --topic cmp-a --partitions 4 --replica-assignment {placed_4}
    ? topics --describe --topic cmp-a
    topics --alter --topic cmp-a --partitions 4
    topics --alter --topic cmp-a --partitions 2
    topics --alter --topic cmp-b --partitions 2 --replica-assignment 1,1
    ? topics --describe --topic cmp-b
    topics --alter --topic cmp-b --partitions 3 --replica-assignment 1
    topics --alter --topic cmp-b --partitions 3 --replica-assignment 1,1,77
    topics --alter --topic cmp-no-such --partitions 2
    topics --alter --topic cmp-no-such --partitions 2 --if-exists
    topics --create --topic cmp-f --partitions 0
    topics --create --topic cmp-f --partitions -3
    topics --create --topic cmp-f --replication-factor 9
    topics --create --topic cmp-f --replication-factor 0
    topics --create --topic cmp-f --config no.such.config=1
    topics --create --topic cmp-f --config retention.ms=abc
    topics --create --topic cmp-f --config retention.ms
    topics --create --topic cmp/f
    topics --create --topic ..
    topics --create --topic cmp_c.d
    topics --create --topic cmp-f --replica-assignment 1:1
    topics --create --topic cmp-f --replica-assignment 77
    topics --create --topic cmp-f --replica-assignment 1,1:2
    topics --create --topic cmp-f --replica-assignment x
    topics --create --topic cmp-f --replica-assignment 1 --partitions 1
    topics --delete --topic cmp-a
    topics --delete --topic cmp-b
    topics --delete --topic cmp.c_d
    topics --delete --topic cmp-e
    topics --delete --topic cmp-no-such
    topics --delete --topic cmp-no-such --if-exists
    ? topics --list
    topics --create
    topics --list --create
    topics --alter --topic cmp-a
    topics --alter --partitions 3
    topics --delete
    topics --describe --partitions 3
    topics --list --no-such-option
    topics --list --if-exists
    topics --create --topic cmp-g --if-exists
    topics --describe --topic cmp-topic --under-replicated-partitions --unavailable-partitions
    topics --describe --topic cmp-topic --topic-id AAAAAAAAAAAAAAAAAAAAAQ
    topics --describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ
    topics --list --delete-config retention.ms
""")

_SCOPES = (
    "--topic cmp-topic", "--topic cmp-topic:0", "--topic cmp-topic:0,2", "--all-topics",
)  # fmt: skip
_TARGETS = (
    "--to-earliest", "--to-latest", "--to-current", "--to-offset 5", "--to-offset 99999", "--to-offset 0",
    "--shift-by 2", "--shift-by -2", "--shift-by 99999", "--to-datetime 2020-01-01T00:00:00.000",
    "--to-datetime 2099-01-01T00:00:00.000+02:00", "--by-duration PT1H", "--by-duration P30DT2H",
)  # fmt: skip
_RESET = "consumer-groups --reset-offsets --group cmp-group"

CONSUMER_GROUPS = (
    *(Line(f"{_RESET} {scope} {target}") for scope in _SCOPES for target in _TARGETS),
    *lines("""
    consumer-groups --reset-offsets --group cmp-group --topic cmp-topic --to-offset 7 --execute
    ? consumer-groups --describe --group cmp-group
    consumer-groups --reset-offsets --group cmp-group --topic cmp-topic:1 --shift-by -3 --execute
    ? consumer-groups --describe --group cmp-group
    consumer-groups --reset-offsets --group cmp-other --topic cmp-topic --to-earliest --execute
    ? consumer-groups --describe --group cmp-other
    consumer-groups --reset-offsets --group cmp-group --from-file {csv} --execute
    ? consumer-groups --describe --group cmp-group
    consumer-groups --reset-offsets --group cmp-group --group cmp-other --from-file {csv_of_groups} --execute
    ? consumer-groups --describe --group cmp-group
    ? consumer-groups --describe --group cmp-other
    consumer-groups --reset-offsets --group cmp-group --from-file {csv_beyond}
    consumer-groups --reset-offsets --group cmp-group --from-file {csv_no_number}
    consumer-groups --reset-offsets --group cmp-group --from-file {csv_short}
    consumer-groups --reset-offsets --group cmp-group --from-file {csv_empty}
    consumer-groups --reset-offsets --group cmp-group --from-file no-such-file
    consumer-groups --reset-offsets --group cmp-group --topic cmp-topic --to-current --export
    consumer-groups --reset-offsets --group cmp-group --group cmp-other --topic cmp-topic --to-offset 5 --export
    consumer-groups --reset-offsets --group cmp-group --group cmp-other --topic cmp-topic --to-latest
    consumer-groups --reset-offsets --group cmp-new --topic cmp-topic --to-earliest
    consumer-groups --reset-offsets --group cmp-new --topic cmp-topic --to-current
    consumer-groups --reset-offsets --group cmp-new --topic cmp-topic --shift-by 1
    consumer-groups --reset-offsets --group cmp-group --topic cmp-no-such --to-earliest
    consumer-groups --reset-offsets --group cmp-group --topic cmp-topic:9 --to-earliest
    consumer-groups --reset-offsets --group cmp-group --topic cmp-topic --to-datetime yesterday
    consumer-groups --reset-offsets --group cmp-group --topic cmp-topic --by-duration soon
    consumer-groups --reset-offsets --group cmp-group --topic cmp-topic:x --to-earliest
    consumer-groups --list
    consumer-groups --list --state
    consumer-groups --list --state Empty
    consumer-groups --list --state Stable,Empty
    consumer-groups --list --type
    consumer-groups --list --type classic
    consumer-groups --list --type consumer
    consumer-groups --list --state --type
    consumer-groups --describe --group cmp-group
    consumer-groups --describe --group cmp-group --offsets --verbose
    consumer-groups --describe --group cmp-group --members
    consumer-groups --describe --group cmp-group --members --verbose
    consumer-groups --describe --group cmp-group --state
    consumer-groups --describe --group cmp-group --state --verbose
    consumer-groups --describe --group cmp-group --group cmp-other
    consumer-groups --describe --all-groups
    consumer-groups --describe --all-groups --state
    consumer-groups --describe --all-groups --members
    consumer-groups --describe --group cmp-no-such
    consumer-groups --describe --group cmp-no-such --state
    consumer-groups --describe --group cmp-no-such --members
    consumer-groups --delete-offsets --group cmp-other --topic cmp-topic:0
    ? consumer-groups --describe --group cmp-other
    consumer-groups --delete-offsets --group cmp-other --topic cmp-topic
    consumer-groups --delete-offsets --group cmp-other --topic cmp-no-such
    consumer-groups --delete-offsets --group cmp-no-such --topic cmp-topic
    consumer-groups --delete --group cmp-other
    consumer-groups --delete --group cmp-other
    consumer-groups --delete --group cmp-other --group cmp-no-such
    ? consumer-groups --list
    consumer-groups --validate-regex cmp.*
    consumer-groups --validate-regex cmp(
    consumer-groups
    consumer-groups --describe
    consumer-groups --describe --group cmp-group --all-groups
    consumer-groups --describe --group cmp-group --members --state
    consumer-groups --reset-offsets --group cmp-group --to-earliest
    consumer-groups --reset-offsets --topic cmp-topic --to-earliest
    consumer-groups --reset-offsets --group cmp-group --topic cmp-topic
    consumer-groups --reset-offsets --group cmp-group --topic cmp-topic --to-earliest --to-latest
    consumer-groups --reset-offsets --group cmp-group --topic cmp-topic --to-earliest --dry-run --execute
    consumer-groups --list --state Sleeping
    consumer-groups --list --type sometype
    consumer-groups --delete
    consumer-groups --delete --group cmp-group --topic cmp-topic
    consumer-groups --delete-offsets --group cmp-group
    consumer-groups --list --describe
    consumer-groups --reset-offsets --group cmp-group --topic cmp-topic --to-offset 3 --execute
    ? consumer-groups --describe --group cmp-group
    """),
)

TRANSACTIONS = (
    Line(
        "transactions --command-config {quick} abort --topic cmp-topic --partition 0 "
        "--producer-id 999 --producer-epoch 0 --coordinator-epoch 0"
    ),
    *lines("""
    transactions --command-config {quick} list
    transactions --command-config {quick} list --duration-filter 0
    transactions --command-config {quick} list --transactional-id-pattern cmp-.*
    transactions --command-config {quick} list --transactional-id-pattern cmp(
    transactions --command-config {quick} list --duration-filter x
    transactions --command-config {quick} describe --transactional-id cmp-no-such
    transactions --command-config {quick} describe
    transactions --command-config {quick} describe-producers --topic cmp-moved --partition 1
    transactions --command-config {quick} describe-producers --topic cmp-moved --partition 1 --broker-id {last}
    transactions --command-config {quick} describe-producers --topic cmp-topic --partition 99
    transactions --command-config {quick} describe-producers --topic cmp-no-such --partition 0
    transactions --command-config {quick} describe-producers --topic cmp-topic --partition 0 --broker-id 77
    transactions --command-config {quick} describe-producers --topic cmp-topic
    transactions --command-config {quick} find-hanging --topic cmp-topic
    transactions --command-config {quick} find-hanging --topic cmp-topic --partition 0
    transactions --command-config {quick} find-hanging --broker-id 1
    transactions --command-config {quick} find-hanging --broker-id 1 --topic cmp-topic --max-transaction-timeout 5
    transactions --command-config {quick} find-hanging --topic cmp-no-such
    transactions --command-config {quick} find-hanging --partition 0
    transactions find-hanging
    transactions --command-config {quick} find-hanging --broker-id 77
    transactions --command-config {quick} abort --topic cmp-topic --partition 0 --start-offset 999999
    transactions --command-config {quick} abort --topic cmp-topic --partition 0
    transactions --command-config {quick} abort --topic cmp-topic --start-offset 0
    transactions --command-config {quick} abort --topic cmp-no-such --partition 0 --start-offset 0
    transactions --command-config {quick} forceTerminateTransaction --transactionalId cmp-no-such
    transactions --command-config {quick} forceTerminateTransaction
    transactions
    transactions no-such
    transactions --command-config {quick} list --no-such-option
"""),
)

GROUPS = lines("""
    groups --list
    groups --list --group-type classic
    groups --list --group-type consumer
    groups --list --group-type share
    groups --list --group-type streams
    groups --list --group-type sometype
    groups --list --protocol consumer
    groups --list --protocol connect
    groups --list --consumer
    groups --list --share
    groups --list --streams
    groups --list --consumer --share
    groups --list --group-type share --protocol consumer
    groups
    groups --list --no-such-option
""")

SHARE_GROUPS = lines("""
    share-groups --list
    share-groups --list --timeout 20000
    share-groups --reset-offsets --group cmp-share --topic cmp-topic --to-earliest --execute
    ? share-groups --describe --group cmp-share
    share-groups --list
    share-groups --list --state
    share-groups --list --state Empty
    share-groups --describe --group cmp-share
    share-groups --describe --group cmp-share --members
    share-groups --describe --group cmp-share --members --verbose
    share-groups --describe --group cmp-share --state
    share-groups --describe --group cmp-share --state --verbose
    share-groups --describe --group cmp-share --offsets --verbose
    share-groups --describe --all-groups
    share-groups --describe --group cmp-no-such
    share-groups --describe --group cmp-group
    share-groups --reset-offsets --group cmp-share --topic cmp-topic --to-latest --dry-run
    share-groups --reset-offsets --group cmp-share --topic cmp-topic:1 --to-datetime 2020-01-01T00:00:00.000 --dry-run
    share-groups --reset-offsets --group cmp-share --all-topics --to-latest --execute
    ? share-groups --describe --group cmp-share
    share-groups --reset-offsets --group cmp-share --topic cmp-topic:0 --to-offset 3 --dry-run
    share-groups --reset-offsets --group cmp-share --topic cmp-topic --to-offset 4 --dry-run --export
    share-groups --reset-offsets --group cmp-share --topic cmp-topic:0 --to-offset 100000000 --dry-run
    share-groups --reset-offsets --group cmp-share --all-topics --to-current --dry-run
    share-groups --reset-offsets --group cmp-share --topic cmp-topic --to-current --dry-run --export
    share-groups --reset-offsets --group cmp-share --from-file {csv} --dry-run
    share-groups --reset-offsets --group cmp-share --from-file {csv_short} --dry-run
    share-groups --reset-offsets --group cmp-share --from-file {csv} --execute
    ? share-groups --describe --group cmp-share
    share-groups --reset-offsets --group cmp-share --topic cmp-topic:0 --to-offset 2 --execute
    ? share-groups --describe --group cmp-share
    share-groups --reset-offsets --group cmp-share --topic cmp-no-such --to-latest --dry-run
    share-groups --reset-offsets --group cmp-share --topic cmp-topic
    share-groups --reset-offsets --group cmp-share --topic cmp-topic --to-latest
    share-groups --delete-offsets --group cmp-share --topic cmp-topic
    ? share-groups --describe --group cmp-share
    share-groups --delete-offsets --group cmp-share --topic cmp-no-such
    share-groups --delete-offsets --group cmp-no-such --topic cmp-topic
    share-groups --delete --group cmp-share
    ? share-groups --list
    share-groups --delete --group cmp-share
    share-groups --delete
    share-groups --list --state Sleeping
    share-groups --describe
    share-groups
    share-groups --list --no-such-option
""")

STREAMS_GROUPS = lines("""
    streams-groups --list
    streams-groups --list --state
    streams-groups --list --state Empty
    streams-groups --list --state Sleeping
    streams-groups --describe --group cmp-no-such
    streams-groups --describe --group cmp-group
    streams-groups --describe --all-groups
    streams-groups --describe --group cmp-no-such --topology
    streams-groups --describe --group cmp-group --topology
    streams-groups --describe --all-groups --topology
    streams-groups --describe --group cmp-no-such --topology --members
    streams-groups --describe
    streams-groups --delete --group cmp-no-such
    streams-groups --delete
    streams-groups --delete-offsets --group cmp-no-such --input-topic cmp-topic
    streams-groups --reset-offsets --group cmp-no-such --all-input-topics --to-earliest --dry-run
    streams-groups --reset-offsets --group cmp-no-such --input-topic cmp-topic --to-earliest
    streams-groups --reset-offsets --group cmp-no-such --input-topic cmp-topic
    streams-groups --describe --group cmp-no-such --members --verbose
    streams-groups --describe --group cmp-no-such --offsets
    streams-groups --list --timeout 20000
    streams-groups --reset-offsets --group cmp-no-such --all-input-topics --to-latest --execute
    streams-groups --reset-offsets --group cmp-no-such --all-input-topics --to-current --dry-run
    streams-groups --reset-offsets --group cmp-no-such --all-input-topics --to-offset 5 --dry-run --export
    streams-groups --reset-offsets --group cmp-no-such --all-input-topics --shift-by 2 --dry-run
    streams-groups --reset-offsets --group cmp-no-such --all-input-topics --by-duration PT1H --dry-run
    streams-groups --reset-offsets --group cmp-none --all-input-topics --to-datetime 2020-01-01T00:00:00.000 --dry-run
    streams-groups --reset-offsets --group cmp-no-such --input-topic cmp-topic --to-latest --dry-run
    streams-groups --reset-offsets --group cmp-no-such --from-file {csv} --dry-run
    streams-groups --reset-offsets --group cmp-no-such --all-input-topics --to-latest --delete-internal-topic x
    streams-groups --reset-offsets --group cmp-no-such --all-input-topics --to-latest --delete-all-internal-topics
    streams-groups --delete --group cmp-no-such --delete-all-internal-topics
    streams-groups
    streams-groups --list --no-such-option
""")

_APPLICATION = "streams-application-reset --application-id cmp-group"
APPLICATION_RESET = (
    Line("consumer-groups --reset-offsets --group cmp-group --topic cmp-topic --to-offset 3 --execute"),
    *lines("""
    streams-application-reset --application-id cmp-app --input-topics cmp-topic --dry-run
    streams-application-reset --application-id cmp-app --input-topics cmp-no-such --dry-run
    streams-application-reset --application-id cmp-app --dry-run
    streams-application-reset --application-id cmp-app --input-topics cmp-topic --dry-run --force
    streams-application-reset --application-id cmp-app --input-topics cmp-topic --dry-run --config-file {quick}
    streams-application-reset --application-id cmp-app --input-topics cmp-topic --dry-run --config-file no-such-file
    streams-application-reset --application-id cmp-app
    streams-application-reset
    streams-application-reset --application-id cmp-app --no-such-option
    streams-application-reset --application-id cmp-group --input-topics cmp-topic --internal-topics cmp-moved --dry-run
    streams-application-reset --application-id cmp-group --intermediate-topics cmp-topic --dry-run
    streams-application-reset --application-id cmp-group --input-topics cmp-topic --to-earliest --to-latest --dry-run
    """),
    *(
        Line(f"{_APPLICATION} --input-topics cmp-topic {target} --dry-run")
        for target in (*_TARGETS, "--from-file {csv}", "--from-file no-such-file")
        if target != "--to-current"
    ),
    Line(f"{_APPLICATION} --input-topics cmp-topic --to-offset 4"),
    state("consumer-groups --describe --group cmp-group"),
)

SCENARIOS = {
    "topics": TOPICS,
    "consumer-groups": CONSUMER_GROUPS,
    "delete-records": DELETE_RECORDS,
    "get-offsets": GET_OFFSETS,
    "log-dirs": LOG_DIRS,
    "leader-election": LEADER_ELECTION,
    "reassign-partitions": REASSIGN,
    "transactions": TRANSACTIONS,
    "groups": GROUPS,
    "share-groups": SHARE_GROUPS,
    "streams-groups": STREAMS_GROUPS,
    "streams-application-reset": APPLICATION_RESET,
}
