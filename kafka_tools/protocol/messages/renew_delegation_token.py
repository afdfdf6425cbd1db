"""RenewDelegationToken (39): renew a delegation token."""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, bytes_, int16, int32, int64


class RenewDelegationTokenRequest(Request, key=39, route=CONTROLLER, versions="0-2", flexible="2+"):
    """Request of RenewDelegationToken.

    v2: flexible.
    """

    hmac = bytes_(secret=True)
    renew_period_ms = int64()


class RenewDelegationTokenResponse(Response, key=39, versions="0-2", flexible="2+"):
    """Response of RenewDelegationToken.

    v2: flexible.
    """

    error_code = int16()
    expiry_timestamp_ms = int64()
    throttle_time_ms = int32()
