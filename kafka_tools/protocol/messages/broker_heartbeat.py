"""BrokerHeartbeat (63): a registered broker stays alive, asks to be unfenced, or to shut down.

Sent by KRaft brokers to the active controller (KIP-631).

Versions
    v1: log directories that have failed (KIP-858).
    v2: log directories that are cordoned (KIP-1066).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, array, boolean, int16, int32, int64, uuid


class BrokerHeartbeatRequest(Request, key=63, versions="0-2", flexible="0+"):
    broker_id = int32()
    broker_epoch = int64(default=-1)
    current_metadata_offset = int64()
    want_fence = boolean()
    want_shut_down = boolean()
    offline_log_dirs = array(uuid(), versions="1+", tag=0)
    cordoned_log_dirs = array(uuid(), versions="2+", nullable="2+", default=None, tag=1)


class BrokerHeartbeatResponse(Response, key=63, versions="0-2", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    is_caught_up = boolean()
    is_fenced = boolean(default=True)
    should_shut_down = boolean()
