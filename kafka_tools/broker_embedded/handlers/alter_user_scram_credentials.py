"""AlterUserScramCredentials (51): set and remove SCRAM credentials; each user succeeds or fails alone."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsResponse

VERSIONS = (0, 0)
AUTHORIZE = (AclOperation.ALTER,)


def handle(call: Call) -> AlterUserScramCredentialsResponse:
    records, results = call.broker.credentials.changes(call.request)
    if records:
        call.broker.journal.commit(records)
    response = AlterUserScramCredentialsResponse()
    for user, error in results.items():
        result = response.Result(user=user, error_message=None)
        if error is not None:
            result.error_code, result.error_message = error.code.code, error.broker_message
        response.results.append(result)
    return response
