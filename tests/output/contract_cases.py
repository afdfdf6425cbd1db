"""The schemas, a command line for everything that commands print with ``-o``, and command lines of which items fail.

``test_contract.py`` runs each in every form, and checks that no command, and no kind of rows, is missing here.
``{n}`` is a number that differs from run to run, for lines that change something.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import jsonschema

from kafka_tools.admin.calls.features import Features
from kafka_tools.admin.calls.groups import GroupDescription, GroupListing, MemberDescription
from kafka_tools.admin.calls.members import MemberIdentity
from kafka_tools.admin.calls.offsets import CommittedOffset
from kafka_tools.admin.calls.quorum import QuorumDescription, QuorumEndpoint, QuorumReplica
from kafka_tools.admin.calls.reassignments import Reassignment
from kafka_tools.admin.calls.share_groups import ShareOffset
from kafka_tools.admin.calls.streams_groups import (
    DescribedSubtopology,
    StreamsAssignment,
    StreamsGroupDescription,
    StreamsMember,
    StreamsTopic,
    Subtopology,
    TopologyNode,
)
from kafka_tools.admin.calls.tokens import DelegationToken, parse_principal
from kafka_tools.admin.calls.transactions import ProducerState, TransactionDescription, TransactionListing
from kafka_tools.admin.outcomes import Listing, Outcome, Outcomes
from kafka_tools.errors import BrokerError
from kafka_tools.output.kinds import KINDS
from kafka_tools.protocol import error_codes
from kafka_tools.values import Node, TopicPartition

ROOT = Path(__file__).resolve().parents[2]
Validators = Mapping[str, jsonschema.Draft202012Validator]

OWN_FORMS = {
    "dump-log": "json and jsonl of its own, schemas/dump-log.v1.schema.json: files are not rows",
    "storage": "formats directories, and tells of it in Kafka's words",
    "metadata-shell": "prints nodes as they are, Kafka's texts",
    "audit": "table, and json of its own, schemas/audit.v1.schema.json",
    "console-producer": "reads records",
    "console-consumer": "prints records, as --formatter says",
    "console-share-consumer": "prints records, as --formatter says",
    "verifiable-share-consumer": "prints events, as Kafka's",
    "verifiable-producer": "prints events, as Kafka's",
    "verifiable-consumer": "prints events, as Kafka's",
    "broker": "runs until it is stopped",
    "load": "text, and json of its own, schemas/load-report.v1.schema.json",
    "request": "prints the response as it is, JSON by Kafka's definitions",
    "tour": "shows the other commands",
    "completion": "prints a script for a shell",
    "install-scripts": "writes files",
}
"""Commands without the forms of ``-o``, and why."""


class Case(NamedTuple):
    """A command line: ``command`` as under kafka-tools, ``given`` the key of its ``OutputOption.kinds``.

    ``before``: what has to be done first. ``failed``: how many items fail. ``rows``: whether there are any.
    ``instead``: methods of AdminClient -> what they do, for what the bundled broker does not serve.
    """

    command: str
    arguments: str
    given: str = ""
    before: Sequence[str] = ()
    failed: int = 0
    rows: bool = True
    offline: bool = False
    instead: Mapping[str, Callable[..., Any]] = {}

    @property
    def title(self) -> str:
        return f"{self.command} {self.arguments}".strip()


_DIRECTORY = uuid.UUID("f1ba5a58-8bbd-4a2c-bdc0-8a8ee5ab6ad2")
_REPLICA = QuorumReplica(1, _DIRECTORY, 100, 1_760_000_000_000, 1_760_000_000_000)
_QUORUM = QuorumDescription(
    1, 4, 99, (_REPLICA, QuorumReplica(2, None, 90, None, None)), (QuorumReplica(3, None, 80, None, None),),
    {1: (QuorumEndpoint("CONTROLLER", "localhost", 9093),)},
)  # fmt: skip
_USER = parse_principal("User:alice")
_TOKEN = DelegationToken(
    "token-1", b"hmac", _USER, None, 1_760_000_000_000, 1_760_086_400_000, 1_760_604_800_000, (_USER,)
)
_FEATURES = Features({"metadata.version": (7, 30), "kraft.version": (0, 1)}, {"metadata.version": (30, 30)}, 8)


def _always(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def _refused(*_: Any, **__: Any) -> NoReturn:
    raise BrokerError(error_codes.error(error_codes.CLUSTER_AUTHORIZATION_FAILED), "Cluster authorization failed.")


def _listed_by_one(*_: Any, **__: Any) -> Listing[GroupListing]:
    error = BrokerError(error_codes.error(error_codes.COORDINATOR_NOT_AVAILABLE))
    return Listing([GroupListing("live", "consumer", "Stable", "classic")], [error])


def _updated(_: Any, updates: Mapping[str, Any], **__: Any) -> Outcomes[str, None]:
    return Outcomes((name, Outcome[None](None)) for name in updates)


_QUORUM_CALLS = {
    "describe_quorum": _always(_QUORUM),
    "add_voter": _always(None),
    "remove_voter": _always(None),
    "unregister_controller": _always(None),
}
_TOKEN_CALLS = {
    "create_delegation_token": _always(_TOKEN),
    "describe_delegation_tokens": _always([_TOKEN]),
    "renew_delegation_token": _always(1_760_090_000_000),
    "expire_delegation_token": _always(1_760_000_000_000),
}
_FEATURE_CALLS = {"describe_features": _always(_FEATURES), "update_features": _updated}

_HUNG = ProducerState(7, 0, 3, 1_760_000_000_000, None, 5)
_ORDERS_0 = TopicPartition("orders", 0)
_TRANSACTION_CALLS = {
    "list_transactions": lambda _, **asked: Outcomes(
        [
            (
                Node(1, "localhost", 9092),
                Outcome([TransactionListing("billing", 7, "Ongoing")] * (not asked.get("producer_ids"))),
            )
        ]
    ),
    "describe_transactions": lambda _, ids, **__: Outcomes(
        (each, Outcome(TransactionDescription(1, "Ongoing", 7, 0, 60_000, 1_760_000_000_000, (_ORDERS_0,))))
        for each in ids
    ),
    "describe_producers": lambda _, keys, *__, **___: Outcomes((key, Outcome([_HUNG])) for key in keys),
    "abort_transactions": lambda _, specs, **__: Outcomes((key, Outcome(None)) for key in specs),
    "fence_producers": lambda _, ids, **__: Outcomes((each, Outcome((7, 1))) for each in ids),
}

_MEMBER = MemberDescription("m-1", None, "app", "/10.0.0.9", (_ORDERS_0,), epoch=3)
_SHARING = {
    "jobs": GroupDescription(
        "jobs", "share", "share", "simple", "Stable", Node(1, "localhost", 9092), (_MEMBER,), 3, 3
    ),
    "idle": GroupDescription("idle", "share", "share", "simple", "Empty", Node(1, "localhost", 9092), (), 3, 3),
}
_SHARE_CALLS = {
    "list_groups": lambda _, *__, **___: Listing(
        GroupListing(name, "share", group.state, "share") for name, group in _SHARING.items()
    ),
    "describe_share_groups": lambda _, names, **__: Outcomes((each, Outcome(_SHARING[each])) for each in names),
    "list_share_group_offsets": lambda _, wanted, **__: Outcomes(
        (each, Outcome(Outcomes([(_ORDERS_0, Outcome(ShareOffset(3, 0, 5)))]))) for each in wanted
    ),
    "delete_groups": lambda _, names, **__: Outcomes((each, Outcome(None)) for each in names),
    "delete_share_group_offsets": lambda _, group, topics, **__: Outcomes((each, Outcome(None)) for each in topics),
}
_MOVING_CALLS = {
    "list_partition_reassignments": _always({TopicPartition("orders", 0): Reassignment((1, 2), (2,), ())}),
    "alter_partition_reassignments": lambda _, wanted, **__: Outcomes((key, Outcome(None)) for key in wanted),
}

_TASKS = StreamsAssignment({"0": (0,)}, {}, {})
_STREAMER = StreamsMember(
    "m-1", None, None, "cli", "/10.0.0.9", 3, 1, "p-1", None, {}, {}, {}, _TASKS, _TASKS, False
)  # fmt: skip
_PART = Subtopology("0", ("orders",), (), (StreamsTopic("app-count-changelog", 0, 1, {}),), ())
_NODES = DescribedSubtopology("0", (TopologyNode("KSTREAM-SOURCE-0", "SOURCE", ("orders",), (), ("SINK-1",), ()),))
_STREAMING = {
    name: StreamsGroupDescription(
        name, state, Node(1, "localhost", 9092), 3, 3, 1, (_PART,), members, None, "uniform", status, (_NODES,)
    )
    for name, state, members, status in (("app", "Stable", (_STREAMER,), 3), ("idle", "Empty", (), 1))
}
_COMMITTED = Outcomes([(_ORDERS_0, Outcome(CommittedOffset(0)))])
_STREAMS_CALLS = {
    "list_groups": lambda _, *__, **___: Listing(
        GroupListing(name, "streams", group.state, "streams") for name, group in _STREAMING.items()
    ),
    "describe_streams_groups": lambda _, names, **__: Outcomes((each, Outcome(_STREAMING[each])) for each in names),
    "list_groups_offsets": lambda _, wanted, **__: Outcomes((each, Outcome(_COMMITTED)) for each in wanted),
    "delete_groups": lambda _, names, **__: Outcomes((each, Outcome(None)) for each in names),
    "delete_group_offsets": lambda _, group, keys, **__: Outcomes((each, Outcome(None)) for each in keys),
}

_ACL = "--allow-principal User:alice --operation Read --topic acl-{n}"
_MAKE_TOPIC = "topics --create --topic made-{n} --partitions 2"
_MAKE_GROUP = "consumer-groups --reset-offsets --group group-{n} --topic orders --to-earliest --execute"
_LOAD = "--num-records 20 --record-size 5 --throughput -1"
_ALICE = (
    "scram --add SCRAM-SHA-256=[password=secret] --username alice",
    "configs --alter --user alice --add-config producer_byte_rate=1024",
)

CASES = (
    Case("topics", "--list", "list"),
    Case("topics", "--describe", "describe"),
    Case("topics", "--describe --topics-with-overrides", "describe"),
    Case("topics", "--describe --summary", "describe summary"),
    Case("topics", "--create --topic new-{n}", "create"),
    Case("topics", "--alter --topic made-{n} --partitions 3", "alter", [_MAKE_TOPIC]),
    Case("topics", "--delete --topic made-{n}", "delete", [_MAKE_TOPIC]),
    Case("configs", "--describe --topic orders --topic made-{n}", "", [_MAKE_TOPIC]),
    Case("configs", "--describe --entity-type users", "", _ALICE),
    Case("configs", "--alter --topic orders --add-config flush.ms=1{n}", ""),
    Case("configs", "--alter --dry-run --topic orders --add-config flush.ms=5 --delete-config retention.ms", "dry_run"),
    Case("configs", "--describe --explain --user alice --client app", "explain", _ALICE),
    Case("scram", "--describe", "describe", _ALICE),
    Case("scram", "--add SCRAM-SHA-256=[password=secret] --username user-{n}", "add"),
    Case("scram", "--add SCRAM-SHA-256=[password=secret] --username user-{n} --dry-run", "add dry_run"),
    Case("scram", "--delete SCRAM-SHA-256 --username alice", "delete", _ALICE),
    Case("scram", "--delete SCRAM-SHA-256 --username alice --dry-run", "delete dry_run", _ALICE),
    Case("acls", "--list", "list", [f"acls --add {_ACL}"]),
    Case("acls", f"--add {_ACL}", "add"),
    Case("acls", f"--remove --force {_ACL}", "remove", [f"acls --add {_ACL}"]),
    Case("acls", "--check User:alice --operation Read --topic acl-{n}", "check", [f"acls --add {_ACL}"]),
    Case("acls", "--who --operation Read --topic acl-{n}", "who", [f"acls --add {_ACL}"]),
    Case("delegation-tokens", "--create --max-life-time-period -1", "create", instead=_TOKEN_CALLS),
    Case("delegation-tokens", "--describe", "describe", instead=_TOKEN_CALLS),
    Case("delegation-tokens", "--renew --hmac aG1hYw== --renew-time-period -1", "renew", instead=_TOKEN_CALLS),
    Case("delegation-tokens", "--expire --hmac aG1hYw== --expiry-time-period -1", "expire", instead=_TOKEN_CALLS),
    Case("consumer-groups", "--list", "list", [_MAKE_GROUP]),
    Case(
        "consumer-groups", "--remove-members --group live --all-members", "remove_members",
        instead={"remove_members": lambda _, group, members, **__: Outcomes([(MemberIdentity("m-1"), Outcome(None))])},
    ),
    Case("groups", "--list", "", [_MAKE_GROUP]),
    Case("streams-groups", "--list", "list", instead=_STREAMS_CALLS),
    Case("streams-groups", "--describe --group app", "describe", instead=_STREAMS_CALLS),
    Case("streams-groups", "--describe --group app --members", "describe members", instead=_STREAMS_CALLS),
    Case("streams-groups", "--describe --group app --state", "describe state", instead=_STREAMS_CALLS),
    Case("streams-groups", "--describe --group app --topology", "describe topology", instead=_STREAMS_CALLS),
    Case("streams-groups", "--delete --group idle", "delete", instead=_STREAMS_CALLS),
    Case(
        "streams-groups", "--reset-offsets --group idle --all-input-topics --to-latest --dry-run", "reset_offsets",
        instead=_STREAMS_CALLS,
    ),
    Case(
        "streams-groups", "--delete-offsets --group idle --all-input-topics", "delete_offsets",
        instead=_STREAMS_CALLS,
    ),
    Case(
        "streams-application-reset", "--application-id app-{n} --input-topics orders --dry-run", "",
        ["topics --create --topic app-{n}-count-changelog --partitions 1"],
    ),
    Case("streams-application-reset", "--application-id app-{n} --input-topics orders", ""),
    Case("share-groups", "--list", "list", instead=_SHARE_CALLS),
    Case("share-groups", "--describe --group jobs", "describe", instead=_SHARE_CALLS),
    Case("share-groups", "--describe --group jobs --members", "describe members", instead=_SHARE_CALLS),
    Case("share-groups", "--describe --group jobs --state", "describe state", instead=_SHARE_CALLS),
    Case("share-groups", "--delete --group idle", "delete", instead=_SHARE_CALLS),
    Case(
        "share-groups", "--reset-offsets --group idle --topic orders --to-latest --dry-run", "reset_offsets",
        instead=_SHARE_CALLS,
    ),
    Case("share-groups", "--delete-offsets --group jobs --topic orders", "delete_offsets", instead=_SHARE_CALLS),
    Case("consumer-groups", "--describe --group live", "describe"),
    Case(
        "consumer-groups", "--group group-{n} --skip one-{n}:0@0", "skip",
        [
            "topics --create --topic one-{n} --partitions 1",
            f"producer-perf-test --topic one-{{n}} {_LOAD}",
            "consumer-groups --reset-offsets --group group-{n} --topic one-{n} --to-earliest --execute",
        ],
    ),
    Case("consumer-groups", "--describe --group live --members", "describe members"),
    Case("consumer-groups", "--describe --group live --lag-by topic", "describe lag_by"),
    Case("consumer-groups", "--describe --group live --state", "describe state"),
    Case("consumer-groups", "--delete --group group-{n}", "delete", [_MAKE_GROUP]),
    Case("consumer-groups", "--reset-offsets --group g --topic orders --to-latest --dry-run", "reset_offsets"),
    Case("consumer-groups", "--delete-offsets --group group-{n} --topic orders", "delete_offsets", [_MAKE_GROUP]),
    Case("delete-records", "--offset-json-file offsets.json"),
    Case("delete-records", "--topic orders --before end --dry-run", "dry_run"),
    Case("get-offsets", "--topic orders"),
    Case("log-dirs", "--describe --topic-list orders", "describe"),
    Case("log-dirs", "--by topic --top 1", "by"),
    Case("log-dirs", "--describe --by directory", "describe by"),
    Case("leader-election", "--election-type PREFERRED --topic orders --partition 0"),
    Case("reassign-partitions", "--generate --topics-to-move-json-file topics.json --broker-list 1", "generate"),
    Case("reassign-partitions", "--generate --strategy by-size --topic orders", "generate"),
    Case("reassign-partitions", "--execute --reassignment-json-file plan.json", "execute"),
    Case("reassign-partitions", "--verify --reassignment-json-file plan.json", "verify"),
    Case("reassign-partitions", "--cancel --reassignment-json-file plan.json", "cancel", instead=_MOVING_CALLS),
    Case("reassign-partitions", "--list", "list", instead=_MOVING_CALLS),
    Case("reassign-partitions", "--watch --reassignment-json-file plan.json", "watch"),
    Case("reassign-partitions", "--execute --watch --reassignment-json-file plan.json", "execute watch"),
    Case("broker-api-versions", ""),
    Case("cluster cluster-id", ""),
    Case("cluster list-endpoints", ""),
    Case("cluster api-versions", ""),
    Case("cluster unregister", "--id 3", instead={"unregister_broker": _always(None)}),
    Case("cluster unregister-controller", "--id 3", instead={"unregister_controller": _always(None)}),
    Case("features describe", "", instead=_FEATURE_CALLS),
    Case("features upgrade", "--feature metadata.version=30", instead=_FEATURE_CALLS),
    Case("features downgrade", "--feature metadata.version=29 --dry-run", instead=_FEATURE_CALLS),
    Case("features disable", "--feature kraft.version", instead=_FEATURE_CALLS),
    Case("explain", "25", offline=True),
    Case("doctor", "--round-trip"),
    Case("clients", ""),
    Case("purge", "--prefix made-{n} --dry-run", "", [_MAKE_TOPIC]),
    Case("messages", "__consumer_offsets --last 5"),
    Case("messages", "__consumer_offsets --count", "count"),
    Case("messages", "__consumer_offsets --count-by 1h", "count_by"),
    Case("produce", "orders -k k1 -v v1 -H a=b"),
    Case("features version-mapping", "", offline=True),
    Case(
        "features feature-dependencies", "--feature eligible.leader.replicas.version=1 --feature group.version=1",
        offline=True,
    ),
    Case("metadata-quorum describe", "--status", "status", instead=_QUORUM_CALLS),
    Case("metadata-quorum describe", "--replication", "replication", instead=_QUORUM_CALLS),
    Case("metadata-quorum add-controller", "--command-config controller.properties --dry-run", offline=True),
    Case(
        "metadata-quorum remove-controller", "--controller-id 1 --controller-directory-id 8bpaWIu9SiydwIqO5atq0g",
        instead=_QUORUM_CALLS,
    ),
    Case(
        "metadata-quorum remove-controller",
        "--controller-id 1 --controller-directory-id 8bpaWIu9SiydwIqO5atq0g --unregister", instead=_QUORUM_CALLS,
    ),
    Case("transactions list", "", instead=_TRANSACTION_CALLS),
    Case("transactions describe", "--transactional-id billing", instead=_TRANSACTION_CALLS),
    Case("transactions describe-producers", "--topic orders --partition 0", instead=_TRANSACTION_CALLS),
    Case("transactions abort", "--topic orders --partition 0 --start-offset 5", instead=_TRANSACTION_CALLS),
    Case("transactions find-hanging", "--topic orders", instead=_TRANSACTION_CALLS),
    Case("transactions forceTerminateTransaction", "--transactionalId billing", instead=_TRANSACTION_CALLS),
    Case("client-metrics", "--list", "list"),
    Case("client-metrics", "--describe --name latency", "describe"),
    Case("client-metrics", "--alter --name metrics-{n} --interval 1000", "alter"),
    Case(
        "client-metrics", "--delete --name metrics-{n}", "delete",
        ["client-metrics --alter --name metrics-{n} --interval 1000"],
    ),
    Case("replica-verification", "--once --topics-include orders"),
    Case("producer-perf-test", f"--topic load {_LOAD}"),
    Case(
        "consumer-perf-test",
        "--topic read-{n} --num-records 20 --timeout 500",
        before=[f"producer-perf-test --topic read-{{n}} {_LOAD}"],
    ),
    # The bundled broker has no share groups: nothing is read, and nobody is asked.
    Case(
        "share-consumer-perf-test",
        "--topic t --num-records 0 --command-property bootstrap.servers=localhost:1",
        offline=True,
    ),
    Case("e2e-latency", "--topic trip-{n} --num-records 2 --producer-acks all --record-size 5"),
)  # fmt: skip

FAILING = (
    Case("topics", "--create --topic orders", "create", failed=1, rows=False),
    Case("topics", "--describe --topic no-such-topic", "describe", failed=1, rows=False),
    Case("topics", "--delete --topic no-such-topic", "delete", failed=1, rows=False),
    Case("topics", "--alter --topic made-{n}|orders --partitions 2", "alter", [_MAKE_TOPIC], failed=2, rows=False),
    Case("consumer-groups", "--describe --group live --group no-such-group", "describe", failed=1),
    Case("consumer-groups", "--delete --group no-such-group --group group-{n}", "delete", [_MAKE_GROUP], failed=1),
    Case(
        "consumer-groups", "--delete-offsets --group live --topic no-such-topic", "delete_offsets", failed=1, rows=False
    ),
    Case(
        "consumer-groups",
        "--reset-offsets --group live --group idle --topic orders --to-latest --execute",
        "reset_offsets",
        failed=1,
    ),
    Case("delete-records", "--offset-json-file beyond.json", failed=1),
    Case("reassign-partitions", "--execute --reassignment-json-file partly.json", "execute", failed=1),
    Case("reassign-partitions", "--execute --batch-size 1 --reassignment-json-file partly.json", "execute", failed=1),
    Case("reassign-partitions", "--execute --reassignment-json-file beyond.json", "execute", failed=1, rows=False),
    Case("delete-records", "--offset-json-file no-such-file.json", failed=1, rows=False),
    Case("get-offsets", "--topic no-such-topic", failed=1, rows=False),
    Case("leader-election", "--election-type UNCLEAN --topic orders --partition 9", failed=1, rows=False),
    Case("log-dirs", "--describe --broker-list 77", "describe", failed=1, rows=False),
    Case("acls", f"--remove {_ACL}", "remove", [f"acls --add {_ACL}"], failed=1, rows=False),
    Case("configs", "--describe --topic orders --topic no-such-topic", "", failed=1),
    Case("configs", "--alter --topic orders --topic no-such-topic --add-config flush.ms=2", "", failed=1),
    Case("configs", "--alter --topic orders --add-config no.such.setting=2", "", failed=1, rows=False),
    Case("scram", "--describe --username nobody --username alice", "describe", _ALICE, failed=1),
    Case("scram", "--delete SCRAM-SHA-512 --username alice", "delete", _ALICE, failed=1, rows=False),
    Case("client-metrics", "--delete --name no-such-name", "delete", failed=1, rows=False),
    Case("consumer-groups", "--delete-offsets --group no-such --topic orders", "delete_offsets", failed=1, rows=False),
    Case("client-metrics", "--describe --name no-such-name", "describe", failed=1, rows=False),
    Case("cluster unregister", "--id 3", failed=1, rows=False, instead={"unregister_broker": _refused}),
    Case("cluster unregister-controller", "--id 3", failed=1, rows=False, instead={"unregister_controller": _refused}),
    Case(
        "metadata-quorum remove-controller",
        "--controller-id 1 --controller-directory-id 8bpaWIu9SiydwIqO5atq0g --unregister",
        failed=1,
        instead=_QUORUM_CALLS | {"unregister_controller": _refused},
    ),
    Case("metadata-quorum describe", "--status", "status", failed=1, rows=False, instead={"describe_quorum": _refused}),
    Case("share-groups", "--delete --group jobs --group idle --group none", "delete", failed=2, instead=_SHARE_CALLS),
    Case("share-groups", "--describe --group jobs", "describe", failed=1, rows=False),
    Case(
        "streams-groups", "--delete --group app --group idle --group none", "delete", failed=2, instead=_STREAMS_CALLS
    ),
    Case("streams-groups", "--describe --group app", "describe", failed=1, rows=False),
    Case(
        "streams-groups",
        "--describe --group app --group idle --topology",
        "describe topology",
        failed=1,
        instead=_STREAMS_CALLS,
    ),
    Case("streams-application-reset", "--application-id app-{n} --input-topics orders,no-such-topic", "", failed=1),
    Case("consumer-groups", "--remove-members --group live --member nobody", "remove_members", failed=1, rows=False),
    Case("groups", "--list", failed=1, instead={"list_groups": _listed_by_one}),
    Case("transactions describe", "--transactional-id no-such", failed=1, rows=False),
    Case("transactions describe-producers", "--topic no-such --partition 0 --timeout 1000", failed=1, rows=False),
    Case("transactions abort", "--topic orders --partition 0 --start-offset 12345", failed=1, rows=False),
    Case("transactions find-hanging", "--topic no-such", failed=1, rows=False),
    Case("transactions force-terminate", "--transactional-id no-such", failed=1, rows=False),
    Case("features upgrade", "--feature kraft.version=1", failed=1, rows=False, instead={"update_features": _refused}),
    Case("features feature-dependencies", "--feature no.such.feature=1", failed=1, rows=False, offline=True),
)


def loaded_schema(kind: str) -> dict[str, Any]:
    text = (ROOT / "schemas" / f"{kind}.v1.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def closed(schema: Any) -> Any:
    """The schema with no members but those that it describes, so that none is left out of it."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False} | inner if isinstance(schema.get("properties"), dict) else inner


def kinds_with_schema() -> list[str]:
    """One that has none yet is a single failure, of ``test_kinds_and_schemas_are_those_that_commands_print``."""
    return [kind for kind in KINDS if (ROOT / "schemas" / f"{kind}.v1.schema.json").is_file()]


def document_validators() -> Validators:
    """Kind -> what judges its documents."""
    return {kind: jsonschema.Draft202012Validator(closed(loaded_schema(kind))) for kind in kinds_with_schema()}
