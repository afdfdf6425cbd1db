"""Finds the known names most similar to a misspelt name: of settings, options' values, APIs, error codes."""

from __future__ import annotations

import re
from collections.abc import Iterable

NEAR = 0.8
"""Minimum similarity of a suggestion, from 0 to 1 (``difflib``)."""


def near_names(name: str, known: Iterable[str], *, most: int = 2, near: float = NEAR) -> list[str]:
    """At most ``most`` of the ``known`` names similar to ``name``, the most similar first; never ``name`` itself.

    Case is ignored, and ``.``, ``_`` and ``-`` are equal. KIP-248 planned to call quotas ``producer.byte.rate``, and
    people often type configs with underscores.
    """
    from difflib import get_close_matches

    plain = {_plain(each): each for each in known}
    same = plain.get(_plain(name))
    if same is not None:
        return [same] if same != name else []
    found = get_close_matches(_plain(name), plain, n=most, cutoff=near)
    return [plain[each] for each in found]


def did_you_mean(names: Iterable[str], known: Iterable[str], *, most: int = 2, near: float = NEAR) -> str | None:
    """``did you mean flush.messages?`` with the most similar names of all unknown ``names``; None if there is none."""
    known = list(known)
    found = [each for name in names for each in near_names(name, known, most=most, near=near)]
    return f"did you mean {' or '.join(dict.fromkeys(found))}?" if found else None


def _plain(name: str) -> str:
    return re.sub(r"[._-]", ".", name.lower())
