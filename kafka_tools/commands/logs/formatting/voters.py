"""The first voters of a metadata quorum, from ``--initial-controllers`` (KIP-853).

Their form is ``id@host:port:directory,...``. Rules and texts are those of Kafka's ``DynamicVoters`` and
``DynamicVoter``.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from typing import NamedTuple

from kafka_tools.errors import InputError, UsageError
from kafka_tools.protocol.stored.control_records import VotersRecord
from kafka_tools.values import parse_uuid

_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")
_MOST_PORT = 65535
KRAFT_VERSIONS = (0, 1)
"""Kafka's levels of kraft.version, which a new voter supports."""


class InitialVoter(NamedTuple):
    """A voter and its address."""

    node_id: int
    host: str
    port: int
    directory_id: uuid.UUID


def parse_voters(text: str) -> dict[int, InitialVoter]:
    """The voters by node id, ascending. Raises UsageError in Kafka's words."""
    voters: dict[int, InitialVoter] = {}
    for part in text.strip().split(","):
        if not part:
            continue
        voter = _parse_voter(part.strip())
        if voter.node_id in voters:
            raise UsageError(f"--initial-controllers: Node id {voter.node_id} was specified more than once.")
        voters[voter.node_id] = voter
    if not voters:
        raise UsageError("--initial-controllers: No voters given.")
    return dict(sorted(voters.items()))


def _parse_voter(text: str) -> InitialVoter:
    def invalid(why: str) -> UsageError:
        return UsageError(f"--initial-controllers: {why} ('{text}')", hint="use id@host:port:directory id")

    number, at, rest = text.partition("@")
    if not at:
        raise invalid("No @ found in dynamic voter string.")
    if not number:
        raise invalid("Invalid @ at beginning of dynamic voter string.")
    if not _NUMBER.fullmatch(number) or int(number) >= 2**31:
        raise invalid("Failed to parse node id in dynamic voter string.")
    if int(number) < 0:
        raise invalid(f"Invalid negative node id {int(number)} in dynamic voter string.")
    if not rest:
        raise invalid("No hostname found after node id.")
    if rest.startswith("["):
        host, bracket, rest = rest[1:].partition("]")
        if not bracket:
            raise invalid("Hostname began with left bracket, but no right bracket was found.")
        if not rest.startswith(":"):
            raise invalid("Port section must start with a colon.")
        rest = rest[1:]
    else:
        host, colon, rest = rest.partition(":")
        if not colon:
            raise invalid("No colon following hostname could be found.")
    port, colon, directory = rest.partition(":")
    if not colon:
        raise invalid("No colon following port could be found.")
    if not _NUMBER.fullmatch(port):
        raise invalid("Failed to parse port in dynamic voter string.")
    if not 0 <= int(port) <= _MOST_PORT:
        raise invalid(f"Invalid port {int(port)} in dynamic voter string.")
    try:
        directory_id = parse_uuid(directory.rstrip("="))
    except InputError:
        raise invalid("Failed to parse directory ID in dynamic voter string.") from None
    return InitialVoter(int(number), host, int(port), directory_id)


def voters_record(voters: Iterable[InitialVoter], listener: str) -> VotersRecord:
    """The record of the voters. Their listener is ``listener`` in upper case, as in Kafka."""
    Voter = VotersRecord.Voter
    return VotersRecord(
        voters=[
            Voter(
                voter_id=voter.node_id,
                voter_directory_id=voter.directory_id,
                endpoints=[Voter.Endpoint(name=listener.upper(), host=_host_text(voter.host), port=voter.port)],
                kraft_version_feature=Voter.KRaftVersionFeature(
                    min_supported_version=KRAFT_VERSIONS[0], max_supported_version=KRAFT_VERSIONS[1]
                ),
            )
            for voter in voters
        ]
    )


def _host_text(host: str) -> str:
    """The host in the form of Java's InetSocketAddress: IPv6 addresses in eight groups without leading zeros."""
    import ipaddress

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 4:
        return host
    return ":".join(f"{int(group, 16):x}" for group in address.exploded.partition("%")[0].split(":"))
