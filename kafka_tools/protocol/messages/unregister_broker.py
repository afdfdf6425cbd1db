"""UnregisterBroker (64): remove the registration of a broker that is gone for good.

Sent by tools to any broker, which passes it to the controller; its replicas stay assigned to it (KIP-631).

Errors
    NOT_CONTROLLER: the node is not the active controller (any more).
    BROKER_ID_NOT_REGISTERED: no broker with this id is registered.
    CLUSTER_AUTHORIZATION_FAILED: no ALTER on the cluster.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
    UNSUPPORTED_VERSION: a cluster in ZooKeeper mode.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, string


class UnregisterBrokerRequest(Request, key=64, versions="0", flexible="0+", rights={"cluster": "Alter"}):
    broker_id = int32()


class UnregisterBrokerResponse(Response, key=64, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+")
