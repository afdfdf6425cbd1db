"""UnregisterBroker (64): remove the registration of a broker that will not come back.

Sent by tools to any broker, which forwards it to the controller. The replicas of the broker stay assigned to it
(KIP-631).

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    BROKER_ID_NOT_REGISTERED: no broker with this id is registered.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
    UNSUPPORTED_VERSION: the cluster uses ZooKeeper.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, int16, int32, string


class UnregisterBrokerRequest(
    Request, key=64, effect="destroys", versions="0", flexible="0+", rights={"cluster": "Alter"}
):
    # A broker that is not registered leads to BROKER_ID_NOT_REGISTERED.
    broker_id = int32()


class UnregisterBrokerResponse(Response, key=64, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+")
