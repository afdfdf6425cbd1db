"""The known names that a misspelt one is nearest to: of settings, options' values, APIs, error codes."""

from __future__ import annotations

import re
from collections.abc import Iterable

NEAR = 0.8
"""How like a name must be to a known one to be offered for it, 0 to 1 (``difflib``)."""


def near_names(name: str, known: Iterable[str], *, most: int = 2, near: float = NEAR) -> list[str]:
    """At most ``most`` of the ``known`` names that are like ``name``, the nearest first; never ``name`` itself.

    Case counts nothing, and ``.``, ``_`` and ``-`` are alike: quotas were once to be called ``producer.byte.rate``
    (KIP-248), and configs are often typed with underscores.
    """
    from difflib import get_close_matches

    plain = {_plain(each): each for each in known}
    same = plain.get(_plain(name))
    if same is not None:
        return [same] if same != name else []
    found = get_close_matches(_plain(name), plain, n=most, cutoff=near)
    return [plain[each] for each in found]


def did_you_mean(names: Iterable[str], known: Iterable[str], *, most: int = 2, near: float = NEAR) -> str | None:
    """``did you mean flush.messages?`` for what is nearest to each unknown name; None where nothing is near."""
    known = list(known)
    found = [each for name in names for each in near_names(name, known, most=most, near=near)]
    return f"did you mean {' or '.join(dict.fromkeys(found))}?" if found else None


def _plain(name: str) -> str:
    return re.sub(r"[._-]", ".", name.lower())
