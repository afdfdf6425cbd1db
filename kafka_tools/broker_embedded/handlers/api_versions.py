"""ApiVersions (18): what this broker serves, narrowed to the release it stands for.

- Answered whatever the state of authentication.
- A client name or version that Kafka's pattern refuses is INVALID_REQUEST (v3 and later, KIP-511).
- A version that is not served is answered in v0 by dispatch, before a handler is asked.
"""

from __future__ import annotations

import re

from kafka_tools.broker_embedded.dispatch import Call, refuse
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.api_versions import ApiVersionsResponse

VERSIONS = (0, 4)
AUTHORIZE = ()

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(call: Call) -> ApiVersionsResponse:
    if call.version >= 3:
        request, connection = call.request, call.connection
        if not _SOFTWARE.fullmatch(request.client_software_name) or not _SOFTWARE.fullmatch(
            request.client_software_version
        ):
            raise refuse(error_codes.INVALID_REQUEST)
        connection.software_name = request.client_software_name
        connection.software_version = request.client_software_version
    keys = [
        ApiVersionsResponse.ApiVersion(api_key=key, min_version=handler.min_version, max_version=handler.max_version)
        for key, handler in sorted(call.broker.dispatcher.handlers.items())
    ]
    return ApiVersionsResponse(api_keys=keys)
