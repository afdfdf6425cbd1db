"""Networks as hosts of ACL entries: ``10.0.0.0/8``, ``2001:db8::/32`` (Kafka 4.4, ``CidrUtils``)."""

from __future__ import annotations

import functools
import ipaddress
import re
from typing import NamedTuple

METADATA_LEVEL = 32
"""metadata.version 4.4-IV1, the first level that allows networks in new entries."""

_IPV4 = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})/(\d{1,2})", re.ASCII)
_PREFIX = re.compile(r"\d{1,9}", re.ASCII)


class Subnet(NamedTuple):
    """A network as numbers, so that a comparison needs two operations."""

    ip_version: int
    first: int
    mask: int

    def covers(self, address: tuple[int, int] | None) -> bool:
        """Whether an address of ``address_of`` is in the network."""
        return address is not None and address[0] == self.ip_version and address[1] & self.mask == self.first


@functools.lru_cache(maxsize=1024)
def address_of(host: str) -> tuple[int, int] | None:
    """(version of IP, address as a number) of a client's host; None if the text is not an address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return address.version, int(address)


def parsed(text: str) -> Subnet:
    """The network in ``text``. Bits after the prefix are ignored. Raises ValueError with Kafka's text."""
    if ":" in text:
        return _ipv6(text)
    match = _IPV4.fullmatch(text)
    if match is None:
        raise ValueError(f"Could not parse [{text}]")
    *parts, bits = map(int, match.groups())
    for value, limit in (*((part, 255) for part in parts), (bits, 32)):
        if value > limit:
            raise ValueError(f"Value [{value}] not in range [0,{limit}]")
    return _network(4, int.from_bytes(bytes(parts)), bits, 32)


def _ipv6(text: str) -> Subnet:
    name, _, prefix = text.partition("/")
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(f"Could not parse [{text}] - invalid prefix length")
    if int(prefix) > 128:
        raise ValueError(f"Could not parse [{text}] - prefix length must be between 0 and 128")
    try:
        address = ipaddress.IPv6Address(name[1:-1] if name[0] == "[" and name[-1] == "]" else name)
    except ValueError:
        raise ValueError(f"Could not parse [{name}]") from None
    if address.ipv4_mapped is not None:  # such clients have their IPv4 address as host
        raise ValueError(f"Could not parse [{name}] - not an IPv6 address")
    return _network(6, int(address), int(prefix), 128)


def _network(ip_version: int, address: int, prefix: int, bits: int) -> Subnet:
    mask = (1 << bits) - (1 << (bits - prefix))
    return Subnet(ip_version, address & mask, mask)
