"""Envelope (58): forward the request of a client to the controller.

Sent by brokers to the active controller, which checks the rights of the client and not of the broker (KIP-590).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_CONTROLLER: the node is not, or no longer, the active controller (ZooKeeper mode).
    INVALID_REQUEST: the request inside cannot be forwarded, or the address of the client is malformed.
    UNSUPPORTED_VERSION: the request inside cannot be parsed.
    PRINCIPAL_DESERIALIZATION_FAILURE: the principal cannot be parsed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, bytes_, int16


class EnvelopeRequest(
    Request, key=58, effect="changes", versions="0", flexible="0+", rights={"cluster": "ClusterAction"}
):
    # The request of the client as it came: its header, then its body.
    request_data = bytes_()
    # The client's principal, encoded by the principal builder. Kafka's own uses DefaultPrincipalData.
    request_principal = bytes_(nullable="0+")
    # The client's IP address, as 4 or 16 bytes.
    client_host_address = bytes_()


class EnvelopeResponse(Response, key=58, versions="0", flexible="0+"):
    # The response to the client, its header and body. Null: with an error of the envelope.
    response_data = bytes_(nullable="0+", default=None)
    # Error of the envelope only. Errors of the request inside are in response_data. 0: no error.
    error_code = int16()
