"""DescribeAcls (29): list ACL bindings.

- No authorizer is configured here, so every request is answered with SECURITY_DISABLED, as Kafka does then.
"""

from __future__ import annotations

from typing import NoReturn

from kafka_tools.broker_embedded.dispatch import Call, refuse
from kafka_tools.protocol import error_codes

VERSIONS = (0, 3)
AUTHORIZE = (("DESCRIBE", "CLUSTER"),)


def handle(call: Call) -> NoReturn:
    raise refuse(error_codes.SECURITY_DISABLED, "No Authorizer is configured.")
