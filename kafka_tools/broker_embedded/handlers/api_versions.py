"""ApiVersions (18): the APIs that this broker serves, limited to those of the release in whose role it runs.

- The response does not depend on authentication.
- A client name or version that Kafka's pattern refuses is INVALID_REQUEST (v3 and later, KIP-511).
- v5: REBOOTSTRAP_REQUIRED if the client names another cluster or node (KIP-1242). It must name both or neither.
- Features: what is supported, and what is finalized as of a record of the metadata log. v3 leaves out what may be
  at level 0, which its readers take for an error (KAFKA-17011).
- A version that is not served is answered in v0 by dispatch, before a handler is asked.
"""

from __future__ import annotations

import re

from kafka_tools.broker_embedded.call import Call
from kafka_tools.broker_embedded.cluster.features import tells_features
from kafka_tools.broker_embedded.handlers._table import load_handlers
from kafka_tools.broker_embedded.refusals import bad_request, error_for
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.messages.api_versions import ApiVersionsResponse

VERSIONS = (0, 5)
AUTHORIZE = ()

_NAMES_NODE = 5
_MOST_CHARACTERS = 256
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(call: Call) -> ApiVersionsResponse:
    if call.version >= 3:
        request = call.request
        if not _SOFTWARE.fullmatch(request.client_software_name) or not _SOFTWARE.fullmatch(
            request.client_software_version
        ):
            raise bad_request()
        if call.version >= _NAMES_NODE:
            _check_node(call)
        call.connection.software_name = request.client_software_name[:_MOST_CHARACTERS]
        call.connection.software_version = request.client_software_version[:_MOST_CHARACTERS]
    keys = [
        ApiVersionsResponse.ApiVersion(api_key=key, min_version=handler.min_version, max_version=handler.max_version)
        for key, handler in sorted(load_handlers(call.broker.release).items())
    ]
    response = ApiVersionsResponse(api_keys=keys)
    if call.version >= 3 and tells_features(call.broker.release):
        _tell_features(call, response)
    return response


def _check_node(call: Call) -> None:
    """BrokerError if the client names another cluster or node, or only one of the two."""
    cluster_id, node_id = call.request.cluster_id, call.request.node_id
    if (cluster_id is None) != (node_id == -1):
        raise bad_request()
    if cluster_id is not None and (cluster_id, node_id) != (call.broker.cluster.cluster_id, call.broker.node_id):
        raise error_for(error_codes.REBOOTSTRAP_REQUIRED)


def _tell_features(call: Call, response: ApiVersionsResponse) -> None:
    response.supported_features = [
        ApiVersionsResponse.SupportedFeatureKey(name=name, min_version=low, max_version=high)
        for name, (low, high) in call.broker.features.supported.items()
        if low > 0 or call.version >= 4
    ]
    response.finalized_features_epoch = call.broker.journal.end_offset - 1
    response.finalized_features = [
        ApiVersionsResponse.FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in call.broker.features.finalized.items()
    ]
