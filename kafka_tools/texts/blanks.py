"""Texts as Java cuts them, where Kafka does so with what clients and operators write."""

from __future__ import annotations

_TRIMMED = "".join(map(chr, range(0x21)))


def trim(text: str) -> str:
    """``String.trim``: without what stands up to U+0020 at both ends.

    Python's ``strip`` takes other blanks too, U+00A0 for instance: a name with one would become somebody else's.
    """
    return text.strip(_TRIMMED)
