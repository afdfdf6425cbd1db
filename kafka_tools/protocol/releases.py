"""Which API versions each Kafka release advertises: to impersonate one, and to guess one from its answer.

A row holds what changed since the release before: key:newest for an API that is new or has a newer
version, -key for one that is gone (brokers; ZooKeeper mode before 4.0). Oldest versions are 0 before
4.0, which dropped those that the definitions call so (KIP-896), though it goes on advertising Produce from 0.
"""

from __future__ import annotations

from functools import cache

from kafka_tools.errors import InputError
from kafka_tools.protocol import registry

# fmt: off
_CHANGES = {
    "0.8.0": "0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0",
    "0.8.1": "8:0 9:0",
    "0.8.2": "8:1 9:1 10:0 11:0 12:0",
    "0.9.0": "0:1 1:1 6:1 7:1 8:2 13:0 14:0 15:0 16:0",
    "0.10.0": "0:2 1:2 3:1 6:2 17:0 18:0",
    "0.10.1": "1:3 2:1 3:2 11:1 19:0 20:0",
    "0.10.2": "6:3 19:1",
    "0.11.0": (
        "0:3 1:5 2:2 3:4 8:3 9:3 10:1 11:2 12:1 13:1 14:1 15:1 16:1 18:1 19:2 20:1 21:0 22:0 23:0 24:0 25:0 26:0 "
        "27:0 28:0 29:0 30:0 31:0 32:0 33:0"
    ),
    "1.0": "0:5 1:6 3:5 4:1 6:4 17:1 34:0 35:0 36:0 37:0",
    "1.1": "1:7 32:1 38:0 39:0 40:0 41:0 42:0",
    "2.0": (
        "0:6 1:8 2:3 3:6 8:4 9:4 10:2 11:3 12:2 13:2 14:2 15:2 16:2 18:2 19:3 20:2 21:1 22:1 23:1 24:1 25:1 26:1 "
        "28:1 29:1 30:1 31:1 32:2 33:1 34:1 35:1 37:1 38:1 39:1 40:1 41:1 42:1"
    ),
    "2.1": "0:7 1:10 2:4 3:7 8:6 9:5 20:3 23:2 28:2",
    "2.2": "2:5 4:2 5:1 6:5 7:2 11:4 36:1 43:0",
    "2.3": "1:11 3:8 8:7 11:5 12:3 14:3 15:3 23:3 44:0",
    "2.4": (
        "0:8 3:9 4:4 5:2 6:6 7:3 8:8 9:6 10:3 11:6 12:4 13:4 14:4 15:5 16:3 18:3 19:5 20:4 22:2 38:2 42:2 43:2 "
        "44:1 45:0 46:0 47:0"
    ),
    "2.5": "9:7 11:7 14:5 22:3 28:3 29:2 30:2 31:2 36:2 37:2 39:2 40:2 41:2",
    "2.6": "5:3 16:4 21:2 32:3 35:2 48:0 49:0",
    "2.7": "1:12 19:6 20:5 22:4 24:2 25:2 26:2 37:3 50:0 51:0 56:0 57:0",
    "2.8": "0:9 2:6 3:11 4:5 6:7 19:7 20:6 23:4 24:3 25:3 26:3 27:1 32:4 33:2 34:2 48:1 49:1 60:0 61:0",
    "3.0": "2:7 9:8 10:4 65:0 66:0 67:0",
    "3.1": "1:13 3:12",
    "3.2": "4:6 11:9 13:5 35:3 56:1",
    "3.3": "29:3 30:3 31:3 35:4 38:3 41:3 56:2 57:1",
    "3.4": "4:7 5:4 6:8 58:0",
    "3.5": "1:15 2:8 56:3",
    "3.6": "24:4",
    "3.7": "0:10 1:16 8:9 9:9 60:1 68:0",
    "3.8": "0:11 10:5 16:5 22:5 24:5 25:4 26:4 28:4 66:1 69:0",
    "3.9": "1:17 2:9 10:6 18:4",
    "4.0": (
        "0:12 2:10 3:13 15:6 26:5 28:5 55:2 57:2 60:2 64:0 68:1 69:1 71:0 72:0 74:0 75:0 80:0 81:0 -4 -5 -6 -7 -56 "
        "-58 -67"
    ),
    "4.1": "0:13 1:18 45:1 66:2 74:1 76:1 77:1 78:1 79:1 83:0 84:0 85:0 86:0 87:0 90:0 91:0 92:0",
    "4.2": "2:11 8:10 9:10 27:2 78:2 79:2 80:1 85:1 87:1 88:0 89:0 90:1",
    "4.3": "35:5",
    "4.4": "18:5 28:6 42:3 88:1 89:1 93:0 94:0",
}
# fmt: on

_ONLY_IN_KRAFT = {"3.3": "55:1 64:0", "3.7": "74:0", "3.8": "75:0", "3.9": "55:2 80:0 81:0"}
"""APIs and versions that only brokers in KRaft mode had before 4.0."""
_LATER_IN_KRAFT = dict.fromkeys((50, 51), "3.5") | dict.fromkeys((38, 39, 40, 41), "3.6")
"""APIs that brokers in ZooKeeper mode had first: key -> the first release with the API in KRaft mode."""
_KRAFT = "3.3"
"""The first release whose KRaft mode was meant for production."""


def releases() -> tuple[str, ...]:
    """The known releases, oldest first, from "0.8.0"."""
    return tuple(_CHANGES)


@cache
def _newest() -> dict[str, dict[int, int]]:
    """Release -> API key -> newest version, from the changes."""
    table: dict[str, dict[int, int]] = {}
    current: dict[int, int] = {}
    for name, changes in _CHANGES.items():
        current = dict(current)
        for change in changes.split():
            if change.startswith("-"):
                del current[int(change[1:])]
            else:
                key, newest = change.split(":")
                current[int(key)] = int(newest)
        table[name] = current
    return table


@cache
def max_versions(release: str) -> dict[int, tuple[int, int]]:
    """API key -> (oldest, newest) that a broker of ``release`` advertises.

    Ignores the patch level ("2.2.2" is "2.2"). Raises InputError for an unknown release.
    """
    name = release
    while name and name not in _CHANGES:
        name = name.rpartition(".")[0]
    if not name:
        raise InputError(f"invalid release '{release}': expected one of {', '.join(_CHANGES)}")
    oldest = {row.key: row.oldest_since_4 for row in registry.rows()} if int(name.partition(".")[0]) >= 4 else {}
    return {key: (min(oldest.get(key, 0), newest), newest) for key, newest in _newest()[name].items()}


def first_with(key: int, version: int, *, kraft: bool = False) -> str | None:
    """The oldest release whose brokers advertise this version of an API; None if there is none.

    ``kraft``: in KRaft mode. Before 4.0, brokers in ZooKeeper mode advertised other versions.
    """
    order = list(_newest())
    found = next((name for name, newest in _newest().items() if newest.get(key, -1) >= version), None)
    if not kraft:
        return found
    for name, changes in _ONLY_IN_KRAFT.items():
        pairs = (change.split(":") for change in changes.split())
        if any(int(api) == key and int(newest) >= version for api, newest in pairs):
            return name
    if found is None:
        return None
    return max(found, _LATER_IN_KRAFT.get(key, _KRAFT), key=order.index)


def guess_release(advertised: dict[int, tuple[int, int]]) -> str:
    """The newest release whose newest API versions a node advertises, such as "3.9"; or "older than 0.10"."""
    best = ""
    for name in _CHANGES:
        wanted = max_versions(name)
        shared = [key for key in wanted if key in advertised]
        if len(shared) >= 8 and all(advertised[key][1] >= wanted[key][1] for key in shared):
            best = name
    return best or "older than 0.10"
