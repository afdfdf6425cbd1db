"""DescribeUserScramCredentials (50): which SCRAM mechanisms users have, with their iterations.

Sent by tools to any broker; null or no users ask for all. Keys are never told (KIP-554).

Errors
    RESOURCE_NOT_FOUND: the user has no credentials.
    DUPLICATE_RESOURCE: the user is asked for twice.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the cluster.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class DescribeUserScramCredentialsRequest(Request, key=50, versions="0", flexible="0+", rights={"cluster": "Describe"}):
    class UserName(Struct):
        name = string()

    users = array(UserName, nullable="0+")


class DescribeUserScramCredentialsResponse(Response, key=50, versions="0", flexible="0+"):
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
