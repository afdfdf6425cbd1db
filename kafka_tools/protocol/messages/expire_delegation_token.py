"""ExpireDelegationToken (40): expire a delegation token; a negative period expires it at once."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, bytes_, int16, int32, int64


class ExpireDelegationTokenRequest(Request, key=40, route=CONTROLLER, versions="0-2", flexible="2+"):
    """Request of ExpireDelegationToken.

    v2: flexible.
    """

    hmac = bytes_(secret=True)
    expiry_time_period_ms = int64()


class ExpireDelegationTokenResponse(Response, key=40, versions="0-2", flexible="2+"):
    """Response of ExpireDelegationToken.

    v2: flexible.
    """

    error_code = int16()
    expiry_timestamp_ms = int64()
    throttle_time_ms = int32()
