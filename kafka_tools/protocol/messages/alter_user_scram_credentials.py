"""AlterUserScramCredentials (51): set or delete SCRAM credentials (KIP-554).

The client salts and hashes; passwords are never sent.
"""

from __future__ import annotations

from kafka_tools.protocol.routes import CONTROLLER
from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int8, int16, int32, string


class AlterUserScramCredentialsRequest(Request, key=51, route=CONTROLLER, versions="0", flexible="0+"):
    """Request of AlterUserScramCredentials."""

    class ScramCredentialDeletion(Struct):
        name = string()
        mechanism = int8()

    deletions = array(ScramCredentialDeletion)

    class ScramCredentialUpsertion(Struct):
        name = string()
        mechanism = int8()
        iterations = int32()
        salt = bytes_(secret=True)
        salted_password = bytes_(secret=True)

    upsertions = array(ScramCredentialUpsertion)


class AlterUserScramCredentialsResponse(Response, key=51, versions="0", flexible="0+"):
    """Response of AlterUserScramCredentials."""

    throttle_time_ms = int32()

    class Result(Struct):
        user = string()
        error_code = int16()
        error_message = string(nullable="0+")

    results = array(Result)
