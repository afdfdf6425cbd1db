"""The API versions that a node supports, and the choice of a request's version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafka_tools.errors import UnsupportedVersion
from kafka_tools.protocol import registry
from kafka_tools.protocol.schema import Request
from kafka_tools.values import Node

API_VERSIONS = registry.key_of("api_versions")
NAMES_NODE = 5
"""The first version of ApiVersions that names the intended node. v4 contains everything else."""
METADATA, VOTE = registry.key_of("metadata"), registry.key_of("vote")
DESCRIBE_QUORUM = registry.key_of("describe_quorum")

VersionRange = tuple[int, int]


def newest_stable(request: type[Request]) -> int:
    """The newest version of an API that Kafka calls stable."""
    return request.MAX_VERSION - 1 if request.LATEST_UNSTABLE else request.MAX_VERSION


def pick_version(request: type[Request], versions: dict[int, VersionRange], peer: str) -> int:
    """The newest version that both sides support; UnsupportedVersion, with both ranges, when there is none."""
    name = registry.row_by_key(request.API_KEY).name
    low, high = request.MIN_VERSION, newest_stable(request)
    theirs = versions.get(request.API_KEY)
    if theirs is None and METADATA not in versions and VOTE in versions:
        raise UnsupportedVersion(
            f"{peer} is a controller and does not support {name}",
            api=name,
            hint="give the address of a broker; use --bootstrap-controller for controllers",
        )
    if theirs is None:
        raise UnsupportedVersion(f"{peer} does not support {name}", api=name, hint=_who_offers(request, low, versions))
    version = min(high, theirs[1])
    if version < max(low, theirs[0]):
        raise UnsupportedVersion(
            f"{peer} supports {name} v{theirs[0]} to v{theirs[1]}, this client supports v{low} to v{high}", api=name
        )
    return version


def _who_offers(request: type[Request], version: int, versions: dict[int, VersionRange]) -> str | None:
    """The brokers that support a version of an API which the node with these ``versions`` lacks; None without any.

    If a node supports the other APIs of a release but not this one, it is the bundled broker.
    """
    from kafka_tools.net.request_errors import since
    from kafka_tools.protocol import releases

    text = since(request, version, kraft=DESCRIBE_QUORUM in versions)
    if text is None or request.API_KEY in versions:
        return text
    theirs = releases.guess_release(versions)
    has_it = theirs in releases.releases() and request.API_KEY in releases.max_versions(theirs)
    return f"{text}; the bundled broker does not serve it" if has_it else text


class NodeVersions:
    """The API versions of one node."""

    def __init__(self, ranges: dict[int, VersionRange], peer: str, features: Mapping[str, int] | None = None) -> None:
        self.ranges = ranges
        self.peer = peer
        self.features: Mapping[str, int] = features or {}
        """The finalized features of the cluster, name -> level; empty if the node does not tell."""

    def newest(self, request: type[Request]) -> int:
        """The newest version of an API that both sides support; UnsupportedVersion when there is none."""
        return pick_version(request, self.ranges, self.peer)

    def has(self, request: type[Request], version: int = 0) -> bool:
        """Whether the node supports ``version`` of the API, or a later one."""
        theirs = self.ranges.get(request.API_KEY)
        return theirs is not None and theirs[1] >= version

    @property
    def is_kraft(self) -> bool:
        """Whether the node runs without ZooKeeper: only such nodes support DescribeQuorum."""
        return DESCRIBE_QUORUM in self.ranges

    def require(self, request: type[Request], version: int, what: str, hint: str | None = None) -> None:
        """Raise UnsupportedVersion for ``what`` unless the node supports ``version`` or a later one."""
        if not self.has(request, version):
            raise self.too_old(request, version, what, hint)

    def too_old(self, request: type[Request], version: int, what: str, hint: str | None = None) -> UnsupportedVersion:
        """The error if ``what`` needs a version of an API that the node does not support."""
        name = request.__name__.removesuffix("Request")
        theirs = self.ranges.get(request.API_KEY)
        supported = f"supports v{theirs[0]} to v{theirs[1]}" if theirs else "does not support this API"
        if hint is None:
            hint = _who_offers(request, version, self.ranges)
        return UnsupportedVersion(f"{what} needs {name} v{version}; {self.peer} {supported}", api=name, hint=hint)


class IntendedNode(NamedTuple):
    """The node that a connection is intended to reach."""

    cluster_id: str
    node_id: int


class ClusterCheck:
    """Lets nodes check that they are the ones that the client intends to reach (KIP-1242, Kafka 4.4).

    Only nodes of a cluster that supports it: other nodes would refuse that version of ApiVersions and need another
    request on every connection. ``wanted``: whether the user wants any check.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self.cluster_id: str | None = None
        """The id of the client's cluster; None until it is known."""
        self.when_wrong: list[Callable[[], object]] = []
        """Called when a connection reached the wrong node, so that the client rediscovers the cluster."""
        self._newest: dict[tuple[str, int], int] = {}

    def heard(self, node: Node, versions: dict[int, VersionRange]) -> None:
        """Note the versions of a node."""
        self._newest[node.host, node.port] = versions.get(API_VERSIONS, (0, 0))[1]

    def intended(self, node: Node) -> IntendedNode | None:
        """The node that a new connection names; None for none, as for bootstrap servers and older clusters."""
        if not self._wanted or not self.cluster_id or node.id < 0:
            return None
        newest = self._newest.get((node.host, node.port), min(self._newest.values(), default=0))
        return IntendedNode(self.cluster_id, node.id) if newest >= NAMES_NODE else None

    def node_is_wrong(self) -> None:
        """A node is not the intended one: what is known of the cluster is invalid."""
        self.cluster_id = None
        for begin_again in self.when_wrong:
            begin_again()
