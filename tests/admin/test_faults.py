"""Every operation against each fault, in virtual time: the right result after retries, or one clear error, in time.

The operations are those of ``tests.admin.operations``, which another test holds complete. A fault is put in the way of
an operation's own requests; what finds out whom to ask is answered truthfully.
"""

import os
import re

import pytest

from kafka_tools.errors import BrokerError, DeadlineExceeded, NetworkError, NotFound, UnsupportedVersion, WireError
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.frames import framed
from tests.admin.faults import ITEMS, TOP, with_code
from tests.admin.operations import ANY, CHANGES, CONTROLLER, COORDINATOR, LEADER, NODE, OPERATIONS, run
from tests.admin.virtual_cluster import VirtualCluster
from tests.net.peers import HANG_UP, SILENCE
from tests.net.virtual import Later

THOROUGH = bool(os.environ.get("KAFKA_TOOLS_THOROUGH"))
ALL_CODES = [code for code in range(-1, 134) if code]
RETRIABLE = {code for code in ALL_CODES if error_codes.error(code).retriable}
SURELY_NOT_DONE = {
    error_codes.NOT_CONTROLLER,
    error_codes.THROTTLING_QUOTA_EXCEEDED,
    error_codes.NOT_COORDINATOR,
    error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.COORDINATOR_LOAD_IN_PROGRESS,
    error_codes.CONCURRENT_TRANSACTIONS,
}
FATAL = {
    error_codes.UNKNOWN_SERVER_ERROR,
    error_codes.CLUSTER_AUTHORIZATION_FAILED,
    error_codes.INVALID_REQUEST,
    error_codes.UNSUPPORTED_VERSION,
    error_codes.POLICY_VIOLATION,
    999,
}
OF_COORDINATORS = {
    error_codes.COORDINATOR_LOAD_IN_PROGRESS,
    error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_COORDINATOR,
}
TRIED_AGAIN = {
    # Errors of single members, users, topics and directories are values, told with the others.
    ("remove_members", ITEMS): set(),
    ("describe_user_scram_credentials", ITEMS): set(),
    ("delete_share_group_offsets", ITEMS): set(),
    ("describe_log_dirs", ITEMS): set(),
    ("describe_replica_log_dirs", ITEMS): set(),
    # A topic that does not exist is the answer, and not waited for.
    ("describe_configs", ITEMS): RETRIABLE - {error_codes.UNKNOWN_TOPIC_OR_PARTITION},
    ("list_partition_reassignments", TOP): RETRIABLE - {error_codes.UNKNOWN_TOPIC_OR_PARTITION},
    ("describe_topics", ITEMS): RETRIABLE - {error_codes.UNKNOWN_TOPIC_OR_PARTITION, error_codes.UNKNOWN_TOPIC_ID},
    ("elect_leaders", ITEMS): {error_codes.NOT_CONTROLLER},
    # As Kafka's client: this is how the quorum says that another controller leads it.
    ("add_voter", TOP): SURELY_NOT_DONE | {error_codes.NOT_LEADER_OR_FOLLOWER},
    ("remove_voter", TOP): SURELY_NOT_DONE | {error_codes.NOT_LEADER_OR_FOLLOWER},
    ("alter_share_group_offsets", ITEMS): set(),
    ("alter_share_groups_offsets", ITEMS): set(),
    # As Kafka's client: a group in the middle of a rebalance takes commits shortly after.
    ("alter_group_offsets", ITEMS): OF_COORDINATORS | {error_codes.REBALANCE_IN_PROGRESS},
    ("alter_groups_offsets", ITEMS): OF_COORDINATORS | {error_codes.REBALANCE_IN_PROGRESS},
    ("delete_group_offsets", ITEMS): OF_COORDINATORS | {error_codes.REBALANCE_IN_PROGRESS},
}
"""(operation, level) -> the codes after which it asks again, where that is not the rule of reads or of changes."""
FALLBACKS = {
    "describe_cluster": "Metadata",
    "describe_topics": "Metadata",
    "describe_groups": "DescribeGroups",
    "alter_configs_incremental": "AlterConfigs",
}
"""Operations that are done by another API where a broker lacks the newest one."""
NOT_LOOKED_AT = {("list_topics", ITEMS)}
"""A listing of names says nothing of the state of a topic."""

every = pytest.mark.parametrize("name", sorted(OPERATIONS))


def tried_again(name, level):
    return TRIED_AGAIN.get((name, level), SURELY_NOT_DONE if name in CHANGES else RETRIABLE)


class Attempt:
    """One operation with a fault in its way for the first ``times`` requests to each node (None: always)."""

    def __init__(self, name, fault, times=None, timeout_s=30.0, cluster=None, **settings):
        self.cluster = cluster or VirtualCluster()
        self.per_node = {}
        self.faults = 0
        own = name

        def reply(request, version, node):
            if not self.cluster.is_own(own, request):
                return None
            count = self.per_node[node.id] = self.per_node.get(node.id, 0) + 1
            if times is not None and count > times:
                return None
            answer = fault(request, version)
            if answer is None:
                return None
            self.faults += 1
            return answer

        self.cluster.fault = reply
        with self.cluster.admin(timeout_s, **settings) as admin:
            self.error = run(name, admin)
        self.took_s = self.cluster.network.clock.monotonic_s()

    @property
    def most(self):
        """The requests to the node that got most."""
        return max(self.per_node.values(), default=0)


def code_fault(cluster, code, level):
    return lambda request, version: with_code(cluster, request, version, code, level)


def levels(name):
    """The levels at which the answers to an operation can hold an error."""
    for level in (TOP, ITEMS):
        if (name, level) in NOT_LOOKED_AT:
            continue
        cluster = VirtualCluster()
        if Attempt(name, code_fault(cluster, error_codes.INVALID_REQUEST, level), cluster=cluster).faults:
            yield level


@every
def test_an_error_that_passes_leads_to_the_result_or_is_told(name):
    codes = ALL_CODES if THOROUGH else sorted(RETRIABLE | FATAL)
    for level in levels(name):
        again = tried_again(name, level)
        for code in codes:
            cluster = VirtualCluster()
            attempt = Attempt(name, code_fault(cluster, code, level), 2, cluster=cluster)
            where = (level, error_codes.error(code).name, attempt.error)
            if code in again:
                assert attempt.error is None, where
                assert attempt.most >= 3, where
                assert attempt.took_s < 2.0, where
            else:
                assert isinstance(attempt.error, BrokerError), where
                assert str(attempt.error).startswith(error_codes.error(code).name), where
                assert attempt.most <= (2 if name in FALLBACKS else 1), where


@every
def test_an_error_that_stays_ends_at_the_deadline_and_is_named(name):
    for level in levels(name):
        codes = tried_again(name, level) & {error_codes.NOT_CONTROLLER, error_codes.COORDINATOR_LOAD_IN_PROGRESS}
        for code in codes:
            cluster = VirtualCluster()
            attempt = Attempt(name, code_fault(cluster, code, level), cluster=cluster, timeout_s=7.0)
            assert isinstance(attempt.error, DeadlineExceeded), attempt.error
            assert "timed out after 7 s" in str(attempt.error)
            assert error_codes.error(code).name in str(attempt.error)
            assert attempt.took_s == pytest.approx(7.0, abs=0.01)


@every
def test_an_error_that_stays_is_tried_again_as_often_as_set(name):
    for level in levels(name):
        code = next(iter(tried_again(name, level) & SURELY_NOT_DONE), None)
        if code is None:
            continue
        cluster = VirtualCluster()
        attempt = Attempt(name, code_fault(cluster, code, level), cluster=cluster, retries=1)
        assert isinstance(attempt.error, BrokerError)
        assert attempt.error.code.code == code
        assert attempt.most <= (4 if name == "describe_topics" else 2)


MOVED = {
    CONTROLLER: error_codes.NOT_CONTROLLER,
    COORDINATOR: error_codes.NOT_COORDINATOR,
    LEADER: error_codes.NOT_LEADER_OR_FOLLOWER,
}
OWNED = sorted(name for name, operation in OPERATIONS.items() if operation.asks in MOVED)


@pytest.mark.req("AC-15")
@pytest.mark.parametrize("name", OWNED)
def test_a_call_follows_its_controller_coordinator_or_leader(name):
    cluster = VirtualCluster()
    code = MOVED[OPERATIONS[name].asks]

    def fault(request, version, node):
        if node.id != 1 or not cluster.is_own(name, request):
            return None
        cluster.owner = 2
        return next(
            answer
            for level in (TOP, ITEMS)
            if (answer := with_code(cluster, request, version, code, level)) is not None
        )

    cluster.fault = fault
    with cluster.admin() as admin:
        assert run(name, admin) is None
    assert [node for _, node, _, _ in cluster.sent(name)] == [1, 2]


@pytest.mark.parametrize("name", OWNED)
def test_a_call_waits_for_the_successor_of_a_node_that_is_down(name):
    cluster = VirtualCluster()
    clock = cluster.network.clock
    cluster.nodes[0].refuses = lambda: True

    def fault(request, version, node):
        cluster.owner = 1 if clock.monotonic_s() < 4.0 else 2
        return None

    cluster.fault = fault
    with cluster.admin() as admin:
        error = run(name, admin)
        assert error is None, error
    assert 4.0 <= clock.monotonic_s() < 8.0


@every
def test_a_broker_that_is_down_costs_no_more_than_its_own_part(name):
    cluster = VirtualCluster()
    cluster.owner = 2
    cluster.nodes[0].refuses = lambda: True
    with cluster.admin() as admin:
        error = run(name, admin)
    if OPERATIONS[name].asks == NODE:
        assert isinstance(error, NetworkError), error
        assert "kafka1:9092 (id 1)" in str(error)
    else:
        assert error is None
    assert cluster.network.clock.monotonic_s() < 3.0


@every
def test_all_brokers_down_is_told_at_once(name):
    cluster = VirtualCluster()
    for node in cluster.nodes:
        node.refuses = lambda: True
    with cluster.admin() as admin:
        error = run(name, admin)
    assert isinstance(error, NetworkError)
    assert "none of the 3 bootstrap servers is available" in str(error)
    assert all(node.host in str(error) for node in cluster.nodes)
    assert cluster.network.clock.monotonic_s() < 1.0


@every
def test_a_connection_that_ends_before_the_request_is_opened_again(name):
    cluster = VirtualCluster()
    for node in cluster.nodes:
        node.closes_idle = 1
    with cluster.admin() as admin:
        assert run(name, admin) is None
    assert cluster.network.clock.monotonic_s() < 2.0


@every
def test_a_connection_that_ends_after_the_request_is_opened_again(name):
    attempt = Attempt(name, lambda request, version: HANG_UP, 1)
    assert attempt.error is None
    assert attempt.most >= 2
    assert attempt.took_s < 2.0


@every
def test_connections_that_always_end_are_an_error_in_time(name):
    attempt = Attempt(name, lambda request, version: HANG_UP, timeout_s=7.0)
    assert isinstance(attempt.error, NetworkError)
    assert re.search("closed the connection|being disconnected", str(attempt.error))
    assert attempt.took_s <= 7.01


@every
def test_a_broker_that_falls_silent_is_asked_again_after_the_request_timeout(name):
    attempt = Attempt(name, lambda request, version: SILENCE, 1, timeout_s=60, request_timeout_ms=5000)
    assert attempt.error is None
    assert 5.0 <= attempt.took_s < 25.0


@every
def test_silence_ends_at_the_one_deadline_of_the_call(name):
    attempt = Attempt(name, lambda request, version: SILENCE, timeout_s=7.0)
    assert isinstance(attempt.error, DeadlineExceeded)
    assert "timed out after 7 s" in str(attempt.error)
    assert attempt.took_s == pytest.approx(7.0, abs=0.01)


@every
def test_a_slow_broker_is_waited_for(name):
    cluster = VirtualCluster()

    def slowly(request, version):
        truth = cluster.truth(request, version)
        return None if truth is None else Later(6.0, truth)

    attempt = Attempt(name, slowly, 1, cluster=cluster)
    assert attempt.error is None
    if attempt.faults:
        assert 6.0 <= attempt.took_s < 25.0
        assert attempt.most <= 2


@every
def test_a_throttled_answer_keeps_its_connection_quiet(name):
    cluster = VirtualCluster()
    waits = []

    def throttled(request, version):
        truth = cluster.truth(request, version)
        if truth is None or not hasattr(truth, "throttle_time_ms"):
            return None
        truth.throttle_time_ms = 3000
        waits.append(truth.client_must_wait_ms(version))
        return truth

    cluster.fault = lambda request, version, node: throttled(request, version) if len(waits) < 1 else None
    with cluster.admin() as admin:
        assert run(name, admin) is None
        throttled_at = next((item for item in cluster.log if hasattr(item[2], "API_KEY")), None)
        assert run(name, admin) is None
    first_s, node, _, _ = throttled_at
    after = [at_s for at_s, where, _, _ in cluster.log if where == node and at_s > first_s]
    if waits and waits[0]:
        assert min(after) >= first_s + 3.0


RUBBISH = {
    "a body that cannot be": framed(b"\x00\x00\x00\x02" + b"\xff" * 40),
    "another correlation id": framed(b"\x00\x00\x7f\xff" + b"\x00" * 40),
    "nothing but a header": framed(b"\x00\x00\x00\x02"),
    "a length below zero": b"\xff\xff\xff\xff\x00\x00",
    "a length without end": b"\x7f\xff\xff\xff\x00\x00",
    "text": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


@every
def test_rubbish_is_an_error_and_no_result(name):
    for kind, rubbish in RUBBISH.items():
        attempt = Attempt(name, lambda request, version, rubbish=rubbish: rubbish, timeout_s=7.0)
        assert isinstance(attempt.error, WireError | NetworkError), (kind, attempt.error)
        assert attempt.took_s <= 7.01, kind


@every
def test_an_api_that_the_broker_lacks_is_named_or_done_without(name):
    probe = VirtualCluster()
    with probe.admin() as admin:
        run(name, admin)
    own = {type(request) for _, _, request, _ in probe.sent(name)}
    newest = max(own, key=lambda request: request.API_KEY)
    if newest.API_KEY in (3, 18, 60) and name not in FALLBACKS:
        return  # there is no Kafka without Metadata and ApiVersions
    cluster = VirtualCluster(without=(newest.API_KEY,))
    with cluster.admin() as admin:
        error = run(name, admin)
    if name in FALLBACKS:
        assert error is None
        assert FALLBACKS[name] in [type(request).__name__.removesuffix("Request") for _, _, request, _ in cluster.log]
    else:
        assert isinstance(error, UnsupportedVersion), error
        assert newest.__name__.removesuffix("Request") in str(error)
        assert "kafka1:9092" in str(error)


EMPTY_IS_AN_ANSWER = {
    # Nothing is there, or nothing is wrong.
    "describe_cluster", "list_topics", "list_groups", "list_transactions", "list_config_resources", "describe_acls",
    "describe_client_quotas", "describe_quotas", "describe_delegation_tokens", "list_partition_reassignments",
    "describe_log_dirs", "describe_replica_log_dirs",
    # One answer for one thing, and its error is none.
    "create_delegation_token", "renew_delegation_token", "expire_delegation_token", "update_features", "add_voter",
    "remove_voter", "unregister_broker", "unregister_controller", "fence_producers", "terminate_transaction",
    # ApiVersions is what the connection began with.
    "api_versions", "describe_features",
}  # fmt: skip


@every
def test_what_an_answer_leaves_out_is_not_taken_for_done(name):
    def empty(request, version):
        return None if request.API_KEY == 18 else registry.api(request.API_KEY).response()

    error = Attempt(name, empty).error
    if name in EMPTY_IS_AN_ANSWER:
        assert error is None
    elif name == "describe_topics":
        assert isinstance(error, NotFound)
    else:
        assert isinstance(error, WireError), error
        assert "did not report a result" in str(error)
        assert "kafka1:9092" in str(error)


def test_the_kinds_of_operations_are_known():
    assert {operation.asks for operation in OPERATIONS.values()} == {ANY, NODE, *MOVED}
