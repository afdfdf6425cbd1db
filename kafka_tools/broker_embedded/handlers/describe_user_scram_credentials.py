"""DescribeUserScramCredentials (50): the mechanisms and iterations of users' credentials; no secrets."""

from __future__ import annotations

from kafka_tools.broker_embedded.call import Call
from kafka_tools.errors import BrokerError
from kafka_tools.protocol.enums import AclOperation
from kafka_tools.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsResponse

VERSIONS = (0, 0)
AUTHORIZE = (AclOperation.DESCRIBE,)

Result = DescribeUserScramCredentialsResponse.Result


def handle(call: Call) -> DescribeUserScramCredentialsResponse:
    users = [user.name for user in call.request.users or ()]
    response = DescribeUserScramCredentialsResponse()
    for user, found in call.broker.credentials.describe(users):
        result = Result(user=user)
        if isinstance(found, BrokerError):
            result.error_code, result.error_message = found.code.code, found.broker_message
        else:
            result.credential_infos = [
                Result.CredentialInfo(mechanism=mechanism, iterations=iterations)
                for mechanism, iterations in found.items()
            ]
        response.results.append(result)
    return response
