"""The scenarios of commands about partitions: records, offsets, log directories, elections, reassignments."""

from __future__ import annotations

from tests.against_kafka.compare_commands.line import Line, lines, state

_RECORD_FILES = (
    "records", "records_end", "records_beyond", "records_twice", "records_nowhere", "records_partition_99",
    "records_no_offset", "records_text_offset", "records_negative", "not_json", "empty_text", "empty", "a_list",
    "version_2", "version_text", "version_null", "no_partitions", "none", "null_partitions",
)  # fmt: skip
DELETE_RECORDS = (
    *(Line(f"delete-records --offset-json-file {{{name}}} --command-config {{quick}}") for name in _RECORD_FILES),
    state("get-offsets --topic cmp-topic --time earliest"),
    *lines("""
    delete-records
    delete-records --offset-json-file no-such-file
    delete-records --offset-json-file {records} --no-such-option
    """),
)

GET_OFFSETS = lines("""
    get-offsets
    get-offsets --topic cmp-topic
    get-offsets --topic cmp-.*
    get-offsets --topic cmp-topic,cmp-moved --partitions 0,2
    get-offsets --topic cmp-topic --partitions 0-1
    get-offsets --topic cmp-topic --time -1
    get-offsets --topic cmp-topic --time -2
    get-offsets --topic cmp-topic --time -3
    get-offsets --topic cmp-topic --time -4
    get-offsets --topic cmp-topic --time -5
    get-offsets --topic cmp-topic --time earliest
    get-offsets --topic cmp-topic --time latest
    get-offsets --topic cmp-topic --time max-timestamp
    get-offsets --topic cmp-topic --time earliest-local
    get-offsets --topic cmp-topic --time latest-tiered
    get-offsets --topic cmp-topic --time 0
    get-offsets --topic cmp-topic --time 4102444800000
    get-offsets --topic-partitions cmp-topic:0
    get-offsets --topic-partitions cmp-topic:1-
    get-offsets --topic-partitions cmp-topic:-2,cmp-moved:0-1
    get-offsets --topic-partitions :2
    get-offsets --topic-partitions cmp-.*:1
    get-offsets --exclude-internal-topics
    get-offsets --topic cmp-no-such
    get-offsets --topic cmp-topic --partitions 99
    get-offsets --topic cmp-topic --time sometime
    get-offsets --topic cmp-topic --partitions x
    get-offsets --topic cmp-topic --topic-partitions cmp-topic:0
    get-offsets --topic-partitions cmp-topic:a-b
    get-offsets --no-such-option
""")

LOG_DIRS = lines("""
    log-dirs --describe
    log-dirs --describe --topic-list cmp-topic
    log-dirs --describe --topic-list cmp-topic,cmp-moved
    log-dirs --describe --topic-list cmp-no-such
    log-dirs --describe --broker-list 1
    log-dirs --describe --broker-list {all} --topic-list cmp-moved
    log-dirs --describe --broker-list 77
    log-dirs --describe --broker-list 1,77
    log-dirs --describe --broker-list x
    log-dirs
    log-dirs --describe --no-such-option
""")

LEADER_ELECTION = lines("""
    leader-election --election-type PREFERRED --all-topic-partitions
    leader-election --election-type preferred --topic cmp-topic --partition 0
    leader-election --election-type unclean --topic cmp-topic --partition 0
    leader-election --election-type PREFERRED --topic cmp-topic --partition 99
    leader-election --election-type PREFERRED --topic cmp-no-such --partition 0
    leader-election --election-type PREFERRED --path-to-json-file {elected}
    leader-election --election-type PREFERRED --path-to-json-file {elected_twice}
    leader-election --election-type PREFERRED --path-to-json-file {elected_nowhere}
    leader-election --election-type UNCLEAN --path-to-json-file {elected_partition_99}
    leader-election --election-type PREFERRED --path-to-json-file {not_json}
    leader-election --election-type PREFERRED --path-to-json-file {empty_text}
    leader-election --election-type PREFERRED --path-to-json-file {empty}
    leader-election --election-type PREFERRED --path-to-json-file {a_list}
    leader-election --election-type PREFERRED --path-to-json-file {none}
    leader-election --election-type PREFERRED --path-to-json-file no-such-file
    leader-election --election-type PREFERRED --all-topic-partitions --admin.config {quick}
    leader-election --election-type PREFERRED
    leader-election --election-type PREFERRED --topic cmp-topic
    leader-election --election-type PREFERRED --partition 0
    leader-election --election-type SOMETIMES --all-topic-partitions
    leader-election --all-topic-partitions
    leader-election --election-type PREFERRED --all-topic-partitions --topic cmp-topic --partition 0
    leader-election --election-type PREFERRED --topic cmp-topic --partition x
""")

_MOVE_FILES = (
    "moved_twice", "moved_to_one_twice", "moved_to_none", "moved_to_unknown", "moved_nowhere", "moved_partition_99",
    "moved_no_replicas", "moved_text_replicas", "moved_more_dirs", "moved_relative_dir", "not_json", "empty_text",
    "empty", "a_list", "version_2", "version_text", "version_null", "no_partitions", "none", "null_partitions",
)  # fmt: skip
_VERIFIED = (*_MOVE_FILES, "there", "back", "moved_dirs")
_VERIFY = "reassign-partitions --verify --reassignment-json-file"
_EXECUTE = "reassign-partitions --execute --reassignment-json-file"
REASSIGN = (
    *(Line(f"{_VERIFY} {{{name}}} --command-config {{quick}}") for name in _VERIFIED),
    *(Line(f"{_EXECUTE} {{{name}}} --command-config {{quick}}") for name in _MOVE_FILES),
    *(
        Line(f"reassign-partitions --cancel --reassignment-json-file {{{name}}} --command-config {{quick}}")
        for name in ("there", "moved_nowhere", "moved_twice", "none", "version_2", "not_json")
    ),
    *lines("""
    reassign-partitions --list
    reassign-partitions --execute --reassignment-json-file {moved_no_such_dir}
    reassign-partitions --execute --reassignment-json-file {there}
    """),
    state("reassign-partitions --verify --reassignment-json-file {there}", until="is completed."),
    state("topics --describe --topic cmp-moved"),
    Line("reassign-partitions --execute --reassignment-json-file {back} --throttle 5000000"),
    Line("reassign-partitions --verify --reassignment-json-file {back} --preserve-throttles", until="is completed."),
    state("configs --describe --topic cmp-moved"),
    state("configs --describe --entity-type brokers"),
    Line("reassign-partitions --verify --reassignment-json-file {back}", until="is completed."),
    state("configs --describe --topic cmp-moved"),
    state("configs --describe --entity-type brokers"),
    state("topics --describe --topic cmp-moved"),
    *lines("""
    reassign-partitions --execute --reassignment-json-file {moved_dirs}
    reassign-partitions --execute --reassignment-json-file {back} --additional
    reassign-partitions --execute --reassignment-json-file {back} --disallow-replication-factor-change --timeout 20000
    reassign-partitions --execute --reassignment-json-file {more_replicas} --disallow-replication-factor-change
    reassign-partitions --execute --reassignment-json-file {back} --replica-alter-log-dirs-throttle 5000000
    reassign-partitions --verify --reassignment-json-file {back}
    ? configs --describe --entity-type brokers
    reassign-partitions --list --bootstrap-controller localhost:1
    reassign-partitions --generate --topics-to-move-json-file {topics} --broker-list 1 --disable-rack-aware
    reassign-partitions --generate --topics-to-move-json-file {topics_twice} --broker-list 1
    reassign-partitions --generate --topics-to-move-json-file {topics_nowhere} --broker-list 1
    reassign-partitions --generate --topics-to-move-json-file {topics_none} --broker-list 1
    reassign-partitions --generate --topics-to-move-json-file {not_json} --broker-list 1
    reassign-partitions --generate --topics-to-move-json-file {version_2} --broker-list 1
    reassign-partitions --generate --topics-to-move-json-file {topics} --broker-list 1,1
    reassign-partitions --generate --topics-to-move-json-file {topics} --broker-list x
    reassign-partitions --generate --topics-to-move-json-file {topics} --broker-list 77
    reassign-partitions --generate --topics-to-move-json-file {topics}
    reassign-partitions --generate --broker-list 1
    reassign-partitions --generate --reassignment-json-file {there}
    reassign-partitions
    reassign-partitions --execute
    reassign-partitions --verify
    reassign-partitions --cancel
    reassign-partitions --list --verify
    reassign-partitions --list --throttle 5
    reassign-partitions --verify --reassignment-json-file {there} --throttle 5000
    reassign-partitions --execute --reassignment-json-file {there} --preserve-throttles
    reassign-partitions --execute --reassignment-json-file {there} --throttle x
    reassign-partitions --execute --reassignment-json-file no-such-file
    reassign-partitions --list --no-such-option
    """),
)
