"""The words of ``state``: the states of a transactional producer, its requests, and how an operation ended."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

from kafka_tools.errors import KafkaToolsError
from kafka_tools.values import Node

if TYPE_CHECKING:
    from kafka_tools.net.connection import Build


class ProducerFenced(KafkaToolsError):
    """A newer producer has the same transactional id. This producer cannot be used any more: close it."""


class ManagerState(enum.Enum):
    """As ``TransactionManager.State``."""

    UNINITIALIZED = "before init_transactions"
    INITIALIZING = "in init_transactions"
    READY = "between two transactions"
    IN_TRANSACTION = "in a transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    ABORTABLE_ERROR = "in a transaction that must be aborted"
    FATAL_ERROR = "failed"


class StepKind(enum.Enum):
    """The requests, with the API's name."""

    FIND = "FindCoordinator"
    FIND_GROUP = "FindCoordinator of the group"
    INIT = "InitProducerId"
    ADD = "AddPartitionsToTxn"
    ADD_OFFSETS = "AddOffsetsToTxn"
    COMMIT_OFFSETS = "TxnOffsetCommit"
    END = "EndTxn"


class TransactionStep(NamedTuple):
    """A request that is due. ``node`` is None if any node can answer."""

    kind: StepKind
    node: Node | None
    build: Build


class TransactionalResult:
    """How an operation ended, once ``done``. ``name`` is what the user called."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = False
        self.error: KafkaToolsError | None = None
