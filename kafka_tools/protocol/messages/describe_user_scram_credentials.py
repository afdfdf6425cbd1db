"""DescribeUserScramCredentials (50): which SCRAM mechanisms and iteration counts users have (KIP-554).

users null or empty means all.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import ANY_NODE
from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class DescribeUserScramCredentialsRequest(Request, key=50, route=ANY_NODE, versions="0", flexible="0+"):
    """Request of DescribeUserScramCredentials."""

    class UserName(Struct):
        name = string()

    users = array(UserName, nullable="0+")


class DescribeUserScramCredentialsResponse(Response, key=50, versions="0", flexible="0+"):
    """Response of DescribeUserScramCredentials."""

    throttle_time_ms = int32()
    error_code = int16()
    error_message = string(nullable="0+")

    class Result(Struct):
        user = string()
        error_code = int16()
        error_message = string(nullable="0+")

        class CredentialInfo(Struct):
            mechanism = int8()
            iterations = int32()

        credential_infos = array(CredentialInfo)

    results = array(Result)
