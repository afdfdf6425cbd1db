"""Errors of requests that cannot be encoded, for operators: which value, why, and which Kafka release can take it.

``EncodeError`` names structs and fields; this module names the broker and the call instead, with the release that
introduced a version (``protocol.releases``).
"""

from __future__ import annotations

from kafka_tools.errors import EncodeError
from kafka_tools.protocol import registry, releases
from kafka_tools.protocol.codec import encode
from kafka_tools.protocol.schema import Request

_RANGES = {
    f"INT{bits}": f"not a whole number from {-(2 ** (bits - 1))} to {2 ** (bits - 1) - 1}" for bits in (8, 16, 32, 64)
}
_NO_SUCH_FIELD = "has no such field"


def explained(error: EncodeError, request: Request, version: int, peer: str) -> EncodeError:
    """The same error in words for an operator, with a hint."""
    name = registry.row_by_key(request.API_KEY).name
    field = error.field or ""
    what = str(error).partition(f"field {field}: ")[2] or str(error)
    words = field.rpartition(".")[2].partition("[")[0].replace("_", " ")
    if what.endswith(_NO_SUCH_FIELD):
        text = f"cannot send '{words}' to {peer}: it supports {name} up to v{version}, which has no {field}"
        needed = _first_version_for(request, version)
        hint = None if needed is None else since(request, needed)
        return EncodeError(text, api=name, version=version, field=field, hint=hint or "leave this out for this broker")
    for kind, sentence in _RANGES.items():
        what = what.replace(f" is not an {kind}.", f" is {sentence}")
    return EncodeError(f"{name}: {words} ({field}): {what}", api=name, version=version, field=field)


def since(request: type[Request] | Request, version: int, *, kraft: bool = False) -> str | None:
    """ "brokers of Kafka 2.4 and later speak ...": the brokers that support a version of an API; None without any.

    ``kraft``: this node runs without ZooKeeper. If only the mode prevents the API, the text says so.
    """
    release = releases.first_with(request.API_KEY, version, kraft=kraft)
    other = releases.first_with(request.API_KEY, version, kraft=True)
    if release is None or other is None:
        return None
    name = registry.row_by_key(request.API_KEY).name
    mode = ""
    if not kraft and releases.first_with(request.API_KEY, version) == KRAFT_ALONE != other:
        release, mode = other, " in KRaft mode (without ZooKeeper)"
    return f"brokers of Kafka {release} and later support {name} v{version}{mode}"


KRAFT_ALONE = "4.0"
"""The release from which on all brokers run without ZooKeeper."""


def _first_version_for(request: Request, version: int) -> int | None:
    """The first later version that can carry the request as it is."""
    for later in range(version + 1, request.MAX_VERSION + 1):
        try:
            encode(request, later)
        except EncodeError:
            continue
        return later
    return None
