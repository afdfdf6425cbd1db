"""AddOffsetsToTxn (25): add a group's offsets partition to a transaction."""

from __future__ import annotations

from kafka_tools.protocol.routes import TRANSACTION_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, int16, int32, int64, string


class AddOffsetsToTxnRequest(Request, key=25, route=TRANSACTION_COORDINATOR, versions="0-4", flexible="3+"):
    """Request of AddOffsetsToTxn.

    v3: flexible.
    """

    transactional_id = string()
    producer_id = int64()
    producer_epoch = int16()
    group_id = string()


class AddOffsetsToTxnResponse(Response, key=25, versions="0-4", flexible="3+"):
    """Response of AddOffsetsToTxn.

    v3: flexible.
    """

    throttle_time_ms = int32()
    error_code = int16()
