"""Hosts of ACL entries that are networks: ``10.0.0.0/8``, ``2001:db8::/32`` (Kafka 4.4, ``CidrUtils``)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ipaddress

METADATA_LEVEL = 32
"""metadata.version 4.4-IV1, the first at which such entries can be added."""


@functools.lru_cache(maxsize=1024)
def parsed(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """The network that ``text`` names; bits behind the prefix are ignored. Raises ValueError if it is none."""
    import ipaddress

    _, _, prefix = text.partition("/")
    if not (prefix.isascii() and prefix.isdigit()):  # a mask such as 255.0.0.0 is none for Kafka
        raise ValueError(f"Could not parse [{text}]")
    return ipaddress.ip_network(text, strict=False)


def covers(entry_host: str, host: str) -> bool:
    """Whether a client at the address ``host`` is in the network of an entry; never, if that is no network."""
    import ipaddress

    if "/" not in entry_host:
        return False
    try:
        return ipaddress.ip_address(host) in parsed(entry_host)
    except ValueError:
        return False
