"""The table of served APIs, their versions and handlers, built from the modules of this folder.

A handler is the module ``handlers/<stem>.py`` with ``VERSIONS``, ``AUTHORIZE`` (the cluster operations that every
caller needs) and ``handle(call)``, which checks the rights on topics, groups and other resources itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from inspect import isgeneratorfunction
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.broker_embedded import handlers as package
from kafka_tools.broker_embedded.call import Call, RequestBytes
from kafka_tools.broker_embedded.connection import Connection
from kafka_tools.protocol import registry
from kafka_tools.protocol.releases import max_versions

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.core import Core


AtOnce = Callable[["Core", Connection, RequestBytes, int, int], bytes | None]
"""(core, connection, frame, version, correlation id) -> the answer's payload; None: nothing was done, ``handle`` it."""


class Handler(NamedTuple):
    """A handler module and its served versions."""

    api: registry.Api
    min_version: int
    max_version: int
    authorize: tuple[int, ...]
    """The AclOperations on the cluster that every caller must be allowed, or it is refused before the handler."""
    handle: Callable[[Call], Any]
    in_slices: bool
    """Whether ``handle`` is a generator (``slices``), and so may have much to do.

    Not if it ends in one large change."""
    at_once: AtOnce | None = None
    """Serves the most common requests from their bytes, if the module has such a fast path (``AT_ONCE``)."""


@cache
def load_handlers(release: str | None = None) -> Mapping[int, Handler]:
    """Every handler module, by API key, with its served versions.

    ``release`` (such as "2.2") limits them to those of that Kafka release; InputError for an unknown release.
    A module without VERSIONS, AUTHORIZE or ``handle`` is an error at start.
    """
    release_versions = None if release is None else max_versions(release)
    table: dict[int, Handler] = {}
    for info in iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        module = import_module(f"{package.__name__}.{info.name}")
        api = registry.api(info.name)
        for name in ("VERSIONS", "AUTHORIZE", "handle"):
            if not hasattr(module, name):
                raise AssertionError(f"handlers/{info.name}.py does not declare {name}")
        low, high = module.VERSIONS
        row = registry.row_by_key(api.key)
        newest = row.max_version - (1 if row.latest_unstable else 0)
        low, high = max(low, row.min_version), min(high, newest)
        if release_versions is not None:
            release_low, release_high = release_versions.get(api.key, (0, -1))
            low, high = max(low, release_low), min(high, release_high)
        if low <= high:
            in_slices = isgeneratorfunction(module.handle) and not getattr(module, "ONE_CHANGE", False)
            at_once = getattr(module, "AT_ONCE", None)
            table[api.key] = Handler(api, low, high, module.AUTHORIZE, module.handle, in_slices, at_once)
    return MappingProxyType(table)
