"""EndTxn (26): commit or abort a transaction.

v5 answers with the producer id and epoch to go on with (KIP-890).
"""

from __future__ import annotations

from kafka_tools.protocol.routes import TRANSACTION_COORDINATOR
from kafka_tools.protocol.schema import Request, Response, boolean, int16, int32, int64, string


class EndTxnRequest(Request, key=26, route=TRANSACTION_COORDINATOR, versions="0-5", flexible="3+"):
    """Request of EndTxn.

    v3: flexible.
    """

    transactional_id = string()
    producer_id = int64()
    producer_epoch = int16()
    committed = boolean()


class EndTxnResponse(Response, key=26, versions="0-5", flexible="3+"):
    """Response of EndTxn.

    v3: flexible.
    v5: adds producer_id, producer_epoch.
    """

    throttle_time_ms = int32()
    error_code = int16()
    producer_id = int64(versions="5+", default=-1, ignorable=True)
    producer_epoch = int16(versions="5+", default=-1, ignorable=True)
