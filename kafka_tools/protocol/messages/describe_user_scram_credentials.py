"""DescribeUserScramCredentials (50): list the SCRAM mechanisms of users.

Sent by tools to any broker. The response never contains salts or keys (KIP-554).

Errors
    RESOURCE_NOT_FOUND: the user has no credentials.
    DUPLICATE_RESOURCE: the user occurs twice in the request.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks DESCRIBE on the cluster.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, int8, int16, int32, string


class DescribeUserScramCredentialsRequest(
    Request, key=50, effect="reads", versions="0", flexible="0+", rights={"cluster": "Describe"}
):
    class UserName(Struct):
        name = string()

    # Users to describe. Null or empty: all that have credentials.
    users = array(UserName, nullable="0+")


class DescribeUserScramCredentialsResponse(Response, key=50, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()
    # Error of the whole request. 0: no error.
    error_code = int16()
    # Explains the error in words. Null: no explanation.
    error_message = string(nullable="0+")

    class Result(Struct):
        user = string()
        # Error of this user. 0: no error.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+")

        class CredentialInfo(Struct):
            # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
            mechanism = int8()
            # How often the hash was applied to the password.
            iterations = int32()

        credential_infos = array(CredentialInfo)

    # One result for each user of the request, or for each user that has credentials.
    results = array(Result)
