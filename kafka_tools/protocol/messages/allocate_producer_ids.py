"""AllocateProducerIds (67): a block of producer ids.

Sent by brokers to the active controller when they run out (KIP-730).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, int64


class AllocateProducerIdsRequest(Request, key=67, versions="0", flexible="0+"):
    broker_id = int32()
    broker_epoch = int64(default=-1)


class AllocateProducerIdsResponse(Response, key=67, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    producer_id_start = int64()
    producer_id_len = int32()
