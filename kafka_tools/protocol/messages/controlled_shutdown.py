"""ControlledShutdown (7): a broker asks to move its leaders away before it stops (ZooKeeper mode; dropped in 4.0).

v0 has a request header without client_id.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, int16, int32, int64, string


class ControlledShutdownRequest(Request, key=7, route=CONTROLLER, versions="0-3", flexible="3+"):
    """Request of ControlledShutdown.

    v2: adds broker_epoch.
    v3: flexible.
    """

    broker_id = int32()
    broker_epoch = int64(versions="2+", default=-1, ignorable=True)


class ControlledShutdownResponse(Response, key=7, versions="0-3", flexible="3+"):
    """Response of ControlledShutdown.

    v3: flexible.
    """

    error_code = int16()

    class RemainingPartition(Struct):
        topic_name = string(map_key=True)
        partition_index = int32(map_key=True)

    remaining_partitions = array(RemainingPartition)
