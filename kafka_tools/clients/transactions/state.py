"""The state of a transactional producer: which request is due, and what each response changes.

Knows no sockets and no threads: the sender asks ``next_step``, sends it and hands the answer, or the failure, to
``take``. A step that may succeed later is tried again. An error is *abortable*, so that ``abort`` makes the producer
usable again, or final. Follows ``TransactionManager`` of Kafka's Java client; epochs after an error are KIP-360.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka_tools.clients.groups.committed import GroupMetadata, OffsetAndMetadata
from kafka_tools.clients.producing.batch import ProducerIdentity
from kafka_tools.clients.settings import ProducerSettings
from kafka_tools.clients.transactions.requests import FEATURE, TopicIds, TransactionRequests
from kafka_tools.clients.transactions.steps import (
    ManagerState,
    ProducerFenced,
    StepKind,
    TransactionalResult,
    TransactionStep,
)
from kafka_tools.errors import BrokerError, KafkaToolsError, NetworkError
from kafka_tools.net.rights import refused
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CoordinatorType
from kafka_tools.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node, TopicPartition

if TYPE_CHECKING:
    from kafka_tools.net.connection import Pending
    from kafka_tools.net.versions import NodeVersions

NO_IDENTITY = ProducerIdentity(-1, -1)
BUMP_VERSION = 3
"""First InitProducerId that raises the epoch of a given id (KIP-360)."""


State, Kind = ManagerState, StepKind


class TransactionManager:
    """See the module. Times are monotonic seconds."""

    def __init__(self, settings: ProducerSettings, topic_id: TopicIds) -> None:
        assert settings.transactional_id is not None
        self.state = State.UNINITIALIZED
        self.identity: ProducerIdentity | None = None
        self.is_v2 = False
        """Whether the cluster speaks version 2 of the protocol (KIP-890)."""
        self.error: KafkaToolsError | None = None
        """The error of states ABORTABLE_ERROR and FATAL_ERROR."""
        self.new_identity = False
        """Whether the id or epoch changed, so that every partition begins at sequence 0. The sender resets it."""
        self.retry_at_s = 0.0
        self._id = settings.transactional_id
        self._settings = settings
        self._requests = TransactionRequests(self._id, topic_id)
        self._coordinator: Node | None = None
        self._group_coordinator: Node | None = None
        self._outcome: TransactionalResult | None = None
        self._can_bump = False
        self._bump = False
        """Whether the epoch must be raised after the abort."""
        self._started = False
        """Whether the coordinator may know of the transaction, so that it must be ended there."""
        self._added: set[TopicPartition] = set()
        self._to_add: set[TopicPartition] = set()
        self._adding: set[TopicPartition] = set()
        self._offsets: Mapping[TopicPartition, OffsetAndMetadata] = {}
        self._group = GroupMetadata("")
        self._group_added = ""

    # Calls of the user

    def initialize(self) -> TransactionalResult:
        """Get the producer id; again after a timeout continues the same operation."""
        if self.state is State.INITIALIZING and self._outcome is not None:
            return self._outcome
        self._require("init_transactions", State.UNINITIALIZED)
        self.state = State.INITIALIZING
        return self._begin("init_transactions")

    def begin(self) -> None:
        """Begin a transaction."""
        self._require("begin_transaction", State.READY)
        self._finish_pending()
        self.state = State.IN_TRANSACTION
        self._started, self._group_added = False, ""
        self._added.clear()
        self._to_add.clear()

    def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata
    ) -> TransactionalResult:
        """Commit offsets of a group with the transaction."""
        if self._outcome is not None and not self._outcome.done and (offsets, group) == (self._offsets, self._group):
            return self._outcome
        self._require("send_offsets_to_transaction", State.IN_TRANSACTION)
        if group.group_id != self._group.group_id:
            self._group_coordinator = None
        self._offsets, self._group = dict(offsets), group
        return self._begin("send_offsets_to_transaction")

    def end(self, commit: bool) -> TransactionalResult:
        """Commit or abort. The same call after a timeout continues the same operation."""
        name, state = ("commit_transaction", State.COMMITTING) if commit else ("abort_transaction", State.ABORTING)
        if self._outcome is not None and not self._outcome.done and self._outcome.name == name:
            return self._outcome
        if commit:
            self._require(name, State.IN_TRANSACTION)
        else:
            self._require(name, State.IN_TRANSACTION, State.ABORTABLE_ERROR)
            self._to_add.clear()
            self._offsets = {}
        self.state, self.error = state, None
        return self._begin(name)

    def check_send(self) -> None:
        """Raise unless records may be sent now."""
        if self.state is not State.IN_TRANSACTION:
            self._require("send", State.IN_TRANSACTION)

    # What the sender reports

    def may_send(self, topic_partition: TopicPartition) -> bool:
        """Whether a batch of a partition may leave; if not, the partition is added to the transaction first."""
        if self.state not in (State.IN_TRANSACTION, State.COMMITTING):
            return False
        if self.is_v2 or topic_partition in self._added:
            self._started = True
            return True
        if topic_partition not in self._adding:
            self._to_add.add(topic_partition)
        return False

    def on_batch_failed(self, error: KafkaToolsError) -> None:
        """A batch of the transaction failed for good."""
        code = error.code.code if isinstance(error, BrokerError) else 0
        if code in _FATAL_OF_BATCHES:
            self._fail(self._fenced(error) if code == error_codes.PRODUCER_FENCED else error)
        elif self.state in (State.IN_TRANSACTION, State.COMMITTING):
            self._bump = self._can_bump and not self.is_v2
            self._must_abort(error)

    @property
    def discards_batches(self) -> bool:
        """Whether waiting batches fail: the transaction does not commit any more."""
        return self.state in (State.ABORTING, State.ABORTABLE_ERROR, State.FATAL_ERROR)

    def next_step(self, now_s: float, is_drained: bool) -> TransactionStep | None:
        """The request that is due. ``is_drained``: no batch waits or is in flight, so the transaction can end."""
        if now_s < self.retry_at_s:
            return None
        kind = self._next_kind(is_drained)
        if kind is None:
            return None
        if kind is Kind.FIND:
            return TransactionStep(kind, None, partial(self._requests.find, self._id, CoordinatorType.TRANSACTION))
        if kind is Kind.FIND_GROUP:
            return TransactionStep(
                kind, None, partial(self._requests.find, self._group.group_id, CoordinatorType.GROUP)
            )
        if kind is Kind.INIT:
            return TransactionStep(kind, self._coordinator, self._init_request)
        identity = self.identity or NO_IDENTITY
        if kind is Kind.ADD:
            self._started = True
            self._adding, self._to_add = self._to_add, set()
            return TransactionStep(
                kind, self._coordinator, partial(self._requests.add_partitions, identity, self._adding)
            )
        if kind is Kind.ADD_OFFSETS:
            self._started = True
            request = self._requests.add_offsets(identity, self._group.group_id)
            return TransactionStep(kind, self._coordinator, lambda _: request)
        if kind is Kind.COMMIT_OFFSETS:
            self._started = True
            build = partial(self._requests.commit_offsets, identity, self._group, self._offsets, self.is_v2)
            return TransactionStep(kind, self._group_coordinator, build)
        commit = self.state is State.COMMITTING
        return TransactionStep(kind, self._coordinator, partial(self._requests.end, identity, commit, self.is_v2))

    def _next_kind(self, is_drained: bool) -> StepKind | None:
        if self.state in (State.UNINITIALIZED, State.READY, State.ABORTABLE_ERROR, State.FATAL_ERROR):
            return None
        if self._coordinator is None:
            return Kind.FIND
        if self.state is State.INITIALIZING:
            return Kind.INIT
        if self._to_add:
            return Kind.ADD
        if self._offsets:
            if not self.is_v2 and self._group_added != self._group.group_id:
                return Kind.ADD_OFFSETS
            return Kind.FIND_GROUP if self._group_coordinator is None else Kind.COMMIT_OFFSETS
        if self.state is State.IN_TRANSACTION or not is_drained:
            return None
        if self._started:
            return Kind.END
        self._ended(self.identity)
        return None

    def _init_request(self, versions: NodeVersions) -> Request:
        version = versions.newest(InitProducerIdRequest)
        self._can_bump = version >= BUMP_VERSION
        self.is_v2 = versions.features.get(FEATURE, 0) >= 2
        identity = self.identity if self._bump and self.identity is not None else NO_IDENTITY
        return InitProducerIdRequest(
            transactional_id=self._id,
            transaction_timeout_ms=self._settings.transaction_timeout_ms,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
        )

    # Responses

    def take(self, kind: StepKind, pending: Pending, now_s: float) -> None:
        """Process the answer to a step, or its failure."""
        if self.state is State.FATAL_ERROR:
            return
        if pending.error is not None:
            if not isinstance(pending.error, NetworkError):
                self._fail(pending.error)
                return
            self._lose_coordinator(kind)
            self.again(kind, now_s)
            return
        response = pending.response
        if kind in (Kind.FIND, Kind.FIND_GROUP):
            self._take_coordinator(kind, pending, now_s)
        elif kind is Kind.ADD:
            rows = [row for topic in response.results_by_topic_v3_and_below for row in topic.results_by_partition]
            if self._judge(kind, [row.partition_error_code for row in rows], pending, now_s):
                self._added |= self._adding
                self._adding = set()
        elif kind is Kind.COMMIT_OFFSETS:
            codes = [row.error_code for topic in response.topics for row in topic.partitions]
            if self._judge(kind, codes, pending, now_s):
                self._offsets = {}
                self._succeed()
        elif self._judge(kind, [response.error_code], pending, now_s):
            if kind is Kind.ADD_OFFSETS:
                self._group_added = self._group.group_id
            elif kind is Kind.INIT:
                self._bump = False
                self._take_identity(ProducerIdentity(response.producer_id, response.producer_epoch))
                self.state = State.READY
                self._succeed()
            else:
                moved = self.is_v2 and response.producer_id >= 0
                new = ProducerIdentity(response.producer_id, response.producer_epoch) if moved else self.identity
                self._ended(new)

    def _take_coordinator(self, kind: StepKind, pending: Pending, now_s: float) -> None:
        answer: Any = pending.response
        if pending.version >= 4:
            answer = answer.coordinators[0] if answer.coordinators else None
        if answer is None:
            self._fail(KafkaToolsError(f"{pending.node} did not name a coordinator"))
        elif self._judge(kind, [answer.error_code], pending, now_s):
            node = Node(answer.node_id, answer.host, answer.port)
            if kind is Kind.FIND:
                self._coordinator = node
            else:
                self._group_coordinator = node

    def _ended(self, identity: ProducerIdentity | None) -> None:
        """The transaction has ended."""
        self._started = False
        if identity is not None and identity != self.identity:
            self._take_identity(identity)
        if self._bump:
            self.state = State.INITIALIZING  # with a higher epoch; the operation goes on until that is there
            return
        self.state = State.READY
        self._succeed()

    def _take_identity(self, identity: ProducerIdentity) -> None:
        self.identity, self.new_identity = identity, True

    def _judge(self, kind: StepKind, codes: list[int], pending: Pending, now_s: float) -> bool:
        """Whether a step succeeded. If not, it is tried again, or the transaction or the producer fails."""
        failed = [code for code in codes if code]
        if not failed:
            return True
        code = next((code for code in failed if not error_codes.error(code).retriable), failed[0])
        row = error_codes.error(code)
        if row.retriable:
            if row.coordinator_moved:
                self._lose_coordinator(kind)
            self.again(kind, now_s)
            return False
        about = f"transactional id '{self._id}'"
        assert pending.request is not None
        error: KafkaToolsError = refused(type(pending.request), code, about)
        if code in (error_codes.PRODUCER_FENCED, error_codes.INVALID_PRODUCER_EPOCH):
            self._fail(self._fenced(error))
        elif code in _AFTER_WHICH_THE_EPOCH_IS_RAISED and self._can_bump and kind is not Kind.INIT:
            self._bump = True
            self._must_abort(error)
        elif code in _ABORTABLE and kind in _OF_TRANSACTIONS:
            self._must_abort(error)
        else:
            self._fail(error)
        return False

    def _lose_coordinator(self, kind: StepKind) -> None:
        if kind is Kind.COMMIT_OFFSETS:
            self._group_coordinator = None
        else:
            self._coordinator = None

    def again(self, kind: StepKind, now_s: float) -> None:
        """A step could not be sent, or may succeed later."""
        if kind is Kind.ADD and self.state in (State.IN_TRANSACTION, State.COMMITTING):
            self._to_add |= self._adding
        self._adding = set()
        self.retry_at_s = now_s + self._settings.retry_backoff_ms / 1000

    def _fenced(self, error: KafkaToolsError) -> ProducerFenced:
        return ProducerFenced(
            f"a newer producer uses the transactional id '{self._id}': {error}",
            hint="close this producer; each transactional id is for one producer at a time",
        )

    def _must_abort(self, error: KafkaToolsError) -> None:
        self._to_add.clear()
        self._offsets = {}
        if self.state is State.ABORTING:
            return  # the abort goes on
        self.state, self.error = State.ABORTABLE_ERROR, error
        self._finish_pending(error)

    def _fail(self, error: KafkaToolsError) -> None:
        self.state, self.error = State.FATAL_ERROR, error
        self._finish_pending(error)

    # Outcomes

    def _begin(self, name: str) -> TransactionalResult:
        self._outcome = TransactionalResult(name)
        return self._outcome

    def _succeed(self) -> None:
        self._finish_pending()

    def _finish_pending(self, error: KafkaToolsError | None = None) -> None:
        if self._outcome is not None:
            self._outcome.error, self._outcome.done = error, True
            self._outcome = None

    def _require(self, name: str, *states: ManagerState) -> None:
        """Raise unless the state is one of ``states`` and no other operation is in progress."""
        if self.state is State.FATAL_ERROR and self.error is not None:
            raise self.error
        if self.state is State.ABORTABLE_ERROR and State.ABORTABLE_ERROR not in states:
            raise KafkaToolsError(
                f"cannot call {name}: the transaction failed and must be aborted: {self.error}",
                hint="call abort_transaction",
            ) from self.error
        if self.state not in states:
            raise KafkaToolsError(f"cannot call {name}: the producer is {self.state.value}")
        if self._outcome is not None and name != "abort_transaction":
            raise KafkaToolsError(
                f"cannot call {name}: {self._outcome.name} did not end yet", hint=f"call {self._outcome.name} again"
            )


_OF_TRANSACTIONS = (Kind.FIND_GROUP, Kind.ADD, Kind.ADD_OFFSETS, Kind.COMMIT_OFFSETS, Kind.END)
_AFTER_WHICH_THE_EPOCH_IS_RAISED = (error_codes.INVALID_PRODUCER_ID_MAPPING, error_codes.UNKNOWN_PRODUCER_ID)
_ABORTABLE = (
    error_codes.TRANSACTION_ABORTABLE,
    error_codes.TOPIC_AUTHORIZATION_FAILED,
    error_codes.GROUP_AUTHORIZATION_FAILED,
    error_codes.OPERATION_NOT_ATTEMPTED,
    error_codes.FENCED_INSTANCE_ID,
    error_codes.UNKNOWN_MEMBER_ID,
    error_codes.ILLEGAL_GENERATION,
    error_codes.STALE_MEMBER_EPOCH,
)
_FATAL_OF_BATCHES = (
    error_codes.CLUSTER_AUTHORIZATION_FAILED,
    error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    error_codes.PRODUCER_FENCED,
    error_codes.INVALID_PRODUCER_ID_MAPPING,
)
