"""AlterUserScramCredentials (51): set and delete SCRAM credentials.

Sent by tools to any broker, which forwards it to the controller. The client salts and hashes the password, and never
sends it (KIP-554).

Errors
    NOT_CONTROLLER: the node is not, or no longer, the active controller.
    UNACCEPTABLE_CREDENTIAL: the user, salt or salted password is empty, or iterations is not between 4096 and 16384.
    UNSUPPORTED_SASL_MECHANISM: the mechanism is not a SCRAM mechanism.
    RESOURCE_NOT_FOUND: the credential to delete does not exist.
    DUPLICATE_RESOURCE: a user and mechanism occur twice.
    CLUSTER_AUTHORIZATION_FAILED: the client lacks ALTER on the cluster.
    REQUEST_TIMED_OUT: the controller did not store the change in time.
"""

from __future__ import annotations

from kafka_tools.protocol.schema import Request, Response, Struct, array, bytes_, int8, int16, int32, string


class AlterUserScramCredentialsRequest(
    Request, key=51, effect="changes", versions="0", flexible="0+", rights={"cluster": "Alter"}
):
    class ScramCredentialDeletion(Struct):
        # The user whose credential to delete.
        name = string()
        # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
        mechanism = int8()

    deletions = array(ScramCredentialDeletion)

    class ScramCredentialUpsertion(Struct):
        # The user whose credential to create or replace.
        name = string()
        # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
        mechanism = int8()
        # How often the hash is applied, from 4096 to 16384. More make guessing slower.
        iterations = int32()
        # Random bytes, new for each password.
        salt = bytes_(secret=True)
        # The password after salting and all iterations of the hash (Hi of RFC 5802). The broker never sees the
        # password.
        salted_password = bytes_(secret=True)

    upsertions = array(ScramCredentialUpsertion)


class AlterUserScramCredentialsResponse(Response, key=51, versions="0", flexible="0+"):
    # How long the client must wait because of a quota, in milliseconds. 0: no throttling.
    throttle_time_ms = int32()

    class Result(Struct):
        user = string()
        # Error of this user, none of whose credentials has changed. 0: no error.
        error_code = int16()
        # Explains the error in words. Null: no explanation.
        error_message = string(nullable="0+")

    # One result for each user of the request.
    results = array(Result, answers="deletions, upsertions")
