"""A broker as of a made-up Kafka 5.9: the bundled broker behind a node that answers what no release has yet.

Every API is there in versions that nobody knows beside those of today, some of which are gone. There are APIs,
features, levels, configs and quotas that came later. Every struct of every answer has a tagged field that is new, and
every number and word that stands for one of a family (``int8`` fields, states, types) is one that came later.
What the bundled broker does not serve is answered by ``tests.admin.virtual_cluster``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kafka_tools import KAFKA_MINOR
from kafka_tools.broker_embedded.handlers._table import load_handlers
from kafka_tools.protocol import error_codes, registry
from kafka_tools.protocol.enums import OPERATIONS_NOT_ASKED
from kafka_tools.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_tools.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from kafka_tools.protocol.messages.describe_cluster import DescribeClusterResponse
from kafka_tools.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafka_tools.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_tools.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_tools.protocol.messages.metadata import MetadataResponse
from kafka_tools.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafka_tools.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafka_tools.protocol.releases import max_versions
from kafka_tools.protocol.schema import Response, Struct
from kafka_tools.values import parse_address
from tests.admin.virtual_cluster import VirtualCluster
from tests.broker_embedded.wire_client import WireClient
from tests.net.peers import ScriptedNode

NUMBER, WORD, ERROR = 99, "Dreaming", 999
"""What stands in every family of numbers, of words, and where an error is told."""
KEY = "dreams.retention.ms"
"""A config that every resource has."""
TAG, OPERATION, VIRTUAL_PORT = 900, 20, 9092
NEW_API = 120
LEVELS = {"metadata.version": (NUMBER, NUMBER), "mirror.version": (0, 9), "transaction.version": (0, 7)}
"""Features that are new or have new levels: lowest and highest, which is finalized too."""
_ECHOED = {
    ("DescribeConfigsResponse", "resource_type"),
    ("AlterConfigsResponse", "resource_type"),
    ("IncrementalAlterConfigsResponse", "resource_type"),
    ("DescribeClusterResponse", "endpoint_type"),
}
"""(response, field) of families whose number is the one that was asked for."""
_WORDS = ("group_state", "group_type", "transaction_state")
_OPERATIONS = ("authorized_operations", "cluster_authorized_operations", "topic_authorized_operations")
_SPARED = (
    ApiVersionsResponse, DescribeClusterResponse, FindCoordinatorResponse, MetadataResponse, SaslAuthenticateResponse,
    SaslHandshakeResponse,
)  # fmt: skip
"""Answers without which nothing else is asked."""
_GONE = ("metadata", "describe_cluster", "list_groups", "find_coordinator", "list_offsets", "describe_configs")
"""APIs of which today's newest version is the oldest that is left."""


def structs(item: Struct) -> Iterator[Struct]:
    """A struct and all that it holds."""
    yield item
    for field in item.FIELDS:
        held = getattr(item, field.name)
        for each in held if isinstance(held, list) else [held]:
            if isinstance(each, Struct):
                yield from structs(each)


def renew(answer: Response, version: int, *, is_failing: bool = False) -> None:
    """Put what came later into an answer. ``is_failing``: an error too, unless nothing else is asked without it."""
    kind = type(answer).__name__
    for found in structs(answer):
        for field in found.FIELDS:
            held = getattr(found, field.name)
            if field.kind == "int8" and (kind, field.name) not in _ECHOED:
                setattr(found, field.name, NUMBER)
            elif field.name in _WORDS and held:
                setattr(found, field.name, WORD)
            elif field.name in _OPERATIONS and held != OPERATIONS_NOT_ASKED:
                setattr(found, field.name, held | 1 << OPERATION)
            elif field.name == "error_code" and is_failing and not isinstance(answer, _SPARED):
                setattr(found, field.name, ERROR)
        if version in type(answer).FLEXIBLE:
            found.unknown_tags = {**(found.unknown_tags or {}), TAG: b"new"}


class NewerBroker(ScriptedNode):
    """The node in front of the bundled broker at ``address`` (host:port)."""

    def __init__(self, address: str) -> None:
        self.is_failing = False
        """Whether every answer but those that tell whom to ask tells an error that came later."""
        self._address = address
        self._own = VirtualCluster(size=1)
        self._served = load_handlers()
        self._set: dict[tuple[int, str], str] = {}
        """What KEY was set to, by resource."""
        super().__init__()

    def _reply(self, request: Any, version: int, state: dict[Any, Any]) -> Any:
        if request.API_KEY in self._served:
            if "client" not in state:
                state["client"] = WireClient(self._address)
            answer = state["client"].call(request, version)
        else:
            answer = self._own.truth(request, version)
        extend = _EXTENDED.get(type(request))
        if extend is not None:
            extend(self, request, answer)
        self._tell_place(answer)
        renew(answer, version, is_failing=self.is_failing)
        return answer

    def _tell_place(self, answer: Struct) -> None:
        """Put this node in the place of the one behind it."""
        host, port = parse_address(self._address)
        for found in structs(answer):
            if getattr(found, "port", None) in (port, VIRTUAL_PORT):
                found.host, found.port = host, self.port  # type: ignore[attr-defined]

    def _tell_versions(self, request: Any, answer: ApiVersionsResponse) -> None:
        ranges = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        ranges |= {key: range for key, range in max_versions(KAFKA_MINOR).items() if key not in ranges}
        ranges |= {registry.key_of(stem): (ranges[registry.key_of(stem)][1],) * 2 for stem in _GONE}
        Version, Supported = ApiVersionsResponse.ApiVersion, ApiVersionsResponse.SupportedFeatureKey
        answer.api_keys = [
            *(Version(api_key=key, min_version=low, max_version=high + 3) for key, (low, high) in ranges.items()),
            Version(api_key=NEW_API, min_version=0, max_version=2),
        ]
        answer.supported_features = [
            *(each for each in answer.supported_features if each.name not in LEVELS),
            *(Supported(name=name, min_version=low, max_version=high) for name, (low, high) in LEVELS.items()),
        ]
        answer.finalized_features = [
            ApiVersionsResponse.FinalizedFeatureKey(name=name, max_version_level=high, min_version_level=high)
            for name, (_, high) in LEVELS.items()
        ]

    def _describe_configs(self, request: Any, answer: DescribeConfigsResponse) -> None:
        for asked, found in zip(request.resources, answer.results, strict=True):
            if asked.configuration_keys is None or KEY in asked.configuration_keys:
                value = self._set.get((asked.resource_type, asked.resource_name), "7")
                found.configs.append(type(found).ResourceResult(name=KEY, value=value, config_source=5))

    def _alter_configs(self, request: Any, answer: Any) -> None:
        """What is set of KEY; the bundled broker has been asked for it too, and has refused it."""
        for asked, found in zip(request.resources, answer.responses, strict=True):
            for config in asked.configs:
                if config.name == KEY and config.value == "never":
                    found.error_code, found.error_message = error_codes.INVALID_CONFIG, f"{KEY} is at least 1"
                elif config.name == KEY and found.error_code != error_codes.UNKNOWN_TOPIC_OR_PARTITION:
                    found.error_code, found.error_message = 0, None
                    self._set[asked.resource_type, asked.resource_name] = config.value

    def _describe_quotas(self, request: Any, answer: DescribeClientQuotasResponse) -> None:
        Entry = DescribeClientQuotasResponse.EntryData
        kinds = ["dreamer"] if not request.strict else [each.entity_type for each in request.components]
        entity = [Entry.EntityData(entity_type=kind, entity_name="d") for kind in kinds]
        values = [Entry.ValueData(key="dream_rate", value=1.5)]
        answer.entries = [*(answer.entries or ()), Entry(entity=entity, values=values)]


_EXTENDED: dict[type, Callable[[NewerBroker, Any, Any], None]] = {
    ApiVersionsRequest: NewerBroker._tell_versions,
    DescribeConfigsRequest: NewerBroker._describe_configs,
    IncrementalAlterConfigsRequest: NewerBroker._alter_configs,
    DescribeClientQuotasRequest: NewerBroker._describe_quotas,
}
"""What is more in answers than the numbers that every answer has."""
