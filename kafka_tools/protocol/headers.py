"""The headers of requests and responses, and header and body together as a frame's payload.

The exceptions to the rule "flexible message, flexible header" live here and nowhere else:
ControlledShutdown v0 has no client id, and a response of ApiVersions always has header v0, so that a
client can read it before it knows the node's versions (KIP-511). Source: ``ApiMessageType``.
"""

from __future__ import annotations

from struct import Struct as Layout
from typing import TypeVar

from kafka_tools.protocol import registry
from kafka_tools.protocol.codec import decode_prefix, encode_into, refuse_left_over
from kafka_tools.protocol.primitives import Buffer
from kafka_tools.protocol.schema import ApiMessage, Request, Response, Stored, int16, int32, string

R = TypeVar("R", bound=Response)

_START = Layout(">hh")  # api key and version: the same in every request header
API_VERSIONS, CONTROLLED_SHUTDOWN = registry.key_of("api_versions"), registry.key_of("controlled_shutdown")


class RequestHeader(Stored, versions="0-2", flexible="2+"):
    """Before every request; v1 adds client_id, which stays an int16-counted string in flexible v2."""

    request_api_key = int16()
    request_api_version = int16()
    correlation_id = int32()
    client_id = string(versions="1+", nullable="1+", ignorable=True, flexible=False)


class ResponseHeader(Stored, versions="0-1", flexible="1+"):
    """Before every response; v1 is flexible."""

    correlation_id = int32()


def request_header_version(cls: type[ApiMessage], version: int) -> int:
    """Header version of a request of this class in this version."""
    if version in cls.FLEXIBLE:
        return 2
    return 0 if cls.API_KEY == CONTROLLED_SHUTDOWN and version == 0 else 1


def response_header_version(cls: type[ApiMessage], version: int) -> int:
    """Header version of a response of this class in this version."""
    since = cls.FLEXIBLE_FROM
    return 1 if since is not None and version >= since and cls.API_KEY != API_VERSIONS else 0


def encode_request(request: Request, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Header and body of a request, without the frame's length. Raises EncodeError, UnsupportedVersion."""
    header = RequestHeader(
        request_api_key=request.API_KEY,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    out = bytearray()
    encode_into(header, request_header_version(type(request), version), out)
    encode_into(request, version, out)
    return bytes(out)


def decode_request_header(buffer: Buffer) -> tuple[RequestHeader, int]:
    """(header, position of the body) of a request's payload.

    Key and version, which are read first, determine the header's version. An unknown key or version is read with a v1
    header, which contains everything for an error response. Raises DecodeError.
    """
    if len(buffer) < _START.size:
        decode_prefix(RequestHeader, 0, buffer)  # raises
    key, version = _START.unpack_from(buffer)
    row = registry.find_row(key)
    if row is None:
        header_version = 1
    elif row.flexible_from is not None and version >= row.flexible_from:
        header_version = 2
    else:
        header_version = 0 if row.key == CONTROLLED_SHUTDOWN and version == 0 else 1
    return decode_prefix(RequestHeader, header_version, buffer)


def encode_response(response: Response, version: int, correlation_id: int) -> bytes:
    """Header and body of a response, without the frame's length. Raises EncodeError, UnsupportedVersion."""
    out = bytearray()
    encode_response_into(response, version, correlation_id, out)
    return bytes(out)


def encode_response_into(response: Response, version: int, correlation_id: int, out: bytearray) -> None:
    """Append header and body of a response to ``out``; errors as ``encode_response``."""
    header = ResponseHeader(correlation_id=correlation_id)
    encode_into(header, response_header_version(type(response), version), out)
    encode_into(response, version, out)


def decode_response(cls: type[R], version: int, buffer: Buffer) -> tuple[int, R]:
    """(correlation id, response) of a response's payload. Raises DecodeError, also for bytes after the response."""
    header, position = decode_prefix(ResponseHeader, response_header_version(cls, version), buffer)
    response, end = decode_prefix(cls, version, buffer, position)
    refuse_left_over(cls, version, end, buffer)
    return header.correlation_id, response
