"""InitProducerId (22): get a producer id and epoch, for a transactional id or for an idempotent producer.

Without transactional id any broker answers. v3 lets a producer bump its own epoch (KIP-360); v6 two-phase
commit (KIP-939).
"""

from __future__ import annotations

from kafka_tools.protocol.routes import TRANSACTION_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, boolean, int16, int32, int64, string


class InitProducerIdRequest(
    Request, key=22, route=TRANSACTION_COORDINATOR, versions="0-6", flexible="2+", latest_unstable=True
):
    """Request of InitProducerId.

    v2: flexible.
    v3: adds producer_id, producer_epoch.
    v6: adds enable2_pc, keep_prepared_txn.
    """

    transactional_id = string(nullable="0+")
    transaction_timeout_ms = int32()
    producer_id = int64(versions="3+", default=-1)
    producer_epoch = int16(versions="3+", default=-1)
    enable2_pc = boolean(versions="6+")
    keep_prepared_txn = boolean(versions="6+")


class InitProducerIdResponse(Response, key=22, versions="0-6", flexible="2+"):
    """Response of InitProducerId.

    v2: flexible.
    v6: adds ongoing_txn_producer_id, ongoing_txn_producer_epoch.
    """

    throttle_time_ms = int32(ignorable=True)
    error_code = int16()
    producer_id = int64(default=-1)
    producer_epoch = int16()
    ongoing_txn_producer_id = int64(versions="6+", default=-1)
    ongoing_txn_producer_epoch = int16(versions="6+", default=-1)
