"""Envelope (58): a client's request on its way to the controller.

Sent by brokers, with the client's principal and address, in the name of the client (KIP-590).

Errors
    CLUSTER_AUTHORIZATION_FAILED: the sender lacks CLUSTER_ACTION on the cluster.
    NOT_CONTROLLER: the node is not, or no longer, the active controller (ZooKeeper mode).
    INVALID_REQUEST: the request inside cannot be forwarded, or the address of the client is malformed.
    UNSUPPORTED_VERSION: the request inside cannot be parsed.
    PRINCIPAL_DESERIALIZATION_FAILURE: the principal cannot be parsed.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, bytes_, int16


class EnvelopeRequest(Request, key=58, versions="0", flexible="0+", rights={"cluster": "ClusterAction"}):
    request_data = bytes_()
    request_principal = bytes_(nullable="0+")
    client_host_address = bytes_()


class EnvelopeResponse(Response, key=58, versions="0", flexible="0+"):
    response_data = bytes_(nullable="0+", default=None)
    error_code = int16()
