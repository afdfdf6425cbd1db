"""AlterUserScramCredentials (51): set and delete SCRAM credentials.

Sent by tools to any broker, which passes it to the controller. The client salts and hashes: passwords are never sent
(KIP-554).

Errors
    NOT_CONTROLLER: the node is not the active controller (any more).
    UNACCEPTABLE_CREDENTIAL: an empty user, iterations outside 4096 to 16384, an empty salt or salted password.
    UNSUPPORTED_SASL_MECHANISM: a mechanism that is not SCRAM.
    RESOURCE_NOT_FOUND: what is to be deleted does not exist.
    DUPLICATE_RESOURCE: a user and mechanism given twice.
    CLUSTER_AUTHORIZATION_FAILED: no ALTER on the cluster.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int8, int16, int32, string


class AlterUserScramCredentialsRequest(Request, key=51, versions="0", flexible="0+", rights={"cluster": "Alter"}):
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
    throttle_time_ms = int32()

    class Result(Struct):
        user = string()
        error_code = int16()
        error_message = string(nullable="0+")

    results = array(Result, answers="deletions, upsertions")
