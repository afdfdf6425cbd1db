"""Envelope (58): a client's request on its way to the controller.

Sent by brokers, with the client's principal and address, in the name of the client (KIP-590).
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, bytes_, int16


class EnvelopeRequest(Request, key=58, versions="0", flexible="0+"):
    request_data = bytes_()
    request_principal = bytes_(nullable="0+")
    client_host_address = bytes_()


class EnvelopeResponse(Response, key=58, versions="0", flexible="0+"):
    response_data = bytes_(nullable="0+", default=None)
    error_code = int16()
